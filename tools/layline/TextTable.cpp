//===- TextTable.cpp - columns of text ------------------------------------===//
#include "TextTable.h"
#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>

using namespace layline::tool;

void TextTable::print(std::ostream &os, const std::string &indent) const {
  std::vector<size_t> widths;
  std::vector<bool> right;
  std::vector<std::string> names;
  for (const std::string &heading : headings) {
    right.push_back(!heading.empty() && heading[0] == '>');
    names.push_back(right.back() ? heading.substr(1) : heading);
    widths.push_back(names.back().size());
  }
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  auto line = [&](const std::vector<std::string> &cells) {
    std::string text = indent;
    for (size_t i = 0; i < cells.size(); ++i) {
      std::string padding(widths[i] - cells[i].size(), ' ');
      text += right[i] ? padding + cells[i] : cells[i] + padding;
      text += "  ";
    }
    text.erase(text.find_last_not_of(' ') + 1);
    os << text << "\n";
  };
  line(names);
  for (const auto &row : rows)
    line(row);
}

std::string layline::tool::formatBytes(int64_t bytes) {
  static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < sizeof(units) / sizeof(*units)) {
    value /= 1000;
    ++unit;
  }
  char text[32];
  std::snprintf(text, sizeof(text), unit == 0 ? "%.0f %s" : "%.1f %s", value,
                units[unit]);
  return text;
}

std::string layline::tool::quoteCsv(const std::string &text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string layline::tool::formatError(double error) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2e", error);
  return text;
}

std::optional<int64_t> layline::tool::parseBytes(const std::string &text) {
  size_t end = 0;
  double number = 0;
  try {
    number = std::stod(text, &end);
  } catch (const std::exception &) {
    return std::nullopt;
  }
  std::string unit = text.substr(end);
  unit.erase(0, unit.find_first_not_of(' '));
  static const std::map<std::string, double> units = {{"", 1},
                                                      {"B", 1},
                                                      {"kB", 1e3},
                                                      {"MB", 1e6},
                                                      {"GB", 1e9},
                                                      {"TB", 1e12},
                                                      {"KiB", 1024.},
                                                      {"MiB", 1048576.},
                                                      {"GiB", 1073741824.},
                                                      {"TiB", 1099511627776.}};
  auto found = units.find(unit);
  double bytes = found == units.end() ? -1 : number * found->second;
  if (!(bytes >= 1 && bytes < 9e18))
    return std::nullopt;
  return static_cast<int64_t>(bytes);
}
