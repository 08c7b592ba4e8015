#include "kv/ParseParts.h"

namespace layline::kv {

using runtime::Cursor;

namespace {

/// A number that fits an int; that it is sound is checked with the plan.
int parseInt(const Cursor &cursor) {
  std::int64_t number = cursor.integer();
  if (number < -1 || number > INT32_MAX)
    cursor.fail("is ", number, "; 0 to ", INT32_MAX, " are expected");
  return static_cast<int>(number);
}

Responder parseResponder(const Cursor &cursor) {
  expectKeys(cursor, {"source", "completions", "reports"});
  Responder responder;
  responder.source = parseInt(cursor.at("source"));
  responder.completions = parseInt(cursor.at("completions"));
  forEach(cursor.at("reports"), [&](const Cursor &c) {
    auto report = static_cast<unsigned>(parseName(c, kReports));
    // Bits rise in the order in which they are written.
    if (responder.reports >= report)
      c.fail("is '", c.string(),
             "'; each report once, in the order main, index, state, auxiliary, "
             "is expected");
    responder.reports |= report;
  });
  return responder;
}

Readiness parseReadiness(const Cursor &cursor) {
  expectKeys(cursor, {"ready_when", "counted_by", "reported_at", "names",
                      "failure", "keys", "targets"});
  Readiness readiness;
  readiness.when = parseName(cursor.at("ready_when"), kReadyWhen);
  readiness.counting = parseName(cursor.at("counted_by"), kCountings);
  readiness.reporting = parseName(cursor.at("reported_at"), kReportings);
  readiness.naming = parseName(cursor.at("names"), kNamings);
  readiness.failure = parseName(cursor.at("failure"), kFailures);
  forEach(cursor.at("keys"),
          [&](const Cursor &c) { readiness.keys.push_back(c.string()); });
  forEach(cursor.at("targets"), [&](const Cursor &c) {
    std::vector<Responder> &own = readiness.targets.emplace_back();
    forEach(c, [&](const Cursor &one) { own.push_back(parseResponder(one)); });
  });
  return readiness;
}

Lifetime parseLifetime(const Cursor &cursor) {
  expectKeys(cursor,
             {"store", "name", "from", "until", "after_failure", "reuse"});
  Lifetime lifetime;
  lifetime.store = parseName(cursor.at("store"), kStores);
  lifetime.name = cursor.at("name").string();
  lifetime.from = parseName(cursor.at("from"), kMoments);
  lifetime.until = parseName(cursor.at("until"), kMoments);
  lifetime.afterFailure = parseName(cursor.at("after_failure"), kMoments);
  lifetime.reuse = parseName(cursor.at("reuse"), kReuses);
  return lifetime;
}

RelaySlot parseSlot(const Cursor &cursor) {
  expectKeys(cursor, {"at", "source", "target", "lane", "bytes",
                      "max_descriptors", "transfers"});
  RelaySlot slot;
  slot.isAtSource = parseName(cursor.at("at"), kSlotPlaces);
  slot.source = parseInt(cursor.at("source"));
  slot.target = parseInt(cursor.at("target"));
  slot.lane = parseInt(cursor.at("lane"));
  slot.bytes = cursor.at("bytes").integer();
  slot.maxDescriptors = cursor.at("max_descriptors").integer();
  forEach(cursor.at("transfers"),
          [&](const Cursor &c) { slot.transfers.push_back(parseInt(c)); });
  return slot;
}

std::vector<std::vector<std::string>> parseDigests(const Cursor &cursor) {
  std::vector<std::vector<std::string>> digests;
  forEach(cursor, [&](const Cursor &c) {
    std::vector<std::string> &own = digests.emplace_back();
    forEach(c, [&](const Cursor &one) { own.push_back(one.string()); });
  });
  return digests;
}

} // namespace

void parseCompletion(const Cursor &root, Plan &plan) {
  plan.readiness = parseReadiness(root.at("readiness"));
  forEach(root.at("lifetimes"),
          [&](const Cursor &c) { plan.lifetimes.push_back(parseLifetime(c)); });
  Cursor relay = root.at("relay");
  expectKeys(relay, {"lanes", "slots"});
  plan.relay.lanes = parseInt(relay.at("lanes"));
  forEach(relay.at("slots"),
          [&](const Cursor &c) { plan.relay.slots.push_back(parseSlot(c)); });
  Cursor digests = root.at("digests");
  expectKeys(digests, {"source", "target"});
  plan.sourceDigests = parseDigests(digests.at("source"));
  plan.targetDigests = parseDigests(digests.at("target"));
}

} // namespace layline::kv
