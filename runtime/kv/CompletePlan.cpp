#include "kv/CompletePlan.h"

#include "kv/LayoutDigest.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace layline::kv {

std::string getSenderKey(const Rank &rank) {
  return "pp" + std::to_string(rank.pp) + ".dp" + std::to_string(rank.dp) +
         ".cp" + std::to_string(rank.cp) + ".tp" + std::to_string(rank.tp);
}

Report getReport(const Plane &plane) {
  return plane.isState     ? Report::State
         : plane.isIndex() ? Report::Index
                           : Report::Main;
}

bool ownsLayers(const Side &side) {
  std::map<std::int64_t, const Rank *> ofStage;
  for (const Rank &rank : side.ranks) {
    const Rank *&first = ofStage.try_emplace(rank.pp, &rank).first->second;
    if (rank.layers != first->layers)
      return true;
  }
  return false;
}

bool packsAtSource(Packing packing) {
  return packing == Packing::Source || packing == Packing::Both;
}

bool packsAtTarget(Packing packing) {
  return packing == Packing::Target || packing == Packing::Both;
}

std::int64_t getLargestBlock(const Plan &plan, const Rank &from, const Rank &to,
                             const Move &move) {
  int number = move.planes.front();
  const Plane &plane = plan.planes[number];
  const Placement &a = plan.source.planes[number];
  const Placement &b = plan.target.planes[number];
  std::int64_t row = move.heads * plane.headBytes;
  if (move.heads > 1 &&
      (a.headStride != plane.headBytes || b.headStride != plane.headBytes))
    return plane.headBytes;
  if (a.tokenStride != row || b.tokenStride != row)
    return row;
  std::int64_t tokens = 0;
  for (const TokenPart *part : {&from.tokens, &to.tokens})
    if (part->kind == TokenPart::Kind::Cyclic && part->parts > 1)
      tokens = std::max(tokens, part->unit);
  return row * (tokens
                    ? tokens
                    : std::min(plan.source.pageTokens, plan.target.pageTokens));
}

