// Ranks that exchange messages: what they read of one another, and what each is
// told when one fails, dies, leaves, is late or has another plan.
#include "transports/mpi/MessageTransport.h"
#include "ThreadLink.h"
#include "plan/Error.h"
#include "transports/Assemble.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <functional>
#include <thread>

using namespace layline::runtime;
using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

/// tp = `ranks`, one group over it.
Plan planOf(std::int64_t ranks) {
  Plan plan;
  plan.axes = {{"tp", ranks}};
  Group group;
  group.id = "tp";
  group.axes = {0};
  group.ranks = ranks;
  plan.groups = {group};
  return plan;
}

/// What a rank does with its transport.
using Work = std::function<void(MessageTransport &, ThreadLink &)>;

/// Runs `work` on all ranks; what each failed with, "" if it did not.
std::vector<std::string> outcomes(int ranks, double timeout, const Work &work) {
  ThreadLinks links(ranks);
  std::vector<std::string> result(static_cast<std::size_t>(ranks));
  std::vector<std::unique_ptr<MessageTransport>> transports;
  for (int rank = 0; rank < ranks; ++rank)
    transports.push_back(std::make_unique<MessageTransport>(
        links[rank], TransportOptions{timeout}));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        work(*transports[static_cast<std::size_t>(rank)], links[rank]);
      } catch (const std::exception &error) {
        result[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  return result;
}

const double kLong = 60; ///< seconds: nothing here takes them

void meet(MessageTransport &transport) {
  Communicator &group = transport.group(0, 0);
  std::int64_t mine = group.member();
  group.show(&mine, [](std::int64_t, std::int64_t) { return allOf(1); });
  group.release();
}

/// Catch2's own checks are for one thread.
void expect(bool good) {
  if (!good)
    throw std::logic_error("not as expected");
}

std::string failureOf(MessageTransport &transport) {
  try {
    meet(transport);
    return "met";
  } catch (const Error &error) {
    expect(error.status() == LAYLINE_RUN_FAILURE);
    return error.what();
  }
}

void sleepMilliseconds(int count) {
  std::this_thread::sleep_for(std::chrono::milliseconds(count));
}

} // namespace

TEST_CASE("members read what they ask for, where it lies",
          "[transport][threads]") {
  Plan plan = planOf(3);
  std::vector<std::vector<int>> seen(3);
  std::vector<std::string> failures =
      outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, 1);
        Communicator &group = transport.group(link.rank(), 0);
        // Member r reads elements r and r + 3 of the others, and of member 1
        // nothing.
        auto reads = [](std::int64_t reader, std::int64_t owner) {
          return owner == 1 ? Items() : Items{{reader, 1}, {reader + 3, 1}};
        };
        std::vector<int> data;
        for (int i = 0; i < 6; ++i)
          data.push_back(10 * link.rank() + i);
        for (int repeated = 0; repeated < 2; ++repeated) {
          group.show(data.data(), reads);
          std::vector<int> &mine = seen[static_cast<std::size_t>(link.rank())];
          for (std::int64_t owner : {0, 2})
            for (Part run : reads(group.member(), owner))
              mine.push_back(group.shown<int>(owner)[run.begin]);
          group.release();
          for (int &value : data)
            value += 100;
        }
      });
  CHECK(failures == std::vector<std::string>(3));
  CHECK(seen[0] == std::vector<int>{0, 3, 20, 23, 100, 103, 120, 123});
  CHECK(seen[1] == std::vector<int>{1, 4, 21, 24, 101, 104, 121, 124});
  CHECK(seen[2] == std::vector<int>{2, 5, 22, 25, 102, 105, 122, 125});
}

TEST_CASE("members that do not expect the same fail", "[transport][threads]") {
  Plan plan = planOf(2);
  std::vector<std::string> failures =
      outcomes(2, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, 1);
        int data[4] = {};
        transport.group(link.rank(), 0)
            .show(data, [&](std::int64_t, std::int64_t) {
              return allOf(link.rank() == 0 ? 4 : 3);
            });
      });
  CHECK_THAT(failures[0],
             Contains("rank 1") && Contains("sent 12 bytes; 16 are expected"));
  CHECK(!failures[1].empty());
}

TEST_CASE("a rank that dies is named by all others", "[transport][threads]") {
  Plan plan = planOf(4);
  std::vector<std::string> failures =
      outcomes(4, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, 1);
        meet(transport);
        if (link.rank() == 2)
          return link.die();
        std::string first = failureOf(transport);
        // And so does everything that comes after.
        expect(failureOf(transport) == first);
        meet(transport);
      });
  CHECK(failures[2].empty());
  for (int rank : {0, 1, 3})
    CHECK_THAT(failures[static_cast<std::size_t>(rank)],
               Contains("rank 2 (thread 2) has ended"));
}

