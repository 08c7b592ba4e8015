#include "devices/simt/StoreBuffer.h"

#include "devices/simt/MachineState.h"

#include <algorithm>

namespace layline::simt {

void StoreBuffer::forward(void *to, const char *address, unsigned bytes,
                          unsigned thread) const {
  if (granules_.find(granule(address)) == granules_.end())
    return;
  for (const PendingStore &store : stores_) {
    if (!overlaps(store, address, bytes) ||
        (store.thread != thread && !store.isOrdered))
      continue;
    const char *begin = std::max<const char *>(address, store.address);
    const char *end =
        std::min(address + bytes,
                 static_cast<const char *>(store.address) + store.bytes);
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
