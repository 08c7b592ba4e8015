//===- SizedPlan.cpp - a plan's steps with what they move -----------------===//
#include "SizedPlan.h"
#include "StepWork.h"
#include "layline/Cost/Routing.h"
#include "plan/Load.h"
#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

using namespace layline::trace;
using namespace layline;
using runtime::Operand;
using runtime::StepKind;

SizedVariant::Traffic
SizedVariant::trafficOf(const std::vector<size_t> &these) const {
  std::set<std::string> made, counted;
  std::map<std::string, int64_t> readInside;
  for (size_t number : these)
    for (const SizedOperand &operand : steps[number].operands)
      if (operand.isOutput)
        made.insert(operand.storage);
      else
        ++readInside[operand.storage];
  Traffic traffic;
  for (size_t number : these)
    for (const SizedOperand &operand : steps[number].operands) {
      if (!counted.insert(operand.storage).second)
        continue;
      if (!made.count(operand.storage)) {
        traffic.read += operand.bytes;
        continue;
      }
      auto total = readers.find(operand.storage);
      if (total == readers.end() || total->second > readInside[operand.storage])
        traffic.written += operand.bytes;
    }
  return traffic;
}

SizedPlan::SizedPlan(const std::string &text, const std::string &file)
    : name(file) {
  runtime::LoadedPlan loaded = runtime::loadPlan(text, file);
  if (!loaded.findings.empty())
    throw TraceError(loaded.findings.front());
  plan = std::make_unique<runtime::Plan>(std::move(loaded.plan));
}

SizedPlan::~SizedPlan() = default;

std::string SizedPlan::printRanges() const {
  std::string text;
  for (const runtime::Variant &variant : plan->variants)
    text += (text.empty() ? "" : ", ") + std::to_string(variant.minTokens) +
            " to " + std::to_string(variant.maxTokens);
  return text;
}

static std::string printMesh(const runtime::Plan &plan) {
  std::string text;
  for (const runtime::Axis &axis : plan.axes)
    text += (text.empty() ? "" : " x ") + axis.name + "=" +
            std::to_string(axis.size);
  return text.empty() ? "one rank" : text;
}

