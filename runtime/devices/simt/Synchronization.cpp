// Which thread may rely on what another did: scopes of flags, and the clocks of
// raceCheck.
#include "devices/simt/MachineState.h"

#include <sstream>

namespace layline::simt {

namespace {

const char *nameOf(Scope scope) { return scope == Scope::Gpu ? "gpu" : "sys"; }

} // namespace

// ---- Lives of threads
// ----------------------------------------------------------

/// The host has waited for all that ran before.
void MachineState::beginRun() {
  if (!options.raceCheck)
    return;
  for (RankState &rank : ranks)
    for (auto &entry : rank.streams)
      hostClock.join(entry.second.clock);
  for (RankState &rank : ranks)
    for (auto &entry : rank.streams) {
      Stream &stream = entry.second;
      stream.clock = hostClock;
      stream.lastStart = hostClock;
      stream.lastOrderedAfter = stream.started;
    }
}

void MachineState::beginGrid(Grid &grid) {
  Stream &stream = *grid.stream;
  grid.number = ++stream.started;
  // A programmatic launch is ordered after what the launch before it was
  // ordered after, even where that one happens to be complete.
  if (!grid.launch.programmatic) {
    stream.lastOrderedAfter = grid.number - 1;
    stream.lastStart = stream.clock;
  }
  grid.orderedAfter = stream.lastOrderedAfter;
  grid.startClock = stream.lastStart;
}

/// Called in the order of the stream.
void MachineState::endGrid(Grid &grid) {
  Stream &stream = *grid.stream;
  stream.clock.join(grid.endClock);
  for (std::uint32_t id : grid.threadIds)
    stream.freeIds.emplace_back(grid.number, id);
}

void MachineState::beginThread(Thread &thread) {
  thread.watchesShared = options.raceCheck;
  if (!options.raceCheck)
    return;
  Grid &grid = *thread.block->grid;
  auto &freeIds = grid.stream->freeIds;
  std::uint32_t id;
  // An id serves again where all that its owner did is ordered before.
  if (!freeIds.empty() && freeIds.front().first <= grid.orderedAfter) {
    id = freeIds.front().second;
    freeIds.pop_front();
  } else {
    id = static_cast<std::uint32_t>(idTimes.size());
    idTimes.push_back(0);
    idOwners.emplace_back();
  }
  grid.threadIds.push_back(id);
  thread.clock = ThreadClock{};
  thread.clock.id = id;
  thread.clock.time = ++idTimes[id];
  thread.clock.others = grid.startClock;
  // Counters, and with them the kernel's name, live as long as the machine.
  idOwners[id].push_back({thread.clock.time, grid.kernelName, thread.rank,
                          thread.block->index, thread.index});
}

void MachineState::endThread(Thread &thread) {
  if (!options.raceCheck)
    return;
  thread.clock.publishTo(thread.block->grid->endClock);
  idTimes[thread.clock.id] = thread.clock.time;
}

// ---- Races
// ---------------------------------------------------------------------

void MachineState::noteAccess(const Buffer &buffer, const void *address,
                              unsigned bytes, AccessKind kind) {
  if (!options.raceCheck)
    return;
  if (!buffer.shadow)
    buffer.shadow = std::make_unique<Shadow>(buffer.base, buffer.bytes);
  noteAccess(*buffer.shadow, address, bytes, kind, nullptr);
}

void MachineState::noteAccess(Shadow &shadow, const void *address,
                              unsigned bytes, AccessKind kind,
                              const char *sharedName) {
  constexpr std::uint64_t mostTexts = 4;
  auto found = [&](const RaceFinding &race) {
    if (report.races++ >= mostTexts)
      return;
    std::ostringstream out;
    out << (report.text.empty() ? "" : "\n")
        << "race: " << simt::nameOf(race.earlierKind) << " by "
        << ownerOf(race.earlier) << " is not ordered before "
        << simt::nameOf(kind) << " by " << describe(*current) << " at ";
    if (sharedName)
      out << "shared '" << sharedName << "'";
    else
      out << memory.describe(address);
    report.text += out.str();
    report.failure = Failure::Race;
  };
  simt::noteAccess(shadow, reinterpret_cast<std::uintptr_t>(address), bytes,
                   kind, current->clock, found);
}

std::string MachineState::ownerOf(Moment moment) const {
  const IdOwner *owner = nullptr;
  for (const IdOwner &candidate : idOwners[moment.thread])
    if (candidate.since <= moment.time)
      owner = &candidate;
  std::ostringstream out;
  out << "rank " << owner->rank << " kernel " << *owner->kernel << " block "
      << owner->block << " thread " << owner->thread;
  return out.str();
}

// ---- Flags
// ---------------------------------------------------------------------

void MachineState::forget(const void *base) {
  if (const Buffer *buffer = memory.find(base, 1)) {
    auto begin = reinterpret_cast<std::uintptr_t>(base),
         end = begin + buffer->bytes;
    for (auto at = locations.begin(); at != locations.end();)
      at = at->first >= begin && at->first < end ? locations.erase(at)
                                                 : std::next(at);
  }
  memory.remove(base);
}

void MachineState::checkScope(const Buffer &buffer, const void *flag,
                              Scope scope) {
  if (scope == Scope::Gpu && buffer.rank != current->rank)
    fail(Failure::Scope, describe(*current) +
                             " accesses with gpu scope a flag of another "
                             "rank, " +
                             memory.describe(flag) + "; expected sys scope");
}

/// A load of a flag, or the loading half of an update.
void MachineState::learnFrom(const void *flag, Order order, Scope scope) {
  auto found = locations.find(reinterpret_cast<std::uintptr_t>(flag));
  if (found == locations.end())
    return;
  const Location &location = found->second;
  bool isOfRank = location.rank == current->rank;
  if (!isOfRank && (scope == Scope::Gpu || location.scope == Scope::Gpu))
    fail(Failure::Scope,
         describe(*current) + " reads with " + nameOf(scope) +
             " scope what rank " + std::to_string(location.rank) +
             " wrote with " + nameOf(location.scope) + " scope to " +
             memory.describe(flag) + "; expected sys scope of both");
  if (!options.raceCheck)
    return;
  const VectorClock &clock = isOfRank ? location.forRank : location.forPeers;
  ThreadClock &self = current->clock;
  if (order == Order::Acquire || order == Order::AcquireRelease)
    self.learn(clock);
  else
    (isOfRank ? self.seenOfRank : self.seenOfPeers).join(clock);
}

/// A store to a flag, or the storing half of an update: that adds to what was
/// published there, as it continues the release sequence.
void MachineState::publishAt(const void *flag, Order order, Scope scope,
                             bool isUpdate) {
  Location &location = locations[reinterpret_cast<std::uintptr_t>(flag)];
  location.rank = current->rank;
  location.scope = scope;
  if (!options.raceCheck)
    return;
  ThreadClock &self = current->clock;
  bool releases = order == Order::Release || order == Order::AcquireRelease;
  VectorClock forRank = releases ? self.publish() : self.fencedForRank;
  VectorClock forPeers = scope == Scope::Gpu ? VectorClock()
                         : releases          ? forRank
                                             : self.fencedForPeers;
  if (isUpdate) {
    location.forRank.join(forRank);
    location.forPeers.join(forPeers);
  } else {
    location.forRank = std::move(forRank);
    location.forPeers = std::move(forPeers);
  }
}

void MachineState::noteFence(Scope scope) {
  if (!options.raceCheck)
    return;
  ThreadClock &self = current->clock;
  self.learn(self.seenOfRank);
  self.seenOfRank = {};
  if (scope == Scope::Sys) {
    self.learn(self.seenOfPeers);
    self.seenOfPeers = {};
  }
  self.fencedForRank = self.publish();
  if (scope == Scope::Sys)
    self.fencedForPeers = self.fencedForRank;
}

} // namespace layline::simt
