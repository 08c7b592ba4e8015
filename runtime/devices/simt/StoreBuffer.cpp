#include "devices/simt/StoreBuffer.h"

#include "devices/simt/MachineState.h"

#include <algorithm>

namespace layline::simt {

std::int32_t GranuleIndex::find(std::uintptr_t granule) const {
  if (used_ == 0)
    return -1;
  std::size_t mask = slots_.size() - 1;
  for (std::size_t at = home(granule); slots_[at].first >= 0;
       at = (at + 1) & mask)
    if (slots_[at].granule == granule)
      return slots_[at].first;
  return -1;
}

void GranuleIndex::set(std::uintptr_t granule, std::int32_t first) {
  if (2 * (used_ + 1) > slots_.size())
    grow();
  std::size_t mask = slots_.size() - 1, at = home(granule);
  while (slots_[at].first >= 0 && slots_[at].granule != granule)
    at = (at + 1) & mask;
  used_ += slots_[at].first < 0;
  slots_[at] = {granule, first};
}

void GranuleIndex::erase(std::uintptr_t granule) {
  std::size_t mask = slots_.size() - 1, hole = home(granule);
  while (slots_[hole].granule != granule)
    hole = (hole + 1) & mask;
  // What probed over the hole moves into it (Knuth's algorithm R).
  for (std::size_t at = (hole + 1) & mask; slots_[at].first >= 0;
       at = (at + 1) & mask)
    if (((at - home(slots_[at].granule)) & mask) >= ((at - hole) & mask)) {
      slots_[hole] = slots_[at];
      hole = at;
    }
  slots_[hole] = {};
  --used_;
}

void GranuleIndex::grow() {
  std::vector<Slot> before = std::move(slots_);
  slots_.assign(before.empty() ? 64 : 2 * before.size(), Slot());
  used_ = 0;
  for (const Slot &slot : before)
    if (slot.first >= 0)
      set(slot.granule, slot.first);
}

void StoreBuffer::link(const PendingStore &store) {
  stores_.push_back(store);
  stores_.back().next = index_.find(store.granule());
  index_.set(store.granule(), static_cast<std::int32_t>(stores_.size()) - 1);
}

void StoreBuffer::redirect(std::size_t from, std::int32_t to) {
  const PendingStore &store = stores_[from];
  std::int32_t target = to >= 0 ? to : store.next;
  std::int32_t first = index_.find(store.granule());
  if (first == static_cast<std::int32_t>(from)) {
    if (target >= 0)
      index_.set(store.granule(), target);
    else
      index_.erase(store.granule());
    return;
  }
  auto before = static_cast<std::size_t>(first);
  while (stores_[before].next != static_cast<std::int32_t>(from))
    before = static_cast<std::size_t>(stores_[before].next);
  stores_[before].next = target;
}

void StoreBuffer::unlink(std::size_t index) {
  redirect(index, -1);
  std::size_t last = stores_.size() - 1;
  if (index != last) {
    redirect(last, static_cast<std::int32_t>(index));
    stores_[index] = stores_[last];
  }
  stores_.pop_back();
}

void StoreBuffer::forward(void *to, const char *address, unsigned bytes,
                          unsigned thread) const {
  std::int32_t i = index_.find(reinterpret_cast<std::uintptr_t>(address) / 16);
  for (; i >= 0; i = stores_[static_cast<std::size_t>(i)].next) {
    const PendingStore &store = stores_[static_cast<std::size_t>(i)];
    if (!store.overlaps(address, bytes) ||
        (store.thread != thread && !store.isOrdered))
      continue;
    const char *begin = std::max<const char *>(address, store.address);
    const char *end =
        std::min<const char *>(address + bytes, store.address + store.bytes);
    std::memcpy(static_cast<char *>(to) + (begin - address),
                store.data + (begin - store.address),
                static_cast<std::size_t>(end - begin));
  }
}

void MachineState::commit(const PendingStore &store) {
  --pendingStores;
  if (std::memcmp(store.address, store.data, store.bytes) != 0)
    progress();
  std::memcpy(store.address, store.data, store.bytes);
}

void MachineState::bufferStore(void *to, const void *value, unsigned bytes) {
  PendingStore store;
  store.address = static_cast<char *>(to);
  store.bytes = bytes;
  std::memcpy(store.data, value, bytes);
  store.thread = current->index;
  const Buffer *buffer = memory.find(to, bytes);
  store.isToPeer = buffer && buffer->rank != current->rank;
  current->block->stores.add(
      store, [this](const PendingStore &done) { commit(done); });
  ++pendingStores;
  progress();
}

void MachineState::sendOverlapping(const void *address, unsigned bytes) {
  if (pendingStores != 0)
    current->block->stores.commitOverlapping(
        static_cast<const char *>(address), bytes,
        [this](const PendingStore &done) { commit(done); });
}

void MachineState::releaseStores(Scope scope) {
  if (pendingStores == 0)
    return;
  Block &block = *current->block;
  unsigned self = current->index;
  auto toMemory = [this](const PendingStore &done) { commit(done); };
  if (scope == Scope::Gpu) {
    block.stores.commitIf(
        [&](const PendingStore &store) {
          return !store.isToPeer && (store.thread == self || store.isOrdered);
        },
        toMemory);
    block.stores.releaseOnRank(self);
    return;
  }
  block.stores.commitIf(
      [&](const PendingStore &store) {
        return store.thread == self || store.isOrdered;
      },
      toMemory);
  for (Block *other : ranks[static_cast<std::size_t>(current->rank)].resident)
    other->stores.commitIf(
        [](const PendingStore &store) { return store.isReleasedOnRank; },
        toMemory);
}

void MachineState::commitSomeStores() {
  if (pendingStores == 0)
    return;
  auto toMemory = [this](const PendingStore &done) { commit(done); };
  // A burst of random length; draws that meet an empty buffer are lost.
  std::size_t most = 1 + random() % (1 + pendingStores / 32);
  for (std::size_t draws = 4 * most; draws > 0 && most > 0; --draws) {
    RankState &rank = ranks[random() % ranks.size()];
    if (rank.resident.empty())
      continue;
    StoreBuffer &stores =
        rank.resident[random() % rank.resident.size()]->stores;
    if (stores.isEmpty())
      continue;
    stores.commitAt(random() % stores.size(), toMemory);
    --most;
  }
}

bool MachineState::commitOneStore() {
  for (RankState &rank : ranks)
    for (Block *block : rank.resident)
      if (!block->stores.isEmpty()) {
        block->stores.commitAt(
            random() % block->stores.size(),
            [this](const PendingStore &done) { commit(done); });
        return true;
      }
  return false;
}

void MachineState::drainStores(Block &block) {
  block.stores.commitIf([](const PendingStore &) { return true; },
                        [this](const PendingStore &done) { commit(done); });
}

} // namespace layline::simt
