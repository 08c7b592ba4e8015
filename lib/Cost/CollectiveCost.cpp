//===- CollectiveCost.cpp - microseconds of a collective ------------------===//
//
// Measured curves where there are any for that many ranks, closed forms
// elsewhere. docs/cost-model.md lists the closed forms.
//
//===----------------------------------------------------------------------===//
#include "Tables.h"
#include <algorithm>
#include <cmath>
#include <set>

using namespace layline;

/// Bytes that a rank puts on the wire of a ring, by byte of the whole tensor.
static double wireShare(Collective collective, int64_t ranks) {
  double others = double(ranks - 1) / double(ranks);
  switch (collective) {
  case Collective::AllReduce:
    return 2 * others;
  case Collective::ReduceScatter:
  case Collective::AllGather:
    return others;
  case Collective::AllToAll:
    return others / double(ranks); // a rank owns 1 / ranks of all that is sent
  }
  return others;
}

std::vector<Candidate> CostModel::Tables::onTable(Collective collective,
                                                  int64_t bytes,
                                                  int64_t ranks) const {
  std::vector<Candidate> candidates;
  for (const LatencyRow *row : findRows(getName(collective), ranks))
    candidates.push_back({row->label(), estimateOf(*row, bytes)});
  return candidates;
}

/// 3 ranks lie between 2 and 4, 6 between 4 and 8: on a log axis of ranks.
/// Beyond the largest group the latency grows by steps of a tree and the rest
/// by what is on the wire.
std::vector<Candidate> CostModel::Tables::fromOtherRanks(Collective collective,
                                                         int64_t bytes,
                                                         int64_t ranks) const {
  std::set<int64_t> groups;
  std::set<std::string> algorithms;
  for (const LatencyRow &row : rows)
    if (row.op == getName(collective)) {
      groups.insert(row.ranks);
      algorithms.insert(row.algorithm);
    }
  auto above = groups.upper_bound(ranks);
  if (groups.empty())
    return {};
  std::vector<Candidate> candidates;
  for (const std::string &algorithm : algorithms) {
    const LatencyRow *upper =
        above == groups.end() ? nullptr
                              : findRow(getName(collective), *above, algorithm);
    const LatencyRow *lower =
        above == groups.begin()
            ? nullptr
            : findRow(getName(collective), *std::prev(above), algorithm);
    if (!lower && !upper)
      continue;
    Estimate estimate;
    if (lower && upper) {
      double share = std::log(double(ranks) / double(lower->ranks)) /
                     std::log(double(upper->ranks) / double(lower->ranks));
      estimate.us = std::pow(lower->curve.at(bytes).us, 1 - share) *
                    std::pow(upper->curve.at(bytes).us, share);
      estimate.source = lower->source + " " + lower->card + " " +
                        lower->label() + ", between " +
                        std::to_string(lower->ranks) + " and " +
                        std::to_string(upper->ranks) + " ranks";
    } else {
      const LatencyRow &near = lower ? *lower : *upper;
      double us = near.curve.at(bytes).us;
      double latency = std::min(us, near.curve.at(near.curve.minBytes()).us);
      estimate.us =
          latency * std::log2(double(ranks)) / std::log2(double(near.ranks)) +
          (us - latency) * wireShare(collective, ranks) /
              wireShare(collective, near.ranks);
      estimate.source = near.source + " " + near.card + " " + near.label() +
                        ", scaled from " + std::to_string(near.ranks) +
                        " ranks";
    }
    estimate.confidence = Confidence::Formula;
    candidates.push_back({algorithm, estimate});
  }
  return candidates;
}

/// Inside every node, then among the cards of equal rank of all nodes, each
/// with its share of the bytes and its own network port.
Estimate CostModel::Tables::acrossNodes(Collective op, int64_t bytes,
                                        int64_t ranks) const {
  constexpr double kPortBytesPerUs = 50e3; // 400 Gb/s a card
  constexpr double kStepUs = 20;           // over the network
  int64_t cards = target.cards;
  int64_t nodes = (ranks + cards - 1) / cards;
  Estimate estimate =
      cards > 1 ? collective(op, bytes, cards).front().estimate : Estimate();
  double perCard = op == Collective::AllToAll
                       ? double(bytes) / double(ranks) * double(ranks - cards) /
                             double(ranks)
                       : wireShare(op, nodes) * double(bytes) / double(cards);
  estimate.us +=
      kStepUs * std::ceil(std::log2(double(nodes))) + perCard / kPortBytesPerUs;
  estimate.confidence = Confidence::Formula;
  estimate.source += (estimate.source.empty() ? "" : " + ") +
                     std::to_string(nodes) + " nodes, 400 Gb/s a card assumed";
  return estimate;
}

/// Two protocols, as in NCCL: one of low latency that reaches 0.42 of the
/// link's peak, one of twice the latency that reaches 0.76 (H100, 8 ranks:
/// shares of reduce_scatter's time beyond its latency from 1 to 4 MiB and at
/// 512 MiB). An all_reduce of a switch that adds does better than a ring's
/// bytes allow: 0.9 of the link by them (H200 0.88 to 1.01, B200 0.65 to 0.76),
/// or one step.
Estimate CostModel::Tables::closedForm(Collective op, int64_t bytes,
                                       int64_t ranks) const {
  double steps = std::log2(double(ranks));
  if (op == Collective::AllReduce)
    steps *= 1.5; // measured: 1.5 times the latency of its halves
  double latency = hardware.stepUs * steps;
  double atPeak =
      wireShare(op, ranks) * double(bytes) / (hardware.linkGBs * 1e3);
  double us =
      hardware.inSwitch && op == Collective::AllReduce
          ? std::min(latency + atPeak / 0.9,
                     oneShotUs(bytes, ranks, hardware.linkGBs))
          : std::min(latency + atPeak / 0.42, 2 * latency + atPeak / 0.76);
  return {us, Confidence::Formula,
          "closed form, " + target.name + " has no table of it"};
}

std::vector<Candidate> CostModel::Tables::collective(Collective op,
                                                     int64_t bytes,
                                                     int64_t ranks) const {
  std::vector<Candidate> candidates = onTable(op, bytes, ranks);
  if (candidates.empty() && target.cards && ranks > target.cards)
    return {{"hierarchical", acrossNodes(op, bytes, ranks)}};
  if (candidates.empty())
    candidates = fromOtherRanks(op, bytes, ranks);
  if (candidates.empty())
    return {{"closed form", closedForm(op, bytes, ranks)}};
  sortCandidates(candidates);
  return candidates;
}
