// KV bindings: bind, count, write descriptors.
#include "capi/KVBorder.h"
#include "capi/Parallel.h"

#include <algorithm>
#include <atomic>
#include <cstddef>

using namespace layline::kv;
using layline::runtime::fail;
using layline::runtime::inside;
using layline::runtime::lengthOf;
using layline::runtime::notNull;

namespace {

// Descriptors that are worth a thread: about what one writes in the time that
// it takes to start another.
constexpr std::int64_t kForThread = 1 << 16;

RankMemory readMemory(const layline_kv_memory *memory, const char *who) {
  notNull(memory);
  // What the first version had; fields behind are read if they are there.
  constexpr std::size_t kFirstSize = offsetof(layline_kv_memory, first_pages);
  if (memory->size < kFirstSize)
    fail(LAYLINE_BAD_ARGUMENT, who, " memory.size is ", memory->size,
         "; at least ", kFirstSize, " is expected");
  const std::int64_t *firstPages =
      memory->size >= sizeof(layline_kv_memory) ? memory->first_pages : nullptr;
  RankMemory result;
  result.buffers = memory->buffers;
  result.bufferCount = memory->buffer_count;
  if (memory->table_count < 0 || memory->table_count > 256)
    fail(LAYLINE_BAD_ARGUMENT, who, ": ", memory->table_count,
         " page tables are given; 0 to 256 are expected");
  if (memory->table_count > 0 && (!memory->tables || !memory->table_pages))
    fail(LAYLINE_BAD_ARGUMENT, who,
         ": the list of page tables, or of their lengths, is null");
  for (std::int64_t i = 0; i < memory->table_count; ++i) {
    if (memory->table_pages[i] < 0)
      fail(LAYLINE_BAD_ARGUMENT, who, ": page table ", i, " has ",
           memory->table_pages[i], " pages");
    result.tables.push_back({memory->tables[i], memory->table_pages[i],
                             firstPages ? firstPages[i] : 0});
    if (memory->pool_pages)
      result.poolPages.push_back(memory->pool_pages[i]);
  }
  return result;
}

/// A rank's number, in what the plan keeps it in.
int toRank(std::int64_t rank, const Side &side, const char *who) {
  inside(rank, lengthOf(side.ranks), who);
  return static_cast<int>(rank);
}

/// [first, first + count) of what there are `total`.
void checkRange(std::int64_t first, std::int64_t count, std::int64_t total,
                const char *what) {
  if (first < 0 || count < 0 || first > total || count > total - first)
    fail(LAYLINE_BAD_ARGUMENT, count, " ", what, " from number ", first,
         " on are asked for; there are ", total);
}

layline_kv_batch toC(const Batch &batch) {
  return {batch.first, batch.descriptors, batch.bytes,
          batch.isWithLastChunk ? 1 : 0};
}

/// Calls fill(begin, count) for pieces of [first, first + count).
template <typename Fill>
void fillShared(std::int64_t first, std::int64_t count, std::int32_t asked,
                const Fill &fill) {
  std::int64_t threads =
      layline::runtime::chooseThreads(asked, count, kForThread);
  if (threads == 1)
    return fill(first, count);
  layline::runtime::runThreads(threads, [&](std::int64_t i) {
    layline::runtime::Share share =
        layline::runtime::getShare(count, threads, i);
    fill(first + share.begin, share.end - share.begin);
  });
}

} // namespace