std::string SizedPlan::findDifference(const SizedPlan &other) const {
  std::string mine = printMesh(*plan), its = printMesh(*other.plan);
  if (mine != its)
    return "found a mesh of " + its + ", expected " + mine;
  std::map<std::string, const runtime::Weight *> weights;
  for (const runtime::Weight &weight : plan->weights)
    weights.emplace(weight.key, &weight);
  std::set<std::string> seen;
  for (const runtime::Weight &weight : other.plan->weights) {
    seen.insert(weight.key);
    auto found = weights.find(weight.key);
    if (found == weights.end())
      return "found the weight '" + weight.key +
             "', which the model of the run does not have";
    if (weight.storedShape != found->second->storedShape)
      return "found '" + weight.key + "' of shape " +
             runtime::print(weight.storedShape) + ", expected " +
             runtime::print(found->second->storedShape);
  }
  for (const auto &[key, weight] : weights)
    if (!seen.count(key))
      return "found no weight '" + key + "', which the model of the run has";
  return "";
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

namespace {

class VariantSizer {
public:
  VariantSizer(const runtime::Plan &plan, const runtime::Variant &variant,
               int64_t tokens, int64_t rank)
      : plan(plan), variant(variant), coordinates(plan.coordinates(rank)),
        parts(plan.parts(tokens, coordinates)) {
    environment.tokens = tokens;
    environment.coordinates = coordinates.data();
    environment.parts = parts.data();
  }

  SizedVariant build() {
    sized.id = variant.id;
    for (const runtime::Step &step : variant.steps) {
      size_t first = sized.steps.size();
      if (step.kind == StepKind::Fused)
        for (const runtime::Step &inner : step.body)
          add(inner);
      else
        add(step);
      for (size_t i = first; i < sized.steps.size(); ++i)
        sized.steps[i].launch = sized.launches.size();
      sized.launches.push_back({first, sized.steps.size()});
    }
    for (const runtime::Output &output : variant.outputs)
      ++sized.readers["buffer " + std::to_string(output.buffer)];
    markResidualGathers();
    return std::move(sized);
  }

private:
  void add(const runtime::Step &step) {
    SizedStep own;
    own.id = step.id;
    own.kind = step.info().name;
    own.place = step.place;
    own.work = workOf(step.kind);
    if (step.kind == StepKind::Router)
      routing = {0, step.attrs.topK, step.attrs.groups,
                 step.attrs.chosenGroups};
    std::ostringstream signature;
    signature << own.kind;
    for (size_t a = 0; a < step.args.size(); ++a)
      for (const Operand &operand : step.args[a])
        addOperand(own, operand, step.info().args[a].isOutput, signature);
    own.isView = step.kind == StepKind::Slice && step.attrs.dim == 0 &&
                 plan.ranges[step.attrs.range].isContiguous();
    if (own.work == Work::Product)
      own.product = sizeProduct(step);
    if (isCollective(own.work)) {
      sizeCollective(own, step);
      signature << " of " << own.ranks << " ranks";
    }
    own.signature = signature.str();
    sized.byId.emplace(own.id, sized.steps.size());
    sized.steps.push_back(std::move(own));
  }

  void addOperand(SizedStep &own, const Operand &operand, bool isOutput,
                  std::ostringstream &signature) {
    // What is in a cache depends on the past, which a trace does not tell;
    // tables are constants.
    if (operand.of != Operand::Of::Buffer && operand.of != Operand::Of::Weight)
      return;
    runtime::Shape shape =
        localShape(operand.shape, operand.layout, environment);
    signature << ' ' << runtime::print(shape);
    int64_t bytes =
        runtime::elements(shape) * runtime::dtypeBytes(operand.dtype);
    std::string storage =
        (operand.of == Operand::Of::Buffer ? "buffer " : "weight ") +
        std::to_string(operand.index);
    if (!isOutput)
      ++sized.readers[storage];
    own.operands.push_back({storage, bytes, isOutput});
  }

  SizedProduct sizeProduct(const runtime::Step &step) const {
    const Operand &input = step.arg("input"), &weight = step.arg("weight");
    runtime::Shape rows = localShape(input.shape, input.layout, environment);
    runtime::Shape matrix =
        localShape(weight.shape, weight.layout, environment);
    SizedProduct product;
    product.m = rows.front();
    product.n = matrix[0];
    product.k = matrix[1];
    product.weightBytes = static_cast<int>(runtime::dtypeBytes(weight.dtype));
    product.activationBytes =
        static_cast<int>(runtime::dtypeBytes(input.dtype));
    return product;
  }

  void sizeCollective(SizedStep &own, const runtime::Step &step) const {
    own.ranks = plan.groups[step.attrs.group].ranks;
    own.paysSum = own.work == Work::AllReduce ||
                  own.work == Work::ReduceScatter || own.work == Work::Combine;
    // The whole value is what is reduced or gathered. Of rows that go to their
    // experts each goes to as many ranks as it has experts on, expected; as
    // many come back.
    bool comesBack = own.work == Work::Combine;
    for (size_t a = 0; a < step.args.size(); ++a)
      for (const Operand &operand : step.args[a])
        if (operand.of == Operand::Of::Buffer &&
            step.info().args[a].isOutput == comesBack)
          own.bytes +=
              runtime::elements(globalShape(operand.shape, environment)) *
              runtime::dtypeBytes(operand.dtype);
    if (own.work != Work::Dispatch && own.work != Work::Combine)
      return;
    RoutingShape shape = routing;
    shape.experts = step.attrs.experts;
    own.bytes = std::llround(getExpectedHits(shape, own.ranks) *
                             static_cast<double>(own.bytes));
  }

  /// A value that is gathered and added to by rows as well: what goes over the
  /// wire beside the value that was made of it.
  void markResidualGathers() {
    std::map<std::string, bool> isAdded;
    for (const SizedStep &step : sized.steps)
      if (step.work == Work::Add)
        for (const SizedOperand &operand : step.operands)
          isAdded[operand.storage] = true;
    for (SizedStep &step : sized.steps)
      if (step.work == Work::AllGather)
        for (const SizedOperand &operand : step.operands)
          if (!operand.isOutput && isAdded.count(operand.storage))
            step.gathersResidual = true;
  }

  const runtime::Plan &plan;
  const runtime::Variant &variant;
  std::vector<int64_t> coordinates;
  std::vector<runtime::Part> parts;
  runtime::Environment environment;
  RoutingShape routing; ///< of the router before
  SizedVariant sized;
};

} // namespace

const SizedVariant *SizedPlan::find(int64_t tokens, int64_t rank) {
  const runtime::Variant *variant = plan->variantFor(tokens);
  return variant ? &get(variant->id, tokens, rank) : nullptr;
}

const SizedVariant &SizedPlan::get(const std::string &variant, int64_t tokens,
                                   int64_t rank) {
  if (rank < 0 || rank >= plan->ranks())
    rank = 0;
  auto found = known.find({variant, tokens, rank});
  if (found != known.end())
    return found->second;
  auto its = std::find_if(
      plan->variants.begin(), plan->variants.end(),
      [&](const runtime::Variant &own) { return own.id == variant; });
  if (its == plan->variants.end())
    throw TraceError(name + ": found no variant '" + variant + "'");
  return known
      .emplace(std::tuple(variant, tokens, rank),
               VariantSizer(*plan, *its, tokens, rank).build())
      .first->second;
}
