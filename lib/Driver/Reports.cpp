//===- Reports.cpp - what a compilation says about its plan ---------------===//
#include "Reports.h"
#include "dialects/Launch/Ranges.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Passes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mlir;
using namespace layline;

static PriceReport readPrice(DictionaryAttr price) {
  auto number = [&](StringRef name) {
    auto attr = price.getAs<FloatAttr>(name);
    return attr ? attr.getValueAsDouble() : 0;
  };
  auto count = [&](StringRef name) {
    auto attr = price.getAs<IntegerAttr>(name);
    return attr ? attr.getInt() : 0;
  };
  auto confidence = price.getAs<StringAttr>("confidence");
  return {count("tokens"),       number("today_us"),
          number("unfused_us"),  number("chosen_us"),
          number("products_us"), confidence ? confidence.str() : "",
          count("phases"),       count("phases_today"),
          count("launches"),     count("launches_today")};
}

static int64_t getRowBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  int64_t bytes = (tensor.getElementTypeBitWidth() + 7) / 8;
  for (int64_t size : tensor.getShape().drop_front())
    bytes *= size;
  return bytes;
}

/// The sum that pays for the rows of a value, through ops of own rows.
static grid::ReduceScatterOp findSum(Value value) {
  llvm::SmallPtrSet<Operation *, 16> seen;
  SmallVector<Value> work = {value};
  while (!work.empty()) {
    Value next = work.pop_back_val();
    Operation *producer = next.getDefiningOp();
    if (!producer || !seen.insert(producer).second)
      continue;
    if (auto fused = dyn_cast<grid::FusedOp>(producer)) {
      auto yield = cast<grid::YieldOp>(fused.getBody().front().getTerminator());
      work.push_back(yield.getValues()[cast<OpResult>(next).getResultNumber()]);
      continue;
    }
    if (auto scatter = dyn_cast<grid::ReduceScatterOp>(producer))
      return scatter;
    // The newest operand last, so that it is looked at first: the branch before
    // the residual.
    if (isa<grid::RowwiseOpInterface>(producer))
      for (Value operand : producer->getOperands())
        work.push_back(operand);
  }
  return {};
}

static std::vector<GatherReport> listGathers(func::FuncOp function) {
  std::vector<GatherReport> gathers;
  function.walk([&](grid::AllGatherOp gather) {
    if (gather.getDim() != 0 || gather.getAxis() != kTensorAxis)
      return;
    StringAttr place = grid::getPlace(gather.getLoc());
    grid::ReduceScatterOp sum = findSum(gather.getInput());
    gathers.push_back({place ? place.str() : "", getRowBytes(gather.getType()),
                       sum ? getRowBytes(sum.getType()) : 0});
  });
  return gathers;
}

LogicalResult PlannedProgram::collect(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function->hasAttr(kVariantTokens))
      continue;
    FailureOr<ConsumerReport> report = verifyConsumers(function);
    if (failed(report))
      return failure();
    auto reason = function->getAttrOfType<StringAttr>(kVariantReason);
    variants.push_back({function.getSymName().str(),
                        reason ? reason.str() : std::string(),
                        std::move(report->values),
                        {},
                        listGathers(function),
                        function->getAttrOfType<ArrayAttr>(kVariantPrices)});
    if (ArrayAttr prices = variants.back().allPrices)
      for (Attribute price : prices)
        if (auto entry = dyn_cast<DictionaryAttr>(price))
          variants.back().prices.push_back(readPrice(entry));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Numbers of the plan
//===----------------------------------------------------------------------===//

namespace {

using Ranges = llvm::StringMap<launch::RangeOp>;

/// Values of the plan's expressions for one rank and token count.
class Evaluator {
public:
  Evaluator(launch::PlanOp plan, const Ranges &ranges, int64_t tokens,
            int64_t rank)
      : ranges(ranges), tokens(tokens) {
    // Row-major over the axes.
    for (auto [axis, size] : llvm::reverse(llvm::zip(
             plan.getAxes().getAsValueRange<StringAttr>(), plan.getSizes()))) {
      coordinates["rank." + axis.str()] = rank % size;
      rank /= size;
    }
  }

