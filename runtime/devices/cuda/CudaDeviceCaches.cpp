// The caches of device 'cuda': in its own memory, or in pages of the engine's.
#include "devices/cuda/CudaDevice.h"
#include "devices/cuda/HostNumbers.h"
#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime::cuda {
namespace {

/// Of elements in 16 or 32 bits.
bool dtypeOf(const Cache &cache, NumberType type, layline_dtype &dtype) {
  dtype = isInteger(cache.dtype)     ? LAYLINE_I64
          : type == NumberType::BF16 ? LAYLINE_BF16
          : type == NumberType::F16  ? LAYLINE_F16
                                     : LAYLINE_F32;
  return isInteger(cache.dtype) || local::numberBytes(type) > 1;
}

/// `visit(address, element)` for every item of the first rows: where it lies,
/// and its place among all items one behind another.
template <typename Visit>
void forEachItem(const RankView &rank, const CacheRows &cache,
                 const layline_pages &pages, std::int64_t rows,
                 const Visit &visit) {
  std::vector<std::int32_t> table;
  if (pages.table && rows > 0) {
    table.resize(static_cast<std::size_t>((rows - 1) / pages.page_rows + 1));
    copyOut(*rank.card, table.data(), reinterpret_cast<Address>(pages.table),
            table.size() * sizeof(table[0]),
            "page table of cache '" + cache.slice.cache->id + "'");
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t page = row / pages.page_rows;
    if (!table.empty())
      page = table[static_cast<std::size_t>(page)];
    for (std::int64_t item = 0; item < cache.slice.items; ++item) {
      std::int64_t at = page * pages.page_stride +
                        row % pages.page_rows * pages.row_stride +
                        item * pages.item_stride;
      visit(reinterpret_cast<Address>(pages.base) +
                static_cast<Address>(at * cache.elementBytes),
            (row * cache.slice.items + item) * cache.slice.itemElements);
    }
  }
}

} // namespace

void CudaDevice::makeCaches() {
  for (RankView &rank : ranks_)
    for (const Cache &cache : plan_.caches) {
      Shape row =
          localShape(cacheShape(cache), cache.layout, rank.environment());
      row.erase(row.begin());
      rank.caches.emplace_back();
      CacheRows &of = rank.caches.back();
      NumberType type = types_.of(cache.dtype);
      layline_dtype dtype = LAYLINE_F32;
      dtypeOf(cache, type, dtype);
      of.slice = sliceOf(cache, rank.rank, dtype, row);
      of.elementBytes = isInteger(cache.dtype) ? 8 : local::numberBytes(type);
    }
}

void CudaDevice::reserveCache(RankView &rank, int index, std::int64_t rows) {
  CacheRows &cache = rank.caches[static_cast<std::size_t>(index)];
  if (cache.hooks || rows <= cache.capacity)
    return;
  std::string what = "cache '" + plan_.caches[index].id + "'";
  std::int64_t most =
      checkedAdd(plan_.past.max, plan_.tokens.max, what.c_str());
  std::int64_t capacity = std::max(rows, std::min(most, cache.capacity * 2));
  std::int64_t bytes =
      checkedMul(checkedMul(capacity, cache.slice.rowElements(), what.c_str()),
                 cache.elementBytes, what.c_str());
  DeviceMemory grown(*rank.card, static_cast<std::size_t>(bytes), what,
                     {allocator(), rank.rank, LAYLINE_MEMORY_CACHE});
  if (std::int64_t kept =
          cache.rows * cache.slice.rowElements() * cache.elementBytes;
      kept > 0) {
    rank.card->use();
    check(driver().copyOnDevice(grown.address(), cache.memory.address(),
                                static_cast<std::size_t>(kept), nullptr),
          "cuMemcpyDtoDAsync", what);
    check(driver().streamSynchronize(nullptr), "cuStreamSynchronize", what);
  }
  cache.memory = std::move(grown);
  cache.capacity = capacity;
}

void CudaDevice::reserveCaches(std::int64_t rows) {
  for (RankView &rank : ranks_)
    for (std::size_t c = 0; c < rank.caches.size(); ++c)
      reserveCache(rank, static_cast<int>(c), rows);
}

void CudaDevice::useCacheHooks(int index) {
  const Cache &cache = plan_.caches[index];
  const layline_cache_hooks *hooks =
      options_.hooks &&
              options_.hooks->isHooked(static_cast<std::size_t>(index))
          ? &options_.hooks->caches[static_cast<std::size_t>(index)]
          : nullptr;
  if (hooks && !hooks->pages)
    fail(LAYLINE_REFUSED_FEATURE, "cache '", cache.id,
         "': device 'cuda' reads and writes rows on the card, and hands none "
         "to the host; found the hooks append and read, expected pages");
  layline_dtype dtype = LAYLINE_F32;
  if (hooks && !dtypeOf(cache, types_.of(cache.dtype), dtype))
    fail(LAYLINE_REFUSED_FEATURE, "cache '", cache.id, "': rows are kept in ",
         numberName(types_.of(cache.dtype)),
         "; pages of an engine's have 16 or 32 bits an element");
  ++hookChanges_;
  for (RankView &rank : ranks_) {
    CacheRows &of = rank.caches[static_cast<std::size_t>(index)];
    of.hooks = hooks;
    of.pages = {};
    of.memory = {};
    of.rows = of.capacity = 0;
  }
}

