#include "harness/Cluster.h"

#include <algorithm>
#include <stdexcept>

namespace layline::kernels::test {

const char *nameOf(Mode mode) {
  static const char *const names[] = {"plain", "weak", "race", "starve",
                                      "residency"};
  return names[static_cast<int>(mode)];
}

simt::Options optionsOf(Mode mode, std::uint64_t seed, unsigned grid) {
  simt::Options options;
  options.seed = seed;
  options.yieldPercent = 2;
  switch (mode) {
  case Mode::Plain:
    break;
  case Mode::Weak:
    options.storeBuffers = true;
    options.randomDispatch = true;
    break;
  case Mode::Race:
    options.raceCheck = true;
    break;
  case Mode::Starve:
    options.starvePerTenThousand = 50;
    options.randomReductionOrder = false;
    break;
  case Mode::Residency:
    options.residentBlocks = grid;
    options.randomDispatch = true;
    break;
  }
  return options;
}

static Workspace planOrThrow(const WorkspaceNeed &need) {
  Workspace workspace;
  std::string error;
  if (!planWorkspace(need, workspace, error))
    throw std::runtime_error(error);
  return workspace;
}

Cluster::Cluster(int numRanks, const simt::Options &options,
                 const WorkspaceNeed &need)
    : machine(numRanks, options), ranks(numRanks), workspace(planOrThrow(need)),
      maxBlocks(need.maxBlocks) {
  auto bytes = static_cast<std::size_t>(workspace.symmetricBytes);
  symmetric =
      machine.allocateSymmetric<unsigned char>(bytes, "symmetric workspace");
  for (int rank = 0; rank < ranks; ++rank) {
    std::fill_n(symmetric[rank], bytes, 0);
    auto own = static_cast<std::size_t>(workspace.ownBytes);
    ownBytes.push_back(
        machine.allocate<unsigned char>(rank, own, "own workspace"));
    std::fill_n(ownBytes.back(), own, 0);
  }
}

void Cluster::setEpochs(std::uint32_t epoch) {
  for (int rank = 0; rank < ranks; ++rank) {
    std::fill_n(shared<std::uint32_t>(rank, workspace.flags),
                2 * maxBlocks * static_cast<unsigned>(ranks), epoch);
    std::fill_n(own<std::uint32_t>(rank, workspace.epochs), maxBlocks, epoch);
  }
}

void Cluster::poison(DType dtype) {
  std::int64_t words = 3 * ranks * workspace.boxCapacity * 4;
  for (int rank = 0; rank < ranks; ++rank)
    std::fill_n(shared<std::uint32_t>(rank, workspace.boxes), words,
                dtype == DType::F32 ? kPoison32 : kPoison16);
}

} // namespace layline::kernels::test
