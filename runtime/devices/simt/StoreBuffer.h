// Stores that their block has made and others do not see yet.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_STOREBUFFER_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_STOREBUFFER_H

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace layline::simt {

struct PendingStore {
  char *address = nullptr;
  unsigned bytes = 0; ///< at most 16, within 16 aligned ones
  char data[16] = {};
  unsigned thread = 0; ///< of the block
  bool isToPeer = false;
  /// A barrier of the block came after it: a release by any of its threads
  /// covers it.
  bool isOrdered = false;
  /// A release at gpu scope covered it: the rank's next one at system scope
  /// does, too.
  bool isReleasedOnRank = false;
};

/// Of one block. At most one store per byte is pending: a later one to the same
/// byte sends the earlier to memory first, as coherence asks.
class StoreBuffer {
public:
  bool isEmpty() const { return stores_.empty(); }
  std::size_t size() const { return stores_.size(); }

  /// Commits what overlaps and adds the store.
  template <typename Commit>
  void add(const PendingStore &store, Commit commit) {
    commitOverlapping(store.address, store.bytes, commit);
    stores_.push_back(store);
    ++granules_[granule(store.address)];
  }
  template <typename Commit>
  void commitOverlapping(const char *address, unsigned bytes, Commit commit) {
    if (granules_.find(granule(address)) == granules_.end())
      return;
    commitIf(
        [&](const PendingStore &pending) {
          return overlaps(pending, address, bytes);
        },
        commit);
  }
  template <typename Condition, typename Commit>
  void commitIf(Condition condition, Commit commit) {
    for (std::size_t i = stores_.size(); i-- > 0;)
      if (condition(stores_[i]))
        commitAt(i, commit);
  }
  template <typename Commit> void commitAt(std::size_t index, Commit commit) {
    PendingStore store = stores_[index];
    stores_[index] = stores_.back();
    stores_.pop_back();
    auto count = granules_.find(granule(store.address));
    if (--count->second == 0)
      granules_.erase(count);
    commit(store);
  }
  /// Lays pending stores that the thread sees over what memory holds.
  void forward(void *to, const char *address, unsigned bytes,
               unsigned thread) const;

  void orderAll() {
    for (PendingStore &store : stores_)
      store.isOrdered = true;
  }
  /// After a __syncwarp: what one of its lanes releases covers the others'
  /// stores. Kept as if for the whole block, which orders too much, never too
  /// little.
  void orderWarp(unsigned warp, unsigned mask) {
    for (PendingStore &store : stores_)
      if (store.thread / 32 == warp && (mask >> store.thread % 32 & 1))
        store.isOrdered = true;
  }
  /// Marks what a release at gpu scope by the thread covers and leaves pending.
  void releaseOnRank(unsigned thread) {
    for (PendingStore &store : stores_)
      if (store.thread == thread || store.isOrdered)
        store.isReleasedOnRank = true;
  }

private:
  static std::uintptr_t granule(const char *address) {
    return reinterpret_cast<std::uintptr_t>(address) / 16;
  }
  static bool overlaps(const PendingStore &store, const char *address,
                       unsigned bytes) {
    return store.address < address + bytes &&
           address < store.address + store.bytes;
  }

  std::vector<PendingStore> stores_;
  /// Stores per 16 bytes: most accesses meet none.
  std::unordered_map<std::uintptr_t, unsigned> granules_;
};

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_STOREBUFFER_H
