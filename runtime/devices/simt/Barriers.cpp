// Barriers of a block and operations of a warp.
#include "devices/simt/MachineState.h"

#include <sstream>

namespace layline::simt {

namespace {

std::string text(Site site) {
  std::string file = site.file;
  std::size_t slash = file.rfind('/');
  return (slash == std::string::npos ? file : file.substr(slash + 1)) + ":" +
         std::to_string(site.line);
}

const char *nameOf(WarpOp op) {
  switch (op) {
  case WarpOp::ShuffleXor:
    return "shfl_xor";
  case WarpOp::Shuffle:
    return "shfl";
  case WarpOp::ShuffleDown:
    return "shfl_down";
  case WarpOp::ShuffleUp:
    return "shfl_up";
  case WarpOp::Ballot:
    return "ballot";
  case WarpOp::Sync:
    return "syncwarp";
  }
  return "";
}

std::string hex(unsigned mask) {
  std::ostringstream out;
  out << "0x" << std::hex << mask;
  return out.str();
}

/// Lanes that the warp has: the last warp of a block may be partly empty.
unsigned lanesOf(const Block &block, unsigned warp) {
  std::size_t left = block.threads.size() - std::size_t(warp) * 32;
  return left >= 32 ? 0xffffffffU : (1U << left) - 1;
}

WarpMeeting &meetingOf(MachineState &state, Block &block, unsigned warp,
                       unsigned mask) {
  std::vector<WarpMeeting> &meetings = block.warps[warp];
  for (WarpMeeting &meeting : meetings)
    if (meeting.mask == mask)
      return meeting;
  // A meeting that nobody is in serves the next mask, so the list stays short.
  // Its lanes may not all have read: only reuse by a mask of other lanes harms,
  // and the reserve keeps references alive.
  constexpr std::size_t most = 64;
  if (meetings.size() == most)
    state.fail(Failure::Divergence, state.describe(*state.current) +
                                        ": more than " + std::to_string(most) +
                                        " different masks in one warp");
  meetings.reserve(most);
  meetings.emplace_back();
  meetings.back().mask = mask;
  return meetings.back();
}

} // namespace

void MachineState::releaseBarrier(Block &block, unsigned number,
                                  bool currentWaits) {
  BarrierState &barrier = block.barriers[number];
  barrier.result = barrier.sum;
  barrier.sum = 0;
  barrier.arrived = 0;
  barrier.expected = 0;
  ++block.grid->counters->blockBarriers;
  progress();
  block.stores.orderAll();
  for (Thread *thread : block.threads)
    if (thread->wait == Wait::Barrier && thread->barrier == number) {
      thread->clock.others = barrier.clock;
      makeReady(thread);
    }
  if (currentWaits)
    current->clock.others = barrier.clock;
  barrier.clock = {};
}

void MachineState::threadLeft(Thread *thread) {
  Block &block = *thread->block;
  thread->wait = Wait::Gone;
  --block.alive;
  --live;
  progress();
  for (const WarpMeeting &meeting : block.warps[thread->warp()])
    if (meeting.arrived != 0 && (meeting.mask >> thread->lane() & 1)) {
      setFailure(Failure::Divergence,
                 describe(*thread) + " leaves the kernel while lanes " +
                     hex(meeting.arrived) + " of its warp wait in " +
                     nameOf(meeting.op) + " for mask " + hex(meeting.mask));
      return;
    }
  endThread(*thread);
  if (block.alive != 0 && block.barriers[0].arrived == block.alive)
    releaseBarrier(block, 0, false);
}

unsigned syncBlock(unsigned value, Site site) {
  MachineState &state = *machine;
  Thread *self = state.current;
  Block &block = *self->block;
  BarrierState &barrier = block.barriers[0];
  self->site = site;
  if (barrier.arrived == 0)
    barrier.site = site;
  else if (barrier.site.line != site.line)
    state.fail(Failure::Divergence,
               state.describe(*self) + " is at __syncthreads of " + text(site) +
                   " while other threads of the block wait at that of " +
                   text(barrier.site));
  barrier.sum += value;
  if (state.options.raceCheck)
    self->clock.publishTo(barrier.clock);
  if (++barrier.arrived == block.alive) {
    state.releaseBarrier(block, 0, true);
  } else {
    self->barrier = 0;
    state.waitFor(Wait::Barrier);
  }
  return barrier.result;
}

void namedBarrier(unsigned number, unsigned threads, bool waits) {
  MachineState &state = *machine;
  Thread *self = state.current;
  Block &block = *self->block;
  // No string lives where the thread may be left for good.
  auto name = [=] {
    return "bar." + std::string(waits ? "sync " : "arrive ") +
           std::to_string(number) + ", " + std::to_string(threads);
  };
  if (number == 0 || number > 15 || threads == 0 || threads % 32 != 0 ||
      threads > (block.threads.size() + 31) / 32 * 32)
    state.fail(Failure::Divergence,
               state.describe(*self) + " calls " + name() +
                   "; expected a barrier of 1..15 and a multiple of 32 threads "
                   "of a block of " +
                   std::to_string(block.threads.size()));
  BarrierState &barrier = block.barriers[number];
  if (barrier.arrived != 0 && barrier.expected != threads)
    state.fail(Failure::Divergence, state.describe(*self) + " calls " + name() +
                                        " while others wait there for " +
                                        std::to_string(barrier.expected) +
                                        " threads");
  barrier.expected = threads;
  // Warps arrive whole: the first lane brings those that its warp lacks.
  unsigned lanes =
      static_cast<unsigned>(__builtin_popcount(lanesOf(block, self->warp())));
  barrier.arrived += self->lane() == 0 ? 33 - lanes : 1;
  if (state.options.raceCheck)
    self->clock.publishTo(barrier.clock);
  if (barrier.arrived == threads) {
    state.releaseBarrier(block, number, waits);
  } else if (waits) {
    self->barrier = number;
    state.waitFor(Wait::Barrier);
  }
}

std::uint64_t warpOperation(unsigned mask, std::uint64_t value, WarpOp op,
                            int argument) {
  MachineState &state = *machine;
  Thread *self = state.current;
  Block &block = *self->block;
  unsigned lane = self->lane(), warp = self->warp();
  if (!(mask >> lane & 1))
    state.fail(Failure::Divergence, state.describe(*self) + ", lane " +
                                        std::to_string(lane) + ", calls " +
                                        nameOf(op) + " with mask " + hex(mask) +
                                        ", which does not name it");
  if (unsigned missing = mask & ~lanesOf(block, warp))
    state.fail(Failure::Divergence,
               state.describe(*self) + " calls " + nameOf(op) + " with mask " +
                   hex(mask) + ": the warp has no lanes " + hex(missing) +
                   " in a block of " + std::to_string(block.threads.size()) +
                   " threads");
  WarpMeeting &meeting = meetingOf(state, block, warp, mask);
  if (meeting.arrived == 0) {
    for (unsigned other = 0; other < 32; ++other)
      if ((mask >> other & 1) &&
          block.threads[warp * 32 + other]->wait == Wait::Gone)
        state.fail(Failure::Divergence,
                   state.describe(*self) + " calls " + nameOf(op) +
                       " with mask " + hex(mask) + ": lane " +
                       std::to_string(other) + " has left the kernel");
  } else if (meeting.op != op) {
    state.fail(Failure::Divergence,
               state.describe(*self) + " calls " + nameOf(op) +
                   " where other lanes of mask " + hex(mask) + " are in " +
                   nameOf(meeting.op));
  }
  meeting.op = op;
  auto &values = meeting.values[meeting.generation & 1];
  values[lane] = value;
  meeting.arrived |= 1U << lane;
  // Of the warp operations only __syncwarp orders memory.
  bool orders = op == WarpOp::Sync && state.options.raceCheck;
  if (orders)
    self->clock.publishTo(meeting.clock);
  if (meeting.arrived == mask) {
    meeting.arrived = 0;
    ++meeting.generation;
    ++block.grid->counters->warpOperations;
    state.progress();
    for (unsigned other = 0; other < 32; ++other)
      if (mask >> other & 1) {
        Thread *thread = block.threads[warp * 32 + other];
        if (orders)
          thread->clock.others = meeting.clock;
        if (other != lane)
          state.makeReady(thread);
      }
    if (op == WarpOp::Sync)
      block.stores.orderWarp(warp, mask);
    meeting.clock = {};
  } else {
    state.waitFor(Wait::Warp);
  }
  unsigned from = lane;
  switch (op) {
  case WarpOp::ShuffleXor:
    from = (lane ^ static_cast<unsigned>(argument)) & 31;
    break;
  case WarpOp::Shuffle:
    from = static_cast<unsigned>(argument) & 31;
    break;
  case WarpOp::ShuffleDown:
    from = lane + static_cast<unsigned>(argument);
    from = from < 32 ? from : lane;
    break;
  case WarpOp::ShuffleUp:
    from = lane >= static_cast<unsigned>(argument)
               ? lane - static_cast<unsigned>(argument)
               : lane;
    break;
  case WarpOp::Ballot: {
    std::uint64_t votes = 0;
    for (unsigned other = 0; other < 32; ++other)
      if (mask >> other & 1)
        votes |= values[other] << other;
    return votes;
  }
  case WarpOp::Sync:
    return 0;
  }
  if (!(mask >> from & 1))
    state.fail(Failure::Divergence,
               state.describe(*self) + ", lane " + std::to_string(lane) +
                   ", takes the value of lane " + std::to_string(from) +
                   " in " + nameOf(op) + ", which mask " + hex(mask) +
                   " does not name");
  return values[from];
}

} // namespace layline::simt
