#include "kv/CheckCompletion.h"

#include "kv/CompletePlan.h"
#include "kv/LayoutDigest.h"
#include "kv/PlanNames.h"
#include "plan/Error.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace layline::kv {

using runtime::concat;

namespace {

constexpr std::int64_t kLargestSlot = std::int64_t(1) << 40;

std::string listReports(unsigned reports) {
  std::string text;
  for (const Name<Report> &name : kReports)
    if (reports & static_cast<unsigned>(name.value))
      text += (text.empty() ? "" : ", ") + std::string(name.text);
  return text.empty() ? "nothing" : text;
}

class CompletionChecker {
public:
  explicit CompletionChecker(const Plan &plan) : plan(plan) {}
  std::string run() {
    checkOrder() && checkRules() && checkKeys() && checkResponders() &&
        checkRelay() && checkTransferSlots() && checkLifetimes() &&
        checkDigests();
    return std::move(fault);
  }

private:
  template <typename... Parts> bool fail(const Parts &...parts) {
    fault = concat(parts...);
    return false;
  }
  bool checkOrder();
  bool checkRules();
  bool checkKeys();
  bool checkResponders();
  bool checkRelay();
  bool checkSlot(std::size_t index);
  bool checkTransferSlots();
  bool checkLifetimes();
  bool checkLifetime(const std::string &where, const Lifetime &lifetime);
  bool checkDigests();
  const Lifetime *findLifetime(Store store, const std::string &name) const;

  const Plan &plan;
  std::string fault;
};

/// What is found by pair relies on it.
bool CompletionChecker::checkOrder() {
  for (std::size_t i = 1; i < plan.transfers.size(); ++i) {
    const Transfer &one = plan.transfers[i - 1], &two = plan.transfers[i];
    if (std::make_pair(two.target, two.source) <
        std::make_pair(one.target, one.source))
      return fail("transfers[", i, "]: is of target rank ", two.target,
                  " and source ", two.source, ", behind one of ", one.target,
                  " and ", one.source,
                  "; order by target, then source, is expected");
  }
  return true;
}

bool CompletionChecker::checkRules() {
  const Readiness &rules = plan.readiness;
  if (rules.when != Readiness::When::All)
    return fail("readiness.ready_when: is 'any': a request would be ready with "
                "bytes missing; 'all' is expected");
  if (rules.counting != Readiness::Counting::Senders)
    return fail("readiness.counted_by: is 'report': one that comes twice would "
                "stand for another; 'sender' is expected");
  if (rules.reporting != Readiness::Reporting::Arrived)
    return fail("readiness.reported_at: is 'posted': the bytes may still be "
                "under way, or fail; 'arrived' is expected");
  if (rules.naming != Readiness::Naming::Request)
    return fail("readiness.names: is 'room': a late report would be taken for "
                "one of the next request there; 'request' is expected");
  if (rules.failure != Readiness::Failure::Sticky)
    return fail("readiness.failure: is 'until_next_report': a later report "
                "would hide it; 'sticky' is expected");
  return true;
}

bool CompletionChecker::checkKeys() {
  const std::vector<std::string> &keys = plan.readiness.keys;
  if (keys.size() != plan.source.ranks.size())
    return fail("readiness.keys: has ", keys.size(), " keys; one for each of ",
                plan.source.ranks.size(), " source ranks is expected");
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i].empty())
      return fail("readiness.keys[", i, "]: is empty");
    auto [entry, isNew] = known.try_emplace(keys[i], i);
    if (!isNew)
      return fail("readiness.keys[", i, "]: is '", keys[i],
                  "', the key of source rank ", entry->second,
                  " too: reports of one would count for the other; a key for "
                  "each sender is expected");
  }
  return true;
}

