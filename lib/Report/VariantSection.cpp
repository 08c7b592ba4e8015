//===- VariantSection.cpp - layers, their boundaries and values -----------===//
//
// A stack of 94 layers has two or three kinds of them. Steps, sites and values
// of a layer are written with places relative to it, and layers that then read
// the same are one entry.
//
//===----------------------------------------------------------------------===//
#include "Sections.h"
#include "layline/Support/PlaceName.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

using namespace layline;
using namespace layline::report;
using nlohmann::json;
using runtime::Buffer;
using runtime::Operand;
using runtime::Step;

namespace {

/// A step or one of a fused one, and where it stands.
struct Use {
  const Step *step;
  int64_t top; ///< index of the variant's steps
};

class VariantWriter {
public:
  VariantWriter(const PlanTexts &texts, size_t number, StepCosts *costs,
                SiteBytes &bytes)
      : texts(texts), plan(texts.plan), variant(plan.variants[number]),
        document(texts.document.at("variants").at(number)), number(number),
        costs(costs), bytes(bytes), points(texts.pointsOf(number)),
        coordinates(plan.axes.size(), 0),
        parts(plan.parts(variant.maxTokens, coordinates)) {}

  ordered_json write();

private:
  void findUses();
  ordered_json priceJSON(int64_t tokens) const;
  ordered_json layerJSON(int64_t layer);
  ordered_json stepsJSON(int64_t layer);
  ordered_json stepJSON(const Step &step, int64_t layer) const;
  ordered_json sitesJSON(int64_t layer);
  ordered_json siteJSON(const json &site, int64_t layer);
  ordered_json valuesJSON(int64_t layer) const;
  ordered_json valueJSON(int buffer, int64_t layer) const;
  ordered_json placeJSON(const Step &step, int64_t layer) const;
  std::string layoutOf(const runtime::DimLayout &dim) const;
  std::string noteOf(const Step &step) const;

  const PlanTexts &texts;
  const runtime::Plan &plan;
  const runtime::Variant &variant;
  const json &document;
  size_t number;
  StepCosts *costs;
  SiteBytes &bytes;
  std::vector<int64_t> points;
  std::vector<int64_t> coordinates; ///< of the first rank
  std::vector<runtime::Part> parts;
  std::map<int64_t, std::vector<int64_t>> stepsOf; ///< by layer, in order
  std::map<int64_t, std::vector<const json *>> sitesOf;
  std::map<int, Use> producers; ///< by buffer
  std::map<int, std::vector<Use>> readers;
};

} // namespace

static int64_t layerOf(const std::string &place) {
  return parsePlaceName(place).layer;
}

/// A fused step copies its body's arguments: only bodies count.
void VariantWriter::findUses() {
  auto add = [&](const Step &step, int64_t top) {
    const runtime::StepKindInfo &info = step.info();
    for (size_t i = 0; i < info.args.size(); ++i)
      for (const Operand &operand : step.args[i]) {
        if (operand.of != Operand::Of::Buffer)
          continue;
        if (info.args[i].isOutput)
          producers.try_emplace(operand.index, Use{&step, top});
        else
          readers[operand.index].push_back({&step, top});
      }
  };
  for (size_t i = 0; i < variant.steps.size(); ++i) {
    const Step &step = variant.steps[i];
    auto top = static_cast<int64_t>(i);
    stepsOf[layerOf(step.place)].push_back(top);
    if (step.kind != runtime::StepKind::Fused)
      add(step, top);
    for (const Step &inner : step.body)
      add(inner, top);
  }
  if (document.contains("sites"))
    for (const json &site : document.at("sites"))
      sitesOf[layerOf(site.at("id").get<std::string>())].push_back(&site);
}

static ordered_json rounded(double us) { return std::round(us * 1000) / 1000; }

