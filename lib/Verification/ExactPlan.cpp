//===- ExactPlan.cpp - steps of a plan as an exact program ----------------===//
#include "layline/Verification/ExactPlan.h"
#include "plan/Error.h"
#include "plan/Plan.h"
#include <algorithm>
#include <map>

using namespace layline;
using exact::Attributes;
using exact::OpKind;
using runtime::Buffer;
using runtime::Operand;
using runtime::Plan;
using runtime::Step;
using runtime::StepKind;

namespace {

class PlanProgram {
public:
  PlanProgram(const Plan &plan, const runtime::Variant &variant)
      : plan(plan), variant(variant), buffers(variant.buffers.size()),
        caches(plan.caches.size()), weights(plan.weights.size()),
        links(plan.ranges.size()) {}

  exact::Program build();

private:
  void addInputs();
  void addStep(const Step &step);
  void addOp(const Step &step);
  exact::ValueId read(const Operand &operand, const Step &step);
  exact::ValueId readWeight(int index);
  exact::ValueId newValue(const runtime::ShapeExpr &shape,
                          const runtime::Layout &layout, runtime::DType dtype);
  exact::DimLayout toDim(const runtime::DimLayout &dim);
  const exact::Link &linkOf(int range);
  Attributes toAttributes(const Step &step) const;
  std::shared_ptr<const exact::RopeTable> toTable(const Step &step) const;

  const Plan &plan;
  const runtime::Variant &variant;
  exact::Program program;
  /// What each buffer, cache and weight holds now.
  std::vector<std::optional<exact::ValueId>> buffers, caches, weights;
  std::vector<std::optional<exact::Link>> links;
};

} // namespace

/// Shapes use sizes of the run only.
static Expr toExpr(const runtime::Expr &expr) {
  using Op = runtime::Expr::Op;
  static const std::map<Op, Expr::Op> ops = {
      {Op::Add, Expr::Op::Add},         {Op::Sub, Expr::Op::Sub},
      {Op::Mul, Expr::Op::Mul},         {Op::FloorDiv, Expr::Op::FloorDiv},
      {Op::CeilDiv, Expr::Op::CeilDiv}, {Op::Mod, Expr::Op::Mod},
      {Op::Min, Expr::Op::Min},         {Op::Max, Expr::Op::Max}};
  switch (expr.op) {
  case Op::Constant:
    return Expr(expr.value);
  case Op::Tokens:
    return Expr::symbol("tokens");
  case Op::Past:
    return Expr::symbol("past");
  default:
    break;
  }
  auto found = ops.find(expr.op);
  // The loader lets nothing else into a shape.
  if (found == ops.end() || expr.operands.empty())
    return Expr(0);
  Expr result = toExpr(expr.operands.front());
  for (size_t i = 1; i < expr.operands.size(); ++i)
    result = Expr::binary(found->second, result, toExpr(expr.operands[i]));
  return result;
}

/// The runs that a range's own expressions give to a coordinate.
static std::vector<Segment> segmentsOf(const Plan &plan, int index,
                                       int64_t items, int64_t coordinate) {
  const runtime::Range &range = plan.ranges[index];
  std::vector<int64_t> coordinates(plan.axes.size(), 0);
  coordinates[range.axis] = coordinate;
  std::vector<runtime::Part> parts(plan.ranges.size());
  runtime::Environment environment;
  environment.tokens = items;
  environment.coordinates = coordinates.data();
  environment.parts = parts.data();
  if (range.isNested())
    parts[range.within].size = items;
  std::vector<Segment> runs;
  for (const runtime::Segment &segment : range.segments) {
    int64_t begin = runtime::evaluate(segment.begin, environment);
    int64_t size = runtime::evaluate(segment.size, environment);
    if (!segment.isStrided()) {
      if (size > 0)
        runs.push_back({begin, size});
      continue;
    }
    for (int64_t done = 0; done < size; done += segment.block)
      runs.push_back({begin + done / segment.block * segment.stride,
                      std::min(segment.block, size - done)});
  }
  return runs;
}

const exact::Link &PlanProgram::linkOf(int range) {
  std::optional<exact::Link> &link = links[range];
  if (!link)
    link = exact::makeLink(
        static_cast<unsigned>(plan.ranges[range].axis),
        [&plan = plan, range](int64_t items, int64_t, int64_t coordinate) {
          // The loader has tried other numbers of items: one that the
          // expressions have no value for gives nobody anything.
          try {
            return segmentsOf(plan, range, items, coordinate);
          } catch (const runtime::Error &) {
            return std::vector<Segment>();
          }
        });
  return *link;
}

