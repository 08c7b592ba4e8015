//===- TextLines.cpp - lines and cells of a text file ---------------------===//
#include "TextLines.h"
#include <cmath>
#include <sstream>

using namespace layline;

std::vector<std::string> layline::splitLines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> layline::splitCells(const std::string &line,
                                             char separator) {
  std::vector<std::string> cells;
  for (size_t begin = 0; begin <= line.size();) {
    size_t end = std::min(line.find(separator, begin), line.size());
    std::string cell = line.substr(begin, end - begin);
    size_t first = cell.find_first_not_of(" \t");
    size_t last = cell.find_last_not_of(" \t");
    cells.push_back(
        first == std::string::npos ? "" : cell.substr(first, last - first + 1));
    begin = end + 1;
  }
  return cells;
}

std::vector<std::string> layline::splitWords(const std::string &line) {
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  return words;
}

// The stream operators would take "12x" as 12 and follow the locale.
std::optional<int64_t> layline::parseInteger(const std::string &text) {
  if (text.empty() || text.size() > 18 ||
      text.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::stoll(text);
}

std::optional<double> layline::parseNumber(const std::string &text) {
  if (text.empty() || text.size() > 40 ||
      text.find_first_not_of("0123456789.eE+-") != std::string::npos)
    return std::nullopt;
  std::istringstream in(text);
  in.imbue(std::locale::classic());
  double number;
  if (!(in >> number) || in.peek() != EOF || !std::isfinite(number))
    return std::nullopt;
  return number;
}

std::string layline::inQuotes(const std::string &text) {
  return "'" + (text.size() > 60 ? text.substr(0, 57) + "..." : text) + "'";
}