ordered_json VariantWriter::priceJSON(int64_t tokens) const {
  ordered_json own = {{"tokens", tokens}};
  if (const json *price = texts.priceOf(number, tokens)) {
    own["today"] = price->at("today_us");
    own["unfused"] = price->at("unfused_us");
    own["chosen"] = price->at("chosen_us");
    own["products"] = price->at("products_us");
    own["confidence"] = price->at("confidence");
    own["collectives"] = {price->at("phases_today"), price->at("phases")};
    own["launches"] = {price->at("launches_today"), price->at("launches")};
  }
  return own;
}

ordered_json VariantWriter::placeJSON(const Step &step, int64_t layer) const {
  return {step.info().name, relativePlace(step.place, layer)};
}

/// Sizes that tell a step from others of its kind.
std::string VariantWriter::noteOf(const Step &step) const {
  auto text = [](int64_t number) { return std::to_string(number); };
  const runtime::StepAttributes &attrs = step.attrs;
  switch (step.kind) {
  case runtime::StepKind::Linear: {
    runtime::Environment environment;
    environment.tokens = variant.maxTokens;
    environment.coordinates = coordinates.data();
    environment.parts = parts.data();
    const Operand &weight = step.arg("weight");
    runtime::Shape shape = localShape(weight.shape, weight.layout, environment);
    return text(shape[1]) + " to " + text(shape[0]) + " features of a rank";
  }
  case runtime::StepKind::Attention:
    return text(attrs.heads) + " heads, " + text(attrs.kvHeads) + " KV heads" +
           (attrs.window ? ", window " + text(*attrs.window) : "");
  case runtime::StepKind::LatentAttention:
    return text(attrs.heads) + " heads of one latent";
  case runtime::StepKind::Experts:
    return text(evaluate(step.arg("ids").shape.back(), {})) + " of " +
           text(evaluate(step.arg("gate").shape.front(), {})) +
           " experts for each row";
  default:
    if (!step.info().isCollective)
      return {};
    return "over " + plan.groups[attrs.group].id + ", " +
           text(plan.groups[attrs.group].ranks) + " ranks";
  }
}

ordered_json VariantWriter::stepJSON(const Step &step, int64_t layer) const {
  ordered_json own = {{"kind", step.info().name},
                      {"place", relativePlace(step.place, layer)}};
  // A fused step is what its first collective is, or else its first step.
  const Step *main = &step;
  for (const Step &inner : step.body)
    if (main == &step ||
        (inner.info().isCollective && !main->info().isCollective))
      main = &inner;
  auto found = texts.steps[number].find(main->id);
  own["module"] =
      found == texts.steps[number].end() ? "other" : found->second.module;
  own["boundary"] = found == texts.steps[number].end()
                        ? ""
                        : relativePlace(found->second.boundary, layer);
  own["stream"] = plan.streams[step.stream];
  if (std::string note = noteOf(*main); !note.empty())
    own["note"] = note;
  if (!step.body.empty()) {
    own["body"] = ordered_json::array();
    for (const Step &inner : step.body)
      own["body"].push_back(placeJSON(inner, layer));
  }
  if (!costs)
    return own;
  own["us"] = ordered_json::array();
  own["source"] = ordered_json::array();
  for (int64_t tokens : points) {
    StepEstimate estimate = costs->estimate(step, tokens);
    own["us"].push_back(estimate.us ? rounded(*estimate.us) : ordered_json());
    own["source"].push_back(
        estimate.us ? estimate.confidence + ": " + estimate.source : "");
  }
  return own;
}

ordered_json VariantWriter::stepsJSON(int64_t layer) {
  ordered_json steps = ordered_json::array();
  std::map<int64_t, size_t> places;
  // When each begins if nothing but what it waits for holds it up.
  std::vector<std::vector<double>> ends(points.size());
  std::vector<std::map<int, double>> streams(points.size());
  for (int64_t index : stepsOf[layer]) {
    const Step &step = variant.steps[index];
    ordered_json own = stepJSON(step, layer);
    if (costs) {
      own["begin"] = ordered_json::array();
      for (size_t point = 0; point < points.size(); ++point) {
        double begin = streams[point][step.stream];
        for (int before : step.after)
          if (auto found = places.find(before); found != places.end())
            begin = std::max(begin, ends[point][found->second]);
        double us =
            own["us"][point].is_null() ? 0.0 : own["us"][point].get<double>();
        own["begin"].push_back(rounded(begin));
        ends[point].push_back(begin + us);
        streams[point][step.stream] = begin + us;
      }
    }
    places[index] = steps.size();
    steps.push_back(std::move(own));
  }
  return steps;
}

