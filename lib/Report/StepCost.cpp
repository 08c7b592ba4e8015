//===- StepCost.cpp - how long the cost model thinks a step takes ---------===//
#include "StepCost.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace layline;
using namespace layline::report;
using runtime::Operand;
using runtime::StepKind;

runtime::Environment StepCosts::environmentOf(int64_t tokens) {
  auto [found, isNew] = known.try_emplace(tokens);
  Rank &rank = found->second;
  if (isNew) {
    // The first rank: balanced parts give it as many rows as any.
    rank.coordinates.assign(plan.axes.size(), 0);
    rank.parts = plan.parts(tokens, rank.coordinates);
  }
  runtime::Environment environment;
  environment.tokens = tokens;
  environment.coordinates = rank.coordinates.data();
  environment.parts = rank.parts.data();
  return environment;
}

runtime::Shape StepCosts::shapeOf(const Operand &operand, int64_t tokens) {
  return localShape(operand.shape, operand.layout, environmentOf(tokens));
}

int64_t StepCosts::bytesOf(const Operand &operand, int64_t tokens) {
  return runtime::elements(shapeOf(operand, tokens)) *
         runtime::dtypeBytes(operand.dtype);
}

static std::optional<Collective> collectiveOf(StepKind kind) {
  switch (kind) {
  case StepKind::AllReduce:
    return Collective::AllReduce;
  case StepKind::ReduceScatter:
    return Collective::ReduceScatter;
  case StepKind::AllGather:
    return Collective::AllGather;
  default:
    return std::nullopt;
  }
}

int64_t StepCosts::wireBytes(const runtime::Step &step, int64_t tokens) {
  return bytesOf(
      step.arg(step.kind == StepKind::AllGather ? "output" : "input"), tokens);
}

/// Rows times a matrix, or times those of a stack that `chosen` of them meet:
/// as the planner prices them (lib/Planning/FormProgram.cpp).
Estimate StepCosts::product(const Operand &input, const Operand &weight,
                            int64_t chosen, int64_t tokens) {
  runtime::Shape matrix = shapeOf(weight, tokens);
  int64_t rows = shapeOf(input, tokens).front();
  int64_t k = std::max<int64_t>(1, matrix.back());
  int64_t n = matrix[matrix.size() - 2], stacked = 1, total = 1;
  if (matrix.size() == 3) {
    stacked = std::max<int64_t>(1, matrix.front());
    total = std::max(stacked, evaluate(weight.shape.front(), {}));
  }
  int64_t met = (rows * std::min(chosen, total) * stacked + total - 1) / total;
  int64_t read = std::max<int64_t>(1, std::min(stacked, met));
  return model.gemm((met + read - 1) / read, n * read, k,
                    static_cast<int>(runtime::dtypeBytes(weight.dtype)),
                    static_cast<int>(runtime::dtypeBytes(input.dtype)));
}

std::optional<Estimate> StepCosts::single(const runtime::Step &step,
                                          int64_t tokens) {
  if (std::optional<Collective> collective = collectiveOf(step.kind))
    return model.collective(*collective, wireBytes(step, tokens),
                            plan.groups[step.attrs.group].ranks);
  switch (step.kind) {
  case StepKind::Attention:
  case StepKind::LatentAttention:
  case StepKind::Indexer:
  // Which rows go where is known when it runs only.
  case StepKind::Dispatch:
  case StepKind::Combine:
  case StepKind::Broadcast:
    return std::nullopt;
  case StepKind::Linear:
    return product(step.arg("input"), step.arg("weight"), 1, tokens);
  case StepKind::Experts: {
    const Operand &input = step.arg("input");
    int64_t chosen = evaluate(step.arg("ids").shape.back(), {});
    return product(input, step.arg("gate"), chosen, tokens) +
           product(input, step.arg("up"), chosen, tokens) +
           product(input, step.arg("down"), chosen, tokens);
  }
  default:
    break;
  }
  int64_t read = 0, written = 0;
  const runtime::StepKindInfo &info = step.info();
  for (size_t i = 0; i < info.args.size(); ++i)
    for (const Operand &operand : step.args[i]) {
      // A cache has the new rows written, a table of embeddings those read.
      if (operand.of == Operand::Of::Cache)
        written += bytesOf(step.arg("input"), tokens);
      else if (operand.of == Operand::Of::Table)
        continue;
      else if (info.args[i].isOutput)
        written += bytesOf(operand, tokens);
      else if (step.kind == StepKind::Embedding &&
               operand.of == Operand::Of::Weight)
        read += bytesOf(step.arg("output"), tokens);
      else
        read += bytesOf(operand, tokens);
    }
  return model.rowKernel(read, written);
}