  std::optional<int64_t> operator()(Attribute expr) const {
    if (auto number = dyn_cast<IntegerAttr>(expr))
      return number.getInt();
    if (auto symbol = dyn_cast<StringAttr>(expr)) {
      if (symbol == "tokens")
        return tokens;
      auto coordinate = coordinates.find(symbol.getValue());
      if (coordinate != coordinates.end())
        return coordinate->second;
      return std::nullopt;
    }
    auto list = dyn_cast<ArrayAttr>(expr);
    if (!list || list.size() < 2)
      return std::nullopt;
    StringRef op = cast<StringAttr>(list[0]).getValue();
    if (op == "size" || op == "begin") {
      launch::RangeOp range =
          ranges.lookup(cast<StringAttr>(list[1]).getValue());
      if (!range)
        return std::nullopt;
      auto segments = range.getSegmentList();
      if (op == "begin")
        return (*this)(segments.front().begin);
      int64_t total = 0;
      for (const auto &segment : segments) {
        std::optional<int64_t> size = (*this)(segment.size);
        if (!size)
          return std::nullopt;
        total += *size;
      }
      return total;
    }
    std::optional<int64_t> value = (*this)(list[1]);
    for (Attribute operand : list.getValue().drop_front(2)) {
      std::optional<int64_t> rhs = (*this)(operand);
      if (!value || !rhs)
        return std::nullopt;
      value = apply(op, *value, *rhs);
    }
    return value;
  }

private:
  static std::optional<int64_t> apply(StringRef op, int64_t a, int64_t b) {
    if (op == "add")
      return a + b;
    if (op == "sub")
      return a - b;
    if (op == "mul")
      return a * b;
    if (op == "min")
      return std::min(a, b);
    if (op == "max")
      return std::max(a, b);
    if (b <= 0)
      return std::nullopt;
    if (op == "floordiv")
      return llvm::divideFloorSigned(a, b);
    if (op == "ceildiv")
      return llvm::divideCeilSigned(a, b);
    if (op == "mod")
      return a - b * llvm::divideFloorSigned(a, b);
    return std::nullopt;
  }

  const Ranges &ranges;
  int64_t tokens;
  llvm::StringMap<int64_t> coordinates;
};

} // namespace

namespace {

/// Bytes of sites, of the rank that sends most. Layers share expressions, so
/// each is worked out once.
class SiteByteCounts {
public:
  explicit SiteByteCounts(launch::PlanOp plan) : plan(plan) {
    for (auto range : plan.getBody().getOps<launch::RangeOp>())
      ranges[range.getSymName()] = range;
    for (int64_t size : plan.getSizes())
      ranks *= size;
  }

  WireByteCount get(DictionaryAttr bytes, int64_t tokens) {
    if (!bytes)
      return {};
    auto [entry, isNew] = counts.try_emplace({bytes, tokens});
    for (int64_t rank = 0; isNew && rank < ranks; ++rank) {
      Evaluator evaluate(plan, ranges, tokens, rank);
      WireByteCount &most = entry->second;
      most.ring = std::max(most.ring, evaluate(bytes.get("ring")).value_or(0));
      most.viaSwitch =
          std::max(most.viaSwitch, evaluate(bytes.get("switch")).value_or(0));
    }
    return entry->second;
  }

private:
  launch::PlanOp plan;
  Ranges ranges;
  int64_t ranks = 1;
  DenseMap<std::pair<Attribute, int64_t>, WireByteCount> counts;
};

} // namespace

static std::string joinNames(std::optional<ArrayAttr> names) {
  if (!names)
    return {};
  return llvm::join(
      llvm::map_range(names->getAsRange<StringAttr>(),
                      [](StringAttr name) { return name.getValue(); }),
      " + ");
}

/// The gathers of a step over the axis of context parallelism.
static void countContextGathers(launch::PlanOp plan, launch::StepOp step,
                                int64_t tokens, ContextGathers &gathers) {
  step.forEachLeaf([&](launch::StepOp leaf) {
    auto group = dyn_cast_or_null<FlatSymbolRefAttr>(leaf.getKindAttr("group"));
    if (leaf.getKind() != launch::StepKind::AllGather || !group ||
        group.getValue() != kContextAxis)
      return;
    ++gathers.count;
    int64_t ranks = plan.getAxisSize(kContextAxis).value_or(1);
    leaf.forEachArgument([&](const launch::Argument &argument) {
      auto buffer = argument.buffer
                        ? argument.buffer.getDefiningOp<launch::BufferOp>()
                        : launch::BufferOp();
      if (buffer && !argument.isWritten())
        gathers.bytes += (ranks - 1) * launch::getLargestBytes(
                                           plan, buffer.getTensor(), tokens);
    });
  });
}

