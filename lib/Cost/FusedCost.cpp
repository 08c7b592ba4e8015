//===- FusedCost.cpp - microseconds of a fused kernel ---------------------===//
//
// A kernel with a measured curve for the card and group costs what the curve
// says. Elsewhere its cost is derived and a formula: from how it compares with
// an all_reduce where both were measured, or from its parts.
//
//===----------------------------------------------------------------------===//
#include "Tables.h"
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <tuple>

using namespace layline;

namespace {

/// A fused kernel beside the all_reduce that it grew from, on one machine.
struct Comparison {
  const LatencyRow *fused = nullptr;
  std::vector<const LatencyRow *> allReduces;

  /// Fused time by all_reduce time; at the ends of what both measured, beyond.
  double ratio(int64_t bytes) const {
    for (const LatencyRow *row : allReduces)
      bytes = std::max(bytes, row->curve.minBytes());
    bytes = std::clamp(bytes, fused->curve.minBytes(), fused->curve.maxBytes());
    double least = allReduces.front()->curve.at(bytes).us;
    for (const LatencyRow *row : allReduces)
      least = std::min(least, row->curve.at(bytes).us);
    return fused->curve.at(bytes).us / least;
  }
};

} // namespace

/// Of any card: the one that measured `row`'s kernel on 8 ranks. The ratio is
/// taken to the all_reduces of the same source, where it has any: times of
/// different harnesses do not compare.
static std::optional<Comparison> compare(const LatencyRow &row) {
  Comparison result;
  result.fused = &row;
  std::vector<const LatencyRow *> others;
  for (const LatencyRow &other : getLatencies())
    if (other.op == getName(Collective::AllReduce) && other.ranks == 8 &&
        other.card == row.card && other.isDeployed())
      (other.source == row.source ? result.allReduces : others)
          .push_back(&other);
  if (result.allReduces.empty())
    result.allReduces = others;
  return result.allReduces.empty() ? std::nullopt : std::optional(result);
}

/// Null if nobody measured it.
static const Comparison *findComparison(FusedForm form,
                                        const std::string &algorithm) {
  static const auto known = [] {
    std::map<std::pair<FusedForm, std::string>, Comparison> all;
    for (const LatencyRow &row : getLatencies())
      if (std::optional<FusedForm> rowForm = findFusedForm(row.op);
          rowForm && row.ranks == 8 && row.isDeployed())
        if (std::optional<Comparison> comparison = compare(row))
          all.emplace(std::pair(*rowForm, row.algorithm), *comparison);
    return all;
  }();
  auto found = known.find({form, algorithm});
  return found == known.end() ? nullptr : &found->second;
}

static std::string ratioText(double ratio, const LatencyRow &row) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f x ", ratio);
  return text + std::string("all_reduce, as ") + row.algorithm + " on 8 " +
         row.card + ": ";
}

double layline::oneShotUs(int64_t bytes, int64_t ranks, double linkGBs) {
  return 3.7 + double(bytes) * double(ranks - 1) / (235e3 * linkGBs / 450);
}

Estimate CostModel::Tables::reduceAllBy(const FusedKernel &kernel,
                                        int64_t bytes, int64_t ranks) const {
  const LatencyRow *row =
      findRow(getName(kernel.form), ranks, kernel.algorithm);
  if (row && (row->curve.covers(bytes) || !kernel.oneShot))
    return estimateOf(*row, bytes);
  if (kernel.oneShot) {
    Estimate estimate{oneShotUs(bytes, ranks, hardware.linkGBs),
                      Confidence::Formula, "one-shot closed form"};
    if (row) {
      // Moved onto the nearest measured end, by the bytes.
      int64_t end = bytes < row->curve.minBytes() ? row->curve.minBytes()
                                                  : row->curve.maxBytes();
      double off =
          row->curve.at(end).us - oneShotUs(end, ranks, hardware.linkGBs);
      estimate.us = std::max(estimate.us / 2,
                             estimate.us + off * double(bytes) / double(end));
      estimate.source += " through " + row->source + " " + row->label();
    }
    return estimate;
  }
  Estimate whole =
      collective(Collective::AllReduce, bytes, ranks).front().estimate;
  const Comparison *known = findComparison(kernel.form, kernel.algorithm);
  if (known) {
    double ratio = known->ratio(bytes);
    whole.us *= ratio;
    whole.source = ratioText(ratio, *known->fused) + whole.source;
  }
  whole.confidence = Confidence::Formula;
  return whole;
}

