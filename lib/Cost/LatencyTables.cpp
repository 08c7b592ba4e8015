//===- LatencyTables.cpp - the measured curves ----------------------------===//
#include "LatencyTables.h"
#include "EmbeddedFiles.h"
#include "TextLines.h"
#include "layline/Cost/CostModel.h"
#include <cstdlib>
#include <iostream>
#include <tuple>

using namespace layline;

static constexpr const char *kHeader =
    "card,op,ranks,algorithm,version,use,source,date,points";

static std::optional<LatencyRow::Use> findUse(const std::string &name) {
  using Use = LatencyRow::Use;
  for (auto [use, text] :
       {std::pair(Use::Deployed, "deployed"), std::pair(Use::Older, "older"),
        std::pair(Use::Inferred, "inferred"),
        std::pair(Use::Reference, "reference")})
    if (name == text)
      return use;
  return std::nullopt;
}

/// "256:4.8 512:4.9": bytes and microseconds, bytes rising.
static std::optional<std::map<int64_t, double>>
parsePoints(const std::string &text, std::string &error) {
  std::map<int64_t, double> points;
  for (const std::string &word : splitWords(text)) {
    size_t colon = std::min(word.find(':'), word.size());
    std::optional<int64_t> bytes = parseInteger(word.substr(0, colon));
    std::optional<double> us = colon < word.size()
                                   ? parseNumber(word.substr(colon + 1))
                                   : std::nullopt;
    if (!bytes || *bytes < 1 || !us || *us <= 0) {
      error = "points: found " + inQuotes(word) +
              ", expected BYTES:MICROSECONDS, both above 0";
      return std::nullopt;
    }
    if (!points.empty() && *bytes <= points.rbegin()->first) {
      error = "points: found " + std::to_string(*bytes) + " bytes after " +
              std::to_string(points.rbegin()->first) +
              ", expected rising bytes";
      return std::nullopt;
    }
    points[*bytes] = *us;
  }
  if (points.empty()) {
    error = "points: found none, expected BYTES:MICROSECONDS";
    return std::nullopt;
  }
  return points;
}

bool layline::isLatencyOp(const std::string &name) {
  for (Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
        Collective::AllToAll})
    if (name == getName(collective))
      return true;
  return findFusedForm(name) || name == "row_kernel";
}

std::optional<std::vector<LatencyRow>>
layline::parseLatencies(const std::string &text, const std::string &name,
                        std::string &error) {
  std::vector<LatencyRow> rows;
  std::vector<std::string> lines = splitLines(text);
  auto fail = [&](size_t line, const std::string &message) {
    error = name + ":" + std::to_string(line) + ": " + message;
    return std::nullopt;
  };
  if (lines.empty() || lines[0] != kHeader)
    return fail(1, "found " + inQuotes(lines.empty() ? "" : lines[0]) +
                       ", expected " + kHeader);
  for (size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string> cells = splitCells(lines[i], ',');
    if (cells.size() != 9)
      return fail(i + 1, "found " + std::to_string(cells.size()) +
                             " cells, expected 9");
    LatencyRow row;
    row.card = cells[0];
    row.op = cells[1];
    if (!isLatencyOp(row.op))
      return fail(i + 1, "op: found " + inQuotes(row.op) +
                             ", expected a collective, a fused form or "
                             "row_kernel");
    std::optional<int64_t> ranks = parseInteger(cells[2]);
    if (!ranks || *ranks < 1)
      return fail(i + 1, "ranks: found " + inQuotes(cells[2]) +
                             ", expected a whole number above 0");
    row.ranks = *ranks;
    row.algorithm = cells[3];
    row.version = cells[4];
    std::optional<LatencyRow::Use> use = findUse(cells[5]);
    if (!use)
      return fail(i + 1, "use: found " + inQuotes(cells[5]) +
                             ", expected deployed, older, inferred or "
                             "reference");
    row.use = *use;
    row.source = cells[6];
    row.date = cells[7];
    std::string message;
    std::optional<std::map<int64_t, double>> points =
        parsePoints(cells[8], message);
    if (!points)
      return fail(i + 1, message);
    row.curve = Curve(std::move(*points));
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::vector<LatencyRow> &layline::getLatencies() {
  static const std::vector<LatencyRow> rows = [] {
    std::vector<LatencyRow> all;
    for (const EmbeddedFile *file = kLatencyFiles; file->name; ++file) {
      std::string error;
      std::optional<std::vector<LatencyRow>> parsed =
          parseLatencies(file->text, file->name, error);
      if (!parsed) {
        // A unit test reads them: a build with a broken table is not shipped.
        std::cerr << error << "\n";
        std::abort();
      }
      all.insert(all.end(), parsed->begin(), parsed->end());
    }
    return all;
  }();
  return rows;
}

std::vector<LatencyRow>
layline::selectDeployed(const std::vector<LatencyRow> &all,
                        const std::string &card) {
  std::vector<LatencyRow> selected;
  for (const LatencyRow &row : all) {
    if (row.card != card || !row.isDeployed())
      continue;
    std::vector<const Curve *> twins;
    for (const LatencyRow &other : all)
      if (other.card == card && other.use == LatencyRow::Use::Older &&
          std::tie(other.op, other.ranks, other.algorithm) ==
              std::tie(row.op, row.ranks, row.algorithm))
        twins.push_back(&other.curve);
    selected.push_back(row);
    selected.back().curve.refine(twins);
  }
  return selected;
}