ordered_json VariantWriter::siteJSON(const json &site, int64_t layer) {
  std::string id = site.at("id");
  ordered_json own = {{"site", relativePlace(id, layer)},
                      {"applied", site.at("status") == "applied"},
                      {"was", site.at("was")},
                      {"became", site.value("became", site.at("was"))},
                      {"reason", site.value("reason", "")}};
  own["bytes"] = ordered_json::array();
  own["price"] = ordered_json::array();
  for (int64_t tokens : points) {
    ordered_json sent;
    if (site.contains("bytes"))
      for (const char *form : {"ring", "switch"})
        for (const char *when : {"before", "after"})
          sent.push_back(bytes.get(site.at("bytes").at(when).at(form), tokens));
    own["bytes"].push_back(std::move(sent));
    const json *price = texts.priceOf(number, tokens);
    ordered_json cost;
    if (price && price->at("sites").contains(id))
      for (const auto &[name, value] : price->at("sites").at(id).items())
        cost[name] = value;
    own["price"].push_back(std::move(cost));
  }
  return own;
}

ordered_json VariantWriter::sitesJSON(int64_t layer) {
  ordered_json sites = ordered_json::array();
  for (const json *site : sitesOf[layer])
    sites.push_back(siteJSON(*site, layer));
  return sites;
}

std::string VariantWriter::layoutOf(const runtime::DimLayout &dim) const {
  if (!dim.isSplit())
    return "whole";
  const runtime::Range &range = plan.ranges[dim.range];
  std::string axes;
  for (int axis : plan.axesOf(dim.range))
    axes += (axes.empty() ? "" : " within ") + plan.axes[axis].name;
  return std::string(kindName(range.kind)) + " over " + axes;
}

ordered_json VariantWriter::valueJSON(int index, int64_t layer) const {
  const Buffer &buffer = variant.buffers[index];
  auto made = producers.find(index);
  ordered_json own;
  std::string name;
  ordered_json from = ordered_json::array();
  if (made == producers.end()) {
    name = buffer.input >= 0 ? plan.inputs[buffer.input].id : buffer.id;
    own["op"] = "input";
    own["place"] = name;
  } else {
    const Step &step = *made->second.step;
    const runtime::StepKindInfo &info = step.info();
    size_t output = 0;
    for (size_t i = 0; i < info.args.size(); ++i)
      for (const Operand &operand : step.args[i]) {
        bool isBuffer = operand.of == Operand::Of::Buffer;
        if (info.args[i].isOutput) {
          if (isBuffer && operand.index == index && output < step.names.size())
            name = step.names[output];
          ++output;
        } else if (isBuffer) {
          auto source = producers.find(operand.index);
          from.push_back(
              source == producers.end()
                  ? ordered_json({"input", variant.buffers[operand.index].id})
                  : placeJSON(*source->second.step, layer));
        } else if (operand.of == Operand::Of::Weight) {
          from.push_back({"weight", relativePlace(step.place, layer)});
        } else if (operand.of == Operand::Of::Cache) {
          from.push_back(
              {"cache", relativePlace(plan.caches[operand.index].id, layer)});
        }
      }
    own["op"] = info.name;
    own["place"] = relativePlace(step.place, layer);
  }
  own["name"] = relativePlace(name, layer);
  std::string shape = print(buffer.shape);
  shape.erase(std::remove(shape.begin(), shape.end(), '"'), shape.end());
  own["shape"] = shape;
  own["dtype"] = dtypeName(buffer.dtype);
  own["layout"] = ordered_json::array();
  for (const runtime::DimLayout &dim : buffer.layout.dims)
    own["layout"].push_back(layoutOf(dim));
  own["owes"] = ordered_json::array();
  for (int axis : buffer.layout.owes)
    own["owes"].push_back(plan.axes[axis].name);
  static constexpr std::array<const char *, 5> kClasses = {
      "activation", "symmetric", "input", "output", "register"};
  own["memory"] = kClasses[static_cast<size_t>(buffer.kind)];
  own["bytes"] = buffer.bytes;
  own["from"] = std::move(from);
  own["read_by"] = ordered_json::array();
  if (auto found = readers.find(index); found != readers.end())
    for (const Use &use : found->second)
      own["read_by"].push_back(placeJSON(*use.step, layer));
  for (const runtime::Output &output : variant.outputs)
    if (output.buffer == index)
      own["read_by"].push_back({"returned", output.id});
  return own;
}

