#include "PlanBuilder.h"

#include <algorithm>
#include <functional>

namespace layline::test {
namespace {

std::int64_t sizeOf(const std::string &dtype) {
  return dtype == "bf16" || dtype == "f16"  ? 2
         : dtype == "f32" || dtype == "i32" ? 4
         : dtype.rfind("fp8", 0) == 0       ? 1
                                            : 8;
}

bool isOutput(const std::string &kind, const std::string &argument) {
  return argument == "output" || argument == "outputs" ||
         (kind == "router" && (argument == "ids" || argument == "weights")) ||
         (kind == "quantize" &&
          (argument == "values" || argument == "scales")) ||
         (kind == "indexer" &&
          (argument == "selection" || argument == "scores"));
}

} // namespace

void forEachBuffer(
    const Json &step,
    const std::function<void(const std::string &, bool)> &visit) {
  if (step.contains("body")) {
    for (const Json &inner : step["body"])
      forEachBuffer(inner, visit);
    return;
  }
  for (const auto &[name, value] : step["args"].items()) {
    bool isWrite = isOutput(step["kind"], name);
    std::vector<Json> list;
    if (value.is_array())
      list.assign(value.begin(), value.end());
    else
      list.push_back(value);
    for (const Json &one : list)
      visit(one.is_object() ? one["buffer"].get<std::string>()
                            : one.get<std::string>(),
            isWrite);
  }
}

PlanBuilder::PlanBuilder(std::int64_t ranks, std::int64_t maxTokens,
                         const std::string &dtype)
    : ranks_(ranks), dtype_(dtype) {
  plan_ = Json{
      {"schema", "layline.launch_plan"},
      {"version", {{"major", 1}, {"minor", 0}}},
      {"requires", Json::array({"kv_cache", "fused_steps"})},
      {"producer", {{"tool", "test"}, {"version", "0"}}},
      {"source",
       {{"config", "none"},
        {"digest", ""},
        {"model_type", "none"},
        {"layers", 1}}},
      {"target", {{"name", "test"}, {"dtype", dtype}}},
      {"symbols",
       Json::array({{{"name", "tokens"}, {"min", 1}, {"max", maxTokens}},
                    {{"name", "past"}, {"min", 0}, {"max", 256}}})},
      {"mesh", Json::array({{{"axis", "tp"}, {"size", ranks}}})},
      {"groups",
       Json::array({{{"id", "tp"}, {"axes", {"tp"}}, {"ranks", ranks}}})},
      {"ranges", Json::array()},
      {"inputs",
       Json::array(
           {{{"id", "input_ids"}, {"dtype", "i64"}, {"shape", {"tokens"}}},
            {{"id", "positions"}, {"dtype", "i64"}, {"shape", {"tokens"}}}})},
      {"caches", Json::array()},
      {"tables", Json::array()},
      {"weights", Json::array()},
      {"flags", Json::array({{{"id", "f.tp"},
                              {"group", "tp"},
                              {"scope", "system"},
                              {"reset", "epoch"}}})},
      {"kernels", Json::array()},
      {"streams", Json::array({{{"id", "compute"}}, {{"id", "comm"}}})},
      {"variants", Json::array()}};
  plan_["groups"][0]["axes"] = Json::array({"tp"});
  for (Json &one : plan_["inputs"])
    one["shape"] = Json::array({"tokens"});
}

void PlanBuilder::addContextAxis(std::int64_t ranks) {
  plan_["version"]["minor"] = 1;
  plan_["requires"].push_back("segmented_ranges");
  plan_["mesh"].push_back({{"axis", "cp"}, {"size", ranks}});
  plan_["groups"].push_back(
      {{"id", "cp"}, {"axes", Json::array({"cp"})}, {"ranks", ranks}});
  plan_["flags"][0]["key"] = Json::array({"cp"});
  plan_["flags"].push_back({{"id", "f.cp"},
                            {"group", "cp"},
                            {"key", Json::array({"tp"})},
                            {"scope", "system"},
                            {"reset", "epoch"}});
}

bool PlanBuilder::hasRange(const std::string &id) const {
  return std::any_of(plan_["ranges"].begin(), plan_["ranges"].end(),
                     [&](const Json &range) { return range["id"] == id; });
}

std::int64_t PlanBuilder::axisSize(const std::string &axis) const {
  for (const Json &one : plan_["mesh"])
    if (one["axis"] == axis)
      return one["size"];
  return 1;
}

namespace {

/// Part `rank` of the block partition of `extent` over `ranks`.
Json blockSegment(const Json &extent, std::int64_t ranks, const Json &rank) {
  Json quotient = {"floordiv", extent, ranks},
       remainder = {"mod", extent, ranks};
  return {
      {"begin", {"add", {"mul", rank, quotient}, {"min", rank, remainder}}},
      {"size",
       {"add", quotient, {"min", 1, {"max", 0, {"sub", remainder, rank}}}}}};
}

std::string nameOf(const Json &extent) {
  return extent.is_string() ? extent.get<std::string>() : "n" + extent.dump();
}

} // namespace

Json PlanBuilder::block(const Json &extent, std::int64_t unit,
                        const std::string &axis) {
  std::string id = nameOf(extent) + "/" + axis;
  if (!hasRange(id))
    plan_["ranges"].push_back(
        {{"id", id},
         {"axis", axis},
         {"extent", extent},
         {"kind", "block"},
         {"segments", Json::array({blockSegment(extent, axisSize(axis),
                                                "rank." + axis)})}});
  return {{"range", id}, {"unit", unit}};
}

Json PlanBuilder::zigzag(const Json &extent, std::int64_t unit) {
  std::string id = nameOf(extent) + "/cp:zigzag";
  std::int64_t parts = 2 * axisSize("cp");
  Json mirrored = {"sub", parts - 1, "rank.cp"};
  if (!hasRange(id))
    plan_["ranges"].push_back(
        {{"id", id},
         {"axis", "cp"},
         {"extent", extent},
         {"kind", "zigzag"},
         {"segments", Json::array({blockSegment(extent, parts, "rank.cp"),
                                   blockSegment(extent, parts, mirrored)})}});
  return {{"range", id}, {"unit", unit}};
}

Json PlanBuilder::cyclic(const Json &extent, std::int64_t interleave,
                         std::int64_t unit) {
  std::string id = nameOf(extent) + "/cp:cyclic" + std::to_string(interleave);
  std::int64_t period = axisSize("cp") * interleave;
  Json begin = {"mul", "rank.cp", interleave};
  Json rest = {
      "max", 0, {"min", interleave, {"sub", {"mod", extent, period}, begin}}};
  Json size = {"add", {"mul", {"floordiv", extent, period}, interleave}, rest};
  if (!hasRange(id))
    plan_["ranges"].push_back(
        {{"id", id},
         {"axis", "cp"},
         {"extent", extent},
         {"kind", "cyclic"},
         {"interleave", interleave},
         {"segments", Json::array({{{"begin", begin},
                                    {"size", size},
                                    {"block", interleave},
                                    {"stride", period}}})}});
  return {{"range", id}, {"unit", unit}};
}

Json PlanBuilder::within(const Json &outer) {
  std::string outerId = outer["range"], id = outerId + "/tp";
  Json extent = {"size", outerId};
  if (!hasRange(id))
    plan_["ranges"].push_back(
        {{"id", id},
         {"axis", "tp"},
         {"extent", extent},
         {"kind", "block"},
         {"within", outerId},
         {"segments", Json::array({blockSegment(extent, ranks_, "rank.tp")})}});
  return {{"range", id}, {"unit", outer["unit"]}};
}

Json PlanBuilder::readers(std::int64_t kvHeads, std::int64_t heads,
                          std::int64_t unit) {
  std::string id =
      "kv" + std::to_string(kvHeads) + "of" + std::to_string(heads) + "/tp";
  if (!hasRange(id)) {
    std::int64_t quotient = heads / ranks_, remainder = heads % ranks_,
                 share = heads / kvHeads;
    Json first = {
        "add", {"mul", "rank.tp", quotient}, {"min", "rank.tp", remainder}};
    Json count = {
        "add", quotient, {"min", 1, {"max", 0, {"sub", remainder, "rank.tp"}}}};
    Json begin = {"floordiv", first, share};
    Json size = {"mul",
                 {"min", 1, count},
                 {"sub", {"ceildiv", {"add", first, count}, share}, begin}};
    plan_["ranges"].push_back(
        {{"id", id},
         {"axis", "tp"},
         {"extent", kvHeads},
         {"kind", "readers"},
         {"of", heads},
         {"segments", Json::array({{{"begin", begin}, {"size", size}}})}});
  }
  return {{"range", id}, {"unit", unit}};
}

Json PlanBuilder::firstReaders(std::int64_t kvHeads, std::int64_t heads,
                               std::int64_t unit) {
  std::string id = "first.kv" + std::to_string(kvHeads) + "of" +
                   std::to_string(heads) + "/tp";
  std::int64_t quotient = heads / ranks_, remainder = heads % ranks_,
               share = heads / kvHeads;
  auto firstOf = [&](const Json &rank) -> Json {
    return {"ceildiv",
            {"add", {"mul", rank, quotient}, {"min", rank, remainder}},
            share};
  };
  Json begin = firstOf("rank.tp"), end = firstOf({"add", "rank.tp", 1});
  if (!hasRange(id))
    plan_["ranges"].push_back(
        {{"id", id},
         {"axis", "tp"},
         {"extent", kvHeads},
         {"kind", "first_readers"},
         {"of", heads},
         {"segments",
          Json::array({{{"begin", begin}, {"size", {"sub", end, begin}}}})}});
  return {{"range", id}, {"unit", unit}};
}

Json PlanBuilder::routed(const Json &extent, std::int64_t experts) {
  std::string id = "routed" + std::to_string(experts) + ".tokens/tp";
  if (!hasRange(id))
    plan_["ranges"].push_back(
        {{"id", id},
         {"axis", "tp"},
         {"extent", extent},
         {"kind", "routed"},
         {"of", experts},
         {"segments", Json::array({{{"begin", 0}, {"size", extent}}})}});
  return {{"range", id}, {"unit", 1}};
}

std::int64_t PlanBuilder::largestPart(const Json &id,
                                      std::int64_t tokens) const {
  for (const Json &range : plan_["ranges"]) {
    if (range["id"] != id)
      continue;
    std::int64_t extent =
        range.contains("within")      ? largestPart(range["within"], tokens)
        : range["extent"].is_string() ? tokens
                                      : range["extent"].get<std::int64_t>();
    std::int64_t ranks = axisSize(range["axis"]);
    if (range["kind"] == "routed")
      return extent;
    if (range["kind"] == "block")
      return (extent + ranks - 1) / ranks;
    if (range["kind"] == "zigzag")
      // Of the first parts, which hold one more, two may go to one rank.
      return extent / (2 * ranks) * 2 +
             std::min<std::int64_t>(1, extent % (2 * ranks)) +
             (extent % (2 * ranks) > ranks ? 1 : 0);
    if (range["kind"] == "cyclic") {
      std::int64_t run = range["interleave"], period = ranks * run;
      return extent / period * run + std::min(run, extent % period);
    }
    std::int64_t heads = range["of"], share = heads / extent, largest = 0;
    for (std::int64_t rank = 0; rank < ranks_; ++rank) {
      std::int64_t first =
          rank * (heads / ranks_) + std::min(rank, heads % ranks_);
      std::int64_t count = heads / ranks_ + (rank < heads % ranks_ ? 1 : 0);
      if (count > 0)
        largest =
            std::max(largest, (first + count - 1) / share - first / share + 1);
    }
    return largest;
  }
  return 0;
}

std::int64_t PlanBuilder::localElements(const Json &shape, const Json &dims,
                                        std::int64_t tokens) const {
  std::int64_t count = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    count *= !dims[i].is_null() ? largestPart(dims[i]["range"], tokens) *
                                      dims[i]["unit"].get<std::int64_t>()
             : shape[i].is_string() ? tokens
                                    : shape[i].get<std::int64_t>();
  return count;
}

std::string PlanBuilder::weight(const std::string &key,
                                const std::vector<std::int64_t> &shape,
                                const Json &dims, const Json &extra) {
  std::string id = "w" + std::to_string(plan_["weights"].size());
  Json entry = {
      {"id", id}, {"key", key}, {"dtype", dtype_}, {"stored_shape", shape}};
  for (const auto &[name, value] : extra.items())
    entry[name] = value;
  entry["shape"] = shape;
  // Of a stack that is stored as one tensor `shape` is what it is seen as.
  bool isWindow = extra.contains("rows") && !extra.contains("stored_stack");
  if (isWindow)
    entry["shape"][0] = extra["rows"][1].get<std::int64_t>() -
                        extra["rows"][0].get<std::int64_t>();
  if (isWindow && extra.contains("period"))
    entry["shape"][0] = entry["shape"][0].get<std::int64_t>() * shape[0] /
                        extra["period"].get<std::int64_t>();
  if (extra.contains("stack"))
    entry["shape"].insert(entry["shape"].begin(), extra["stack"]["count"]);
  entry["layout"] = {{"dims", dims}};
  entry["bytes_per_rank"] =
      localElements(entry["shape"], dims, 1) * sizeOf(dtype_);
  plan_["weights"].push_back(entry);
  return id;
}

void PlanBuilder::cache(const std::string &id, std::int64_t layer,
                        const std::string &plane,
                        const std::vector<std::int64_t> &rowShape,
                        const Json &dims) {
  plan_["caches"].push_back({{"id", id},
                             {"layer", layer},
                             {"plane", plane},
                             {"dtype", plane == "positions" ? "i64" : dtype_},
                             {"row_shape", rowShape},
                             {"layout", {{"dims", dims}}}});
}

void PlanBuilder::table(const std::string &id,
                        const std::vector<double> &invFreq, const Json &extra) {
  Json entry = {{"id", id}, {"attention_factor", 1.0}, {"inv_freq", invFreq}};
  for (const auto &[name, value] : extra.items())
    entry[name] = value;
  plan_["tables"].push_back(entry);
}

std::string PlanBuilder::kernel(const std::vector<std::string> &ops,
                                bool hasGroup) {
  std::string id = "k" + std::to_string(plan_["kernels"].size());
  Json entry = {
      {"id", id}, {"ops", ops}, {"dtype", dtype_}, {"cooperative", hasGroup}};
  if (hasGroup)
    entry["group"] = "tp";
  plan_["kernels"].push_back(entry);
  return id;
}

void PlanBuilder::variant(const std::string &id, std::int64_t min,
                          std::int64_t max) {
  finishVariant();
  variant_ = Json{{"id", id},
                  {"tokens", {{"min", min}, {"max", max}}},
                  {"boundaries", "test"},
                  {"arenas", Json::array()},
                  {"buffers", Json::array()},
                  {"steps", Json::array()},
                  {"outputs", Json::array()}};
}

std::string PlanBuilder::input(const std::string &id, const Json &dim) {
  std::string name = "b" + std::to_string(nextBuffer_++);
  variant_["buffers"].push_back({{"id", name},
                                 {"class", "input"},
                                 {"dtype", "i64"},
                                 {"shape", Json::array({"tokens"})},
                                 {"layout", {{"dims", Json::array({dim})}}},
                                 {"input", id}});
  return name;
}

std::string PlanBuilder::buffer(const Json &shape, const Json &dims, bool owes,
                                const std::string &dtype,
                                const std::string &kind) {
  std::string name = "b" + std::to_string(nextBuffer_++);
  Json layout = {{"dims", dims}};
  if (owes)
    layout["owes"] = Json::array({"tp"});
  variant_["buffers"].push_back({{"id", name},
                                 {"class", kind},
                                 {"dtype", dtype.empty() ? dtype_ : dtype},
                                 {"shape", shape},
                                 {"layout", layout}});
  return name;
}

bool PlanBuilder::isCollective(const std::string &kind) const {
  return kind == "all_reduce" || kind == "reduce_scatter" ||
         kind == "all_gather" || kind == "broadcast" || kind == "dispatch" ||
         kind == "combine";
}

Json PlanBuilder::bodyStep(const std::string &kind, const Json &args,
                           const Json &attrs,
                           const std::vector<std::string> &names) {
  Json step = {{"id", "s" + std::to_string(nextStep_++)}, {"kind", kind}};
  if (!names.empty())
    step["names"] = names;
  step["args"] = args;
  if (!attrs.empty())
    step["attrs"] = attrs;
  return step;
}

std::string PlanBuilder::step(const std::string &kind, const Json &args,
                              const Json &attrs,
                              const std::vector<std::string> &names) {
  Json step = bodyStep(kind, args, attrs, names);
  step["stream"] = "compute";
  if (isCollective(kind))
    step["flag"] = "f." + attrs["group"].get<std::string>();
  variant_["steps"].push_back(step);
  return step["id"];
}

std::string PlanBuilder::fused(const Json &inputs, const Json &outputs,
                               const std::vector<Json> &body) {
  std::vector<std::string> ops;
  bool hasGroup = false;
  for (const Json &inner : body) {
    ops.push_back(inner["kind"]);
    hasGroup = hasGroup || isCollective(ops.back());
  }
  Json step = {{"id", "s" + std::to_string(nextStep_++)},
               {"kind", "fused"},
               {"stream", "compute"},
               {"args", {{"inputs", inputs}, {"outputs", outputs}}},
               {"attrs", {{"kernel", kernel(ops, hasGroup)}}}};
  if (hasGroup)
    step["flag"] = "f.tp";
  step["body"] = body;
  variant_["steps"].push_back(step);
  return step["id"];
}

void PlanBuilder::output(const std::string &id, const std::string &buffer) {
  for (Json &one : variant_["buffers"])
    if (one["id"] == buffer)
      one["class"] = "output";
  variant_["outputs"].push_back({{"id", id}, {"buffer", buffer}});
}

void PlanBuilder::findLives(Json &variant,
                            std::map<std::string, std::pair<int, int>> &lives) {
  std::map<std::string, std::string> writers;
  int at = 0;
  for (Json &step : variant["steps"]) {
    Json after = Json::array();
    std::map<std::string, std::string> own;
    forEachBuffer(step, [&](const std::string &id, bool isWrite) {
      auto [life, isNew] = lives.try_emplace(id, at, at);
      life->second.second = at;
      if (isWrite)
        own[id] = step["id"];
      else if (writers.count(id) && std::find(after.begin(), after.end(),
                                              writers[id]) == after.end())
        after.push_back(writers[id]);
    });
    for (auto &[id, writer] : own)
      writers[id] = writer;
    step["after"] = after;
    ++at;
  }
}

void PlanBuilder::placeBuffers(
    Json &variant, const std::map<std::string, std::pair<int, int>> &lives) {
  struct Placed {
    std::int64_t offset, bytes;
    int first, last;
  };
  std::map<std::string, std::vector<Placed>> arenas{
      {"float", {}}, {"int", {}}, {"narrow", {}}, {"register", {}}};
  std::int64_t tokens = variant["tokens"]["max"];
  int last = static_cast<int>(variant["steps"].size()) - 1;
  for (Json &buffer : variant["buffers"]) {
    if (buffer["class"] == "input")
      continue;
    std::string dtype = buffer["dtype"];
    std::string arena = buffer["class"] == "register" ? "register"
                        : dtype[0] == 'i'             ? "int"
                        : dtype.rfind("fp8", 0) == 0  ? "narrow"
                                                      : "float";
    auto life = lives.at(buffer["id"]);
    if (buffer["class"] == "output")
      life.second = last;
    Placed placed{
        0,
        localElements(buffer["shape"], buffer["layout"]["dims"], tokens) *
            sizeOf(dtype),
        life.first, life.second};
    for (bool moved = true; moved;) {
      moved = false;
      for (const Placed &other : arenas[arena])
        if (other.first <= placed.last && placed.first <= other.last &&
            other.offset < placed.offset + placed.bytes &&
            placed.offset < other.offset + other.bytes) {
          placed.offset = (other.offset + other.bytes + 63) / 64 * 64;
          moved = true;
        }
    }
    arenas[arena].push_back(placed);
    buffer["arena"] = arena;
    buffer["offset"] = placed.offset;
    buffer["bytes"] = placed.bytes;
    buffer["live"] = {variant["steps"][life.first]["id"],
                      variant["steps"][life.second]["id"]};
  }
  for (const auto &[id, list] : arenas) {
    std::int64_t bytes = 0;
    for (const Placed &placed : list)
      bytes = std::max(bytes, placed.offset + placed.bytes);
    variant["arenas"].push_back({{"id", id}, {"bytes", bytes}});
  }
}

void PlanBuilder::finishVariant() {
  if (variant_.is_null())
    return;
  std::map<std::string, std::pair<int, int>> lives;
  findLives(variant_, lives);
  placeBuffers(variant_, lives);
  plan_["variants"].push_back(variant_);
  variant_ = nullptr;
}

Json PlanBuilder::finish() {
  finishVariant();
  return plan_;
}

} // namespace layline::test