/// Each reports all that its transfers bring.
bool CompletionChecker::checkResponders() {
  const auto &targets = plan.readiness.targets;
  if (targets.size() != plan.target.ranks.size())
    return fail("readiness.targets: has ", targets.size(),
                " lists; one for each of the ", plan.target.ranks.size(),
                " target ranks is expected");
  std::size_t transfer = 0;
  for (std::size_t to = 0; to < targets.size(); ++to) {
    std::string where = concat("readiness.targets[", to, "]");
    const std::vector<int> &ranks = plan.responders[to];
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (i == targets[to].size() || targets[to][i].source > ranks[i])
        return fail(where, ": has no source rank ", ranks[i],
                    ", which responders[", to,
                    "] has: the request would be ready without it");
      const Responder &responder = targets[to][i];
      if (responder.source != ranks[i])
        return fail(where, "[", i, "].source: is ", responder.source,
                    "; responders[", to, "] has ", ranks[i], " there");
      unsigned reports = static_cast<unsigned>(Report::Auxiliary);
      int completions = 1;
      for (; transfer < plan.transfers.size() &&
             plan.transfers[transfer].target == static_cast<int>(to) &&
             plan.transfers[transfer].source == ranks[i];
           ++transfer, ++completions)
        for (const Move &move : plan.transfers[transfer].moves)
          for (int plane : move.planes)
            reports |= static_cast<unsigned>(getReport(plan.planes[plane]));
      if (responder.reports != reports)
        return fail(where, "[", i, "].reports: source rank ", ranks[i],
                    " reports ", listReports(responder.reports),
                    "; what it sends to target rank ", to, " is ",
                    listReports(reports));
      if (responder.completions != completions)
        return fail(where, "[", i, "].completions: is ", responder.completions,
                    "; ", completions - 1, " transfers and what is auxiliary, ",
                    completions, ", are expected");
    }
    if (targets[to].size() > ranks.size())
      return fail(where, "[", ranks.size(), "].source: is ",
                  targets[to][ranks.size()].source, "; responders[", to,
                  "] has ", ranks.size(), " ranks");
  }
  return true;
}

bool CompletionChecker::checkSlot(std::size_t index) {
  const RelaySlot &slot = plan.relay.slots[index];
  // There may be as many as pairs: no text is made before it is needed.
  auto where = [&] { return concat("relay.slots[", index, "]"); };
  auto isRank = [](int rank, const Side &side) {
    return rank >= 0 && rank < static_cast<int>(side.ranks.size());
  };
  if (!isRank(slot.source, plan.source) || !isRank(slot.target, plan.target))
    return fail(where(), ": is of source rank ", slot.source,
                " and target rank ", slot.target, "; there are ",
                plan.source.ranks.size(), " and ", plan.target.ranks.size());
  if (slot.lane < 0 || slot.lane >= plan.relay.lanes)
    return fail(where(), ".lane: is ", slot.lane, "; there are ",
                plan.relay.lanes, " lanes");
  if (slot.bytes < 1 || slot.bytes > kLargestSlot)
    return fail(where(), ".bytes: is ", slot.bytes, "; 1 to ", kLargestSlot,
                " are expected");
  std::int64_t most = plan.policy.maxDescriptors;
  if (slot.maxDescriptors < 0 ||
      (most && (!slot.maxDescriptors || slot.maxDescriptors > most)))
    return fail(where(), ".max_descriptors: is ", slot.maxDescriptors,
                most ? concat("; a batch may have ", most,
                              ", so 1 to that many are expected")
                     : "; 0 or more is expected");
  if (slot.transfers.empty())
    return fail(where(), ".transfers: is empty; at least one is expected");
  for (std::size_t i = 0; i < slot.transfers.size(); ++i) {
    int number = slot.transfers[i];
    auto entry = [&] { return concat(where(), ".transfers[", i, "]"); };
    if (number < 0 || number >= static_cast<int>(plan.transfers.size()))
      return fail(entry(), ": is ", number, "; there are ",
                  plan.transfers.size());
    if (i > 0 && number <= slot.transfers[i - 1])
      return fail(entry(), ": is ", number, " behind ", slot.transfers[i - 1],
                  "; ascending transfers are expected");
    const Transfer &transfer = plan.transfers[number];
    if (transfer.target != slot.target)
      return fail(entry(), ": transfer ", number, " goes to target rank ",
                  transfer.target, ", those of this slot to target rank ",
                  slot.target,
                  ": a slot is free again when one target has it; one target "
                  "is expected");
    if (transfer.source != slot.source)
      return fail(entry(), ": transfer ", number, " is sent by source rank ",
                  transfer.source, ", those of this slot by ", slot.source);
    if (slot.isAtSource ? !packsAtSource(transfer.packing)
                        : !packsAtTarget(transfer.packing))
      return fail(entry(), ": transfer ", number, " packs '",
                  getName(kPackings, transfer.packing),
                  "', so that it has no slot at the ",
                  slot.isAtSource ? "source" : "target");
    for (const Move &move : transfer.moves) {
      std::int64_t block =
          getLargestBlock(plan, plan.source.ranks[transfer.source],
                          plan.target.ranks[transfer.target], move);
      if (block > slot.bytes)
        return fail(where(), ".bytes: is ", slot.bytes, "; transfer ", number,
                    " has blocks of ", block, " bytes of plane '",
                    plan.planes[move.planes.front()].name,
                    "', which a slot must hold");
    }
  }
  return true;
}