LogicalResult layline::reportPlan(ModuleOp module, Compilation &result) {
  launch::PlanOp plan = *module.getOps<launch::PlanOp>().begin();
  for (auto weight : plan.getBody().getOps<launch::WeightOp>())
    result.weightBytes += launch::getLargestBytes(
        plan, cast<RankedTensorType>(weight.getType()), 0);
  SiteByteCounts bytes(plan);
  for (auto variant : plan.getBody().getOps<launch::VariantOp>()) {
    VariantReport report;
    report.id = variant.getSymName().str();
    report.boundaries = variant.getBoundaries().value_or("").str();
    report.minTokens = variant.getMinTokens();
    report.maxTokens = variant.getMaxTokens();
    for (Operation &op : variant.getBody().front()) {
      if (auto arena = dyn_cast<launch::ArenaOp>(op)) {
        report.arenas.push_back({arena.getId().str(),
                                 static_cast<int64_t>(arena.getBytes()),
                                 static_cast<int64_t>(arena.getBound())});
      } else if (auto site = dyn_cast<launch::SiteOp>(op)) {
        SiteReport entry;
        entry.id = site.getId().str();
        entry.applied = site.getStatus() == "applied";
        entry.was = joinNames(site.getWas());
        entry.became = joinNames(site.getBecame());
        entry.reason = site.getReason().value_or("").str();
        entry.before = bytes.get(site.getBeforeAttr(), report.maxTokens);
        entry.after = bytes.get(site.getAfterAttr(), report.maxTokens);
        report.sites.push_back(std::move(entry));
      } else if (auto step = dyn_cast<launch::StepOp>(op)) {
        ++report.steps;
        countContextGathers(plan, step, report.maxTokens,
                            report.contextGathers);
      }
    }
    result.variants.push_back(std::move(report));
  }
  return success();
}

//===----------------------------------------------------------------------===//
// decisions.json
//===----------------------------------------------------------------------===//

namespace {

/// A list with one entry a line, so that two reports can be compared by diff.
class Lines {
public:
  Lines(llvm::raw_ostream &os, StringRef name) : os(os) {
    os << "\"" << name << "\": [";
  }
  ~Lines() { os << (first ? "]" : "\n]"); }
  void add(llvm::function_ref<void(llvm::json::OStream &)> members) {
    os << (first ? "\n" : ",\n");
    first = false;
    llvm::json::OStream json(os);
    json.object([&] { members(json); });
  }

private:
  llvm::raw_ostream &os;
  bool first = true;
};

} // namespace

/// Numbers, texts and dictionaries of an attribute as members of an object.
static void writeMembers(llvm::json::OStream &json, DictionaryAttr members) {
  for (NamedAttribute member : members) {
    StringRef name = member.getName();
    if (auto number = dyn_cast<FloatAttr>(member.getValue()))
      json.attribute(name, std::round(number.getValueAsDouble() * 1000) / 1000);
    else if (auto number = dyn_cast<IntegerAttr>(member.getValue()))
      json.attribute(name, number.getInt());
    else if (auto text = dyn_cast<StringAttr>(member.getValue()))
      json.attribute(name, text.getValue());
    else if (auto inner = dyn_cast<DictionaryAttr>(member.getValue()))
      json.attributeObject(name, [&] { writeMembers(json, inner); });
  }
}

std::string layline::describeGather(const GatherReport &gather) {
  if (gather.sumRowBytes == 0)
    return "no sum before it";
  if (gather.rowBytes == gather.sumRowBytes)
    return "as wide as the sum: moving it saves no bytes";
  return llvm::formatv("{0:P1} of the sum's bytes",
                       static_cast<double>(gather.rowBytes) /
                           static_cast<double>(gather.sumRowBytes))
      .str();
}

