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

/// Stores and says whether that changed anything: a loop that stores the same
/// again is no progress.
void storeBytes(MachineState &state, void *to, const void *value,
                unsigned bytes) {
  if (std::memcmp(to, value, bytes) != 0)
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
  copy(to, from, bytes);
}

void storePlain(void *to, const void *value, unsigned bytes) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(to, bytes, "st");
  count(state, buffer, writes, bytes);
  storeBytes(state, to, value, bytes);
}

void loadFourWords(void *to, const void *from, const char *what) {
  MachineState &state = *machine;
  state.check(from, 16, what);
  state.current->block->grid->counters->polledBytes += 16;
  std::memcpy(to, from, 16);
  std::uint32_t first;
  std::memcpy(&first, to, sizeof first);
  state.poll(from, first, what);
}

void storeFourWords(void *to, const void *value) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(to, 16, "st.relaxed.sys.v4");
  count(state, buffer, writes, 16);
  storeBytes(state, to, value, 16);
}

std::uint32_t loadFlag(const std::uint32_t *flag, Order order, Scope scope) {
  MachineState &state = *machine;
  const char *what =
      order == Order::Acquire
          ? (scope == Scope::Sys ? "ld.acquire.sys" : "ld.acquire.gpu")
          : (scope == Scope::Sys ? "ld.relaxed.sys" : "ld.relaxed.gpu");
  state.check(flag, 4, what);
  ++state.current->block->grid->counters->flagReads;
  std::uint32_t value = *flag;
  state.poll(flag, value, what);
  return value;
}

void storeFlag(std::uint32_t *flag, std::uint32_t value, Order order,
               Scope scope) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(flag, 4, "st of a flag");
  count(state, buffer, flagWrites, 1);
  state.writeFlag(flag, value, order, scope);
}

std::uint32_t updateFlag(std::uint32_t *flag, Update update,
                         std::uint32_t value, std::uint32_t expected,
                         Order order, Scope scope) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &buffer = state.check(flag, 4, "atom");
  count(state, buffer, flagWrites, 1);
  return state.changeFlag(flag, update, value, expected, order, scope);
}

void fence(Scope scope) {
  MachineState &state = *machine;
  ++state.current->block->grid->counters->fences;
  state.mayYield();
}

void MachineState::readWords(void *to, const void *from) {
  std::memcpy(to, from, 16);
}

void MachineState::writeWords(void *to, const void *value, bool isUpdate) {
  storeBytes(*this, to, value, 16);
}

void MachineState::writeFlag(std::uint32_t *flag, std::uint32_t value,
                             Order order, Scope scope) {
  storeBytes(*this, flag, &value, 4);
}

std::uint32_t MachineState::changeFlag(std::uint32_t *flag, Update update,
                                       std::uint32_t value,
                                       std::uint32_t expected, Order order,
                                       Scope scope) {
  std::uint32_t before = *flag;
  std::uint32_t after = update == Update::Add        ? before + value
                        : update == Update::Exchange ? value
                        : before == expected         ? value
                                                     : before;
  storeBytes(*this, flag, &after, 4);
  return before;
}

} // namespace layline::simt
