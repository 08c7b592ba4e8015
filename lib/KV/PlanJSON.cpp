//===- PlanJSON.cpp - a plan of moves as kv.json --------------------------===//
#include "layline/KV/PlanJSON.h"

#include "kv/ParsePlan.h"
#include "kv/PlanNames.h"

#include <nlohmann/json.hpp>

#include <sstream>

using namespace layline::kv;
using Json = nlohmann::ordered_json;

static Json toJson(const TokenPart &part) {
  Json result = {{"kind", getName(kTokenPartKinds, part.kind)}};
  if (part.kind == TokenPart::Kind::Whole)
    return result;
  result["parts"] = part.parts;
  result["index"] = part.index;
  if (part.kind == TokenPart::Kind::Room ||
      part.kind == TokenPart::Kind::PageNumber)
    return result;
  result["unit"] = part.unit;
  result["of"] = getName(kTokenPartDomains, part.of);
  return result;
}

static Json toJson(const Plane &plane) {
  return {{"name", plane.name},     {"dtype", plane.dtype},
          {"heads", plane.heads},   {"head_bytes", plane.headBytes},
          {"state", plane.isState}, {"window", plane.window},
          {"layers", plane.layers}};
}

static Json toJson(const Buffer &buffer) {
  return {{"name", buffer.name},
          {"table", buffer.table},
          {"page_bytes", buffer.pageBytes}};
}

static Json toJson(const Rank &rank) {
  return {{"pp", rank.pp},
          {"dp", rank.dp},
          {"cp", rank.cp},
          {"tp", rank.tp},
          {"tokens", toJson(rank.tokens)},
          {"head_index", rank.headIndex},
          {"layers", rank.layers}};
}

static Json toJson(const Move &move, const Plan &plan) {
  Json planes = Json::array(), layers = Json::array();
  for (int plane : move.planes)
    planes.push_back(plan.planes[plane].name);
  for (const LayerRun &run : move.layers)
    layers.push_back({run.source, run.target, run.count});
  return {{"planes", std::move(planes)},
          {"grain", getName(kGrains, move.grain)},
          {"source_head", move.sourceHead},
          {"target_head", move.targetHead},
          {"heads", move.heads},
          {"share", toJson(move.share)},
          {"layers", std::move(layers)}};
}

static Json toJson(const Responder &responder) {
  Json reports = Json::array();
  for (const Name<Report> &name : kReports)
    if (responder.reports & static_cast<unsigned>(name.value))
      reports.push_back(name.text);
  return {{"source", responder.source},
          {"completions", responder.completions},
          {"reports", std::move(reports)}};
}

static Json toJson(const Lifetime &lifetime) {
  return {{"store", getName(kStores, lifetime.store)},
          {"name", lifetime.name},
          {"from", getName(kMoments, lifetime.from)},
          {"until", getName(kMoments, lifetime.until)},
          {"after_failure", getName(kMoments, lifetime.afterFailure)},
          {"reuse", getName(kReuses, lifetime.reuse)}};
}

static Json toJson(const RelaySlot &slot) {
  return {{"at", getName(kSlotPlaces, slot.isAtSource)},
          {"source", slot.source},
          {"target", slot.target},
          {"lane", slot.lane},
          {"bytes", slot.bytes},
          {"max_descriptors", slot.maxDescriptors},
          {"transfers", slot.transfers}};
}

namespace {

/// Objects with a line for each element of their lists.
class Printer {
public:
  explicit Printer(const Plan &plan) : plan(plan) {}
  std::string print();

private:
  void key(int indent, const char *name) {
    out << (isFirst ? "\n" : ",\n") << std::string(indent, ' ') << '"' << name
        << "\": ";
    isFirst = false;
  }
  void field(int indent, const char *name, const Json &value) {
    key(indent, name);
    out << value.dump();
  }
  void open(char bracket) {
    out << bracket;
    isFirst = true;
  }
  void close(int indent, char bracket) {
    if (!isFirst)
      out << '\n' << std::string(indent, ' ');
    out << bracket;
    isFirst = false;
  }
  template <typename List, typename Print>
  void list(int indent, const char *name, const List &elements,
            const Print &print) {
    key(indent, name);
    open('[');
    for (const auto &element : elements) {
      out << (isFirst ? "\n" : ",\n") << std::string(indent + 2, ' ');
      isFirst = false;
      print(element);
    }
    close(indent, ']');
  }
  void side(const char *name, const Side &side);
  void transfer(const Transfer &transfer);
  void completion();

