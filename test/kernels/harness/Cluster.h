// Emulated ranks with the workspace of one group, and the modes that every
// kernel is run in.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_CLUSTER_H
#define LAYLINE_TEST_KERNELS_HARNESS_CLUSTER_H

#include "devices/simt/Machine.h"
#include "kernels/Catalogue.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace layline::kernels::test {

/// How a run is made hard.
enum class Mode {
  Plain,     ///< random interleavings
  Weak,      ///< store buffers, torn vectors
  Race,      ///< happens-before
  Starve,    ///< threads held back until nobody else can go on
  Residency, ///< exactly one grid fits, blocks begin in any order
};
constexpr Mode kModes[] = {Mode::Plain, Mode::Weak, Mode::Race, Mode::Starve,
                           Mode::Residency};
const char *nameOf(Mode mode);
/// `grid`: of the collective, which must be resident.
simt::Options optionsOf(Mode mode, std::uint64_t seed, unsigned grid);

/// P ranks and what PeerFlags, OneShotParams and BroadcastParams point to.
class Cluster {
public:
  Cluster(int numRanks, const simt::Options &options,
          const WorkspaceNeed &need);

  simt::Machine machine;
  const int ranks;
  const Workspace workspace;
  const std::uint32_t maxBlocks;
  /// 0: a wait has no end, so that the emulator says who waits for whom.
  std::uint64_t spinLimit = 0;

  template <int P> PeerFlags<P> peerFlags(int rank) const {
    return flagsAt<P>(rank, workspace.flags, workspace.epochs);
  }
  template <int P> PeerFlags<P> readyFlags(int rank) const {
    return flagsAt<P>(rank, workspace.readyFlags, workspace.readyEpochs);
  }
  template <int P> void setBoxes(OneShotParams<P> &params, int rank) const {
    for (int peer = 0; peer < P; ++peer)
      params.boxes[peer] = symmetric[peer] + workspace.boxes;
    params.capacity = workspace.boxCapacity;
    params.state = own<OneShotState>(rank, sharesState ? workspace.epochs
                                                       : workspace.state);
    params.rank = static_cast<std::uint32_t>(rank);
    params.watch = watch(rank);
  }
  Watch watch(int rank) const {
    return {own<SpinError>(rank, workspace.error), spinLimit};
  }
  const SpinError &error(int rank) const {
    return *own<SpinError>(rank, workspace.error);
  }
  /// Puts one_shot's state where row_collective's epochs are: a fault.
  void shareState() { sharesState = true; }
  /// As after so many launches of every block.
  void setEpochs(std::uint32_t epoch);
  /// Fills all mailboxes with what empty ones hold.
  void poison(DType dtype);

  template <typename T> T *own(int rank, std::int64_t offset) const {
    return reinterpret_cast<T *>(ownBytes[rank] + offset);
  }
  template <typename T> T *shared(int rank, std::int64_t offset) const {
    return reinterpret_cast<T *>(symmetric[rank] + offset);
  }

  /// Own memory of a rank with these contents.
  template <typename T>
  T *upload(int rank, const std::vector<T> &values, const std::string &name) {
    T *to = machine.allocate<T>(rank, values.empty() ? 1 : values.size(), name);
    std::copy(values.begin(), values.end(), to);
    return to;
  }

private:
  template <int P>
  PeerFlags<P> flagsAt(int rank, std::int64_t flags,
                       std::int64_t epochs) const {
    PeerFlags<P> result;
    for (int peer = 0; peer < P; ++peer)
      result.flags[peer] = shared<std::uint32_t>(peer, flags);
    result.epochs = own<std::uint32_t>(rank, epochs);
    result.maxBlocks = maxBlocks;
    result.rank = static_cast<std::uint32_t>(rank);
    result.watch = watch(rank);
    return result;
  }

  std::vector<unsigned char *> symmetric, ownBytes;
  bool sharesState = false;
};

template <typename T>
std::vector<T> download(const T *from, std::int64_t count) {
  return std::vector<T>(from, from + count);
}

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_CLUSTER_H
