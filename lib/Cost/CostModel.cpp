//===- CostModel.cpp - microseconds of a step on a target -----------------===//
#include "layline/Cost/CostModel.h"
#include "Tables.h"
#include "TextLines.h"
#include "layline/Cost/Calibration.h"
#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <tuple>

using namespace layline;

std::optional<LaunchMode> layline::findLaunchMode(const std::string &name) {
  if (name == "graph")
    return LaunchMode::Graph;
  if (name == "eager")
    return LaunchMode::Eager;
  return std::nullopt;
}

const char *layline::getName(Confidence confidence) {
  switch (confidence) {
  case Confidence::Measured:
    return "measured";
  case Confidence::Interpolated:
    return "interpolated";
  case Confidence::Formula:
    return "formula";
  }
  return "";
}

const char *layline::getName(Collective collective) {
  switch (collective) {
  case Collective::AllReduce:
    return "all_reduce";
  case Collective::ReduceScatter:
    return "reduce_scatter";
  case Collective::AllGather:
    return "all_gather";
  case Collective::AllToAll:
    return "all_to_all";
  }
  return "";
}

Estimate &Estimate::operator+=(const Estimate &other) {
  us += other.us;
  confidence = std::max(confidence, other.confidence);
  if (!other.source.empty() && other.source != source)
    source += (source.empty() ? "" : " + ") + other.source;
  return *this;
}

Estimate layline::operator+(Estimate a, const Estimate &b) { return a += b; }

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

std::vector<const LatencyRow *>
CostModel::Tables::findRows(const std::string &op, int64_t ranks) const {
  std::vector<const LatencyRow *> found;
  bool calibrated = false;
  for (const LatencyRow &row : rows) {
    if (row.op != op || row.ranks != ranks)
      continue;
    bool own = row.use == LatencyRow::Use::Calibrated;
    if (own && !calibrated)
      found.clear();
    calibrated |= own;
    if (own == calibrated)
      found.push_back(&row);
  }
  return found;
}

const LatencyRow *
CostModel::Tables::findRow(const std::string &op, int64_t ranks,
                           const std::string &algorithm) const {
  for (const LatencyRow *row : findRows(op, ranks))
    if (row->algorithm == algorithm)
      return row;
  return nullptr;
}

Estimate layline::estimateOf(const LatencyRow &row, int64_t bytes) {
  Curve::Value value = row.curve.at(bytes);
  Estimate estimate{value.us, value.confidence,
                    row.source + " " + row.card + " " + row.label()};
  if (row.use == LatencyRow::Use::Inferred) {
    estimate.confidence = Confidence::Formula;
    estimate.source += ", card not named there";
  }
  if (!value.note.empty())
    estimate.source += ", " + value.note;
  return estimate;
}

void layline::sortCandidates(std::vector<Candidate> &candidates) {
  auto key = [](const Candidate &candidate) {
    bool isFormula = candidate.estimate.confidence == Confidence::Formula;
    return std::tuple(isFormula, candidate.estimate.us, candidate.algorithm);
  };
  std::sort(
      candidates.begin(), candidates.end(),
      [&](const Candidate &a, const Candidate &b) { return key(a) < key(b); });
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static std::optional<std::string> readText(const std::string &path,
                                           std::string &error) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  // An empty stream sets failbit of `text`, which is not a failure to read.
  if (in && in.peek() != EOF)
    text << in.rdbuf();
  if (!in && !in.eof()) {
    error = path + ": cannot be read";
    return std::nullopt;
  }
  return text.str();
}

static bool addCalibration(CostModel::Tables &tables, const std::string &path,
                           std::string &error) {
  std::optional<std::string> text = readText(path, error);
  if (!text)
    return false;
  std::optional<Calibration> calibration = parseCalibration(*text, path, error);
  if (!calibration)
    return false;
  if (calibration->target != tables.target.name) {
    error = path + ": target: found " + inQuotes(calibration->target) +
            ", expected " + inQuotes(tables.target.name) +
            ", which the plan is for";
    return false;
  }
  for (MeasuredCurve &curve : calibration->curves) {
    LatencyRow row;
    row.card = tables.target.card;
    row.op = curve.op;
    row.ranks = curve.ranks;
    row.algorithm = curve.algorithm;
    row.use = LatencyRow::Use::Calibrated;
    row.source = "calibration " + calibration->date;
    row.date = calibration->date;
    row.curve = Curve(std::move(curve.points));
    // A user measures few sizes: what lies between them goes by the built-in
    // curve of the same algorithm where that agrees.
    if (const LatencyRow *known =
            tables.findRow(row.op, row.ranks, row.algorithm))
      row.curve.refine({&known->curve});
    tables.rows.push_back(std::move(row));
  }
  return true;
}

std::optional<CostModel> CostModel::create(const CostModelOptions &options,
                                           std::string &error) {
  const Target *target = findTarget(options.target);
  if (!target) {
    error = "target: found " + inQuotes(options.target) + ", expected one of";
    for (const std::string &name : knownTargets())
      error += " " + name;
    return std::nullopt;
  }
  auto tables = std::make_shared<Tables>();
  tables->target = *target;
  tables->hardware = *findHardware(target->card);
  tables->launch = options.launch;
  tables->rows = selectDeployed(getLatencies(), tables->hardware.table);
  if (!options.calibrationFile.empty() &&
      !addCalibration(*tables, options.calibrationFile, error))
    return std::nullopt;

  std::optional<Capabilities> capabilities;
  if (options.capabilityFile.empty()) {
    capabilities = getCapabilities(options.target, error);
  } else {
    std::optional<std::string> text = readText(options.capabilityFile, error);
    if (text)
      capabilities = parseCapabilities(*text, options.capabilityFile, error);
  }
  if (!capabilities)
    return std::nullopt;
  tables->capabilities = std::move(*capabilities);
  return CostModel(std::move(tables));
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Estimate CostModel::collective(Collective collective, int64_t bytes,
                               int64_t ranks) const {
  if (ranks <= 1 || bytes <= 0)
    return {0, Confidence::Measured, "nothing to send"};
  return tables->collective(collective, bytes, ranks).front().estimate;
}

std::vector<Candidate> CostModel::collectiveCandidates(Collective collective,
                                                       int64_t bytes,
                                                       int64_t ranks) const {
  if (ranks <= 1 || bytes <= 0)
    return {{"none", {0, Confidence::Measured, "nothing to send"}}};
  return tables->collective(collective, bytes, ranks);
}

Estimate CostModel::fused(const FusedShape &shape, int64_t ranks) const {
  std::vector<Candidate> candidates = tables->fused(shape, ranks);
  if (!candidates.empty())
    return candidates.front().estimate;
  return {std::numeric_limits<double>::infinity(), Confidence::Formula,
          "no kernel of " + tables->target.name + " runs " +
              getName(shape.form) + " on " + std::to_string(ranks) +
              " ranks with " +
              sizeText(std::max(shape.reduceBytes, shape.gatherBytes))};
}

std::vector<Candidate> CostModel::fusedCandidates(const FusedShape &shape,
                                                  int64_t ranks) const {
  return tables->fused(shape, ranks);
}

const std::string &CostModel::target() const { return tables->target.name; }

const Capabilities &CostModel::capabilities() const {
  return tables->capabilities;
}
