// KV plans: who reports what, how long buffers are pinned, slots, digests.
#include "capi/KVBorder.h"

#include "kv/LayoutDigest.h"
#include "kv/PlanNames.h"

#include <algorithm>
#include <cstring>

using namespace layline::kv;
using layline::runtime::fail;
using layline::runtime::inside;
using layline::runtime::lengthOf;
using layline::runtime::notNull;

static void copyDigest(const std::string &text, char *digest) {
  std::memcpy(digest, text.c_str(), LAYLINE_KV_DIGEST_SIZE);
}

extern "C" {

layline_status layline_kv_plan_responder(const layline_kv_plan *handle,
                                         int64_t target, int64_t index,
                                         layline_kv_responder_info *info) {
  return guardedKV([&] {
    notNull(handle);
    notNull(info);
    const Readiness &readiness = handle->plan.readiness;
    inside(target, lengthOf(readiness.targets), "target rank");
    const std::vector<Responder> &found = readiness.targets[target];
    inside(index, lengthOf(found), "responder");
    const Responder &responder = found[index];
    *info = {responder.source, readiness.keys[responder.source].c_str(),
             responder.completions, responder.reports};
  });
}

layline_status layline_kv_plan_lifetimes(const layline_kv_plan *handle,
                                         int64_t *count) {
  return guardedKV([&] {
    notNull(handle);
    notNull(count);
    *count = lengthOf(handle->plan.lifetimes);
  });
}

layline_status layline_kv_plan_lifetime(const layline_kv_plan *handle,
                                        int64_t index,
                                        layline_kv_lifetime_info *info) {
  return guardedKV([&] {
    notNull(handle);
    notNull(info);
    inside(index, lengthOf(handle->plan.lifetimes), "lifetime");
    const Lifetime &found = handle->plan.lifetimes[index];
    *info = {
        getName(kStores, found.store),         found.name.c_str(),
        getName(kMoments, found.from),         getName(kMoments, found.until),
        getName(kMoments, found.afterFailure), getName(kReuses, found.reuse)};
  });
}

layline_status layline_kv_plan_slots(const layline_kv_plan *handle,
                                     int64_t *count) {
  return guardedKV([&] {
    notNull(handle);
    notNull(count);
    *count = lengthOf(handle->plan.relay.slots);
  });
}

layline_status layline_kv_plan_slot(const layline_kv_plan *handle,
                                    int64_t index, layline_kv_slot_info *info) {
  return guardedKV([&] {
    notNull(handle);
    notNull(info);
    inside(index, lengthOf(handle->plan.relay.slots), "slot");
    const RelaySlot &found = handle->plan.relay.slots[index];
    *info = {found.isAtSource ? LAYLINE_KV_SOURCE : LAYLINE_KV_TARGET,
             found.source,
             found.target,
             found.lane,
             found.bytes,
             found.maxDescriptors};
  });
}

layline_status
layline_kv_plan_page_digest(const layline_kv_plan *plan, int32_t side,
                            int64_t rank, int64_t index,
                            char digest[LAYLINE_KV_DIGEST_SIZE]) {
  return guardedKV([&] {
    const Side &all = getSide(plan, side);
    inside(rank, lengthOf(all.ranks), "rank");
    notNull(digest);
    const Rank &found = all.ranks[rank];
    inside(index, found.countBuffers(), "buffer");
    int buffer = 0;
    for (; index >= lengthOf(found.layers[buffer]); ++buffer)
      index -= lengthOf(found.layers[buffer]);
    copyDigest(getLayoutDigest(plan->plan, all, found, buffer,
                               {found.layers[buffer][index]}),
               digest);
  });
}

layline_status
layline_kv_plan_layers_digest(const layline_kv_plan *plan, int32_t side,
                              int64_t rank, const char *buffer,
                              char digest[LAYLINE_KV_DIGEST_SIZE]) {
  return guardedKV([&] {
    const Side &all = getSide(plan, side);
    inside(rank, lengthOf(all.ranks), "rank");
    notNull(buffer, digest);
    auto found =
        std::find_if(all.buffers.begin(), all.buffers.end(),
                     [&](const Buffer &one) { return one.name == buffer; });
    if (found == all.buffers.end())
      fail(LAYLINE_BAD_ARGUMENT, "buffer '", buffer,
           "' is asked for; the side has none of this name");
    const auto &digests = side == LAYLINE_KV_SOURCE ? plan->plan.sourceDigests
                                                    : plan->plan.targetDigests;
    copyDigest(digests[rank][found - all.buffers.begin()], digest);
  });
}

} // extern "C"
