// Faults of how kernels are launched, and of what begins and ends them.
#include "faults/RunFaulty.h"
#include "harness/PairReduces.h"

#include <memory>

namespace layline::kernels::test {
namespace {

struct NoDependencyWait : Sound {
  static void begin() {}
};
struct TriggersEarly : Sound {
  static void before_work() { griddep_launch_dependents(); }
};

Outcome runLaunched(Mode mode, std::uint64_t seed, void (*function)(),
                    const LaunchFaults &faults, unsigned grid = 2) {
  RowCase rowCase = faultCase();
  rowCase.problem.tokens = 13;
  rowCase.shape.grid = grid;
  return runCase<bf16>(rowCase, mode, seed, function, faults);
}

/// Launches of one_shot and row_collective in turn, of changing sizes.
/// `shared`: one_shot's state lies where row_collective counts its epochs.
Outcome runInTurn(Mode mode, std::uint64_t seed, bool shared) {
  std::vector<SequenceStep<bf16>> steps;
  std::int64_t tokens[] = {4, 7, 2, 5, 3, 6};
  std::vector<RowResults<bf16>> want;
  for (int i = 0; i < 6; ++i) {
    bool isOneShot = i % 2 == 0;
    RowCase rowCase =
        faultCase(isOneShot ? Family::OneShot : Family::RowCollective);
    rowCase.launches = 1;
    rowCase.problem.tokens = tokens[i];
    rowCase.problem.hasResidual = rowCase.problem.keepsResidual = false;
    rowCase.shape.grid = 2;
    auto inputs =
        makeInputs<bf16>(rowCase, static_cast<std::uint32_t>(seed * 10) +
                                      static_cast<std::uint32_t>(i));
    want.push_back(expectOrdered(rowCase, inputs));
    steps.push_back({rowCase, inputs,
                     isOneShot ? oneShotKernel<Sound>() : rowKernel<Sound>()});
  }
  WorkspaceNeed need;
  need.ranks = kFaultRanks;
  need.maxBlocks = 8;
  need.maxOneShotBytes = 4 * 64 * 2;
  Cluster cluster(kFaultRanks, optionsOf(mode, seed, 2), need);
  if (shared)
    cluster.shareState();
  std::vector<RowResults<bf16>> got;
  simt::Report report = runSequence<bf16, kFaultRanks>(cluster, steps, got);
  std::string difference;
  for (std::size_t i = 0; report.ok() && i < got.size(); ++i)
    if (difference.empty())
      difference = differenceOf(got[i], want[i]);
  return outcomeOf(report, difference);
}

/// A kernel that was compiled for blocks of one warp.
Run inBlocksOf(unsigned threads) {
  return [=](Mode mode, std::uint64_t seed) {
    RowCase rowCase = faultCase();
    rowCase.shape.block = threads;
    return runCase<bf16>(
        rowCase, mode, seed,
        reinterpret_cast<void (*)()>(
            row_collective<bf16, kFaultRanks, Input::Owed, Output::Everyone,
                           Rms, 32, kVectorsPerThread<bf16>>));
  };
}

} // namespace

std::vector<Fault> launchFaults() {
  auto launched = [](void (*function)(), const LaunchFaults &faults,
                     unsigned grid = 2) -> Run {
    return [=](Mode mode, std::uint64_t seed) {
      return runLaunched(mode, seed, function, faults, grid);
    };
  };
  Run sound = launched(rowKernel<Sound>(), {});
  std::vector<Fault> result;

  LaunchFaults notCooperative;
  notCooperative.cooperative = false;
  result.push_back({"grid-above-residency", "row_collective",
                    "more blocks wait for peers than are resident together",
                    launched(rowKernel<Sound>(), notCooperative, 4),
                    launched(rowKernel<Sound>(), notCooperative)});
  result.push_back({"block-above-bounds", "row_collective",
                    "a block is larger than the kernel's launch bounds",
                    inBlocksOf(64), inBlocksOf(32)});
  LaunchFaults early;
  early.consumerWaits = false;
  result.push_back({"triggered-early", "row_collective",
                    "dependents begin before the results are stored",
                    launched(rowKernel<TriggersEarly>(), early), sound});
  result.push_back({"consumer-does-not-wait", "row_collective",
                    "a dependent trusts the trigger, which orders nothing",
                    launched(rowKernel<Sound>(), early), sound});
  result.push_back({"no-dependency-wait", "row_collective",
                    "inputs are read before what writes them is complete",
                    launched(rowKernel<NoDependencyWait>(), {}), sound});
  LaunchFaults twoStreams;
  twoStreams.twoStreams = true;
  result.push_back({"two-launches-in-flight", "row_collective",
                    "two streams launch in one workspace",
                    launched(rowKernel<Sound>(), twoStreams), sound});
  auto inMesh = [](bool keyed) -> Run {
    return [=](Mode mode, std::uint64_t seed) -> Outcome {
      std::string how = runMesh(mode, seed, keyed);
      return {!how.empty(), how};
    };
  };
  result.push_back({"workspace-shared-by-groups", "row_collective",
                    "two groups that a rank of four is in, one after the "
                    "other, have one workspace",
                    inMesh(false), inMesh(true)});
  LaunchFaults plainStores;
  plainStores.storesToMulticast = true;
  result.push_back({"plain-store-to-multicast", "row_collective",
                    "a multicast address is stored to without multimem",
                    launched(rowKernel<Sound>(), plainStores), sound});
  result.push_back({"counter-shared-by-modes", "one_shot, row_collective",
                    "both count in the same words",
                    [](Mode mode, std::uint64_t seed) {
                      return runInTurn(mode, seed, true);
                    },
                    [](Mode mode, std::uint64_t seed) {
                      return runInTurn(mode, seed, false);
                    }});
  return result;
}

} // namespace layline::kernels::test
