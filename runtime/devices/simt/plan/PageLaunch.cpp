// Rows of a step into the pages of their cache.
#include "devices/simt/plan/SingleLaunch.h"

#include "devices/cpu/Rounding.h"

#include <algorithm>
#include <limits>

namespace layline::runtime {
namespace {

/// What the kernel moves at least.
constexpr std::int64_t kWordBytes = 4;

std::int64_t elementBytes(const Operand &cache) {
  return isInteger(cache.dtype) ? sizeof(std::int64_t) : sizeof(float);
}

/// Items of a row that lie one behind another are moved as one.
std::int64_t planesOf(const CacheStore &cache, const layline_pages &pages) {
  return pages.item_stride == cache.itemElements() ? 1 : cache.items();
}

} // namespace

std::string whyNotScattered(const RankContext<float> &rank, const Step &step) {
  const CacheStore &cache = rank.caches[step.arg("cache").index];
  if (cache.isOpaque())
    return "the engine's functions take the rows";
  // Rows and strides are whole elements, and those whole words.
  std::vector<float> scratch;
  if (cache.isHooked() &&
      reinterpret_cast<std::uintptr_t>(cache.pages(scratch).base) %
              kWordBytes !=
          0)
    return concat("the engine's pages are not aligned to ", kWordBytes,
                  " bytes");
  return "";
}

/// Each page that is written as a buffer of its own, so that an access beside
/// it is found; of pages that lie in one another, all of them as one.
void PageLaunch::exposePages(DeviceMemory &memory, const layline_pages &pages,
                             std::int64_t items, std::int64_t elements) {
  const Operand &operand = plan.step->arg("cache");
  const std::int64_t each = elementBytes(operand), first = params_.firstToken,
                     end = first + params_.tokens;
  auto extent = [&](std::int64_t rows) {
    return ((rows - 1) * pages.row_stride + (items - 1) * pages.item_stride +
            elements) *
           each;
  };
  auto *base = static_cast<unsigned char *>(pages.base);
  std::vector<Part> written; // bytes
  for (std::int64_t page = first / pages.page_rows;
       page * pages.page_rows < end; ++page) {
    std::int64_t at = pages.table ? pages.table[page] : page;
    written.push_back(
        {at * pages.page_stride * each,
         extent(std::min(pages.page_rows, end - page * pages.page_rows))});
  }
  std::sort(written.begin(), written.end());
  bool areApart = true;
  for (std::size_t i = 1; i < written.size(); ++i)
    areApart &= written[i - 1].end() <= written[i].begin;
  if (!areApart) {
    Part all = written.front();
    for (Part page : written)
      all.size = std::max(all.size, page.end() - all.begin);
    written = {all};
  }
  for (Part page : written)
    memory.expose("page", base + page.begin, page.size);
}

void PageLaunch::place(DeviceMemory &memory) {
  const Step &step = *plan.step;
  const Operand &operand = step.arg("cache");
  CacheStore &cache = rank_.cache(operand);
  const std::int64_t past = rank_.run->past, rows = plan.problem.tokens,
                     each = elementBytes(operand);
  cache.resize(past + rank_.run->tokens);
  std::vector<float> scratch;
  const layline_pages pages = cache.pages(scratch);
  const std::int64_t planes = planesOf(cache, pages),
                     elements = cache.rowElements() / planes;
  params_.firstToken = past;
  params_.tokens = rows;
  params_.planes = static_cast<std::int32_t>(planes);
  params_.pageTokens = static_cast<std::int32_t>(std::min<std::int64_t>(
      pages.page_rows, std::numeric_limits<std::int32_t>::max()));
  params_.pageStride = pages.page_stride * each;
  params_.tokenStride = pages.row_stride * each;
  params_.rowBytes = elements * each;
  params_.chunkTokens = 1;
  bytes_ = rows * planes * params_.rowBytes;

  // [planes][rows]
  std::vector<unsigned char> packed(static_cast<std::size_t>(bytes_));
  auto pack = [&](const auto *from) {
    auto *to = reinterpret_cast<std::decay_t<decltype(*from)> *>(packed.data());
    for (std::int64_t plane = 0; plane < planes; ++plane)
      for (std::int64_t row = 0; row < rows; ++row, to += elements)
        std::copy_n(from + (row * planes + plane) * elements, elements, to);
    if constexpr (std::is_same_v<decltype(from), const float *>)
      if (isRounded(rank_.run->precision, operand.dtype))
        roundToBF16(reinterpret_cast<float *>(packed.data()),
                    rows * planes * elements);
  };
  if (isInteger(operand.dtype))
    pack(static_cast<const std::int64_t *>(
        rank_.integers(step.arg("input")).data));
  else
    pack(static_cast<const float *>(rank_.floats(step.arg("input")).data));
  produced_ = memory.putBytes("produced rows", packed.data(), bytes_);
  params_.packed = memory.putBytes("rows", packed.data(), bytes_);
  std::fill_n(static_cast<unsigned char *>(params_.packed), bytes_,
              static_cast<unsigned char>(0xff));

  std::vector<void *> pools;
  for (std::int64_t plane = 0; plane < planes; ++plane)
    pools.push_back(static_cast<unsigned char *>(pages.base) +
                    plane * pages.item_stride * each);
  params_.pools = static_cast<void *const *>(memory.putBytes(
      "pools", pools.data(),
      static_cast<std::int64_t>(pools.size() * sizeof(void *))));
  std::vector<std::int32_t> table;
  for (std::int64_t page = 0; page * pages.page_rows < past + rows; ++page)
    table.push_back(pages.table ? pages.table[page]
                                : static_cast<std::int32_t>(page));
  params_.pages = static_cast<const std::int32_t *>(memory.putBytes(
      "page table", table.data(),
      static_cast<std::int64_t>(table.size() * sizeof(std::int32_t))));
  if (rows > 0)
    exposePages(memory, pages, cache.items(), cache.itemElements());
}

void PageLaunch::launch(GroupMachine &machine,
                        const std::vector<MemberLaunch *> &) {
  params_.watch = watchOf(machine.workspace(0));
  machine.copy(0, "producer", produced_, params_.packed, bytes_);
  machine.start(0, kernel_, plan.shape, params_,
                static_cast<std::uint32_t>(params_.planes));
}

} // namespace layline::runtime
