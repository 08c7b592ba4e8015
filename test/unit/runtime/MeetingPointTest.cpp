// Ranks as threads: who waits for whom, and for how long.
#include "plan/Error.h"
#include "transports/threads/ThreadTransport.h"

#include <catch2/catch.hpp>

#include <chrono>
#include <thread>

using namespace layline::runtime;
using Catch::Matchers::Contains;

namespace {

void sleepMilliseconds(int count) {
  std::this_thread::sleep_for(std::chrono::milliseconds(count));
}

/// What a wait ended with.
std::string failureOf(MeetingPoint &point, std::int64_t member) {
  try {
    point.meet(member);
    return "met";
  } catch (const Aborted &) {
    return "aborted";
  } catch (const Error &error) {
    CHECK(error.status() == LAYLINE_RUN_FAILURE);
    return error.what();
  }
}

} // namespace

TEST_CASE("a rank that is late within the bound is waited for", "[threads]") {
  MeetingPoint point({4, 5}, 60);
  std::string ofLate;
  std::thread late([&] {
    sleepMilliseconds(100);
    ofLate = failureOf(point, 1);
  });
  CHECK(failureOf(point, 0) == "met");
  late.join();
  CHECK(ofLate == "met");
}

TEST_CASE("ranks that do not come within the bound are named", "[threads]") {
  MeetingPoint point({4, 5, 6}, 0.05);
  std::string ofOther;
  std::thread other([&] { ofOther = failureOf(point, 1); });
  std::string failure = failureOf(point, 0);
  other.join();
  // The second of them to come may find the time of the first over; both name
  // the one that is not there.
  CHECK_THAT(failure, Contains("waited 0.05 s") && Contains("rank 6") &&
                          !Contains("rank 4"));
  CHECK_THAT(ofOther, Contains("rank 6") && !Contains("rank 5"));
  point.abort();
  CHECK(failureOf(point, 2) == "aborted");
}

TEST_CASE("ranks meet behind a meeting that one of them gave up", "[threads]") {
  MeetingPoint point({4, 5, 6}, 60);
  std::string given;
  std::thread early([&] { given = failureOf(point, 1); });
  sleepMilliseconds(20); // it waits by now
  point.abort();
  early.join();
  CHECK(given == "aborted");
  point.reset();
  std::string first, second;
  std::thread one([&] { first = failureOf(point, 0); });
  std::thread two([&] { second = failureOf(point, 1); });
  std::string third = failureOf(point, 2);
  one.join();
  two.join();
  CHECK((first == "met" && second == "met" && third == "met"));
}

TEST_CASE("a rank that fails wakes those that wait", "[threads]") {
  MeetingPoint point({0, 1}, 60);
  std::string waiting;
  std::thread other([&] { waiting = failureOf(point, 1); });
  sleepMilliseconds(20);
  point.abort();
  other.join();
  CHECK(waiting == "aborted");
}