exact::DimLayout PlanProgram::toDim(const runtime::DimLayout &dim) {
  exact::DimLayout result;
  if (!dim.isSplit())
    return result;
  result.unit = dim.unit;
  for (int range = dim.range; range >= 0; range = plan.ranges[range].within)
    result.links.insert(result.links.begin(), linkOf(range));
  return result;
}

exact::ValueId PlanProgram::newValue(const runtime::ShapeExpr &shape,
                                     const runtime::Layout &layout,
                                     runtime::DType dtype) {
  exact::Value value;
  for (const runtime::Expr &extent : shape)
    value.shape.push_back(toExpr(extent));
  for (const runtime::DimLayout &dim : layout.dims)
    value.dims.push_back(toDim(dim));
  value.owes.assign(layout.owes.begin(), layout.owes.end());
  value.elements = runtime::isInteger(dtype) ? exact::ElementClass::Integer
                                             : exact::ElementClass::Float;
  return program.addValue(std::move(value));
}

exact::ValueId PlanProgram::readWeight(int index) {
  std::optional<exact::ValueId> &value = weights[index];
  if (value)
    return *value;
  const runtime::Weight &weight = plan.weights[index];
  value = newValue(runtime::constantShape(weight.shape), weight.layout,
                   weight.dtype);
  Attributes attrs;
  attrs.weight.key = weight.key;
  attrs.weight.shape = weight.storedMatrix();
  attrs.weight.isStacked = weight.isStack();
  attrs.weight.isOneTensor = weight.storedStack;
  attrs.weight.isTransposed = weight.isTransposed;
  if (weight.rows)
    attrs.weight.rows = Segment{weight.rows->begin, weight.rows->size};
  attrs.weight.period = weight.period;
  exact::Op &op = program.addOp(OpKind::Weight, {}, {*value}, std::move(attrs));
  op.location = "weight " + weight.id;
  return *value;
}

/// The operand's value now, seen in the operand's shape.
exact::ValueId PlanProgram::read(const Operand &operand, const Step &step) {
  switch (operand.of) {
  case Operand::Of::Weight:
    return readWeight(operand.index);
  case Operand::Of::Cache:
  case Operand::Of::Table:
    break;
  case Operand::Of::Buffer: {
    const Buffer &buffer = variant.buffers[operand.index];
    std::optional<exact::ValueId> &value = buffers[operand.index];
    // The loader has seen to it that something was written.
    if (!value)
      value = newValue(buffer.shape, buffer.layout, buffer.dtype);
    if (operand.shape.size() == buffer.shape.size())
      return *value;
    exact::ValueId view =
        newValue(operand.shape, operand.layout, operand.dtype);
    bool splits = operand.shape.size() > buffer.shape.size();
    program
        .addOp(splits ? OpKind::SplitHeads : OpKind::MergeHeads, {*value},
               {view})
        .location = "step " + step.id + ", view of " + buffer.id;
    return view;
  }
  }
  std::optional<exact::ValueId> &value = caches[operand.index];
  if (!value)
    value = newValue(operand.shape, operand.layout, operand.dtype);
  return *value;
}

std::shared_ptr<const exact::RopeTable>
PlanProgram::toTable(const Step &step) const {
  const runtime::Table &table = plan.tables[step.arg("table").index];
  auto toNumbers = [](const runtime::RopeNumbers &numbers) {
    return exact::RopeTable::Numbers{numbers.invFreq, numbers.attentionFactor};
  };
  exact::RopeTable result;
  result.isReordered =
      step.attrs.style == runtime::RopeStyle::InterleavedToHalf;
  result.isInterleaved = step.attrs.style != runtime::RopeStyle::Half;
  result.numbers = toNumbers(table.numbers);
  if (table.longNumbers) {
    result.longNumbers = toNumbers(*table.longNumbers);
    result.longAbove = table.longAbove;
  }
  return std::make_shared<const exact::RopeTable>(std::move(result));
}

static const char *nameOf(runtime::Function function) {
  switch (function) {
  case runtime::Function::Silu:
    return "silu";
  case runtime::Function::Gelu:
    return "gelu";
  case runtime::Function::GeluTanh:
    return "gelu_tanh";
  case runtime::Function::Relu:
    return "relu";
  case runtime::Function::Sigmoid:
    return "sigmoid";
  }
  return "";
}

