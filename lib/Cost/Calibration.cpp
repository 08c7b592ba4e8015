//===- Calibration.cpp - times that a user measured -----------------------===//
#include "layline/Cost/Calibration.h"
#include "JSONFields.h"
#include "LatencyTables.h"
#include "NCCLTests.h"
#include "Samples.h"
#include "TextLines.h"
#include "layline/Cost/GpuBenchTable.h"
#include "json/StrictJson.h"
#include <algorithm>
#include <tuple>

using namespace layline;

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

/// The headings are line `head`, counted from 0.
static std::optional<std::vector<MeasuredCurve>>
parseCSV(const std::vector<std::string> &lines, size_t head, bool isBench,
         const std::string &file, const MeasurementOptions &options,
         std::string &error) {
  auto fail = [&](size_t line, const std::string &message) {
    error = file + ":" + std::to_string(line) + ": " + message;
    return std::nullopt;
  };
  size_t width = splitCells(lines[head], ',').size();
  size_t rows = 0;
  bool hasEnded = false;
  Samples samples;
  for (size_t i = head + 1; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t") == std::string::npos)
      continue;
    if (hasEnded)
      return fail(i + 1, "found " + inQuotes(lines[i]) + " behind '" +
                             gpubench::end(rows) + "', expected nothing");
    if (isBench && lines[i][0] == '#') {
      if (lines[i] != gpubench::end(rows))
        return fail(i + 1, "found " + inQuotes(lines[i]) + ", expected '" +
                               gpubench::end(rows) + "': was the file cut?");
      hasEnded = true;
      continue;
    }
    ++rows;
    std::vector<std::string> cells = splitCells(lines[i], ',');
    if (cells.size() != width)
      return fail(i + 1, "found " + std::to_string(cells.size()) +
                             " cells, expected " + std::to_string(width));
    std::optional<int64_t> ranks = parseInteger(cells[1]);
    std::optional<int64_t> bytes = parseInteger(cells[2]);
    std::optional<double> us = parseNumber(cells[3]);
    std::string algorithm = width > 4 ? cells[4] : options.algorithm;
    if (!isLatencyOp(cells[0]))
      return fail(i + 1, "op: found " + inQuotes(cells[0]) +
                             ", expected all_reduce, reduce_scatter, "
                             "all_gather, all_to_all, row_kernel or a fused "
                             "form of a capability file");
    int64_t least = cells[0] == "row_kernel" ? 1 : 2;
    if (!ranks || *ranks < least)
      return fail(i + 1, "ranks: found " + inQuotes(cells[1]) +
                             ", expected a whole number from " +
                             std::to_string(least) + " on");
    if (!bytes || *bytes < 1)
      return fail(i + 1, "bytes: found " + inQuotes(cells[2]) +
                             ", expected a whole number above 0");
    if (!us || *us <= 0)
      return fail(i + 1, "us: found " + inQuotes(cells[3]) +
                             ", expected microseconds above 0");
    if (algorithm.empty())
      return fail(i + 1, "algorithm: found none, expected a name");
    samples.add(cells[0], *ranks, algorithm, *bytes, *us);
  }
  if (isBench && !hasEnded)
    return fail(lines.size(), "found the end of the file, expected '" +
                                  gpubench::end(rows) +
                                  "' as its last line: was the file cut?");
  if (samples.empty())
    return fail(lines.size(),
                "found no rows, expected some after the headings");
  return samples.curves();
}

std::optional<std::vector<MeasuredCurve>>
layline::parseMeasurements(const std::string &text, const std::string &file,
                           const MeasurementOptions &options,
                           std::string &error) {
  std::vector<std::string> lines = splitLines(text);
  const std::string columns = "op,ranks,bytes,us",
                    withAlgorithm = gpubench::kColumns;
  if (!lines.empty() && lines[0].rfind(gpubench::kTitle, 0) == 0) {
    size_t head = 0;
    while (head < lines.size() && lines[head].rfind("#", 0) == 0)
      ++head;
    if (head < lines.size() && lines[head] == withAlgorithm)
      return parseCSV(lines, head, /*isBench=*/true, file, options, error);
    error =
        file + ":" + std::to_string(std::min(head + 1, lines.size())) +
        ": found " +
        (head < lines.size() ? inQuotes(lines[head]) : "the end of the file") +
        ", expected " + withAlgorithm + ": was the file cut?";
    return std::nullopt;
  }
  if (!lines.empty() && lines[0].rfind("op,", 0) == 0) {
    if (lines[0] == columns || lines[0] == withAlgorithm)
      return parseCSV(lines, 0, /*isBench=*/false, file, options, error);
    error = file + ":1: found " + inQuotes(lines[0]) + ", expected " + columns +
            " or " + withAlgorithm;
    return std::nullopt;
  }
  return parseNCCLTests(text, file, options, error);
}