bool CompletionChecker::checkRelay() {
  if (plan.relay.lanes < 1 || plan.relay.lanes > kMostLanes)
    return fail("relay.lanes: is ", plan.relay.lanes, "; 1 to ", kMostLanes,
                " are expected");
  auto getOrder = [](const RelaySlot &slot) {
    return std::make_tuple(slot.target, slot.source, !slot.isAtSource);
  };
  for (std::size_t i = 0; i < plan.relay.slots.size(); ++i) {
    if (!checkSlot(i))
      return false;
    if (i > 0 &&
        getOrder(plan.relay.slots[i]) <= getOrder(plan.relay.slots[i - 1]))
      return fail("relay.slots[", i, "]: stands behind relay.slots[", i - 1,
                  "]; one for each pair and end, by target, then source, that "
                  "at the source first, is expected");
  }
  return true;
}

/// Whoever packs has its slots.
bool CompletionChecker::checkTransferSlots() {
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    Packing packing = plan.transfers[i].packing;
    if (packing == Packing::None)
      continue;
    const RelaySlot *at[] = {findSlot(plan, static_cast<int>(i), true),
                             findSlot(plan, static_cast<int>(i), false)};
    if (packsAtSource(packing) && !at[0])
      return fail("transfers[", i,
                  "].packing: packs at the source, but no slot of relay.slots "
                  "there is for it");
    if (packsAtTarget(packing) && !at[1])
      return fail("transfers[", i,
                  "].packing: packs at the target, but no slot of relay.slots "
                  "there is for it");
    if (at[0] && at[1] && at[0]->lane != at[1]->lane)
      return fail("transfers[", i, "]: its slots are in lanes ", at[0]->lane,
                  " and ", at[1]->lane, "; one lane is expected");
  }
  return true;
}

const Lifetime *CompletionChecker::findLifetime(Store store,
                                                const std::string &name) const {
  for (const Lifetime &lifetime : plan.lifetimes)
    if (lifetime.store == store && lifetime.name == name)
      return &lifetime;
  return nullptr;
}

/// How long a buffer is in use, whatever the plan says.
struct Use {
  Moment until = Moment::Arrived;
  Reuse reuse = Reuse::AnyRequest;
  const char *what = "";
};

Use getUse(Store store) {
  switch (store) {
  case Store::SourcePages:
    return {Moment::Arrived, Reuse::AnyRequest,
            "writes read them until they have arrived"};
  case Store::TargetPages:
    return {Moment::Consumed, Reuse::AnyRequest,
            "they are read until the request has been decoded"};
  case Store::BroadcastScratch:
    return {Moment::Consumed, Reuse::NextLayer,
            "attention reads it behind the broadcast"};
  case Store::SourceSlots:
    return {Moment::Arrived, Reuse::NextRound,
            "a round is read until it has arrived"};
  case Store::TargetSlots:
    return {Moment::Consumed, Reuse::NextRound,
            "a round is read until it is unpacked"};
  }
  return {};
}

bool CompletionChecker::checkLifetime(const std::string &where,
                                      const Lifetime &lifetime) {
  Use use = getUse(lifetime.store);
  std::string what = concat(getName(kStores, lifetime.store),
                            lifetime.name.empty() ? "" : " '", lifetime.name,
                            lifetime.name.empty() ? "" : "'");
  if (lifetime.from != Moment::Taken)
    return fail(where, ".from: ", what, ": is '",
                getName(kMoments, lifetime.from),
                "': something else could have the memory when the first write "
                "is posted; 'taken' is expected");
  bool isEnd = lifetime.until <= Moment::Consumed;
  if (!isEnd || lifetime.until < use.until)
    return fail(where, ".until: ", what, ": is '",
                getName(kMoments, lifetime.until), "', but ", use.what, "; '",
                getName(kMoments, use.until), "' is expected");
  if (lifetime.afterFailure != Moment::Quiet)
    return fail(where, ".after_failure: ", what, ": is '",
                getName(kMoments, lifetime.afterFailure),
                "': writes may still be under way when a request has failed; "
                "'quiet' is expected");
  if (lifetime.reuse != use.reuse)
    return fail(where, ".reuse: ", what, ": is '",
                getName(kReuses, lifetime.reuse), "'; '",
                getName(kReuses, use.reuse), "' is expected");
  return true;
}

