// The rows of one cache that one rank holds: in memory of the runtime, in pages
// of the engine's, or behind the engine's functions.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_CACHESTORE_H
#define LAYLINE_RUNTIME_DEVICES_CPU_CACHESTORE_H

#include "engine/AlignedBytes.h"
#include "engine/CacheRequests.h"
#include "plan/Plan.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace layline::runtime {

/// Address of an item of a row (layline/hooks.h has the formula).
template <typename Element>
Element *rowOf(const layline_pages &pages, std::int64_t row,
               std::int64_t item = 0) {
  std::int64_t page = row / pages.page_rows;
  if (pages.table)
    page = pages.table[page];
  return static_cast<Element *>(pages.base) + page * pages.page_stride +
         row % pages.page_rows * pages.row_stride + item * pages.item_stride;
}

/// Calls visit(row, address of the item in it) for the first `rows` rows.
template <typename Element, typename Visit>
void forEachRow(const layline_pages &pages, std::int64_t rows,
                std::int64_t item, const Visit &visit) {
  for (std::int64_t first = 0; first < rows; first += pages.page_rows) {
    Element *at = rowOf<Element>(pages, first, item);
    std::int64_t end = std::min(rows, first + pages.page_rows);
    for (std::int64_t row = first; row < end; ++row, at += pages.row_stride)
      visit(row, at);
  }
}

class CacheStore {
public:
  /// `dtype`: of the elements in this engine. `localRow`: what the rank holds
  /// of a row. Cache and allocator must outlive the store.
  CacheStore(const Cache &cache, std::int64_t rank, layline_dtype dtype,
             const Shape &localRow, const layline_allocator *allocator);

  std::int64_t rows() const { return rows_; }
  std::int64_t rowElements() const { return slice_.rowElements(); }
  std::int64_t items() const { return slice_.items; }
  std::int64_t itemElements() const { return slice_.itemElements; }

  /// From now on the rows are where these hooks say; null: the runtime's again.
  /// Drops all rows.
  void use(const layline_cache_hooks *hooks);
  bool isHooked() const { return hooks_ != nullptr; }
  /// Whether rows are behind the engine's functions, in no memory of ours.
  bool isOpaque() const { return hooks_ && !hooks_->pages; }

  /// Keeps the first `rows` rows, or makes room for more. Of the engine's rows
  /// only the number is noted.
  void resize(std::int64_t rows);
  /// Asks the engine where the first `rows` rows lie, if it has them in pages.
  void locate(std::int64_t rows);

  /// Dense rows in and out. Those written must have room; locate() comes first.
  template <typename Element>
  void write(std::int64_t first, std::int64_t count, const Element *from);
  template <typename Element>
  void read(std::int64_t first, std::int64_t count, Element *to) const;

  /// Where all rows lie. What is no memory of this process is read into
  /// `scratch`.
  template <typename Element>
  layline_pages pages(std::vector<Element> &scratch) const;
  /// All rows one behind another: where they lie, or copied into `scratch`.
  template <typename Element>
  const Element *dense(std::vector<Element> &scratch) const;

private:
  /// Rows at `data`, one behind another.
  layline_pages denseAt(void *data) const;

  CacheSlice slice_;
  MemorySource source_;
  std::int64_t rows_ = 0;
  AlignedBytes own_;
  layline_pages pages_ = {};
  const layline_cache_hooks *hooks_ = nullptr;
};

template <typename Element>
void CacheStore::write(std::int64_t first, std::int64_t count,
                       const Element *from) {
  if (isOpaque()) {
    HookMessage message = {};
    layline_cache_request asked = slice_.request(first, count, message);
    return checkHook(slice_, hooks_->append(hooks_->user, &asked, from),
                     message, "append");
  }
  if (!hooks_) { // dense
    std::copy_n(from, count * rowElements(),
                static_cast<Element *>(pages_.base) + first * rowElements());
    return;
  }
  for (std::int64_t row = first; row < first + count; ++row)
    for (std::int64_t item = 0; item < items(); ++item, from += itemElements())
      std::copy_n(from, itemElements(), rowOf<Element>(pages_, row, item));
}

template <typename Element>
void CacheStore::read(std::int64_t first, std::int64_t count,
                      Element *to) const {
  if (isOpaque()) {
    HookMessage message = {};
    layline_cache_request asked = slice_.request(first, count, message);
    return checkHook(slice_, hooks_->read(hooks_->user, &asked, to), message,
                     "read");
  }
  for (std::int64_t row = first; row < first + count; ++row)
    for (std::int64_t item = 0; item < items(); ++item, to += itemElements())
      std::copy_n(rowOf<const Element>(pages_, row, item), itemElements(), to);
}

template <typename Element>
layline_pages CacheStore::pages(std::vector<Element> &scratch) const {
  if (!isOpaque())
    return pages_;
  dense(scratch);
  return denseAt(scratch.data());
}

template <typename Element>
const Element *CacheStore::dense(std::vector<Element> &scratch) const {
  if (!hooks_)
    return static_cast<const Element *>(pages_.base);
  scratch.resize(static_cast<std::size_t>(rows_ * rowElements()));
  read(0, rows_, scratch.data());
  return scratch.data();
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_CACHESTORE_H
