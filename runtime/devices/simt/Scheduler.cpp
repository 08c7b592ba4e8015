// Who runs next, and when nobody can.
#include "devices/simt/FaultSignal.h"
#include "devices/simt/MachineState.h"

#include <exception>

namespace layline::simt {

__thread const ThreadView *thisThread = nullptr;
__thread MachineState *machine = nullptr;

namespace {

/// Thrown in a thread that fails the run, so that its frames are unwound.
struct RunFailed {};

} // namespace

/// A thread's first frame.
void MachineState::enterThread() {
  MachineState &state = *machine;
  Thread *thread = state.current;
  fiberEntered(thread->fiber, state.scheduler);
  try {
    thread->block->grid->body();
  } catch (const RunFailed &) {
    // setFailure() has been told.
  } catch (const std::exception &error) {
    state.setFailure(Failure::Kernel,
                     state.describe(*thread) +
                         " threw an exception: " + error.what());
  }
  // A failure stays the first one: how its thread left is no other.
  if (state.isGoingOn())
    state.threadLeft(thread);
  else
    thread->wait = Wait::Gone;
  state.toScheduler();
  std::terminate(); // the scheduler never goes on with a thread that has left
}

std::uint64_t MachineState::random() {
  // xorshift64: Marsaglia, Xorshift RNGs, 2003.
  randomState ^= randomState << 13;
  randomState ^= randomState >> 7;
  randomState ^= randomState << 17;
  return randomState;
}

Thread *MachineState::pick() {
  if (options.seed == 0) {
    Thread *thread = ready[readyHead++];
    if (readyHead > 4096 && readyHead * 2 > ready.size()) {
      ready.erase(ready.begin(),
                  ready.begin() + static_cast<std::ptrdiff_t>(readyHead));
      readyHead = 0;
    }
    return thread;
  }
  std::size_t at = random() % ready.size();
  Thread *thread = ready[at];
  ready[at] = ready.back();
  ready.pop_back();
  return thread;
}

Report MachineState::run() {
  if (!isGoingOn())
    return report;
  machine = this;
  beginRun();
  FaultSignal faultsFailTheRun;
  while (isGoingOn()) {
    // Random dispatch leaves places empty for a while.
    if (options.randomDispatch ? nobodyReady() || chance(1, 16) : mayDispatch)
      dispatch();
    if (!starved.empty() && (nobodyReady() || stalled > 2 * live + 16)) {
      std::size_t at = random() % starved.size();
      makeReady(starved[at]);
      starved[at] = starved.back();
      starved.pop_back();
      progress();
    }
    if (nobodyReady() && live == 0 && !hasWork())
      break;
    // A spin that sees nothing new is no progress: 64 rounds of all threads
    // without any are taken for the end of it.
    if (nobodyReady() || ++stalled > 64 * live + 4096) {
      if (!resolveStall())
        break;
      continue;
    }
    if (options.storeBuffers && chance(1, 8))
      commitSomeStores();
    runThread(pick());
  }
  machine = nullptr;
  thisThread = nullptr;
  return report;
}

/// Makes something happen where nobody can go on, or fails.
bool MachineState::resolveStall() {
  if (commitOneStore())
    return true;
  if (nobodyReady() && live == 0) {
    // Blocks that a random dispatch left out, or that never fit.
    for (int tries = 0; tries < 64 && nobodyReady(); ++tries)
      dispatch();
    if (!isGoingOn())
      return false;
    // A stream may end with a wait for an event that has come by now.
    if (!nobodyReady() || !hasWork())
      return true;
  }
  constexpr unsigned mostExpiries = 64;
  if (options.expireSpins && !nobodyReady() && expiries++ < mostExpiries) {
    time += std::uint64_t(1) << 42; // above an hour of nanoseconds
    progress();
    return true;
  }
  bool areResident = true;
  for (const RankState &rank : ranks)
    for (const auto &[number, stream] : rank.streams) {
      for (const auto &grid : stream.running)
        areResident &= grid->dispatched == grid->blocks();
      if (stream.running.empty() && !stream.queue.empty() &&
          stream.queue.front().grid)
        areResident = false;
    }
  const char *headline =
      !areResident ? "deadlock: threads wait for blocks that are not resident"
      : nobodyReady()
          ? "deadlock: a barrier or warp operation that not all threads reach"
          : "deadlock: every thread spins and nobody stores";
  setFailure(Failure::Deadlock, deadlockText(headline));
  return false;
}

void MachineState::runThread(Thread *thread) {
  ++report.switches;
  ++time;
  current = thread;
  thisThread = thread;
  switchFiber(scheduler, thread->fiber, false);
  current = nullptr;
  if (isGoingOn() && thread->wait == Wait::Gone && thread->block->alive == 0)
    retire(thread->block);
}

void MachineState::toScheduler() {
  Thread *self = current;
  switchFiber(self->fiber, scheduler, self->wait == Wait::Gone);
}

void MachineState::waitFor(Wait wait) {
  current->wait = wait;
  toScheduler();
}

void MachineState::yield() {
  makeReady(current);
  toScheduler();
}

void MachineState::yieldAtRandom() {
  if (chance(options.starvePerTenThousand, 10000)) {
    starved.push_back(current);
    waitFor(Wait::Starved);
  }
  if (chance(options.yieldPercent, 100))
    yield();
}

void MachineState::poll(const void *address, std::uint64_t value,
                        const char *what) {
  current->spinAddress = address;
  current->spinValue = value;
  current->spin = what;
  yield();
  current->spin = nullptr;
}

void MachineState::setFailure(Failure failure, const std::string &text) {
  report.failure = failure;
  report.text = text;
  report.rank = current ? current->rank : -1;
}

void MachineState::fail(Failure failure, const std::string &text) {
  setFailure(failure, text);
  throw RunFailed();
}

std::uint64_t virtualTime() { return machine->time; }

} // namespace layline::simt
