//===- WholeWeights.cpp - which chains' weights every rank holds ----------===//
#include "WholeWeights.h"
#include "dialects/Decoder/Decoder.h"
#include "layline/Planning/Explain.h"
#include "layline/Support/PlaceName.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <set>

using namespace mlir;
using namespace layline;

// A choice may cost 1 % more than the best at some token count, as everywhere
// in planning (Planner.cpp); and memory is not spent for less.
static constexpr double kRegret = 0.01;

/// The program to plan: not its reference.
static func::FuncOp findProgram(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>())
    if (!function.isExternal() &&
        !function->hasAttr(decoder::DecoderDialect::kReference))
      return function;
  return {};
}

WholeWeights::WholeWeights(ModuleOp imported, const CompileRequest &request)
    : module(imported), request(request),
      chains(findFeatureChains(findProgram(imported))) {
  for (const FeatureChain &chain : chains) {
    auto known = llvm::find_if(
        reports, [&](const auto &r) { return r.name == chain.name; });
    if (known == reports.end()) {
      reports.emplace_back().name = chain.name;
      known = reports.end() - 1;
    }
    ++known->count;
  }
  StringRef asked = request.replicate;
  if (asked == "all")
    chosen = (1u << reports.size()) - 1;
  else if (asked != "never" && asked != "auto")
    for (auto [bit, report] : llvm::enumerate(reports))
      if (llvm::is_contained(llvm::split(asked, ','), report.name))
        chosen |= 1u << bit;
  if (request.tp == 1)
    chosen = 0;
}

bool WholeWeights::isAuto() const {
  // Who says how much memory there is wants it to be used.
  return request.replicate == "auto" ||
         (request.replicate.empty() && request.memoryLimit > 0);
}

std::optional<std::string> WholeWeights::checkNames() const {
  StringRef asked = request.replicate;
  if (asked.empty() || asked == "never" || asked == "auto" || asked == "all")
    return std::nullopt;
  std::vector<std::string> names;
  for (const ReplicationReport &report : reports)
    names.push_back(report.name);
  for (StringRef name : llvm::split(asked, ','))
    if (!llvm::is_contained(names, name))
      return "--replicate-weights: found '" + name.str() +
             "', expected never, auto, all" +
             (names.empty() ? std::string("; this model has no chain whose "
                                          "weights every rank could hold")
                            : " or some of " + llvm::join(names, ","));
  return std::nullopt;
}

bool WholeWeights::needsPrices() const {
  if (reports.empty() || request.tp == 1)
    return false;
  return isAuto() || llvm::any_of(request.explain, [&](const std::string &at) {
           return llvm::any_of(reports, [&](const ReplicationReport &report) {
             return parsePlaceName(at).name == report.name;
           });
         });
}

bool WholeWeights::price(unsigned names, const PlacementOptions &placement,
                         const CostModel &model, Way &way) {
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  PlacementOptions mine;
  mine.copyOptionValuesFrom(placement);
  std::vector<std::string> kept;
  for (auto [bit, report] : llvm::enumerate(reports))
    if (names >> bit & 1)
      kept.push_back(report.name);
  mine.replicate = kept;
  buildPlacementPipeline(manager, mine);
  if (failed(manager.run(*copy)))
    return false;
  func::FuncOp placed = findProgram(*copy);
  for (const WeightShare &share : listWeights(placed))
    way.bytes += share.bytes;
  way.steps = priceStep(placed, model, request.fuse, tokens);
  return true;
}

bool WholeWeights::weigh(const PlacementOptions &placement,
                         const CostModel &model) {
  // A step's cost is smooth in the token count: octaves, and what was asked
  // for.
  std::set<int64_t> counts = {request.minTokens, request.maxTokens};
  for (int64_t count = 1; count < request.maxTokens; count *= 2)
    if (count > request.minTokens)
      counts.insert(count);
  counts.insert(request.explainTokens.begin(), request.explainTokens.end());
  tokens.assign(counts.begin(), counts.end());
  ways.resize(size_t(1) << reports.size());
  for (unsigned names = 0; names < ways.size(); ++names)
    if (!price(names, placement, model, ways[names]))
      return false;
  if (isAuto())
    choose();
  for (auto [bit, report] : llvm::enumerate(reports))
    for (auto [i, count] : llvm::enumerate(tokens))
      report.steps.push_back(
          {count, ways[0].steps[i], ways[size_t(1) << bit].steps[i]});
  return true;
}

/// Some token count of the plan saves enough by this name alone.
bool WholeWeights::isWorthIt(size_t bit) const {
  const Way &way = ways[size_t(1) << bit];
  for (size_t i = 0; i < tokens.size(); ++i)
    if (isInPlan(tokens[i]) && way.steps[i] < ways[0].steps[i] * (1 - kRegret))
      return true;
  return false;
}

