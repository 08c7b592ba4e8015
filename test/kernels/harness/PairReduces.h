// All_reduces of pairs of ranks whose flags lie where a test says, for hangs of
// kernels that share them.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_PAIRREDUCES_H
#define LAYLINE_TEST_KERNELS_HARNESS_PAIRREDUCES_H

#include "harness/Cluster.h"
#include "kernels/platform/Numeric.h"

namespace layline::kernels::test {

/// Flags and epochs on all ranks of a machine. No wait has an end, so that the
/// emulator says who waits for whom.
struct PairFlags {
  explicit PairFlags(simt::Machine &machine);
  std::vector<std::uint32_t *> flags, epochs;
  std::vector<SpinError *> errors;
};

/// All_reduces of pairs of ranks, one after another, a reader behind each.
class PairReduces {
public:
  PairReduces(int ranks, Mode mode, std::uint64_t seed);

  simt::Machine machine;

  /// Of ranks `first` and `second`, in flags of theirs.
  void add(int first, int second, PairFlags &flags, int stream);
  /// "" or how it failed: the emulator's name for it, "race" or "wrong".
  std::string run();

private:
  struct Reading {
    const device::bf16 *seen;
    std::vector<float> want;
  };
  void (*function)(const RowParams<2>) = nullptr;
  std::vector<Reading> readings;
  int number = 0;
};

/// Ranks 0 to 3 in two groups of each kind, which take turns on one stream.
/// With one workspace for both kinds (not `keyed`), what rank 2 tells rank 0 of
/// the second group's launch lies where rank 1 tells it of the first's. As
/// PairReduces::run.
std::string runMesh(Mode mode, std::uint64_t seed, bool keyed);

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_PAIRREDUCES_H