Estimate CostModel::Tables::scatterGatherBy(const FusedKernel &kernel,
                                            const FusedShape &shape,
                                            int64_t ranks) const {
  auto half = [&](Collective op, int64_t bytes) {
    return bytes > 0 ? collective(op, bytes, ranks).front().estimate
                     : Estimate();
  };
  int64_t bytes = shape.reduceBytes;
  const LatencyRow *row =
      findRow(getName(kernel.form), ranks, kernel.algorithm);
  const Comparison *known = findComparison(kernel.form, kernel.algorithm);
  Estimate estimate;
  if (row) {
    estimate = estimateOf(*row, bytes);
  } else if (known) {
    double ratio = known->ratio(bytes);
    estimate = half(Collective::AllReduce, bytes);
    estimate.us *= ratio;
    estimate.source = ratioText(ratio, *known->fused) + estimate.source;
    // Small all_reduces are one-shot; this kernel waits for its peers twice, as
    // long as where it was measured.
    const Curve &curve = known->fused->curve;
    if (bytes < curve.minBytes()) {
      int64_t start = curve.minBytes();
      double padded = half(Collective::AllReduce, start).us * ratio;
      estimate.us = std::min(std::max(estimate.us, curve.at(bytes).us), padded);
    }
    estimate.confidence = Confidence::Formula;
  } else {
    // Nothing known of it: what its parts take.
    estimate = half(Collective::ReduceScatter, bytes) +
               half(Collective::AllGather, shape.gatherBytes);
    estimate.confidence = Confidence::Formula;
    return estimate;
  }
  if (shape.gatherBytes == bytes)
    return estimate;
  // A narrower gather: as the two halves say.
  double scatter = half(Collective::ReduceScatter, bytes).us;
  estimate.us *= (scatter + half(Collective::AllGather, shape.gatherBytes).us) /
                 (scatter + half(Collective::AllGather, bytes).us);
  estimate.confidence = Confidence::Formula;
  estimate.source +=
      ", gather of " + sizeText(shape.gatherBytes) + " in " + sizeText(bytes);
  return estimate;
}

Estimate CostModel::Tables::fusedBy(const FusedKernel &kernel,
                                    const FusedShape &shape,
                                    int64_t ranks) const {
  Estimate estimate;
  // Residual traffic that a measured kernel's time holds already.
  double included = 0;
  switch (kernel.form) {
  case FusedForm::AllReduceEpilogue:
    estimate = reduceAllBy(kernel, shape.reduceBytes, ranks);
    if (!kernel.algorithm.empty())
      included = 2.0 * double(shape.reduceBytes);
    break;
  case FusedForm::ReduceScatterEpilogueAllGather:
    estimate = scatterGatherBy(kernel, shape, ranks);
    if (!kernel.algorithm.empty())
      included = 2.0 * double(shape.reduceBytes) / double(ranks);
    break;
  case FusedForm::ReduceScatterEpilogue:
    estimate = collective(Collective::ReduceScatter, shape.reduceBytes, ranks)
                   .front()
                   .estimate;
    break;
  case FusedForm::EpilogueAllGather:
  case FusedForm::GroupedAllGather:
    estimate = collective(Collective::AllGather, shape.gatherBytes, ranks)
                   .front()
                   .estimate;
    break;
  }
  if (const LatencyRow *row =
          findRow(getName(kernel.form), ranks, kernel.algorithm);
      row && row->use == LatencyRow::Use::Calibrated)
    return estimate; // the user's own kernel, epilogue and all

  double traffic =
      double(shape.localReadBytes + shape.localWriteBytes) - included;
  if (traffic > 0) {
    estimate.us += traffic / memoryBytesPerUs();
    estimate.confidence = Confidence::Formula;
    estimate.source += " + epilogue's memory traffic";
  }
  bool measured = kernel.form == FusedForm::AllReduceEpilogue ||
                  kernel.form == FusedForm::ReduceScatterEpilogueAllGather;
  if (!measured)
    estimate.confidence = Confidence::Formula;
  return estimate;
}

std::vector<Candidate> CostModel::Tables::fused(const FusedShape &shape,
                                                int64_t ranks) const {
  int64_t bytes = std::max(shape.reduceBytes, shape.gatherBytes);
  std::vector<Candidate> candidates;
  if (ranks <= 1 || bytes <= 0)
    return candidates;
  for (const FusedKernel &kernel : capabilities.kernels) {
    int64_t most = kernel.maxBytesFor(ranks);
    bool serves = kernel.form == shape.form &&
                  (!kernel.needsMulticast || capabilities.multicast) &&
                  (kernel.ranks.empty() ||
                   std::find(kernel.ranks.begin(), kernel.ranks.end(), ranks) !=
                       kernel.ranks.end()) &&
                  (!most || bytes <= most) && bytes >= kernel.minBytes;
    // Peers' memory is reached inside a node only.
    bool reaches = !target.cards || ranks <= target.cards ||
                   kernel.form == FusedForm::GroupedAllGather;
    if (serves && reaches)
      candidates.push_back({kernel.name, fusedBy(kernel, shape, ranks)});
  }
  // Not by confidence: these are different kernels, and the fastest is chosen.
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate &a, const Candidate &b) {
              return std::tie(a.estimate.us, a.algorithm) <
                     std::tie(b.estimate.us, b.algorithm);
            });
  return candidates;
}