Attributes PlanProgram::toAttributes(const Step &step) const {
  Attributes attrs;
  const runtime::StepAttributes &from = step.attrs;
  switch (step.kind) {
  case StepKind::Norm:
    attrs.function = from.norm == runtime::NormKind::Rms ? "rms" : "layer";
    attrs.eps = from.eps;
    attrs.weightOffset = from.weightOffset;
    break;
  case StepKind::NormBy:
    attrs.eps = from.eps;
    attrs.width = from.width;
    break;
  case StepKind::Rope:
    attrs.rope = toTable(step);
    break;
  case StepKind::CacheAppend: {
    const runtime::Cache &cache = plan.caches[step.arg("cache").index];
    attrs.layer = cache.layer;
    attrs.plane = cache.plane;
    break;
  }
  case StepKind::Attention:
    attrs.factor = from.scale;
    attrs.isCausal = from.causal;
    attrs.window = from.window;
    attrs.softcap = from.softcap.value_or(0);
    break;
  case StepKind::LatentAttention:
    attrs.factor = from.scale;
    attrs.isCausal = from.causal;
    break;
  case StepKind::Indexer:
    attrs.factor = from.scale;
    attrs.isCausal = from.causal;
    attrs.topK = from.topK;
    break;
  case StepKind::Activation:
  case StepKind::GatedActivation:
    attrs.function = nameOf(from.function);
    break;
  case StepKind::Experts:
    attrs.function = nameOf(from.function);
    attrs.limit = from.limit;
    attrs.alpha = from.alpha;
    attrs.upOffset = from.upOffset;
    break;
  case StepKind::Router:
    attrs.topK = from.topK;
    attrs.function =
        from.scoring == runtime::Scoring::Softmax ? "softmax" : "sigmoid";
    attrs.renormalize = from.renormalize;
    attrs.factor = from.scale;
    attrs.groups = from.groups;
    attrs.chosenGroups = from.chosenGroups;
    if (from.groups > 0)
      attrs.groupScore =
          from.groupScore == runtime::GroupScore::Max ? "max" : "top2_sum";
    break;
  case StepKind::Scale:
    attrs.factor = from.factor;
    break;
  case StepKind::Softcap:
    attrs.function = "softcap";
    attrs.softcap = from.cap;
    break;
  case StepKind::Cast:
    attrs.from = runtime::dtypeName(step.arg("input").dtype);
    attrs.to = runtime::dtypeName(step.arg("output").dtype);
    break;
  case StepKind::Quantize:
    attrs.format = runtime::dtypeName(runtime::dtypeOf(from.format));
    break;
  case StepKind::SliceColumns:
    attrs.begin = from.begin;
    break;
  case StepKind::Slice:
    attrs.dim = static_cast<unsigned>(from.dim);
    attrs.axes = {static_cast<unsigned>(plan.ranges[from.range].axis)};
    break;
  default:
    break;
  }
  if (!step.info().isCollective)
    return attrs;
  attrs.dim = static_cast<unsigned>(from.dim);
  attrs.root = from.root;
  attrs.experts = from.experts;
  for (int axis : plan.groups[from.group].axes)
    attrs.axes.push_back(static_cast<unsigned>(axis));
  return attrs;
}

