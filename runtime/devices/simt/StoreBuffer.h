// Stores that their block has made and others do not see yet.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_STOREBUFFER_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_STOREBUFFER_H

#include <cstddef>
#include <cstdint>
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
  std::int32_t next = -1; ///< store to the same 16 bytes

  std::uintptr_t granule() const {
    return reinterpret_cast<std::uintptr_t>(address) / 16;
  }
  bool overlaps(const char *other, unsigned size) const {
    return address < other + size && other < address + bytes;
  }
};

/// The first store to each 16 bytes, by their number. Open addressing with
/// linear probes.
class GranuleIndex {
public:
  /// -1 if there is none.
  std::int32_t find(std::uintptr_t granule) const;
  void set(std::uintptr_t granule, std::int32_t first);
  void erase(std::uintptr_t granule);

private:
  struct Slot {
    std::uintptr_t granule = 0;
    std::int32_t first = -1;
  };
  std::size_t home(std::uintptr_t granule) const {
    // Fibonacci hashing (Knuth, volume 3, 6.4).
    return (granule * 0x9E3779B97F4A7C15ULL >> 32) & (slots_.size() - 1);
  }
  void grow();

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
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
    link(store);
  }
  template <typename Commit>
  void commitOverlapping(const char *address, unsigned bytes, Commit commit) {
    std::uintptr_t granule = reinterpret_cast<std::uintptr_t>(address) / 16;
    bool isFound;
    do {
      isFound = false;
      std::int32_t i = index_.find(granule);
      for (; i >= 0; i = stores_[static_cast<std::size_t>(i)].next)
        if (stores_[static_cast<std::size_t>(i)].overlaps(address, bytes)) {
          isFound = true;
          commitAt(static_cast<std::size_t>(i), commit);
          break;
        }
    } while (isFound);
  }
  template <typename Condition, typename Commit>
  void commitIf(Condition condition, Commit commit) {
    for (std::size_t i = stores_.size(); i-- > 0;)
      if (condition(stores_[i]))
        commitAt(i, commit);
  }
  template <typename Commit> void commitAt(std::size_t index, Commit commit) {
    PendingStore store = stores_[index];
    unlink(index);
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
  void link(const PendingStore &store);
  void unlink(std::size_t index);
  /// Makes what points to store `from` point to `to`; -1 takes it out.
  void redirect(std::size_t from, std::int32_t to);

  std::vector<PendingStore> stores_;
  GranuleIndex index_;
};

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_STOREBUFFER_H
