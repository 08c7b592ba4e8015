// Reported hangs of kernels whose flags two collectives share: the hang on the
// emulator, and what the host does against it. Names begin with the report.
#include "harness/Cluster.h"
#include "harness/Copy.cuh"
#include "kernels/LaunchSafety.h"
#include "kernels/platform/Numeric.h"

#include <catch2/catch.hpp>

#include <memory>
#include <set>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;
using device::bf16;
using device::from_float;
using device::to_float;

namespace {

constexpr std::int64_t kTokens = 5, kWidth = 64;
constexpr std::uint32_t kGrid = 2;

/// Flags and epochs on all ranks of a machine. No wait has an end, so that the
/// emulator says who waits for whom.
struct PairFlags {
  explicit PairFlags(simt::Machine &machine) {
    flags = machine.allocateSymmetric<std::uint32_t>(2 * kGrid * 2, "flags");
    epochs = machine.allocateSymmetric<std::uint32_t>(kGrid, "epochs");
    errors = machine.allocateSymmetric<SpinError>(1, "error");
    for (std::size_t rank = 0; rank < flags.size(); ++rank) {
      std::fill_n(flags[rank], 2 * kGrid * 2, 0U);
      std::fill_n(epochs[rank], kGrid, 0U);
      *errors[rank] = {};
    }
  }
  std::vector<std::uint32_t *> flags, epochs;
  std::vector<SpinError *> errors;
};

/// All_reduces of pairs of ranks, one after another, a reader behind each.
class PairReduces {
public:
  PairReduces(int ranks, Mode mode, std::uint64_t seed)
      : machine(ranks, optionsOf(mode, seed, kGrid)) {
    Variant variant;
    variant.ranks = 2;
    variant.input = Input::Owed;
    variant.output = Output::Everyone;
    std::string error;
    const Kernel *kernel = findKernel(variant, error);
    INFO(error);
    REQUIRE(kernel);
    function = reinterpret_cast<void (*)(const RowParams<2>)>(kernel->function);
  }

  simt::Machine machine;

  /// Of ranks `first` and `second`, in flags of theirs.
  void add(int first, int second, PairFlags &flags, int stream) {
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

  /// "" or how it failed.
  std::string run() {
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

private:
  struct Reading {
    const bf16 *seen;
    std::vector<float> want;
  };
  void (*function)(const RowParams<2>) = nullptr;
  std::vector<Reading> readings;
  int number = 0;
};

/// Ranks 0 to 3 in two groups of each kind, which take turns on one stream.
/// With one workspace for both, what rank 2 tells rank 0 of the second group's
/// launch lies where rank 1 tells it of the first's.
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

/// Launches of one communicator on two streams by turns. `guarded`: asked for
/// as an engine asks, waiting for an event where it is refused.
std::string runStreams(Mode mode, std::uint64_t seed, bool guarded,
                       std::set<std::string> &refusals) {
  PairReduces reduces(2, mode, seed);
  PairFlags flags(reduces.machine);
  CollectiveOrder order;
  CollectiveOrder::Ticket last = 0;
  int refused = 0;
  for (int launch = 0; launch < 4; ++launch) {
    int stream = launch % 2;
    if (guarded) {
      auto on = static_cast<std::uint64_t>(stream);
      std::string error;
      CollectiveOrder::Ticket ticket = 0;
      if (!order.begin("tp", on, "all_reduce", 0, ticket, error)) {
        refusals.insert(error);
        ++refused;
        for (int rank = 0; rank < 2; ++rank)
          reduces.machine.waitEvent(
              rank, stream, reduces.machine.recordEvent(rank, 1 - stream));
        INFO(error);
        REQUIRE(order.begin("tp", on, "all_reduce", last, ticket, error));
      }
      last = ticket;
    }
    reduces.add(0, 1, flags, stream);
  }
  REQUIRE(refused == (guarded ? 3 : 0)); // all behind the first
  return reduces.run();
}

} // namespace

TEST_CASE("TRT-LLM 3988: groups that share a workspace hang") {
  std::set<std::string> failures;
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      INFO(nameOf(mode) << ", seed " << seed);
      REQUIRE(runMesh(mode, seed, true) == "");
      failures.insert(runMesh(mode, seed, false));
    }
  REQUIRE(failures.count("deadlock"));
}

TEST_CASE("sglang 31117: one communicator from two streams") {
  std::set<std::string> failures, refusals;
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      INFO(nameOf(mode) << ", seed " << seed);
      REQUIRE(runStreams(mode, seed, true, refusals) == "");
      failures.insert(runStreams(mode, seed, false, refusals));
    }
  REQUIRE(failures.count("deadlock"));
  REQUIRE(refusals.count("all_reduce on stream 1 of communicator \"tp\" while "
                         "launch 1, all_reduce on stream 0, is under way; "
                         "expected that the stream waits for it, or a "
                         "communicator of its own"));
}