static OpKind toKind(StepKind kind) {
  switch (kind) {
  case StepKind::Embedding:
    return OpKind::Embedding;
  case StepKind::Norm:
    return OpKind::Norm;
  case StepKind::RowSquares:
    return OpKind::RowSquares;
  case StepKind::NormBy:
    return OpKind::NormBy;
  case StepKind::Linear:
    return OpKind::Linear;
  case StepKind::Rope:
    return OpKind::Rope;
  case StepKind::CacheAppend:
    return OpKind::Cache;
  case StepKind::Attention:
    return OpKind::Attention;
  case StepKind::Activation:
    return OpKind::Activation;
  case StepKind::GatedActivation:
    return OpKind::GatedActivation;
  case StepKind::Router:
    return OpKind::Router;
  case StepKind::Experts:
    return OpKind::Experts;
  case StepKind::Add:
    return OpKind::Add;
  case StepKind::AddBias:
    return OpKind::AddBias;
  case StepKind::Mul:
    return OpKind::Mul;
  case StepKind::Scale:
    return OpKind::Scale;
  case StepKind::Cast:
    return OpKind::Cast;
  case StepKind::Slice:
    return OpKind::Slice;
  case StepKind::AllReduce:
    return OpKind::AllReduce;
  case StepKind::ReduceScatter:
    return OpKind::ReduceScatter;
  case StepKind::AllGather:
    return OpKind::AllGather;
  case StepKind::Broadcast:
    return OpKind::Broadcast;
  case StepKind::Dispatch:
    return OpKind::Dispatch;
  case StepKind::Combine:
    return OpKind::Combine;
  case StepKind::LatentAttention:
    return OpKind::LatentAttention;
  case StepKind::Indexer:
    return OpKind::Indexer;
  case StepKind::AddExpertBias:
    return OpKind::AddExpertBias;
  case StepKind::SliceColumns:
    return OpKind::SliceColumns;
  case StepKind::ConcatColumns:
    return OpKind::ConcatColumns;
  case StepKind::RowScale:
    return OpKind::RowScale;
  case StepKind::Quantize:
    return OpKind::Quantize;
  case StepKind::Dequantize:
    return OpKind::Dequantize;
  case StepKind::Softcap:
    return OpKind::Activation;
  case StepKind::Fused:
    break;
  }
  return OpKind::Relabel;
}

void PlanProgram::addOp(const Step &step) {
  std::vector<exact::ValueId> operands, results;
  std::vector<const Operand *> outputs;
  for (size_t a = 0; a < step.args.size(); ++a)
    for (const Operand &operand : step.args[a]) {
      if (operand.of == Operand::Of::Table)
        continue;
      if (!step.info().args[a].isOutput) {
        operands.push_back(read(operand, step));
        continue;
      }
      outputs.push_back(&operand);
      results.push_back(newValue(operand.shape, operand.layout, operand.dtype));
    }
  exact::Op &op =
      program.addOp(toKind(step.kind), std::move(operands),
                    std::vector<exact::ValueId>(results), toAttributes(step));
  op.place = step.place;
  op.location = "step " + step.id;
  op.names = step.names;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operand &output = *outputs[i];
    if (output.of == Operand::Of::Cache) {
      caches[output.index] = results[i];
      continue;
    }
    const Buffer &buffer = variant.buffers[output.index];
    if (output.shape.size() == buffer.shape.size()) {
      buffers[output.index] = results[i];
      continue;
    }
    exact::ValueId whole = newValue(buffer.shape, buffer.layout, buffer.dtype);
    bool splits = buffer.shape.size() > output.shape.size();
    program.addOp(splits ? OpKind::SplitHeads : OpKind::MergeHeads,
                  {results[i]}, {whole});
    buffers[output.index] = whole;
  }
}

void PlanProgram::addStep(const Step &step) {
  if (step.kind != StepKind::Fused)
    return addOp(step);
  for (const Step &inner : step.body)
    addOp(inner);
}

void PlanProgram::addInputs() {
  for (size_t i = 0; i < variant.buffers.size(); ++i) {
    const Buffer &buffer = variant.buffers[i];
    if (buffer.kind != Buffer::Class::Input)
      continue;
    Attributes attrs;
    attrs.input = plan.inputs[buffer.input].id;
    attrs.role = attrs.input == "positions"   ? exact::InputRole::Positions
                 : attrs.input == "input_ids" ? exact::InputRole::Ids
                                              : exact::InputRole::Values;
    buffers[i] = newValue(buffer.shape, buffer.layout, buffer.dtype);
    exact::Op &op =
        program.addOp(OpKind::Input, {}, {*buffers[i]}, std::move(attrs));
    op.place = "input " + plan.inputs[buffer.input].id;
    op.location = "buffer " + buffer.id;
  }
}

exact::Program PlanProgram::build() {
  for (const runtime::Axis &axis : plan.axes)
    program.axes.push_back({axis.name, axis.size});
  addInputs();
  for (const Step &step : variant.steps)
    addStep(step);
  for (const runtime::Output &output : variant.outputs)
    if (buffers[output.buffer])
      program.outputs.push_back(*buffers[output.buffer]);
  for (size_t i = 0; i < caches.size(); ++i)
    if (caches[i])
      program.caches.push_back(
          {plan.caches[i].layer, plan.caches[i].plane, *caches[i]});
  return std::move(program);
}

exact::Program layline::buildExactProgram(const Plan &plan,
                                          const runtime::Variant &variant) {
  return PlanProgram(plan, variant).build();
}
