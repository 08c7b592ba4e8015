// Counters that only grow. Blocks that meet at one: what each wrote before is
// seen by all behind. And the last block to arrive, which counts the launch for
// all: the others have read the count before it writes.
#include "Model.h"

namespace {

enum class Fault { None, RelaxedArrival, ReleaseOnly, RelaxedWait, Store };

constexpr unsigned blocks = 3;
constexpr int meetings = 2;

template <Fault fault> struct Meeting : rl::test_suite<Meeting<fault>, blocks> {
  rl::var<int> written[blocks];
  rl::atomic<int> counter;

  void before() {
    counter($) = 0;
    for (auto &word : written)
      word($) = 0;
  }

  void thread(unsigned block) {
    for (int meeting = 1; meeting <= meetings; ++meeting) {
      written[block]($) = meeting;
      if (fault == Fault::Store) // two loads and two stores can lose one
        counter($).store(counter($).load(rl::mo_acquire) + 1, rl::mo_release);
      else
        counter($).fetch_add(1, fault == Fault::RelaxedArrival
                                    ? rl::mo_relaxed
                                    : rl::mo_release);
      rl::linear_backoff backoff;
      while (counter($).load(fault == Fault::RelaxedWait ? rl::mo_relaxed
                                                         : rl::mo_acquire) <
             meeting * static_cast<int>(2 * blocks) - static_cast<int>(blocks))
        backoff.yield($);
      for (auto &word : written) {
        int seen = word($);
        RL_ASSERT(seen == meeting);
      }
      // The meeting's second half: all have read before anyone writes again.
      counter($).fetch_add(1, rl::mo_release);
      while (counter($).load(rl::mo_acquire) <
             meeting * static_cast<int>(2 * blocks))
        backoff.yield($);
    }
  }
};

template <Fault fault> struct Last : rl::test_suite<Last<fault>, blocks> {
  rl::var<int> epoch;
  rl::atomic<int> arrived;

  void before() {
    epoch($) = 1;
    arrived($) = 0;
  }

  void thread(unsigned) {
    int own = epoch($);
    RL_ASSERT(own == 1);
    rl::memory_order order = fault == Fault::RelaxedArrival ? rl::mo_relaxed
                             : fault == Fault::ReleaseOnly  ? rl::mo_release
                                                            : rl::mo_acq_rel;
    if (arrived($).fetch_add(1, order) == static_cast<int>(blocks) - 1)
      epoch($) = own + 1;
  }

  void after() { RL_ASSERT(static_cast<int>(epoch($)) == 2); }
};

} // namespace

int main() {
  using layline::test::isAsExpected;
  bool isGood = true;
  isGood &= isAsExpected<Meeting<Fault::None>>("meeting", true, 10000);
  isGood &= isAsExpected<Meeting<Fault::RelaxedArrival>>("relaxed arrival",
                                                         false, 2000);
  isGood &=
      isAsExpected<Meeting<Fault::RelaxedWait>>("relaxed wait", false, 2000);
  isGood &= isAsExpected<Meeting<Fault::Store>>("stores in place of updates",
                                                false, 2000);
  isGood &= isAsExpected<Last<Fault::None>>("last arrival", true, 10000);
  isGood &= isAsExpected<Last<Fault::RelaxedArrival>>("last arrival, relaxed",
                                                      false, 2000);
  isGood &= isAsExpected<Last<Fault::ReleaseOnly>>("last arrival, no acquire",
                                                   false, 2000);
  return isGood ? 0 : 1;
}