bool CompletionChecker::checkLifetimes() {
  std::map<std::pair<Store, std::string>, std::size_t> known;
  for (std::size_t i = 0; i < plan.lifetimes.size(); ++i) {
    const Lifetime &lifetime = plan.lifetimes[i];
    std::string where = concat("lifetimes[", i, "]");
    auto [entry, isNew] = known.try_emplace({lifetime.store, lifetime.name}, i);
    if (!isNew)
      return fail(where, ": is a second one of what lifetimes[", entry->second,
                  "] is of");
    if (!checkLifetime(where, lifetime))
      return false;
  }
  auto expect = [&](Store store, const std::string &name, auto... who) {
    return findLifetime(store, name) ||
           fail("lifetimes: ", who..., ", but ", getName(kStores, store),
                name.empty() ? "" : " '", name, name.empty() ? "" : "'",
                " are pinned by none");
  };
  std::vector<bool> seen(plan.planes.size());
  for (std::size_t i = 0; i < plan.transfers.size(); ++i)
    for (const Move &move : plan.transfers[i].moves)
      for (int plane : move.planes) {
        if (seen[plane])
          continue;
        seen[plane] = true;
        int from = plan.source.planes[plane].buffer;
        int to = plan.target.planes[plane].buffer;
        if (!expect(Store::SourcePages, plan.source.buffers[from].table,
                    "transfers[", i, "] reads plane '", plan.planes[plane].name,
                    "'") ||
            !expect(Store::TargetPages, plan.target.buffers[to].table,
                    "transfers[", i, "] writes plane '",
                    plan.planes[plane].name, "'"))
          return false;
      }
  if (ownsLayers(plan.source))
    for (const Buffer &buffer : plan.source.buffers)
      if (!expect(Store::BroadcastScratch, buffer.name,
                  "layers of the source have owners, and are broadcast"))
        return false;
  for (std::size_t i = 0; i < plan.relay.slots.size(); ++i)
    if (!expect(plan.relay.slots[i].isAtSource ? Store::SourceSlots
                                               : Store::TargetSlots,
                "", "relay.slots[", i, "] is used"))
      return false;
  for (std::size_t i = 0; i < plan.lifetimes.size(); ++i) {
    const Lifetime &lifetime = plan.lifetimes[i];
    auto hasTable = [&](const Side &side) {
      return std::any_of(
          side.buffers.begin(), side.buffers.end(),
          [&](const Buffer &b) { return b.table == lifetime.name; });
    };
    bool isKnown = true;
    if (lifetime.store == Store::SourcePages)
      isKnown = hasTable(plan.source);
    else if (lifetime.store == Store::TargetPages)
      isKnown = hasTable(plan.target);
    else if (lifetime.store == Store::BroadcastScratch)
      isKnown =
          std::any_of(plan.source.buffers.begin(), plan.source.buffers.end(),
                      [&](const Buffer &b) { return b.name == lifetime.name; });
    else
      isKnown = lifetime.name.empty();
    if (!isKnown)
      return fail("lifetimes[", i, "].name: is '", lifetime.name,
                  "', which no ", getName(kStores, lifetime.store), " have");
  }
  return true;
}

bool CompletionChecker::checkDigests() {
  for (auto [name, side, digests] :
       {std::make_tuple("source", &plan.source, &plan.sourceDigests),
        std::make_tuple("target", &plan.target, &plan.targetDigests)}) {
    if (digests->size() != side->ranks.size())
      return fail("digests.", name, ": has ", digests->size(),
                  " lists; one for each of ", side->ranks.size(),
                  " ranks is expected");
    std::vector<std::vector<std::string>> found = getLayoutDigests(plan, *side);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if ((*digests)[i].size() != found[i].size())
        return fail("digests.", name, "[", i, "]: has ", (*digests)[i].size(),
                    " digests; one for each of ", found[i].size(),
                    " buffers is expected");
      for (std::size_t k = 0; k < found[i].size(); ++k)
        if ((*digests)[i][k] != found[i][k])
          return fail("digests.", name, "[", i, "][", k, "]: is '",
                      (*digests)[i][k], "'; pages of buffer '",
                      side->buffers[k].name, "' of this rank are '",
                      found[i][k], "': a store would take them for others");
    }
  }
  return true;
}

} // namespace

std::string findCompletionFault(const Plan &plan) {
  return CompletionChecker(plan).run();
}

} // namespace layline::kv
