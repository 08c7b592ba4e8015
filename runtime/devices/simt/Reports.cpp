// What a failed run says.
#include "devices/simt/MachineState.h"

#include <sstream>

namespace layline::simt {

std::string MachineState::describe(const Thread &thread) const {
  const Grid &grid = *thread.block->grid;
  std::ostringstream out;
  out << "rank " << thread.rank << " kernel " << grid.launch.kernel << " block "
      << thread.block->index << " thread " << thread.index;
  return out.str();
}

namespace {

/// Threads of a block that wait for the same are one line.
void describeBlock(std::ostream &out, const Block &block,
                   const Memory &memory) {
  std::array<unsigned, 16> atBarrier{};
  unsigned spins = 0, inWarp = 0, waiting = 0;
  const Thread *spinning = nullptr;
  Site site;
  for (const Thread *thread : block.threads) {
    if (thread->wait == Wait::Barrier) {
      ++atBarrier[thread->barrier];
      if (thread->barrier == 0)
        site = thread->site;
    }
    inWarp += thread->wait == Wait::Warp;
    waiting += thread->wait == Wait::Prerequisites;
    if (thread->wait == Wait::None && thread->spin) {
      ++spins;
      if (!spinning)
        spinning = thread;
    }
  }
  out << "\n    block " << block.index << ": " << block.alive << " of "
      << block.threads.size() << " threads there";
  if (spinning)
    out << "; " << spins << " spin, thread " << spinning->index << " with "
        << spinning->spin << " on " << memory.describe(spinning->spinAddress)
        << " = " << spinning->spinValue;
  for (std::size_t i = 0; i < atBarrier.size(); ++i) {
    if (atBarrier[i] == 0)
      continue;
    out << "; " << atBarrier[i] << " at ";
    if (i == 0)
      out << "__syncthreads of line " << site.line;
    else
      out << "bar.sync " << i << " (" << block.barriers[i].arrived << " of "
          << block.barriers[i].expected << " arrived)";
  }
  if (inWarp)
    out << "; " << inWarp << " in a warp operation";
  if (waiting)
    out << "; " << waiting << " wait for the launch before";
}

} // namespace

std::string MachineState::deadlockText(const char *headline) const {
  constexpr std::size_t mostBlocks = 4; // of a grid
  std::ostringstream out;
  out << headline;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const auto &entry : ranks[rank].streams) {
      const Stream &stream = entry.second;
      int number = entry.first;
      auto where = [&](const Grid &grid) -> std::ostream & {
        return out << "\n  rank " << rank << " stream " << number << " kernel "
                   << grid.launch.kernel << ": ";
      };
      for (const auto &grid : stream.running) {
        where(*grid) << grid->done << " of " << grid->blocks()
                     << " blocks done, " << grid->blocks() - grid->dispatched
                     << " not resident (" << ranks[rank].resident.size()
                     << " of " << options.residentBlocks << " places taken, "
                     << ranks[rank].stolenBlocks << " stolen)";
        std::size_t shown = 0;
        for (const Block *block : ranks[rank].resident)
          if (block->grid == grid.get() && shown++ < mostBlocks)
            describeBlock(out, *block, memory);
      }
      if (!stream.queue.empty()) {
        const StreamItem &next = stream.queue.front();
        if (next.grid)
          where(*next.grid)
              << "not begun, " << next.grid->blocks() << " blocks";
        else if (next.await >= 0)
          out << "\n  rank " << rank << " stream " << number
              << ": waits for event " << next.await;
      }
    }
  return out.str();
}

} // namespace layline::simt