/// Of the ways that fit, that cost at no token count of the plan more than the
/// plain one but for `kRegret`, and whose names all are worth it, the one with
/// the least sum of shares of the plain one's cost.
void WholeWeights::choose() {
  double least = 0;
  chosen = 0;
  for (unsigned names = 0; names < ways.size(); ++names) {
    if (request.memoryLimit && ways[names].bytes > request.memoryLimit)
      continue;
    bool isWorthAll = true;
    for (size_t bit = 0; bit < reports.size(); ++bit)
      isWorthAll &= !(names >> bit & 1) || isWorthIt(bit);
    double sum = 0, worst = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!isInPlan(tokens[i]))
        continue;
      double change = ways[names].steps[i] / ways[0].steps[i] - 1;
      sum += change;
      worst = std::max(worst, change);
    }
    if (worst <= kRegret && isWorthAll && sum < least) {
      least = sum;
      chosen = names;
    }
  }
}

std::vector<std::string> WholeWeights::getChosen() const {
  std::vector<std::string> names;
  for (auto [bit, report] : llvm::enumerate(reports))
    if (chosen >> bit & 1)
      names.push_back(report.name);
  return names;
}

void WholeWeights::tellWhy() {
  for (auto [bit, report] : llvm::enumerate(reports)) {
    report.isTaken = chosen >> bit & 1;
    bool isPlain = request.replicate.empty() || request.replicate == "never";
    if (!isAuto()) {
      report.reason = report.isTaken ? "--replicate-weights asks for it"
                      : isPlain      ? "--replicate-weights never"
                                     : "--replicate-weights names others";
      continue;
    }
    const Way &way = ways[size_t(1) << bit];
    size_t dearest =
               llvm::find_if(tokens, [&](int64_t t) { return isInPlan(t); }) -
               tokens.begin(),
           cheapest = dearest;
    auto change = [&](size_t i) { return way.steps[i] / ways[0].steps[i] - 1; };
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (!isInPlan(tokens[i]))
        continue;
      dearest = change(i) > change(dearest) ? i : dearest;
      cheapest = change(i) < change(cheapest) ? i : cheapest;
    }
    if (report.isTaken)
      report.reason = llvm::formatv("saves up to {0:F1} % of a step, at {1} "
                                    "tokens",
                                    -100 * change(cheapest), tokens[cheapest])
                          .str();
    else if (request.memoryLimit && way.bytes > request.memoryLimit)
      report.reason = llvm::formatv("one rank would hold {0} bytes of weights, "
                                    "the limit is {1}",
                                    way.bytes, request.memoryLimit)
                          .str();
    else if (change(dearest) > kRegret)
      report.reason = llvm::formatv("costs {0:F1} % more of a step at {1} "
                                    "tokens",
                                    100 * change(dearest), tokens[dearest])
                          .str();
    else if (!isWorthIt(bit))
      report.reason = llvm::formatv("saves at most {0:F1} % of a step",
                                    -100 * change(cheapest))
                          .str();
    else
      report.reason = "another set of chains saves more within the limit";
  }
}

int64_t WholeWeights::getSparedBytes() const {
  int64_t bytes = 0;
  for (const ReplicationReport &report : reports)
    if (report.isTaken)
      bytes += report.wholeBytes - report.splitBytes;
  return bytes;
}

void WholeWeights::measure() {
  for (auto [bit, report] : llvm::enumerate(reports)) {
    report.wholeBytes = report.splitBytes = 0;
    for (const FeatureChain &chain : chains) {
      if (chain.name != report.name)
        continue;
      for (Value weight : chain.weights) {
        auto type = cast<RankedTensorType>(weight.getType());
        report.wholeBytes +=
            type.getNumElements() * ((type.getElementTypeBitWidth() + 7) / 8);
        report.splitBytes += getWeightBytes(weight);
      }
    }
    // Placed whole, what parts would take is known from the other way, or it is
    // one of as many parts as there are ranks.
    if (chosen >> bit & 1)
      report.splitBytes =
          ways.empty() ? llvm::divideCeil(report.wholeBytes, request.tp)
                       : report.wholeBytes -
                             (ways[size_t(1) << bit].bytes - ways[0].bytes);
  }
  tellWhy();
}

std::string WholeWeights::explain(StringRef place) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const ReplicationReport &report : reports) {
    if (parsePlaceName(place).name != report.name)
      continue;
    os << report.name << " (" << report.count
       << " times) with the weights of its chain on every rank: "
       << report.wholeBytes - report.splitBytes << " bytes more on a rank; "
       << (report.isTaken ? "taken: " : "not taken: ") << report.reason
       << "\n  us of a step but for attention, at best, with split weights and "
          "with whole ones\n";
    for (const ReplicationReport::Step &step : report.steps)
      os << llvm::formatv("  {0,8} tokens {1,12:F1} {2,12:F1} {3,10:F1}\n",
                          step.tokens, step.split, step.whole,
                          step.whole - step.split);
  }
  return text;
}
