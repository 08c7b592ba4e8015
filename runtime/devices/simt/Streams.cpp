// Launches in order of their streams, blocks on the places of a rank.
#include "devices/simt/MachineState.h"

#include <algorithm>
#include <numeric>

namespace layline::simt {

bool MachineState::hasWork() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankState &rank) {
    return std::any_of(
        rank.streams.begin(), rank.streams.end(),
        [](const auto &entry) { return !entry.second.isEmpty(); });
  });
}

void MachineState::dispatch() {
  mayDispatch = false;
  // Draws where a rank begins, so that no rank or stream is always first.
  std::size_t first = options.randomDispatch ? random() % ranks.size() : 0;
  for (std::size_t i = 0; i < ranks.size() && isGoingOn(); ++i) {
    RankState &rank = ranks[(first + i) % ranks.size()];
    for (auto &entry : rank.streams)
      while (dispatchStream(rank, entry.second))
        mayDispatch = true; // an event of it may be another stream's
  }
}

bool MachineState::mayStart(const Stream &stream,
                            const StreamItem &item) const {
  if (item.await >= 0)
    return events[static_cast<std::size_t>(item.await)].isDone;
  if (stream.running.empty())
    return true;
  return item.grid && item.grid->launch.programmatic &&
         stream.running.back()->letsDependentsGo();
}

bool MachineState::fits(const RankState &rank, const Grid &grid,
                        std::size_t blocks) const {
  return rank.resident.size() + rank.stolenBlocks + blocks <=
             options.residentBlocks &&
         rank.residentThreads + blocks * grid.threadsPerBlock() <=
             options.residentThreads;
}

/// Starts one thing of the stream; false if nothing can start.
bool MachineState::dispatchStream(RankState &rank, Stream &stream) {
  // Blocks of what runs come before what follows.
  for (const auto &grid : stream.running)
    if (grid->dispatched < grid->blocks()) {
      if (!fits(rank, *grid, 1) ||
          (options.randomDispatch && !nobodyReady() && chance(1, 4)))
        return false;
      startBlock(rank, *grid);
      return isGoingOn();
    }
  if (stream.queue.empty() || !mayStart(stream, stream.queue.front()))
    return false;
  StreamItem &item = stream.queue.front();
  if (item.grid) {
    std::size_t together =
        item.grid->launch.cooperative ? item.grid->blocks() : 1;
    if (item.grid->blocks() != 0 && !fits(rank, *item.grid, together))
      return false;
    stream.running.push_back(std::move(item.grid));
    stream.queue.pop_front();
    Grid &grid = *stream.running.back();
    ++grid.counters->launches;
    beginGrid(grid);
    while (isGoingOn() && grid.launch.cooperative &&
           grid.dispatched < grid.blocks())
      startBlock(rank, grid);
    return isGoingOn();
  }
  if (item.record >= 0) {
    Event &event = events[static_cast<std::size_t>(item.record)];
    event.isDone = true;
    event.clock = stream.clock;
  } else {
    const Event &event = events[static_cast<std::size_t>(item.await)];
    stream.clock.join(event.clock);
    stream.lastStart.join(event.clock);
  }
  stream.queue.pop_front();
  progress();
  return true;
}

/// Free threads for a block, or the run has failed.
bool MachineState::haveThreads(const Grid &grid) {
  while (freeThreads.size() < grid.threadsPerBlock()) {
    std::string error;
    char *stack = stacks.take(error);
    if (!stack) {
      setFailure(Failure::Launch,
                 "rank " + std::to_string(grid.rank) + " kernel " +
                     grid.launch.kernel + " block " +
                     std::to_string(grid.order[grid.dispatched]) +
                     ": its threads have " + error);
      report.rank = grid.rank;
      return false;
    }
    allThreads.push_back(std::make_unique<Thread>());
    allThreads.back()->fiber.stack = stack;
    freeThreads.push_back(allThreads.back().get());
  }
  return true;
}

void MachineState::startBlock(RankState &rank, Grid &grid) {
  if (!haveThreads(grid))
    return;
  auto *block = new Block; // retire() deletes it
  block->grid = &grid;
  block->index = grid.order[grid.dispatched++];
  const Index3 &size = grid.launch.block, &blocks = grid.launch.grid;
  unsigned count = grid.threadsPerBlock();
  block->alive = count;
  block->warps.resize((count + 31) / 32);
  Index3 at{block->index % blocks.x, block->index / blocks.x % blocks.y,
            block->index / (blocks.x * blocks.y)};
  for (unsigned i = 0; i < count; ++i) {
    Thread *thread = freeThreads.back();
    freeThreads.pop_back();
    prepare(thread->fiber, thread->fiber.stack, enterThread);
    thread->threadIndex = {i % size.x, i / size.x % size.y,
                           i / (size.x * size.y)};
    thread->blockIndex = at;
    thread->blockSize = size;
    thread->gridSize = blocks;
    thread->rank = grid.rank;
    thread->index = i;
    thread->block = block;
    thread->spin = nullptr;
    block->threads.push_back(thread);
    beginThread(*thread);
    makeReady(thread);
  }
  live += count;
  rank.residentThreads += count;
  rank.resident.push_back(block);
  ++grid.counters->blocks;
  progress();
}

/// A block all of whose threads have left.
void MachineState::retire(Block *block) {
  mayDispatch = true;
  Grid &grid = *block->grid;
  RankState &rank = ranks[static_cast<std::size_t>(grid.rank)];
  drainStores(*block);
  rank.resident.erase(
      std::find(rank.resident.begin(), rank.resident.end(), block));
  rank.residentThreads -= grid.threadsPerBlock();
  freeThreads.insert(freeThreads.end(), block->threads.begin(),
                     block->threads.end());
  if (!block->hasTriggered)
    ++grid.triggered;
  delete block;
  ++grid.done;
  progress();
  if (grid.isComplete())
    complete(grid);
}

void MachineState::complete(Grid &grid) {
  Stream &stream = *grid.stream;
  // A programmatic launch after this one may be complete already: what is
  // complete leaves the stream in its order.
  while (!stream.running.empty() && stream.running.front()->isComplete()) {
    endGrid(*stream.running.front());
    stream.running.erase(stream.running.begin());
    if (stream.running.empty())
      break;
    wakeDependents(*stream.running.front());
  }
}

void MachineState::wakeDependents(Grid &grid) {
  for (Block *block : ranks[static_cast<std::size_t>(grid.rank)].resident)
    if (block->grid == &grid)
      for (Thread *thread : block->threads)
        if (thread->wait == Wait::Prerequisites)
          makeReady(thread);
}

void checkLaunchBounds(unsigned threads) {
  MachineState &state = *machine;
  const Grid &grid = *state.current->block->grid;
  if (grid.threadsPerBlock() > threads)
    state.fail(
        Failure::Launch,
        "rank " + std::to_string(grid.rank) + " kernel " + grid.launch.kernel +
            ": a block of " + std::to_string(grid.threadsPerBlock()) +
            " threads; its launch bounds allow " + std::to_string(threads));
}

void waitForPrerequisites() {
  MachineState &state = *machine;
  const Grid *grid = state.current->block->grid;
  if (grid->stream->running.front().get() != grid)
    state.waitFor(Wait::Prerequisites);
  if (state.options.raceCheck)
    state.current->clock.learn(grid->stream->clock);
}

void launchDependents() {
  MachineState &state = *machine;
  Block &block = *state.current->block;
  if (block.hasTriggered)
    return;
  block.hasTriggered = true;
  ++block.grid->triggered;
  state.mayDispatch = true;
  state.progress();
  state.mayYield();
}

} // namespace layline::simt
