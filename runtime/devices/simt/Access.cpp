// Loads and stores of global memory.
#include "devices/simt/MachineState.h"
#include "kernels/platform/Numeric.h"

#include <algorithm>
#include <numeric>

namespace layline::simt {

namespace {

void failAccess(MachineState &state, const void *address, unsigned bytes,
                const char *what, const std::string &why) {
  state.fail(Failure::Access, state.describe(*state.current) + ": " + what +
                                  " of " + std::to_string(bytes) +
                                  " bytes at " +
                                  state.memory.describe(address) + why);
}

struct Traffic {
  std::uint64_t Counters::*local, Counters::*peer;
};
constexpr Traffic reads{&Counters::localReadBytes, &Counters::peerReadBytes};
constexpr Traffic writes{&Counters::localWriteBytes, &Counters::peerWriteBytes};
constexpr Traffic flagWrites{&Counters::localFlagWrites,
                             &Counters::peerFlagWrites};

void count(const MachineState &state, const Buffer &buffer, Traffic traffic,
           std::uint64_t amount) {
  Counters &counters = *state.current->block->grid->counters;
  counters.*(buffer.rank == state.current->rank ? traffic.local
                                                : traffic.peer) += amount;
}

/// Copies of constant size are moves, not calls.
void copy(void *to, const void *from, unsigned bytes) {
  switch (bytes) {
  case 16:
    std::memcpy(to, from, 16);
    break;
  case 2:
    std::memcpy(to, from, 2);
    break;
  case 4:
    std::memcpy(to, from, 4);
    break;
  default:
    std::memcpy(to, from, bytes);
  }
}

template <typename Word> Word wordAt(const void *address) {
  Word word;
  std::memcpy(&word, address, sizeof word);
  return word;
}

/// The same of comparisons, which the compiler would put together again were
/// they memcmp's.
bool isEqual(const void *a, const void *b, unsigned bytes) {
  using Half = std::uint64_t;
  switch (bytes) {
  case 16:
    return wordAt<Half>(a) == wordAt<Half>(b) &&
           wordAt<Half>(static_cast<const char *>(a) + 8) ==
               wordAt<Half>(static_cast<const char *>(b) + 8);
  case 2:
    return wordAt<std::uint16_t>(a) == wordAt<std::uint16_t>(b);
  case 4:
    return wordAt<std::uint32_t>(a) == wordAt<std::uint32_t>(b);
  default:
    return std::memcmp(a, b, bytes) == 0;
  }
}

/// Stores and says whether that changed anything: a loop that stores the same
/// again is no progress.
void storeBytes(MachineState &state, void *to, const void *value,
                unsigned bytes) {
  if (!isEqual(to, value, bytes))
    state.progress();
  copy(to, value, bytes);
}

} // namespace

const Buffer &MachineState::check(const void *address, unsigned bytes,
                                  const char *what) {
  const Buffer *buffer = memory.find(address, bytes);
  if (!buffer)
    failAccess(*this, address, bytes, what, "");
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
    failAccess(*this, address, bytes, what, ": misaligned");
  if (buffer->isMulticast())
    failAccess(*this, address, bytes, what,
               ": a multicast address takes multimem only");
  if (buffer->rank != current->rank && !buffer->isSymmetric)
    failAccess(*this, address, bytes, what,
               ": another rank's buffer that is not symmetric");
  return *buffer;
}

const Buffer &MachineState::checkMulticast(const void *address, unsigned bytes,
                                           const char *what) {
  const Buffer *buffer = memory.find(address, bytes);
  if (!buffer)
    failAccess(*this, address, bytes, what, "");
  if (reinterpret_cast<std::uintptr_t>(address) % bytes != 0)
    failAccess(*this, address, bytes, what, ": misaligned");
  if (!buffer->isMulticast())
    failAccess(*this, address, bytes, what, ": not a multicast address");
  return *buffer;
}

void loadPlain(void *to, const void *from, unsigned bytes) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(from, bytes, "ld");
  count(state, buffer, reads, bytes);
  state.noteAccess(buffer, from, bytes, AccessKind::Load);
  state.read(to, from, bytes);
}

void storePlain(void *to, const void *value, unsigned bytes) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(to, bytes, "st");
  count(state, buffer, writes, bytes);
  state.noteAccess(buffer, to, bytes, AccessKind::Store);
  state.write(to, value, bytes);
}

void loadFourWords(void *to, const void *from, const char *what) {
  MachineState &state = *machine;
  const Buffer &buffer = state.check(from, 16, what);
  state.current->block->grid->counters->polledBytes += 16;
  state.readWords(buffer, to, from);
  std::uint32_t first;
  std::memcpy(&first, to, sizeof first);
  state.poll(from, first, what);
}

void storeFourWords(void *to, const void *value) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(to, 16, "st.relaxed.sys.v4");
  count(state, buffer, writes, 16);
  state.writeWords(buffer, to, value, AccessKind::StrongStore);
}

