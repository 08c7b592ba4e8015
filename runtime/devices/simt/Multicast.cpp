// multimem: one address for a buffer of every rank.
#include "devices/simt/MachineState.h"
#include "kernels/platform/Numeric.h"

#include <algorithm>
#include <numeric>

namespace layline::simt {

namespace {

template <typename T> float numberAt(const char *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return device::to_float(value);
}
template <typename T> void setNumber(char *data, float number) {
  T value = device::from_float<T>(number);
  std::memcpy(data, &value, sizeof value);
}

struct ElementFormat {
  unsigned bytes;
  float (*read)(const char *);
  void (*write)(char *, float);
};

ElementFormat formatOf(Element element) {
  switch (element) {
  case Element::BF16:
    return {2, numberAt<device::bf16>, setNumber<device::bf16>};
  case Element::F16:
    return {2, numberAt<device::f16>, setNumber<device::f16>};
  case Element::F32:
    return {4, numberAt<float>, setNumber<float>};
  }
  return {4, numberAt<float>, setNumber<float>};
}

/// The address in each rank's buffer.
std::vector<char *> replicasAt(const Buffer &range, const void *address) {
  std::vector<char *> all = range.replicas;
  auto offset = static_cast<std::ptrdiff_t>(
      reinterpret_cast<std::uintptr_t>(address) - range.base);
  for (char *&replica : all)
    replica += offset;
  return all;
}

} // namespace

void multicastLoadReduce(void *to, const void *from, Element element) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &range = state.checkMulticast(from, 16, "multimem.ld_reduce");
  state.current->block->grid->counters->multicastReadBytes += 16;
  std::vector<char *> replicas = replicasAt(range, from);
  if (state.options.randomReductionOrder)
    for (std::size_t left = replicas.size(); left > 1; --left)
      std::swap(replicas[left - 1], replicas[state.random() % left]);
  ElementFormat format = formatOf(element);
  float sums[8] = {};
  for (const char *replica : replicas) {
    char bytes[16];
    state.readWords(*state.memory.find(replica, 16), bytes, replica);
    for (unsigned i = 0; i * format.bytes < 16; ++i)
      sums[i] += format.read(bytes + i * format.bytes);
  }
  for (unsigned i = 0; i * format.bytes < 16; ++i)
    format.write(static_cast<char *>(to) + i * format.bytes, sums[i]);
}

void multicastReduce(void *to, const void *value, Element element) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &range = state.checkMulticast(to, 16, "multimem.red");
  state.current->block->grid->counters->multicastWriteBytes += 16;
  ElementFormat format = formatOf(element);
  const char *added = static_cast<const char *>(value);
  for (char *replica : replicasAt(range, to)) {
    char bytes[16];
    const Buffer &buffer = *state.memory.find(replica, 16);
    state.sendOverlapping(replica, 16);
    state.readWords(buffer, bytes, replica);
    for (unsigned at = 0; at < 16; at += format.bytes)
      format.write(bytes + at,
                   format.read(bytes + at) + format.read(added + at));
    state.writeWords(buffer, replica, bytes, AccessKind::StrongUpdate);
  }
}

void multicastStore(void *to, const void *value, unsigned bytes) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &range = state.checkMulticast(to, bytes, "multimem.st");
  state.current->block->grid->counters->multicastWriteBytes += bytes;
  for (char *replica : replicasAt(range, to))
    state.writeWords(*state.memory.find(replica, bytes), replica, value,
                     AccessKind::StrongStore, bytes);
}

void multicastStoreFlag(std::uint32_t *flag, std::uint32_t value, Order order) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &range = state.checkMulticast(flag, 4, "multimem.st");
  ++state.current->block->grid->counters->multicastFlagWrites;
  for (char *replica : replicasAt(range, flag))
    state.writeFlag(*state.memory.find(replica, 4),
                    reinterpret_cast<std::uint32_t *>(replica), value, order,
                    Scope::Sys);
}

void multicastAddFlag(std::uint32_t *flag, std::uint32_t value, Order order) {
  MachineState &state = *machine;
  state.mayYield();
  const Buffer &range = state.checkMulticast(flag, 4, "multimem.red");
  ++state.current->block->grid->counters->multicastFlagWrites;
  for (char *replica : replicasAt(range, flag))
    state.changeFlag(*state.memory.find(replica, 4),
                     reinterpret_cast<std::uint32_t *>(replica), Update::Add,
                     value, 0, order, Scope::Sys);
}

} // namespace layline::simt
