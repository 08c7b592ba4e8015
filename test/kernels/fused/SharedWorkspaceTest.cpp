// Reported hangs of kernels whose flags two collectives share: the hang on the
// emulator, and what the host does against it. Names begin with the report.
#include "harness/PairReduces.h"
#include "kernels/LaunchSafety.h"

#include <catch2/catch.hpp>

#include <set>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

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