std::uint32_t loadFlag(const std::uint32_t *flag, Order order, Scope scope) {
  MachineState &state = *machine;
  const char *what =
      order == Order::Acquire
          ? (scope == Scope::Sys ? "ld.acquire.sys" : "ld.acquire.gpu")
          : (scope == Scope::Sys ? "ld.relaxed.sys" : "ld.relaxed.gpu");
  const Buffer &buffer = state.check(flag, 4, what);
  ++state.current->block->grid->counters->flagReads;
  state.checkScope(buffer, flag, scope);
  state.learnFrom(flag, order, scope);
  state.noteAccess(buffer, flag, 4, AccessKind::StrongLoad);
  std::uint32_t value;
  state.read(&value, flag, 4);
  state.poll(flag, value, what);
  return value;
}

void storeFlag(std::uint32_t *flag, std::uint32_t value, Order order,
               Scope scope) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(flag, 4, "st of a flag");
  count(state, buffer, flagWrites, 1);
  state.checkScope(buffer, flag, scope);
  state.writeFlag(buffer, flag, value, order, scope);
}

std::uint32_t updateFlag(std::uint32_t *flag, Update update,
                         std::uint32_t value, std::uint32_t expected,
                         Order order, Scope scope) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(flag, 4, "atom");
  count(state, buffer, flagWrites, 1);
  state.checkScope(buffer, flag, scope);
  std::uint32_t before =
      state.changeFlag(buffer, flag, update, value, expected, order, scope);
  // One that changes nothing may be the body of a spin.
  if (*flag == before)
    state.poll(flag, before, "atom");
  return before;
}

void fence(Scope scope) {
  MachineState &state = *machine;
  ++state.current->block->grid->counters->fences;
  state.mayYield();
  state.noteFence(scope);
  state.releaseStores(scope);
}

void MachineState::read(void *to, const void *from, unsigned bytes) {
  copy(to, from, bytes);
  if (pendingStores != 0)
    current->block->stores.forward(to, static_cast<const char *>(from), bytes,
                                   current->index);
}

void MachineState::write(void *to, const void *value, unsigned bytes) {
  if (options.storeBuffers)
    bufferStore(to, value, bytes);
  else
    storeBytes(*this, to, value, bytes);
}

void MachineState::readWords(const Buffer &buffer, void *to, const void *from) {
  noteAccess(buffer, from, 16, AccessKind::StrongLoad);
  // Only a store after a fence publishes anything with data words.
  if (options.raceCheck)
    learnFrom(from, Order::Relaxed, Scope::Sys);
  read(to, from, 16);
}

void MachineState::writeWords(const Buffer &buffer, void *to, const void *value,
                              AccessKind kind, unsigned bytes) {
  noteAccess(buffer, to, bytes, kind);
  if (options.raceCheck &&
      (!current->clock.fencedForPeers.isEmpty() ||
       locations.count(reinterpret_cast<std::uintptr_t>(to)) != 0))
    publishAt(to, Order::Relaxed, Scope::Sys, kind == AccessKind::StrongUpdate);
  // An update happens in memory, whatever stores the block still holds.
  if (kind == AccessKind::StrongUpdate) {
    storeBytes(*this, to, value, bytes);
    return;
  }
  // A scalar is one access, a vector several.
  if (bytes <= 8) {
    write(to, value, bytes);
    return;
  }
  for (unsigned word = 0; word < bytes / 4; ++word)
    write(static_cast<char *>(to) + 4 * word,
          static_cast<const char *>(value) + 4 * word, 4);
}

void MachineState::writeFlag(const Buffer &buffer, std::uint32_t *flag,
                             std::uint32_t value, Order order, Scope scope) {
  noteAccess(buffer, flag, 4, AccessKind::StrongStore);
  publishAt(flag, order, scope, false);
  if (order == Order::Relaxed) {
    write(flag, &value, 4);
    return;
  }
  sendOverlapping(flag, 4);
  releaseStores(scope);
  storeBytes(*this, flag, &value, 4);
}

std::uint32_t MachineState::changeFlag(const Buffer &buffer,
                                       std::uint32_t *flag, Update update,
                                       std::uint32_t value,
                                       std::uint32_t expected, Order order,
                                       Scope scope) {
  learnFrom(flag, order, scope);
  noteAccess(buffer, flag, 4, AccessKind::StrongUpdate);
  publishAt(flag, order, scope, true);
  // An update happens in memory: the block's own store to the flag goes first.
  sendOverlapping(flag, 4);
  if (order == Order::Release || order == Order::AcquireRelease)
    releaseStores(scope);
  std::uint32_t before = *flag;
  std::uint32_t after = update == Update::Add        ? before + value
                        : update == Update::Exchange ? value
                        : before == expected         ? value
                                                     : before;
  storeBytes(*this, flag, &after, 4);
  return before;
}

} // namespace layline::simt
