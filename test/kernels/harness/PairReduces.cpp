#include "harness/PairReduces.h"

#include "harness/Copy.cuh"
#include "kernels/LaunchSafety.h"

#include <stdexcept>

namespace layline::kernels::test {
namespace {

using device::bf16;
using device::from_float;
using device::to_float;

constexpr std::int64_t kTokens = 5, kWidth = 64;
constexpr std::uint32_t kGrid = 2;

} // namespace

PairFlags::PairFlags(simt::Machine &machine) {
  flags = machine.allocateSymmetric<std::uint32_t>(2 * kGrid * 2, "flags");
  epochs = machine.allocateSymmetric<std::uint32_t>(kGrid, "epochs");
  errors = machine.allocateSymmetric<SpinError>(1, "error");
  for (std::size_t rank = 0; rank < flags.size(); ++rank) {
    std::fill_n(flags[rank], 2 * kGrid * 2, 0U);
    std::fill_n(epochs[rank], kGrid, 0U);
    *errors[rank] = {};
  }
}

PairReduces::PairReduces(int ranks, Mode mode, std::uint64_t seed)
    : machine(ranks, optionsOf(mode, seed, kGrid)) {
  Variant variant;
  variant.ranks = 2;
  variant.input = Input::Owed;
  variant.output = Output::Everyone;
  std::string error;
  const Kernel *kernel = findKernel(variant, error);
  if (!kernel)
    throw std::runtime_error(error);
  function = reinterpret_cast<void (*)(const RowParams<2>)>(kernel->function);
}

void PairReduces::add(int first, int second, PairFlags &flags, int stream) {
  const int ranks[] = {first, second};
  auto count = static_cast<std::size_t>(kTokens * kWidth);
  auto rows = machine.allocateSymmetric<bf16>(count, "addends"),
       values = machine.allocateSymmetric<bf16>(count, "values");
  ++number;
  for (int rank : ranks)
    for (std::size_t i = 0; i < count; ++i)
      rows[static_cast<std::size_t>(rank)][i] = from_float<bf16>(
          static_cast<float>(number * 8 + rank) + static_cast<float>(i % 7));
  for (unsigned member = 0; member < 2; ++member) {
    auto rank = static_cast<std::size_t>(ranks[member]);
    RowParams<2> p{};
    for (std::size_t peer = 0; peer < 2; ++peer) {
      auto of = static_cast<std::size_t>(ranks[peer]);
      p.peers.flags[peer] = flags.flags[of];
      p.addends[peer] = rows[of];
      p.out.values[peer] = values[of];
    }
    p.peers.epochs = flags.epochs[rank];
    p.peers.maxBlocks = kGrid;
    p.peers.rank = member;
    p.peers.watch = {flags.errors[rank], 0};
    p.tokens = kTokens;
    p.width = kWidth;
    p.operands.innerScale = p.operands.scale = 1;
    simt::Launch launch{"main", {kGrid}, {32}};
    launch.cooperative = true;
    auto kernel = function;
    machine.launch(
        ranks[member], launch, [=] { kernel(p); }, stream);
    bf16 *seen = machine.allocate<bf16>(ranks[member], count, "seen");
    const bf16 *from = values[rank];
    machine.launch(
        ranks[member], {"reader", {1}, {32}},
        [=] {
          copy_vectors(from, seen,
                       static_cast<std::int64_t>(count * sizeof(bf16)));
        },
        stream);
    Reading reading{seen, {}};
    for (std::size_t i = 0; i < count; ++i)
      reading.want.push_back(to_float(from_float<bf16>(
          to_float(rows[static_cast<std::size_t>(first)][i]) +
          to_float(rows[static_cast<std::size_t>(second)][i]))));
    readings.push_back(reading);
  }
}

std::string PairReduces::run() {
  simt::Report report = machine.run();
  if (!report.ok())
    return simt::nameOf(report.failure);
  if (report.races)
    return "race";
  for (const Reading &reading : readings)
    for (std::size_t i = 0; i < reading.want.size(); ++i)
      if (to_float(reading.seen[i]) != reading.want[i])
        return "wrong";
  return {};
}

std::string runMesh(Mode mode, std::uint64_t seed, bool keyed) {
  PairReduces reduces(4, mode, seed);
  WorkspaceTable<PairFlags> table;
  auto flagsOf = [&](const char *communicator) -> PairFlags & {
    return table.at(keyed ? communicator : "world", 0,
                    [&] { return PairFlags(reduces.machine); });
  };
  for (int launch = 0; launch < 3; ++launch) {
    reduces.add(0, 1, flagsOf("tp"), 0);
    reduces.add(2, 3, flagsOf("tp"), 0);
    reduces.add(0, 2, flagsOf("pp"), 0);
    reduces.add(1, 3, flagsOf("pp"), 0);
  }
  return reduces.run();
}

} // namespace layline::kernels::test