bool layline::isOfOneCard(const MeasuredCurve &curve) {
  const std::string &name = curve.algorithm, suffix = gpubench::kOneCard;
  return name.size() >= suffix.size() &&
         name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::vector<MeasuredCurve>
layline::mergeCurves(const std::vector<MeasuredCurve> &curves) {
  Samples samples;
  for (const MeasuredCurve &curve : curves)
    for (auto [bytes, us] : curve.points)
      samples.add(curve.op, curve.ranks, curve.algorithm, bytes, us);
  return samples.curves();
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string layline::printCalibration(const Calibration &calibration) {
  // By hand: one pair a line would make a page of every curve.
  auto text = [](const std::string &value) {
    return nlohmann::json(value).dump(-1, ' ', false,
                                      nlohmann::json::error_handler_t::replace);
  };
  std::string out = "{\n  \"schema\": \"layline.calibration\",\n"
                    "  \"version\": 1,\n  \"target\": " +
                    text(calibration.target) +
                    ",\n  \"source\": " + text(calibration.source) +
                    ",\n  \"date\": " + text(calibration.date) +
                    ",\n  \"curves\": [";
  const char *separator = "";
  for (const MeasuredCurve &curve : calibration.curves) {
    out += std::string(separator) + "\n    {\"op\": " + text(curve.op) +
           ", \"ranks\": " + std::to_string(curve.ranks) +
           ", \"algorithm\": " + text(curve.algorithm) +
           ",\n     \"points\": [";
    separator = ",";
    const char *comma = "";
    for (auto [bytes, us] : curve.points) {
      out += std::string(comma) + "[" + std::to_string(bytes) + ", " +
             nlohmann::json(us).dump() + "]";
      comma = ", ";
    }
    out += "]}";
  }
  return out + "\n  ]\n}\n";
}

static bool isDate(const std::string &text) {
  if (text.size() != 10)
    return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i == 4 || i == 7 ? text[i] != '-' : text[i] < '0' || text[i] > '9')
      return false;
  int month = std::stoi(text.substr(5, 2)), day = std::stoi(text.substr(8, 2));
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

std::optional<Calibration> layline::parseCalibration(const std::string &text,
                                                     const std::string &file,
                                                     std::string &error) {
  nlohmann::json document;
  if (!runtime::parseStrictJson(text, document, error)) {
    error = file + ": not JSON: " + error;
    return std::nullopt;
  }
  JSONFault fault{file, ""};
  JSONFields fields(document, "", fault);
  fields.header("layline.calibration");
  Calibration calibration;
  calibration.target = fields.string("target");
  calibration.source = fields.string("source");
  calibration.date = fields.string("date");
  if (!isDate(calibration.date))
    fields.fail("date",
                "found \"" + calibration.date + "\", expected YYYY-MM-DD");
  for (JSONFields &entry : fields.objects("curves")) {
    MeasuredCurve curve;
    curve.op = entry.string("op");
    if (!isLatencyOp(curve.op))
      entry.fail("op", "found \"" + curve.op +
                           "\", expected a collective, a fused form or "
                           "row_kernel");
    curve.ranks = entry.integer("ranks", 1, 0);
    if (curve.ranks == 0)
      entry.fail("ranks", "found none, expected a whole number from 1 on");
    curve.algorithm = entry.string("algorithm");
    curve.points = entry.points("points");
    for (const MeasuredCurve &other : calibration.curves)
      if (std::tie(other.op, other.ranks, other.algorithm) ==
          std::tie(curve.op, curve.ranks, curve.algorithm))
        entry.fail("algorithm", "found a second curve of " + curve.algorithm +
                                    " for " + curve.op + " on " +
                                    std::to_string(curve.ranks) +
                                    " ranks, expected one");
    entry.finish();
    calibration.curves.push_back(std::move(curve));
  }
  fields.finish();
  if (fault.message.empty() && calibration.curves.empty())
    fields.fail("curves", "found none, expected at least one");
  if (fault.message.empty())
    return calibration;
  error = fault.message;
  return std::nullopt;
}