std::string layline::printDecisions(const CompileRequest &request,
                                    const Compilation &result,
                                    const PlannedProgram &planned) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "{\"schema\": \"layline.decisions\", \"version\": {\"major\": 1, "
        "\"minor\": 0},\n";
  os << "\"model_type\": \"" << result.modelType << "\", \"template\": \""
     << result.blockTemplate << "\", \"layers\": " << result.layers
     << ", \"tp\": " << request.tp << ", \"ep\": " << request.ep
     << ", \"cp\": " << request.cp << ", \"cp_split\": \""
     << (request.cp > 1 ? request.cpSplit : "none")
     << "\", \"cards\": " << request.tp * request.cp
     << ", \"attention_tp\": " << request.tp << ", \"target\": \""
     << request.target << "\",\n";
  os << "\"assumptions\": "
     << llvm::formatv("{0}",
                      llvm::json::Value(llvm::json::Array(result.assumptions)))
     << ",\n";
  {
    Lines lines(os, "variants");
    for (size_t index = 0; index < result.variants.size(); ++index)
      lines.add([&](llvm::json::OStream &json) {
        const VariantReport &variant = result.variants[index];
        json.attribute("id", variant.id);
        json.attributeArray("tokens", [&] {
          json.value(variant.minTokens);
          json.value(variant.maxTokens);
        });
        json.attribute("boundaries", variant.boundaries);
        json.attribute("reason", index < planned.variants.size()
                                     ? planned.variants[index].reason
                                     : "");
        json.attribute("sites", static_cast<int64_t>(variant.sites.size()));
        json.attribute("by_rows", variant.applied());
        json.attribute("context_gathers", variant.contextGathers.count);
        json.attribute("context_gather_bytes", variant.contextGathers.bytes);
      });
  }
  os << ",\n";
  {
    Lines lines(os, "weights");
    for (const WeightReport &weight : result.weights)
      lines.add([&](llvm::json::OStream &json) {
        json.attribute("weight", weight.name);
        json.attribute("count", weight.count);
        json.attribute("bytes_per_rank", weight.bytes);
        json.attribute("replicated", weight.isReplicated);
      });
  }
  os << ",\n";
  {
    Lines lines(os, "replication");
    for (const ReplicationReport &chain : result.replication)
      lines.add([&](llvm::json::OStream &json) {
        json.attribute("chain", chain.name);
        json.attribute("count", chain.count);
        json.attribute("bytes_per_rank_split", chain.splitBytes);
        json.attribute("bytes_per_rank_whole", chain.wholeBytes);
        json.attribute("taken", chain.isTaken);
        json.attribute("reason", chain.reason);
        json.attributeArray("steps", [&] {
          for (const ReplicationReport::Step &step : chain.steps)
            json.object([&] {
              json.attribute("tokens", step.tokens);
              json.attribute("split_us", std::round(step.split * 1000) / 1000);
              json.attribute("whole_us", std::round(step.whole * 1000) / 1000);
            });
        });
      });
  }
  os << ",\n";
  {
    Lines lines(os, "prices");
    for (const PlannedProgram::Variant &variant : planned.variants)
      if (variant.allPrices)
        for (Attribute price : variant.allPrices)
          lines.add([&](llvm::json::OStream &json) {
            json.attribute("variant", variant.id);
            writeMembers(json, cast<DictionaryAttr>(price));
          });
  }
  os << ",\n";
  {
    Lines lines(os, "gathers");
    for (const PlannedProgram::Variant &variant : planned.variants)
      for (const GatherReport &gather : variant.gathers)
        lines.add([&](llvm::json::OStream &json) {
          json.attribute("variant", variant.id);
          json.attribute("value", gather.value);
          json.attribute("row_bytes", gather.rowBytes);
          json.attribute("note", describeGather(gather));
        });
  }
  os << ",\n";
  {
    Lines lines(os, "sites");
    for (const VariantReport &variant : result.variants)
      for (const SiteReport &site : variant.sites)
        lines.add([&](llvm::json::OStream &json) {
          json.attribute("variant", variant.id);
          json.attribute("site", site.id);
          json.attribute("status", site.applied ? "applied" : "missed");
          json.attribute("was", site.was);
          json.attribute("became", site.became);
          json.attribute("reason", site.reason);
          json.attributeObject("bytes_at_most_tokens", [&] {
            json.attribute("ring_before", site.before.ring);
            json.attribute("ring_after", site.after.ring);
            json.attribute("switch_before", site.before.viaSwitch);
            json.attribute("switch_after", site.after.viaSwitch);
          });
        });
  }
  os << ",\n";
  {
    Lines lines(os, "consumers");
    for (const PlannedProgram::Variant &variant : planned.variants)
      for (const RewrittenValue &value : variant.values)
        lines.add([&](llvm::json::OStream &json) {
          json.attribute("variant", variant.id);
          json.attribute("value", value.name);
          json.attribute("op", value.op);
          json.attribute("layout", value.layout);
          json.attributeArray("read_by", [&] {
            for (const Consumer &consumer : value.consumers)
              json.value(consumer.at.empty() ? consumer.op
                                             : consumer.op + " " + consumer.at);
          });
        });
  }
  os << "}\n";
  return text;
}