ordered_json VariantWriter::valuesJSON(int64_t layer) const {
  // In the order in which they are made; inputs first, outside of layers.
  std::vector<std::pair<int64_t, int>> order;
  for (size_t i = 0; i < variant.buffers.size(); ++i) {
    auto index = static_cast<int>(i);
    auto made = producers.find(index);
    if (made == producers.end()) {
      if (layer < 0)
        order.emplace_back(-1, index);
    } else if (layerOf(made->second.step->place) == layer) {
      order.emplace_back(made->second.top, index);
    }
  }
  std::sort(order.begin(), order.end());
  ordered_json values = ordered_json::array();
  for (const auto &[top, index] : order)
    values.push_back(valueJSON(index, layer));
  return values;
}

ordered_json VariantWriter::layerJSON(int64_t layer) {
  return {{"steps", stepsJSON(layer)},
          {"sites", sitesJSON(layer)},
          {"values", valuesJSON(layer)}};
}

ordered_json VariantWriter::write() {
  findUses();
  ordered_json own = {{"id", variant.id},
                      {"min", variant.minTokens},
                      {"max", variant.maxTokens},
                      {"boundaries", document.value("boundaries", "")},
                      {"steps", variant.steps.size()}};
  if (texts.decisions)
    own["reason"] = texts.decisions->at("variants").at(number).at("reason");
  int64_t sites = 0, applied = 0;
  for (const auto &[layer, list] : sitesOf)
    for (const json *site : list) {
      ++sites;
      applied += site->at("status") == "applied";
    }
  own["sites"] = sites;
  own["applied"] = applied;
  own["arenas"] = ordered_json::array();
  for (const json &arena : document.at("arenas"))
    own["arenas"].push_back(
        {{"id", arena.at("id")},
         {"bytes", arena.at("bytes")},
         {"bound", arena.value("x-bound", arena.at("bytes"))}});
  own["points"] = ordered_json::array();
  for (int64_t tokens : points)
    own["points"].push_back(priceJSON(tokens));
  own["outside"] = layerJSON(-1);
  // Kinds by their first layer, and of each layer its kind.
  std::map<std::string, size_t> kinds;
  own["kinds"] = ordered_json::array();
  own["layers"] = ordered_json::array();
  std::set<int64_t> layers;
  for (const auto &[layer, steps] : stepsOf)
    if (layer >= 0)
      layers.insert(layer);
  for (int64_t layer : layers) {
    ordered_json kind = layerJSON(layer);
    auto [found, isNew] = kinds.try_emplace(kind.dump(), kinds.size());
    if (isNew)
      own["kinds"].push_back(std::move(kind));
    own["layers"].push_back({layer, found->second});
  }
  return own;
}

ordered_json layline::report::variantJSON(const PlanTexts &texts, size_t number,
                                          StepCosts *costs, SiteBytes &bytes) {
  return VariantWriter(texts, number, costs, bytes).write();
}
