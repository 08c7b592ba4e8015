// KV plans: load, ask.
#include "capi/KVBorder.h"

#include "kv/ParsePlan.h"

#include <algorithm>

using namespace layline::kv;
using layline::runtime::fail;
using layline::runtime::inside;
using layline::runtime::lengthOf;
using layline::runtime::notNull;

namespace layline::kv {

std::string &getErrorText() {
  thread_local std::string text;
  return text;
}

const Side &getSide(const layline_kv_plan *plan, int32_t side) {
  notNull(plan);
  if (side == LAYLINE_KV_SOURCE)
    return plan->plan.source;
  if (side == LAYLINE_KV_TARGET)
    return plan->plan.target;
  fail(LAYLINE_BAD_ARGUMENT, "side ", side,
       " is asked for; 0 (source) or 1 (target) is expected");
}

layline_kv_packing_place toC(Packing packing) {
  switch (packing) {
  case Packing::None:
    return LAYLINE_KV_PACK_NOWHERE;
  case Packing::Source:
    return LAYLINE_KV_PACK_AT_SOURCE;
  case Packing::Target:
    return LAYLINE_KV_PACK_AT_TARGET;
  case Packing::Both:
    return LAYLINE_KV_PACK_AT_BOTH;
  }
  fail(LAYLINE_INTERNAL, "unknown place to pack at");
}

Request readRequest(const layline_kv_request *request) {
  notNull(request);
  if (request->size < sizeof(layline_kv_request))
    fail(LAYLINE_BAD_ARGUMENT, "request.size is ", request->size, "; ",
         sizeof(layline_kv_request), " is expected");
  return {request->tokens,
          {request->chunk_begin, request->chunk_end},
          request->is_last != 0,
          request->prefix,
          request->room};
}

} // namespace layline::kv

static const Rank &getRank(const layline_kv_plan *plan, int32_t side,
                           std::int64_t rank) {
  const Side &all = getSide(plan, side);
  inside(rank, lengthOf(all.ranks),
         side == LAYLINE_KV_SOURCE ? "source rank" : "target rank");
  return all.ranks[rank];
}

