// The one-shot collective whose data is its own flag: words are relaxed, and
// only fences before the pushes and after the polls order the emptying of a
// mailbox before the peer's next push into it. Who empties notes it, who pushes
// looks at the note: without an order between the two Relacy finds a race.
#include "Model.h"

namespace {

enum class Fault {
  None,
  OneFence, ///< no fault: a fence between polls and pushes serves for both
  NoFences,
  TwoBoxes,
  NoEmptying
};

constexpr unsigned ranks = 2;
constexpr int launches = 5;
constexpr int empty = 0;

template <Fault fault> struct OneShot : rl::test_suite<OneShot<fault>, ranks> {
  static constexpr int boxes = fault == Fault::TwoBoxes ? 2 : 3;
  rl::atomic<int> words[ranks][boxes][ranks];       // [owner][box][sender]
  rl::var<int> emptied[ranks][ranks][launches + 1]; // by launch of the owner

  void before() {
    for (auto &owner : words)
      for (auto &box : owner)
        for (auto &word : box)
          word($) = empty;
    for (auto &owner : emptied)
      for (auto &sender : owner)
        for (auto &note : sender)
          note($) = 0;
  }

  void push(unsigned rank, unsigned peer, int launch) {
    // The launch in which the peer emptied this box, if it has been used.
    int before = launch - boxes + 1;
    if (before >= 1) {
      int note = emptied[peer][rank][before]($);
      RL_ASSERT(note == 1);
    }
    words[peer][launch % boxes][rank]($).store(launch, rl::mo_relaxed);
  }

  void clear(unsigned rank, unsigned peer, int launch) {
    emptied[rank][peer][launch]($) = 1;
    words[rank][(launch + boxes - 1) % boxes][peer]($).store(empty,
                                                             rl::mo_relaxed);
  }

  void thread(unsigned rank) {
    for (int launch = 1; launch <= launches; ++launch) {
      int box = launch % boxes;
      if (fault != Fault::NoFences)
        rl::atomic_thread_fence(rl::mo_acq_rel, $);
      for (unsigned peer = 0; peer < ranks; ++peer)
        push(rank, peer, launch);
      if (fault != Fault::NoEmptying)
        for (unsigned peer = 0; peer < ranks; ++peer)
          clear(rank, peer, launch);
      for (unsigned peer = 0; peer < ranks; ++peer) {
        rl::linear_backoff backoff;
        int seen;
        while ((seen = words[rank][box][peer]($).load(rl::mo_relaxed)) == empty)
          backoff.yield($);
        RL_ASSERT(seen == launch);
      }
      if (fault != Fault::NoFences && fault != Fault::OneFence)
        rl::atomic_thread_fence(rl::mo_acq_rel, $);
    }
  }
};

} // namespace

int main() {
  using layline::test::isAsExpected;
  bool isGood = true;
  isGood &= isAsExpected<OneShot<Fault::None>>("one-shot", true, 20000);
  isGood &= isAsExpected<OneShot<Fault::OneFence>>("one fence", true, 20000);
  isGood &= isAsExpected<OneShot<Fault::NoFences>>("no fences", false, 2000);
  isGood &= isAsExpected<OneShot<Fault::TwoBoxes>>("two boxes", false, 2000);
  isGood &=
      isAsExpected<OneShot<Fault::NoEmptying>>("no emptying", false, 2000);
  return isGood ? 0 : 1;
}