extern "C" {

layline_status layline_kv_bind(const layline_kv_plan *handle,
                               const layline_kv_request *request,
                               int64_t source, int64_t target,
                               const layline_kv_memory *sourceMemory,
                               const layline_kv_memory *targetMemory,
                               layline_kv_binding **binding) {
  return guardedKV([&] {
    notNull(binding);
    *binding = nullptr;
    notNull(handle);
    const Plan &plan = handle->plan;
    auto made = std::make_shared<const Binding>(
        plan, readRequest(request), toRank(source, plan.source, "source rank"),
        toRank(target, plan.target, "target rank"),
        readMemory(sourceMemory, "source"), readMemory(targetMemory, "target"));
    *binding = new layline_kv_binding{std::move(made)};
  });
}

void layline_kv_binding_destroy(layline_kv_binding *binding) { delete binding; }

layline_status layline_kv_binding_counts(const layline_kv_binding *handle,
                                         layline_kv_counts *counts) {
  return guardedKV([&] {
    notNull(handle);
    notNull(counts);
    const Binding &binding = *handle->binding;
    *counts = {binding.countDescriptors(), binding.countRegions(),
               lengthOf(binding.getBatches()), lengthOf(binding.getParts()),
               binding.countBytes()};
  });
}

layline_status layline_kv_binding_equal_bytes(const layline_kv_binding *handle,
                                              int64_t *bytes) {
  return guardedKV([&] {
    notNull(handle);
    notNull(bytes);
    *bytes = handle->binding->getEqualBytes();
  });
}

layline_status layline_kv_binding_batches(const layline_kv_binding *handle,
                                          int64_t first, int64_t count,
                                          layline_kv_batch *batches) {
  return guardedKV([&] {
    notNull(handle);
    const std::vector<Batch> &found = handle->binding->getBatches();
    checkRange(first, count, lengthOf(found), "batches");
    if (count > 0)
      notNull(batches);
    for (int64_t i = 0; i < count; ++i)
      batches[i] = toC(found[first + i]);
  });
}

layline_status layline_kv_binding_part(const layline_kv_binding *handle,
                                       int64_t index, layline_kv_part *part) {
  return guardedKV([&] {
    notNull(handle);
    notNull(part);
    const std::vector<Part> &parts = handle->binding->getParts();
    inside(index, lengthOf(parts), "part");
    const Part &found = parts[index];
    *part = {found.first,   found.descriptors,  found.firstBatch,
             found.batches, toC(found.packing), found.isWithLastChunk ? 1 : 0};
  });
}

layline_status layline_kv_binding_part_slot(const layline_kv_binding *handle,
                                            int64_t index,
                                            layline_kv_part_slot *slot) {
  return guardedKV([&] {
    notNull(handle);
    notNull(slot);
    const std::vector<Part> &parts = handle->binding->getParts();
    inside(index, lengthOf(parts), "part");
    if (parts[index].packing == Packing::None)
      fail(LAYLINE_BAD_ARGUMENT, "part ", index,
           " does not pack, so that it has no slots");
    const SlotLimits &found = parts[index].slot;
    *slot = {found.bytes, found.maxDescriptors, found.lane};
  });
}

layline_status layline_kv_fill(const layline_kv_binding *handle, int64_t first,
                               int64_t count, uint64_t *source,
                               uint64_t *target, uint64_t *bytes,
                               int32_t threads) {
  return guardedKV([&] {
    notNull(handle);
    const Binding &binding = *handle->binding;
    checkRange(first, count, binding.countDescriptors(), "descriptors");
    if (count == 0)
      return;
    notNull(source, target);
    if (!bytes && !binding.getEqualBytes())
      fail(LAYLINE_BAD_ARGUMENT,
           "the array of lengths is null, but the descriptors have different "
           "lengths; an array is expected");
    fillShared(first, count, threads, [&](int64_t begin, int64_t here) {
      int64_t at = begin - first;
      binding.fill(begin, here, source + at, target + at,
                   bytes ? bytes + at : nullptr);
    });
  });
}

layline_status layline_kv_fill_rows(const layline_kv_binding *handle,
                                    int64_t first, int64_t count,
                                    uint64_t sourceDevice,
                                    uint64_t targetDevice, uint64_t *sourceRows,
                                    uint64_t *targetRows, int32_t threads) {
  return guardedKV([&] {
    notNull(handle);
    const Binding &binding = *handle->binding;
    checkRange(first, count, binding.countDescriptors(), "descriptors");
    if (count == 0)
      return;
    notNull(sourceRows, targetRows);
    fillShared(first, count, threads, [&](int64_t begin, int64_t here) {
      int64_t at = 3 * (begin - first);
      binding.fillRows(begin, here, sourceDevice, targetDevice, sourceRows + at,
                       targetRows + at);
    });
  });
}

layline_status layline_kv_regions(const layline_kv_binding *handle,
                                  int64_t first, int64_t count,
                                  layline_kv_region *regions) {
  return guardedKV([&] {
    notNull(handle);
    const Binding &binding = *handle->binding;
    checkRange(first, count, binding.countRegions(), "regions");
    if (count > 0)
      notNull(regions);
    binding.forEachRegion(first, count, [&](const BoundRegion &bound) {
      const Region &region = bound.region;
      *regions++ = {
          bound.source, bound.target,      static_cast<uint64_t>(region.bytes),
          region.inner, region.sourceStep, region.targetStep,
          region.outer, region.sourceJump, region.targetJump};
    });
  });
}

layline_status layline_kv_for_each_batch(const layline_kv_binding *handle,
                                         int64_t most, int32_t asked,
                                         layline_kv_visit visit,
                                         void *context) {
  return guardedKV([&] {
    notNull(handle);
    if (!visit)
      fail(LAYLINE_BAD_ARGUMENT, "the function to call is null");
    if (most < 1)
      fail(LAYLINE_BAD_ARGUMENT, most,
           " descriptors at a time are asked for; at least 1 is expected");
    const Binding &binding = *handle->binding;
    const std::vector<Batch> &batches = binding.getBatches();
    int64_t largest = 0;
    for (const Batch &batch : batches)
      largest = std::max(largest, batch.descriptors);
    int64_t room = std::min(most, largest);
    std::atomic<int64_t> next{0};
    std::atomic<bool> isOver{false};
    auto walk = [&](int64_t) {
      // Each array begins with a cache line, which a store never crosses then.
      constexpr std::size_t kLine = 64;
      int64_t pitch = (room + 7) / 8 * 8;
      std::vector<uint64_t> piece(3 * static_cast<std::size_t>(pitch) + 7);
      uint64_t *source =
          piece.data() +
          (kLine - reinterpret_cast<std::uintptr_t>(piece.data()) % kLine) %
              kLine / 8;
      uint64_t *target = source + pitch, *bytes = target + pitch;
      // Lengths are written once where all are the same.
      const auto equalBytes = static_cast<uint64_t>(binding.getEqualBytes());
      if (equalBytes)
        std::fill(bytes, bytes + room, equalBytes);
      for (int64_t i; (i = next++) < lengthOf(batches);) {
        layline_kv_batch batch = toC(batches[i]);
        for (int64_t done = 0; done < batch.descriptors; done += room) {
          int64_t first = batch.first + done;
          int64_t here = std::min(room, batch.descriptors - done);
          binding.fill(batches[i], done, here, source, target,
                       equalBytes ? nullptr : bytes);
          if (isOver)
            return;
          if (int value =
                  visit(context, &batch, first, here, source, target, bytes)) {
            isOver = true;
            fail(LAYLINE_RUN_FAILURE, "batch ", i, ": the visit of ", here,
                 " descriptors from number ", first, " on returned ", value);
          }
        }
      }
    };
    int64_t threads =
        layline::runtime::chooseThreads(asked, lengthOf(batches), 1);
    layline::runtime::runThreads(threads, walk);
  });
}

} // extern "C"
