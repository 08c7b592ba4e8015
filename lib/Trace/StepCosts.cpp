//===- StepCosts.cpp - what a budget asks of a cost model -----------------===//
#include "layline/Trace/StepCosts.h"
#include <algorithm>
#include <cctype>
#include <cmath>

using namespace layline::trace;
using namespace layline;

const char *layline::trace::getName(Transport transport) {
  static constexpr const char *names[] = {"peers", "switch", "library"};
  return names[static_cast<size_t>(transport)];
}

Transport layline::trace::findTransport(const std::string &name) {
  std::string lower(name.size(), ' ');
  std::transform(name.begin(), name.end(), lower.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  auto has = [&](const char *part) {
    return lower.find(part) != std::string::npos;
  };
  if (has("multimem") || has("nvls"))
    return Transport::Switch;
  return has("nccl") || has("rccl") ? Transport::Library : Transport::Peers;
}

// A row of a table is of another machine than the recording's: the 72
// all-reduces of the B200 recording have medians of 25.0 and 27.6 us where the
// tables say 27.0 and 27.9.
static constexpr double kRowError = 0.08;
// 90th percentiles of docs/cost-model.md: left-out rows on NVLink, and closed
// forms beside the tables of 8 H100, H200 and B200.
static constexpr double kInterpolationError = 0.17, kFormulaError = 0.51;

static StepCost toCost(const Estimate &estimate) {
  StepCost cost;
  cost.us = estimate.us;
  cost.source = estimate.source;
  cost.transport = findTransport(estimate.source);
  switch (estimate.confidence) {
  case Confidence::Measured:
    cost.error = kRowError;
    cost.basis = FigureBasis::Table;
    break;
  case Confidence::Interpolated:
    cost.error = kInterpolationError;
    cost.basis = FigureBasis::Table;
    break;
  case Confidence::Formula:
    cost.error = kFormulaError;
    cost.basis = FigureBasis::Formula;
    break;
  }
  return cost;
}

ModelCosts::ModelCosts(CostModel costs) : model(std::move(costs)) {
  // The slope of the row kernel's price.
  constexpr int64_t kSmall = 1 << 20, kLarge = 1 << 30;
  bytesPerUs = static_cast<double>(kLarge - kSmall) /
               (model.rowKernel(kLarge, 0).us - model.rowKernel(kSmall, 0).us);
}

StepCost ModelCosts::rowKernel(int64_t read, int64_t written) const {
  return toCost(model.rowKernel(read, written));
}

StepCost ModelCosts::product(int64_t m, int64_t n, int64_t k, int weightBytes,
                             int activationBytes) const {
  return toCost(model.gemm(m, n, k, weightBytes, activationBytes));
}

std::optional<StepCost> ModelCosts::collective(Work work, int64_t bytes,
                                               int64_t ranks) const {
  std::optional<Collective> kind;
  switch (work) {
  case Work::AllReduce:
    kind = Collective::AllReduce;
    break;
  case Work::ReduceScatter:
    kind = Collective::ReduceScatter;
    break;
  case Work::AllGather:
    kind = Collective::AllGather;
    break;
  case Work::Dispatch:
  case Work::Combine:
    kind = Collective::AllToAll;
    break;
  default:
    return std::nullopt;
  }
  StepCost cost = toCost(model.collective(*kind, bytes, ranks));
  // Which rows go where is expected, whatever the curve is.
  if (*kind == Collective::AllToAll)
    cost.basis = FigureBasis::Formula;
  return cost;
}

const FusedKernel *ModelCosts::findKernel(const std::string &name) const {
  for (const FusedKernel &kernel : model.capabilities().kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

std::optional<StepCost> ModelCosts::fused(const FusedShape &shape,
                                          const std::vector<std::string> &steps,
                                          int64_t ranks,
                                          std::string &reason) const {
  std::vector<Candidate> candidates = model.fusedCandidates(shape, ranks);
  if (candidates.empty()) {
    reason = model.fused(shape, ranks).source;
    return std::nullopt;
  }
  // What no kernel does of the steps.
  std::string lacking;
  auto does = [&](const Candidate &candidate) {
    const FusedKernel &kernel = *findKernel(candidate.algorithm);
    for (const std::string &step : steps)
      if (std::find(kernel.epilogue.begin(), kernel.epilogue.end(), step) ==
          kernel.epilogue.end()) {
        lacking = step;
        return false;
      }
    return true;
  };
  auto best = std::find_if(candidates.begin(), candidates.end(), does);
  if (best == candidates.end()) {
    best = candidates.begin();
    reason = "no kernel of " + target() + " has '" + lacking +
             "' in it, priced as " + best->algorithm;
  }
  StepCost cost = toCost(best->estimate);
  cost.source = best->algorithm + ": " + cost.source;
  const FusedKernel &kernel = *findKernel(best->algorithm);
  if (kernel.needsMulticast)
    cost.transport = Transport::Switch;
  else if (kernel.form == FusedForm::AllReduceEpilogue)
    cost.transport = Transport::Peers;
  return cost;
}