std::optional<Estimate> StepCosts::fused(const runtime::Step &step,
                                         int64_t tokens) {
  FusedShape shape;
  int64_t ranks = 1;
  bool hasSum = false, hasScatter = false, hasGather = false, hasRows = false;
  std::set<int> made;
  for (const runtime::Step &inner : step.body) {
    const runtime::StepKindInfo &info = inner.info();
    if (std::optional<Collective> collective = collectiveOf(inner.kind)) {
      ranks = plan.groups[inner.attrs.group].ranks;
      hasSum |= *collective == Collective::AllReduce;
      hasScatter |= *collective == Collective::ReduceScatter;
      hasGather |= *collective == Collective::AllGather;
      (*collective == Collective::AllGather ? shape.gatherBytes
                                            : shape.reduceBytes) +=
          wireBytes(inner, tokens);
    } else {
      hasRows = true;
    }
    // What the rows' work reads besides what was made in the kernel, and all
    // that it leaves behind.
    for (size_t i = 0; i < info.args.size(); ++i)
      for (const Operand &operand : inner.args[i]) {
        bool isBuffer = operand.of == Operand::Of::Buffer;
        if (info.args[i].isOutput) {
          if (isBuffer)
            made.insert(operand.index);
        } else if (!info.isCollective &&
                   !(isBuffer && made.count(operand.index)) &&
                   operand.of != Operand::Of::Table &&
                   operand.of != Operand::Of::Cache) {
          shape.localReadBytes += bytesOf(operand, tokens);
        }
      }
  }
  for (const Operand &operand : step.list("outputs"))
    shape.localWriteBytes += bytesOf(operand, tokens);
  if (!hasSum && !hasScatter && !hasGather)
    return model.rowKernel(shape.localReadBytes, shape.localWriteBytes);
  // The gathered value and one that is reduced whole are the collective's own.
  shape.localWriteBytes = std::max<int64_t>(
      0, shape.localWriteBytes - (hasGather ? shape.gatherBytes
                                  : hasSum  ? shape.reduceBytes
                                            : 0));
  shape.form = hasSum ? FusedForm::AllReduceEpilogue
               : hasScatter && hasGather
                   ? FusedForm::ReduceScatterEpilogueAllGather
               : hasScatter ? FusedForm::ReduceScatterEpilogue
               : hasRows    ? FusedForm::EpilogueAllGather
                            : FusedForm::GroupedAllGather;
  Estimate whole = model.fused(shape, ranks);
  if (std::isfinite(whole.us))
    return whole;
  std::optional<Estimate> sum;
  for (const runtime::Step &inner : step.body)
    if (std::optional<Estimate> one = single(inner, tokens))
      sum = sum ? *sum + *one : *one;
  if (sum)
    sum->source = "one kernel each, as " + whole.source;
  return sum;
}

StepEstimate StepCosts::estimate(const runtime::Step &step, int64_t tokens) {
  std::optional<Estimate> found =
      step.kind == StepKind::Fused ? fused(step, tokens) : single(step, tokens);
  if (!found || !std::isfinite(found->us))
    return {};
  return {found->us, getName(found->confidence), found->source};
}
