//===- RankPool.h - real buffers of one rank --------------------*- C++ -*-===//
//
// Buffers, page tables and recognisable bytes of a rank, for what really moves
// bytes: the simulation in one process, and engines between two. What a rank
// keeps, and where, is found token by token from the layouts alone, with none
// of the code that makes descriptors.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_KV_RANKPOOL_H
#define LAYLINE_KV_RANKPOOL_H

#include "kv/Binding.h"
#include "kv/Plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace layline::kv {

/// The pages of a request in one table, and how many pages its buffers have.
struct PoolPages {
  std::vector<std::int32_t> pages;
  std::int64_t poolPages = 0;
};

class RankPool {
public:
  struct Buffer {
    std::string name; ///< "k of layer 3"
    std::size_t begin = 0, bytes = 0;
  };

  /// `makePages(count)` gives the pages of each table of the side in turn, of
  /// which the request needs `count`. Ranks that keep pages by their numbers
  /// have to be given the same.
  RankPool(const Side &side, const Rank &rank, std::int64_t tokens,
           const std::function<PoolPages(std::int64_t)> &makePages);

  /// In the order of the rank's addresses, one after the other in memory.
  const std::vector<Buffer> &getBuffers() const { return buffers; }
  std::size_t countBytes() const { return totalBytes; }
  const std::vector<std::vector<std::int32_t>> &getPages() const {
    return pages;
  }
  const std::vector<std::int64_t> &getPoolPages() const { return poolPages; }

  /// The buffers lie at `memory` from now on, which the caller keeps.
  void place(std::uint8_t *memory);
  std::uint8_t *getData(std::size_t buffer) const {
    return memory + buffers[buffer].begin;
  }
  RankMemory getMemory() const;

  /// The tables in getMemory begin behind the pages of a prefix.
  void setFirstPages(std::vector<std::int64_t> entries) {
    firstPages = std::move(entries);
  }
  const std::vector<std::int64_t> &getFirstPages() const { return firstPages; }

private:
  std::vector<Buffer> buffers;
  std::size_t totalBytes = 0;
  std::uint8_t *memory = nullptr;
  std::vector<std::uint64_t> addresses;
  std::vector<std::vector<std::int32_t>> pages; ///< by table
  std::vector<std::int64_t> poolPages, firstPages;
};

/// The bytes of one head of one token, which differ wherever plane, layer, head
/// or token do.
void makeContent(int plane, std::int64_t layer, std::int64_t head,
                 std::int64_t token, std::uint8_t *out, std::int64_t bytes);

/// What bytes look like that belong to no token.
std::uint8_t getFiller(std::size_t buffer, std::size_t byte);
void fillPool(const RankPool &pool);

/// One head of one token where a rank keeps it, or a state of a request.
struct PoolItem {
  int plane = 0;
  std::int64_t layer = 0, head = 0, token = 0;
  std::size_t table = 0;            ///< of the side, that has the item's page
  std::int64_t entry = 0;           ///< of the table
  std::size_t buffer = 0, byte = 0; ///< ordinal, offset in it
};
/// All that a rank keeps of a request.
void forEachItem(const Plan &plan, const Side &side, const Rank &rank,
                 const RankPool &pool, std::int64_t tokens,
                 const std::function<void(const PoolItem &)> &visit);

/// By table of the side: the first entry that a request of which a target has
/// `prefix` tokens needs. Pages in front of it need not be in the table.
std::vector<std::int64_t> findFirstEntries(const Plan &plan, const Side &side,
                                           const Rank &rank,
                                           const RankPool &pool,
                                           std::int64_t tokens,
                                           std::int64_t prefix);

/// Writes the content of everything that a rank keeps.
void fillItems(const Plan &plan, const Side &side, const Rank &rank,
               const RankPool &pool, std::int64_t tokens);

/// Whether a target must be sent an item of which it has `prefix` tokens.
bool isNeeded(const Plane &plane, const PoolItem &item, std::int64_t tokens,
              std::int64_t prefix);

} // namespace layline::kv

#endif // LAYLINE_KV_RANKPOOL_H
