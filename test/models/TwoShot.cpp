// The flags of the two-shot collective: an input is written, peers meet, pull
// inputs, push outputs, meet again, and the output is read; launch after
// launch.
#include "Model.h"

namespace {

enum class Fault {
  None,
  NoEntry,
  NoExit,
  RelaxedStore,
  RelaxedLoad,
  StaleEpoch
};

constexpr unsigned ranks = 2;
constexpr int launches = 2;

template <Fault fault> struct TwoShot : rl::test_suite<TwoShot<fault>, ranks> {
  rl::var<int> input[ranks], output[ranks][ranks];
  rl::atomic<int> flags[2][ranks][ranks]; // [phase][owner][peer]

  void before() {
    for (unsigned rank = 0; rank < ranks; ++rank) {
      input[rank]($) = 0;
      for (unsigned peer = 0; peer < ranks; ++peer) {
        output[rank][peer]($) = 0;
        flags[0][rank][peer]($) = flags[1][rank][peer]($) = 0;
      }
    }
  }

  void meet(int phase, unsigned rank, int launch) {
    int epoch = fault == Fault::StaleEpoch ? 1 : launch;
    for (unsigned peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        flags[phase][peer][rank]($).store(epoch, fault == Fault::RelaxedStore
                                                     ? rl::mo_relaxed
                                                     : rl::mo_release);
    for (unsigned peer = 0; peer < ranks; ++peer) {
      rl::linear_backoff backoff;
      while (peer != rank &&
             flags[phase][rank][peer]($).load(fault == Fault::RelaxedLoad
                                                  ? rl::mo_relaxed
                                                  : rl::mo_acquire) < epoch)
        backoff.yield($);
    }
  }

  void thread(unsigned rank) {
    for (int launch = 1; launch <= launches; ++launch) {
      input[rank]($) = 10 * launch + static_cast<int>(rank);
      if (fault != Fault::NoEntry)
        meet(0, rank, launch);
      int sum = 0;
      for (unsigned peer = 0; peer < ranks; ++peer)
        sum += input[peer]($);
      for (unsigned peer = 0; peer < ranks; ++peer)
        output[peer][rank]($) = sum;
      if (fault != Fault::NoExit)
        meet(1, rank, launch);
      for (unsigned peer = 0; peer < ranks; ++peer) {
        int seen = output[rank][peer]($);
        RL_ASSERT(seen == 20 * launch + 1);
      }
    }
  }
};

} // namespace

int main() {
  using layline::test::isAsExpected;
  bool isGood = true;
  isGood &= isAsExpected<TwoShot<Fault::None>>("two-shot", true, 20000);
  isGood &=
      isAsExpected<TwoShot<Fault::NoEntry>>("no entry barrier", false, 2000);
  isGood &=
      isAsExpected<TwoShot<Fault::NoExit>>("no exit barrier", false, 2000);
  isGood &=
      isAsExpected<TwoShot<Fault::RelaxedStore>>("relaxed store", false, 2000);
  isGood &=
      isAsExpected<TwoShot<Fault::RelaxedLoad>>("relaxed load", false, 2000);
  isGood &=
      isAsExpected<TwoShot<Fault::StaleEpoch>>("epoch stays 1", false, 2000);
  return isGood ? 0 : 1;
}