TEST_CASE("a rank that fails says why", "[transport][threads]") {
  Plan plan = planOf(3);
  std::vector<std::string> failures =
      outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, 1);
        if (link.rank() == 1)
          transport.abort(1, "step 's7' (linear) on rank 1: no memory");
        meet(transport);
      });
  CHECK_THAT(failures[1], Contains("step 's7'"));
  for (int rank : {0, 2})
    CHECK_THAT(failures[static_cast<std::size_t>(rank)],
               Contains("rank 1 (thread 1) failed: step 's7' (linear) on rank "
                        "1: no memory"));
}

TEST_CASE("a rank that leaves is missed only by those that wait for it",
          "[transport][threads]") {
  Plan plan = planOf(3);
  std::vector<std::string> failures =
      outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, 1);
        if (link.rank() == 0)
          return transport.leave("'cut.safetensors': has 7 bytes");
        // 1 and 2 meet without it.
        Communicator &group = transport.group(link.rank(), 0);
        std::int64_t mine = link.rank();
        group.show(&mine, [](std::int64_t reader, std::int64_t owner) {
          return allOf(reader > 0 && owner > 0 ? 1 : 0);
        });
        expect(*group.shown<std::int64_t>(3 - link.rank()) == 3 - link.rank());
        group.release();
        meet(transport);
      });
  CHECK(failures[0].empty());
  for (int rank : {1, 2})
    CHECK_THAT(failures[static_cast<std::size_t>(rank)],
               Contains("rank 0 (thread 0) has ended its engine: "
                        "'cut.safetensors': has 7 bytes"));
}

TEST_CASE("what a rank sent before its end still arrives",
          "[transport][threads]") {
  Plan plan = planOf(2);
  for (bool dies : {false, true}) {
    std::vector<std::string> failures =
        outcomes(2, kLong, [&](MessageTransport &transport, ThreadLink &link) {
          transport.connect(plan, 1);
          if (link.rank() == 1) {
            sleepMilliseconds(50);
            // Its end is seen before its message is.
            link.looks = 5;
          }
          meet(transport);
          if (link.rank() == 0 && dies)
            link.die();
          else if (link.rank() == 0)
            transport.leave("");
        });
    CHECK(failures == std::vector<std::string>(2));
  }
}

TEST_CASE("a rank that is late", "[transport][threads]") {
  Plan plan = planOf(3);
  auto run = [&](double timeout, int late) {
    return outcomes(3, timeout,
                    [&](MessageTransport &transport, ThreadLink &link) {
                      transport.connect(plan, 1);
                      if (link.rank() == 2)
                        sleepMilliseconds(late);
                      // What it did not send in time it finds out at the next
                      // meeting: it had received all of the first.
                      meet(transport);
                      meet(transport);
                    });
  };
  CHECK(run(kLong, 200) == std::vector<std::string>(3));
  // All are told of it, itself too.
  for (const std::string &failure : run(0.3, 1500))
    CHECK_THAT(failure, Contains("waited 0.3 s for") && Contains("rank 2"));
}

TEST_CASE("ranks of one run have one plan, and as many as it has",
          "[transport][threads]") {
  Plan plan = planOf(3);
  std::vector<std::string> failures =
      outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, link.rank() == 1 ? 5 : 4);
      });
  for (const std::string &failure : failures)
    CHECK_THAT(failure, Contains("rank 1 and rank 0 do not have the same "
                                 "plan"));
  Plan other = planOf(4);
  failures = outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &) {
    transport.connect(other, 1);
  });
  for (const std::string &failure : failures)
    CHECK_THAT(failure, Contains("for 4 ranks, 3 processes run"));
  // Ranks at different calls do not take one another's answers.
  failures =
      outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, 1);
        transport.agree(link.rank() == 2 ? "run" : "options", 1);
      });
  for (const std::string &failure : failures)
    CHECK_THAT(failure, Contains("rank 2 and rank 0 are not at the same call"));
}

TEST_CASE("a process may have several ranks", "[transport][threads]") {
  std::vector<std::string> failures =
      outcomes(2, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        Plan plan = planOf(6);
        transport.connect(plan, 1);
        std::int64_t first = 3 * link.rank();
        expect(transport.localRanks() ==
               std::vector<std::int64_t>{first, first + 1, first + 2});
        for (std::int64_t rank = 0; rank < 6; ++rank)
          expect(transport.processOf(rank) == rank / 3);
        expect(transport.world()->size() == 2);
        // A message between two of one process there is none.
        std::string refusal;
        try {
          transport.group(first, 0);
        } catch (const Error &error) {
          refusal = error.what();
        }
        expect(refusal.find("3 ranks of one process") != std::string::npos);
        // A device that needs it says what to do.
        refusal.clear();
        try {
          checkOneRankEach(plan, transport);
        } catch (const Error &error) {
          refusal = error.what();
        }
        expect(refusal.find("the plan is for 6 ranks, 2 processes run; "
                            "transport 'mpi' expects one for each (mpirun -n "
                            "6)") == 0);
      });
  CHECK(failures == std::vector<std::string>(2));

  failures =
      outcomes(2, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(planOf(6), link.rank() == 0 ? 1 : 2);
      });
  for (const std::string &failure : failures)
    CHECK_THAT(failure, Contains("ranks 3 to 5 and ranks 0 to 2 do not have "
                                 "the same plan"));
}