/// The driver is asked too: what is no memory of the rank's card would fail
/// inside a kernel.
void CudaDevice::locateCache(RankView &rank, int index, std::int64_t rows) {
  CacheRows &of = rank.caches[static_cast<std::size_t>(index)];
  if (!of.hooks)
    return;
  of.pages = locate(of.slice, *of.hooks, rows, PageTable::OfDevice);
  if (rows == 0 || of.slice.rowElements() == 0)
    return;
  auto check = [&](const void *memory, const char *what) {
    rank.card->checkOwns(reinterpret_cast<Address>(memory),
                         concat("cache '", of.slice.cache->id, "' on rank ",
                                rank.rank, ": the engine's pages hook gives ",
                                what));
  };
  check(of.pages.base, "a base");
  if (of.pages.table)
    check(of.pages.table, "a table");
}

void CudaDevice::locateCaches(std::int64_t rows) {
  for (RankView &rank : ranks_)
    for (std::size_t c = 0; c < rank.caches.size(); ++c)
      locateCache(rank, static_cast<int>(c), rows);
}

void CudaDevice::writeRows(RankView &rank, int index, const std::byte *bytes) {
  const CacheRows &of = rank.caches[static_cast<std::size_t>(index)];
  std::string what = "cache '" + of.slice.cache->id + "'";
  if (!of.hooks)
    return copyIn(*rank.card, of.memory.address(), bytes,
                  static_cast<std::size_t>(of.rows * of.slice.rowElements() *
                                           of.elementBytes),
                  what);
  forEachItem(rank, of, of.pages, of.rows,
              [&](Address to, std::int64_t element) {
                copyIn(*rank.card, to, bytes + element * of.elementBytes,
                       static_cast<std::size_t>(of.slice.itemElements *
                                                of.elementBytes),
                       what);
              });
}

std::vector<std::byte> CudaDevice::readRows(RankView &rank, int index) {
  locateCache(rank, index, cacheRows(index));
  const CacheRows &of = rank.caches[static_cast<std::size_t>(index)];
  std::string what = "cache '" + of.slice.cache->id + "'";
  std::vector<std::byte> bytes(static_cast<std::size_t>(
      of.rows * of.slice.rowElements() * of.elementBytes));
  if (!of.hooks)
    copyOut(*rank.card, bytes.data(), of.memory.address(), bytes.size(), what);
  else
    forEachItem(
        rank, of, of.pages, of.rows, [&](Address from, std::int64_t element) {
          copyOut(
              *rank.card,
              &bytes[static_cast<std::size_t>(element * of.elementBytes)], from,
              static_cast<std::size_t>(of.slice.itemElements * of.elementBytes),
              what);
        });
  return bytes;
}

void CudaDevice::bindCache(int index, const GlobalValue &rows) {
  const Cache &cache = plan_.caches[index];
  for (RankView &rank : ranks_) {
    CacheRows &of = rank.caches[static_cast<std::size_t>(index)];
    of.rows = 0; // nothing of the old ones is kept
    reserveCache(rank, index, rows.shape[0]);
    locateCache(rank, index, rows.shape[0]);
    of.rows = rows.shape[0];
    Region region =
        regionOf(plan_, rows.shape, cache.layout, rank.environment());
    auto count = static_cast<std::size_t>(of.rows * of.slice.rowElements());
    if (rows.isInteger) {
      std::vector<std::int64_t> values(count);
      forEachRun(rows.shape, region,
                 [&](std::int64_t to, std::int64_t from, std::int64_t size) {
                   std::copy_n(&rows.integers[from], size, &values[to]);
                 });
      writeRows(rank, index, reinterpret_cast<std::byte *>(values.data()));
      continue;
    }
    std::vector<float> values(count);
    forEachRun(rows.shape, region,
               [&](std::int64_t to, std::int64_t from, std::int64_t size) {
                 for (std::int64_t i = 0; i < size; ++i)
                   values[to + i] = static_cast<float>(rows.floats[from + i]);
               });
    writeRows(rank, index, encode(values, types_.of(cache.dtype)).data());
  }
}

void CudaDevice::truncateCache(int index, std::int64_t rows) {
  for (RankView &rank : ranks_) {
    reserveCache(rank, index, rows);
    rank.caches[static_cast<std::size_t>(index)].rows = rows;
  }
}

} // namespace layline::runtime::cuda