  const Plan &plan;
  std::ostringstream out;
  bool isFirst = true;
};

} // namespace

void Printer::side(const char *name, const Side &side) {
  auto print = [&](const auto &element) { out << toJson(element).dump(); };
  key(2, name);
  open('{');
  field(4, "spec", side.spec);
  field(4, "page_tokens", side.pageTokens);
  field(4, "head_parts", side.headParts);
  list(4, "buffers", side.buffers, print);
  std::size_t number = 0;
  list(4, "planes", side.planes, [&](const Placement &place) {
    out << Json({{"plane", plan.planes[number++].name},
                 {"buffer", side.buffers[place.buffer].name},
                 {"offset", place.offset},
                 {"token_stride", place.tokenStride},
                 {"head_stride", place.headStride},
                 {"heads", place.heads}})
               .dump();
  });
  list(4, "ranks", side.ranks, print);
  close(2, '}');
}

void Printer::transfer(const Transfer &transfer) {
  open('{');
  field(6, "source", transfer.source);
  field(6, "target", transfer.target);
  field(6, "packing", getName(kPackings, transfer.packing));
  field(6, "batching", getName(kBatchings, transfer.batching));
  field(6, "with_last_chunk", transfer.isWithLastChunk);
  list(6, "moves", transfer.moves,
       [&](const Move &move) { out << toJson(move, plan).dump(); });
  close(4, '}');
}

/// When requests are ready, and what may be reused when.
void Printer::completion() {
  auto print = [&](const auto &element) { out << toJson(element).dump(); };
  auto dump = [&](const auto &element) { out << Json(element).dump(); };
  const Readiness &readiness = plan.readiness;
  key(2, "readiness");
  open('{');
  field(4, "ready_when", getName(kReadyWhen, readiness.when));
  field(4, "counted_by", getName(kCountings, readiness.counting));
  field(4, "reported_at", getName(kReportings, readiness.reporting));
  field(4, "names", getName(kNamings, readiness.naming));
  field(4, "failure", getName(kFailures, readiness.failure));
  list(4, "keys", readiness.keys, dump);
  list(4, "targets", readiness.targets, [&](const auto &responders) {
    Json line = Json::array();
    for (const Responder &responder : responders)
      line.push_back(toJson(responder));
    out << line.dump();
  });
  close(2, '}');
  list(2, "lifetimes", plan.lifetimes, print);
  key(2, "relay");
  open('{');
  field(4, "lanes", plan.relay.lanes);
  list(4, "slots", plan.relay.slots, print);
  close(2, '}');
  key(2, "digests");
  open('{');
  list(4, "source", plan.sourceDigests, dump);
  list(4, "target", plan.targetDigests, dump);
  close(2, '}');
}

std::string Printer::print() {
  open('{');
  field(2, "format", kFormat);
  field(2, "version", kVersion);
  Json features = kFeatures;
  if (usesPageNumbers(plan))
    features.push_back(kPageNumberFeature);
  field(2, "features", features);
  field(2, "model", plan.model);
  field(2, "profile", plan.profile);
  list(2, "planes", plan.planes,
       [&](const Plane &plane) { out << toJson(plane).dump(); });
  side("source", plan.source);
  side("target", plan.target);
  field(2, "policy",
        {{"rounds_to_pages", plan.policy.roundsToPages},
         {"prefix_unit", plan.policy.prefixUnit},
         {"max_descriptors", plan.policy.maxDescriptors},
         {"slot_bytes", plan.policy.slotBytes}});
  list(2, "transfers", plan.transfers,
       [&](const Transfer &element) { transfer(element); });
  list(2, "responders", plan.responders,
       [&](const std::vector<int> &ranks) { out << Json(ranks).dump(); });
  completion();
  close(0, '}');
  out << '\n';
  return out.str();
}

std::string layline::kv::toJSON(const Plan &plan) {
  return Printer(plan).print();
}