namespace {

void addReadiness(Plan &plan) {
  Readiness &readiness = plan.readiness;
  readiness = {};
  for (const Rank &rank : plan.source.ranks)
    readiness.keys.push_back(getSenderKey(rank));
  std::vector<unsigned> ofPlane;
  for (const Plane &plane : plan.planes)
    ofPlane.push_back(static_cast<unsigned>(getReport(plane)));
  for (const std::vector<int> &ranks : plan.responders) {
    readiness.targets.emplace_back();
    for (int rank : ranks)
      readiness.targets.back().push_back(
          {rank, static_cast<unsigned>(Report::Auxiliary), 1});
  }
  for (const Transfer &transfer : plan.transfers) {
    const std::vector<int> &ranks = plan.responders[transfer.target];
    Responder &responder =
        readiness.targets[transfer.target]
                         [std::lower_bound(ranks.begin(), ranks.end(),
                                           transfer.source) -
                          ranks.begin()];
    ++responder.completions;
    for (const Move &move : transfer.moves)
      for (int plane : move.planes)
        responder.reports |= ofPlane[plane];
  }
}

void addLifetimes(Plan &plan) {
  plan.lifetimes.clear();
  for (const std::string &table : getTables(plan.source))
    plan.lifetimes.push_back({Store::SourcePages, table, Moment::Taken,
                              Moment::Arrived, Moment::Quiet,
                              Reuse::AnyRequest});
  for (const std::string &table : getTables(plan.target))
    plan.lifetimes.push_back({Store::TargetPages, table, Moment::Taken,
                              Moment::Consumed, Moment::Quiet,
                              Reuse::AnyRequest});
  if (ownsLayers(plan.source))
    for (const Buffer &buffer : plan.source.buffers)
      plan.lifetimes.push_back({Store::BroadcastScratch, buffer.name,
                                Moment::Taken, Moment::Consumed, Moment::Quiet,
                                Reuse::NextLayer});
  auto hasSlot = [&](bool isAtSource) {
    return std::any_of(
        plan.relay.slots.begin(), plan.relay.slots.end(),
        [&](const RelaySlot &slot) { return slot.isAtSource == isAtSource; });
  };
  if (hasSlot(true))
    plan.lifetimes.push_back({Store::SourceSlots, "", Moment::Taken,
                              Moment::Arrived, Moment::Quiet,
                              Reuse::NextRound});
  if (hasSlot(false))
    plan.lifetimes.push_back({Store::TargetSlots, "", Moment::Taken,
                              Moment::Consumed, Moment::Quiet,
                              Reuse::NextRound});
}

/// One at each end of a pair that packs there. A rank's pairs take its lanes in
/// turn.
void addSlots(Plan &plan, int lanes) {
  plan.relay = {};
  plan.relay.lanes = lanes;
  std::vector<int> next(plan.source.ranks.size());
  for (std::size_t i = 0; i < plan.transfers.size();) {
    const Transfer &first = plan.transfers[i];
    RelaySlot slots[2];
    for (; i < plan.transfers.size() &&
           plan.transfers[i].source == first.source &&
           plan.transfers[i].target == first.target;
         ++i) {
      if (packsAtSource(plan.transfers[i].packing))
        slots[0].transfers.push_back(static_cast<int>(i));
      if (packsAtTarget(plan.transfers[i].packing))
        slots[1].transfers.push_back(static_cast<int>(i));
    }
    if (slots[0].transfers.empty() && slots[1].transfers.empty())
      continue;
    int lane = next[first.source]++ % lanes;
    for (int end : {0, 1}) {
      if (slots[end].transfers.empty())
        continue;
      RelaySlot &slot = slots[end];
      slot.isAtSource = end == 0;
      slot.source = first.source;
      slot.target = first.target;
      slot.lane = lane;
      slot.bytes = plan.policy.slotBytes;
      slot.maxDescriptors = plan.policy.maxDescriptors;
      plan.relay.slots.push_back(std::move(slot));
    }
  }
}

} // namespace

void completePlan(Plan &plan, int lanes) {
  addReadiness(plan);
  addSlots(plan, lanes);
  addLifetimes(plan);
  plan.sourceDigests = getLayoutDigests(plan, plan.source);
  plan.targetDigests = getLayoutDigests(plan, plan.target);
}

const RelaySlot *findSlot(const Plan &plan, int transfer, bool isAtSource) {
  const Transfer &entry = plan.transfers[transfer];
  auto getOrder = [](const RelaySlot &slot) {
    return std::make_tuple(slot.target, slot.source, !slot.isAtSource);
  };
  auto wanted = std::make_tuple(entry.target, entry.source, !isAtSource);
  auto found =
      std::lower_bound(plan.relay.slots.begin(), plan.relay.slots.end(), wanted,
                       [&](const RelaySlot &slot, const auto &key) {
                         return getOrder(slot) < key;
                       });
  for (; found != plan.relay.slots.end() && getOrder(*found) == wanted; ++found)
    if (std::binary_search(found->transfers.begin(), found->transfers.end(),
                           transfer))
      return &*found;
  return nullptr;
}

SlotLimits getSlotLimits(const Plan &plan, int transfer) {
  SlotLimits limits;
  for (bool isAtSource : {true, false}) {
    const RelaySlot *slot = findSlot(plan, transfer, isAtSource);
    if (!slot)
      continue;
    if (!limits.bytes || slot->bytes < limits.bytes)
      limits.bytes = slot->bytes;
    if (!limits.maxDescriptors ||
        (slot->maxDescriptors && slot->maxDescriptors < limits.maxDescriptors))
      limits.maxDescriptors = slot->maxDescriptors;
    limits.lane = slot->lane;
  }
  return limits;
}

} // namespace layline::kv