extern "C" {

const char *layline_kv_error(void) { return getErrorText().c_str(); }

const char *layline_kv_status_name(layline_status status) {
  return layline::runtime::getStatusName(status);
}

const char *layline_kv_format_version(void) { return kVersion; }

layline_status layline_kv_plan_load(const char *path, layline_kv_plan **plan) {
  return guardedKV([&] {
    notNull(plan);
    *plan = nullptr;
    notNull(path);
    *plan = new layline_kv_plan(readPlan(path));
  });
}

layline_status layline_kv_plan_load_memory(const char *text, size_t bytes,
                                           const char *name,
                                           layline_kv_plan **plan) {
  return guardedKV([&] {
    notNull(plan);
    *plan = nullptr;
    notNull(text, name);
    *plan = new layline_kv_plan(parsePlan({text, bytes}, name));
  });
}

void layline_kv_plan_destroy(layline_kv_plan *plan) { delete plan; }

layline_status layline_kv_plan_get(const layline_kv_plan *handle,
                                   layline_kv_plan_info *info) {
  return guardedKV([&] {
    notNull(handle);
    notNull(info);
    const Plan &plan = handle->plan;
    *info = {plan.model.c_str(),
             plan.profile.c_str(),
             lengthOf(plan.planes),
             lengthOf(plan.transfers),
             plan.policy.maxDescriptors,
             plan.policy.slotBytes,
             plan.policy.roundsToPages ? 1 : 0};
  });
}

layline_status layline_kv_plan_plane(const layline_kv_plan *plan, int64_t index,
                                     layline_kv_plane_info *info) {
  return guardedKV([&] {
    notNull(plan);
    notNull(info);
    inside(index, lengthOf(plan->plan.planes), "plane");
    const Plane &plane = plan->plan.planes[index];
    *info = {plane.name.c_str(),     plane.dtype.c_str(), plane.heads,
             plane.headBytes,        plane.window,        plane.isState ? 1 : 0,
             lengthOf(plane.layers), plane.layers.data()};
  });
}

layline_status layline_kv_plan_side(const layline_kv_plan *plan, int32_t side,
                                    layline_kv_side_info *info) {
  return guardedKV([&] {
    const Side &found = getSide(plan, side);
    notNull(info);
    *info = {found.spec.c_str(), found.pageTokens, lengthOf(found.ranks),
             lengthOf(getTables(found))};
  });
}

layline_status layline_kv_plan_rank(const layline_kv_plan *plan, int32_t side,
                                    int64_t rank, layline_kv_rank_info *info) {
  return guardedKV([&] {
    const Rank &found = getRank(plan, side, rank);
    notNull(info);
    *info = {found.pp, found.dp, found.cp, found.tp, found.countBuffers()};
  });
}

layline_status layline_kv_plan_buffer(const layline_kv_plan *plan, int32_t side,
                                      int64_t rank, int64_t index,
                                      layline_kv_buffer_info *info) {
  return guardedKV([&] {
    const Rank &found = getRank(plan, side, rank);
    notNull(info);
    inside(index, found.countBuffers(), "buffer");
    std::size_t kind = 0;
    for (; index >= lengthOf(found.layers[kind]); ++kind)
      index -= lengthOf(found.layers[kind]);
    const Side &all = getSide(plan, side);
    const Buffer &buffer = all.buffers[kind];
    *info = {buffer.name.c_str(), found.layers[kind][index],
             getTable(all, static_cast<int>(kind)), buffer.pageBytes};
  });
}

layline_status layline_kv_plan_table(const layline_kv_plan *plan, int32_t side,
                                     int64_t table, const char **name) {
  return guardedKV([&] {
    const Side &found = getSide(plan, side);
    notNull(name);
    inside(table, lengthOf(getTables(found)), "table");
    // The plan's own text, which lives as long as it does.
    for (std::size_t i = 0; i < found.buffers.size(); ++i)
      if (getTable(found, static_cast<int>(i)) == table)
        *name = found.buffers[i].table.c_str();
  });
}

layline_status layline_kv_plan_pair(const layline_kv_plan *handle,
                                    int64_t source, int64_t target,
                                    int64_t *first, int64_t *count) {
  return guardedKV([&] {
    getRank(handle, LAYLINE_KV_SOURCE, source);
    getRank(handle, LAYLINE_KV_TARGET, target);
    notNull(first, count);
    const std::vector<Transfer> &transfers = handle->plan.transfers;
    auto begin = std::lower_bound(
        transfers.begin(), transfers.end(), std::make_pair(target, source),
        [](const Transfer &transfer, const auto &pair) {
          return std::pair<std::int64_t, std::int64_t>(transfer.target,
                                                       transfer.source) < pair;
        });
    auto end = std::find_if(begin, transfers.end(), [&](const Transfer &t) {
      return t.target != target || t.source != source;
    });
    *first = begin - transfers.begin();
    *count = end - begin;
  });
}

layline_status layline_kv_plan_transfer(const layline_kv_plan *plan,
                                        int64_t index,
                                        layline_kv_transfer_info *info) {
  return guardedKV([&] {
    notNull(plan);
    notNull(info);
    inside(index, lengthOf(plan->plan.transfers), "transfer");
    const Transfer &transfer = plan->plan.transfers[index];
    *info = {transfer.source, transfer.target, toC(transfer.packing),
             transfer.batching == Batching::Layer ? 1 : 0,
             transfer.isWithLastChunk ? 1 : 0};
  });
}

layline_status layline_kv_plan_responders(const layline_kv_plan *plan,
                                          int64_t target, int64_t *ranks,
                                          int64_t room, int64_t *count) {
  return guardedKV([&] {
    getRank(plan, LAYLINE_KV_TARGET, target);
    notNull(count);
    if (room > 0)
      notNull(ranks);
    const std::vector<int> &found = plan->plan.responders[target];
    *count = lengthOf(found);
    std::copy_n(found.begin(),
                std::clamp<std::int64_t>(room, 0, lengthOf(found)), ranks);
  });
}

layline_status layline_kv_plan_pages(const layline_kv_plan *plan,
                                     const layline_kv_request *request,
                                     int32_t side, int64_t rank, int64_t table,
                                     int64_t *pages) {
  return guardedKV([&] {
    const Rank &found = getRank(plan, side, rank);
    const Side &all = getSide(plan, side);
    Request wanted = readRequest(request);
    checkRequest(wanted);
    notNull(pages);
    inside(table, lengthOf(getTables(all)), "table");
    *pages =
        findTablePages(plan->plan, all, found, wanted, static_cast<int>(table))
            .end;
  });
}

layline_status layline_kv_plan_first_page(const layline_kv_plan *plan,
                                          const layline_kv_request *request,
                                          int32_t side, int64_t rank,
                                          int64_t table, int64_t *page) {
  return guardedKV([&] {
    const Rank &found = getRank(plan, side, rank);
    const Side &all = getSide(plan, side);
    Request wanted = readRequest(request);
    checkRequest(wanted);
    notNull(page);
    inside(table, lengthOf(getTables(all)), "table");
    *page =
        findTablePages(plan->plan, all, found, wanted, static_cast<int>(table))
            .begin;
  });
}

} // extern "C"
