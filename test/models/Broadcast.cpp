// The flags of a broadcast by chunks: peers use a chunk as soon as its flag has
// come to the launch's epoch; the owner fills the chunks again when every peer
// has said that it is through with them.
#include "Model.h"

namespace {

enum class Fault {
  None,
  RelaxedFlag,
  RelaxedWait,
  RelaxedReady,
  NoReady,
  OneFlag
};

constexpr unsigned ranks = 2, chunks = 2;
constexpr int launches = 3;
/// The same in all launches: where owners take turns, their own flags order
/// much of what readiness is for.
constexpr unsigned owner = 0;

template <Fault fault>
struct Broadcast : rl::test_suite<Broadcast<fault>, ranks> {
  rl::var<int> data[ranks][chunks];
  rl::atomic<int> flags[ranks][chunks];
  rl::atomic<int> ready[ranks][ranks]; // [owner][peer]

  void before() {
    for (unsigned rank = 0; rank < ranks; ++rank) {
      for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        data[rank][chunk]($) = 0;
        flags[rank][chunk]($) = 0;
      }
      for (unsigned peer = 0; peer < ranks; ++peer)
        ready[rank][peer]($) = 0;
    }
  }

  void await(rl::atomic<int> &flag, int epoch, rl::memory_order order) {
    rl::linear_backoff backoff;
    while (flag($).load(order) < epoch)
      backoff.yield($);
  }

  void thread(unsigned rank) {
    for (int launch = 1; launch <= launches; ++launch) {
      if (rank == owner) {
        for (unsigned peer = 0; peer < ranks; ++peer)
          if (peer != rank && fault != Fault::NoReady)
            await(ready[rank][peer], launch, rl::mo_acquire);
        for (unsigned chunk = 0; chunk < chunks; ++chunk)
          for (unsigned peer = 0; peer < ranks; ++peer) {
            if (peer == rank)
              continue;
            data[peer][chunk]($) = launch;
            flags[peer][chunk]($).store(launch, fault == Fault::RelaxedFlag
                                                    ? rl::mo_relaxed
                                                    : rl::mo_release);
          }
        continue;
      }
      if (fault != Fault::NoReady)
        ready[owner][rank]($).store(launch, fault == Fault::RelaxedReady
                                                ? rl::mo_relaxed
                                                : rl::mo_release);
      for (unsigned chunk = 0; chunk < chunks; ++chunk) {
        await(flags[rank][fault == Fault::OneFlag ? 0 : chunk], launch,
              fault == Fault::RelaxedWait ? rl::mo_relaxed : rl::mo_acquire);
        int seen = data[rank][chunk]($);
        RL_ASSERT(seen == launch);
      }
    }
  }
};

} // namespace

int main() {
  using layline::test::isAsExpected;
  bool isGood = true;
  isGood &= isAsExpected<Broadcast<Fault::None>>("broadcast", true, 20000);
  isGood &=
      isAsExpected<Broadcast<Fault::RelaxedFlag>>("relaxed flag", false, 2000);
  isGood &=
      isAsExpected<Broadcast<Fault::RelaxedWait>>("relaxed wait", false, 2000);
  isGood &= isAsExpected<Broadcast<Fault::RelaxedReady>>("relaxed readiness",
                                                         false, 2000);
  isGood &=
      isAsExpected<Broadcast<Fault::NoReady>>("no readiness", false, 2000);
  isGood &= isAsExpected<Broadcast<Fault::OneFlag>>("one flag for all chunks",
                                                    false, 2000);
  return isGood ? 0 : 1;
}