TEST_CASE("who waits by other means hears of the others",
          "[transport][threads]") {
  auto watchUntilItThrows = [](MessageTransport &transport) {
    while (true) {
      transport.watch();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  };
  std::vector<std::string> failures =
      outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(planOf(3), 1);
        transport.watch();
        if (link.rank() == 1)
          return transport.abort(1, "the card is lost");
        watchUntilItThrows(transport);
      });
  CHECK(failures[1].empty());
  for (std::size_t rank : {0U, 2U})
    CHECK_THAT(failures[rank],
               Contains("rank 1 (") && Contains("failed: the card is lost"));

  // Three processes of two ranks each.
  bool isKilled = GENERATE(true, false);
  failures =
      outcomes(3, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(planOf(6), 1);
        if (link.rank() == 2)
          return isKilled ? link.die() : transport.leave("");
        watchUntilItThrows(transport);
      });
  CHECK(failures[2].empty());
  for (std::size_t process : {0U, 1U})
    CHECK_THAT(failures[process],
               Contains("ranks 4 to 5 (") &&
                   Contains(isKilled ? "has ended while it was waited for"
                                     : "has ended its engine"));
}

TEST_CASE("replicas are compared across processes", "[transport][threads]") {
  // dp = 2, tp = 2: rows 0, 1 and 2 of 3 over tp, the same over dp.
  Plan plan;
  plan.axes = {{"dp", 2}, {"tp", 2}};
  Range range;
  range.axis = 1;
  range.extent = Expr::constant(3);
  Expr rank{Expr::Op::Coordinate, 1, {}};
  range.segments = {{{Expr::Op::Mul, 0, {rank, Expr::constant(2)}},
                     {Expr::Op::Sub, 0, {Expr::constant(2), rank}}}};
  plan.ranges = {range};
  struct Case {
    Layout layout;
    std::vector<std::vector<double>> ranks;
  };
  Layout rows{{{0, 1}, {}}, {}}, owed{{{}, {}}, {1}}, whole{{{}, {}}, {}};
  std::vector<double> a = {1, 2, 3, 4, 5, 6}, b = {1, 2, 3, 4, 5, 7};
  std::vector<Case> cases = {
      {rows, {{1, 2, 3, 4}, {5, 6}, {1, 2, 3, 4}, {5, 6}}},
      {rows, {{1, 2, 3, 4}, {5, 6}, {1, 2, 3, 4}, {7, 6}}},
      {rows, {{0.0, 2, 3, 4}, {5, 6}, {-0.0, 2, 3, 4}, {5, 6}}},
      {owed, {a, b, a, b}},
      {owed, {a, b, a, a}},
      {whole, {a, a, a, a}},
      {whole, {a, a, b, b}}};
  for (const Case &each : cases) {
    auto dataOf = [&](std::int64_t r) {
      return each.ranks[static_cast<std::size_t>(r)].data();
    };
    GlobalValue expected = assemble(plan, constantShape({3, 2}), each.layout, 1,
                                    0, LocalData<double>(dataOf));
    for (std::size_t processes : {4U, 2U, 1U}) {
      std::vector<GlobalValue> found(processes);
      std::vector<std::string> failures = outcomes(
          static_cast<int>(processes), kLong,
          [&](MessageTransport &transport, ThreadLink &link) {
            transport.connect(plan, 1);
            found[static_cast<std::size_t>(link.rank())] = assembleAcross(
                plan, constantShape({3, 2}), each.layout, 1, 0, transport,
                "value", LocalData<double>([&](std::int64_t local) {
                  return dataOf(
                      transport.localRanks()[static_cast<std::size_t>(local)]);
                }));
          });
      CHECK(failures == std::vector<std::string>(processes));
      for (const GlobalValue &value : found) {
        CHECK(value.shape == expected.shape);
        CHECK(value.floats == expected.floats);
        CHECK(value.disagreement == expected.disagreement);
      }
    }
  }
  // Not the same value: nobody gets a mixture.
  std::vector<std::string> failures =
      outcomes(4, kLong, [&](MessageTransport &transport, ThreadLink &link) {
        transport.connect(plan, 1);
        assembleAcross(
            plan, constantShape({3, 2}), whole, 1, 0, transport,
            link.rank() == 1 ? "tap y" : "tap x",
            LocalData<double>([&](std::int64_t) { return a.data(); }));
      });
  for (const std::string &failure : failures)
    CHECK_THAT(failure, Contains("another value"));
}
