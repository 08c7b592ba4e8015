// KV bindings packed: rounds, slots, what is sent of them.
#include "capi/KVBorder.h"
#include "capi/Parallel.h"

using namespace layline::kv;
using layline::runtime::chooseThreads;
using layline::runtime::fail;
using layline::runtime::getShare;
using layline::runtime::inside;
using layline::runtime::lengthOf;
using layline::runtime::notNull;
using layline::runtime::runThreads;
using layline::runtime::Share;

static const Round &getRound(const layline_kv_packing *packing, int64_t index) {
  notNull(packing);
  const std::vector<Round> &rounds = packing->packed.getRounds();
  inside(index, lengthOf(rounds), "round");
  return rounds[index];
}

static const Round &getRoundOfSlot(const layline_kv_packing *packing,
                                   int64_t index, const void *slot,
                                   size_t slotBytes) {
  const Round &round = getRound(packing, index);
  notNull(slot);
  if (slotBytes < static_cast<size_t>(round.bytes))
    fail(LAYLINE_BAD_ARGUMENT, "a slot of ", slotBytes,
         " bytes is given; round ", index, " has ", round.bytes);
  return round;
}

/// Calls copy(begin, end) for parts of a round's blocks.
template <typename Copy>
static void copyShared(const Round &round, std::int32_t asked,
                       const Copy &copy) {
  constexpr std::int64_t kForThread = 1 << 20; // bytes
  std::int64_t threads =
      std::min(chooseThreads(asked, round.bytes, kForThread), round.blocks);
  runThreads(threads, [&](std::int64_t i) {
    Share share = getShare(round.blocks, threads, i);
    copy(share.begin, share.end);
  });
}

extern "C" {

layline_status layline_kv_packing_create(const layline_kv_binding *handle,
                                         int64_t index, int64_t slotBytes,
                                         int64_t maxDescriptors,
                                         layline_kv_packing **packing) {
  return guardedKV([&] {
    notNull(packing);
    *packing = nullptr;
    notNull(handle);
    const Binding &binding = *handle->binding;
    inside(index, lengthOf(binding.getParts()), "part");
    if (maxDescriptors < 0)
      fail(LAYLINE_BAD_ARGUMENT, "a limit of ", maxDescriptors,
           " descriptors is given; 0 or more is expected");
    const Part &part = binding.getParts()[index];
    *packing = new layline_kv_packing{
        handle->binding,
        slotBytes == 0 && part.packing != Packing::None
            ? PackedBinding(binding, part)
            : PackedBinding(binding, part, slotBytes, maxDescriptors)};
  });
}

void layline_kv_packing_destroy(layline_kv_packing *packing) { delete packing; }

layline_status layline_kv_packing_rounds(const layline_kv_packing *packing,
                                         int64_t *count) {
  return guardedKV([&] {
    notNull(packing);
    notNull(count);
    *count = lengthOf(packing->packed.getRounds());
  });
}

layline_status layline_kv_packing_round(const layline_kv_packing *packing,
                                        int64_t index,
                                        layline_kv_round *round) {
  return guardedKV([&] {
    const Round &found = getRound(packing, index);
    notNull(round);
    *round = {found.firstBlock, found.blocks, found.bytes, found.descriptors};
  });
}

layline_status layline_kv_pack(const layline_kv_packing *packing, int64_t round,
                               void *slot, size_t slotBytes, int32_t threads) {
  return guardedKV([&] {
    const Round &found = getRoundOfSlot(packing, round, slot, slotBytes);
    if (packing->packed.packsAtSource())
      copyShared(found, threads, [&](int64_t begin, int64_t end) {
        packing->packed.pack(found, slot, begin, end);
      });
  });
}

layline_status layline_kv_unpack(const layline_kv_packing *packing,
                                 int64_t round, const void *slot,
                                 size_t slotBytes, int32_t threads) {
  return guardedKV([&] {
    const Round &found = getRoundOfSlot(packing, round, slot, slotBytes);
    if (packing->packed.packsAtTarget())
      copyShared(found, threads, [&](int64_t begin, int64_t end) {
        packing->packed.unpack(found, slot, begin, end);
      });
  });
}

layline_status
layline_kv_packing_descriptors(const layline_kv_packing *packing, int64_t round,
                               uint64_t sourceSlot, uint64_t targetSlot,
                               uint64_t *source, uint64_t *target,
                               uint64_t *bytes, int64_t room) {
  return guardedKV([&] {
    const Round &found = getRound(packing, round);
    notNull(source, target, bytes);
    if (room < found.descriptors)
      fail(LAYLINE_BAD_ARGUMENT, "there is room for ", room,
           " descriptors; round ", round, " has ", found.descriptors);
    packing->packed.forEachDescriptor(found, sourceSlot, targetSlot,
                                      [&](const Descriptor &descriptor) {
                                        *source++ = descriptor.source;
                                        *target++ = descriptor.target;
                                        *bytes++ = descriptor.bytes;
                                      });
  });
}

} // extern "C"
