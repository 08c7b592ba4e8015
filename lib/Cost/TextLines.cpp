//===- TextLines.cpp - lines and cells of a text file ---------------------===//
#include "TextLines.h"
#include <algorithm>
#include <charconv>
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
  std::vector<std::string> words;
  constexpr const char *kBlanks = " \t";
  for (size_t begin = line.find_first_not_of(kBlanks);
       begin != std::string::npos;) {
    size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

std::optional<int64_t> layline::parseInteger(const std::string &text) {
  int64_t number = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 0 || text[0] == '-')
    return std::nullopt;
  return number;
}

// Unlike the streams, from_chars knows no locale and does not take "12x".
std::optional<double> layline::parseNumber(const std::string &text) {
  double number = 0;
  const char *end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || !std::isfinite(number))
    return std::nullopt;
  return number;
}

std::string layline::inQuotes(const std::string &text) {
  return "'" + (text.size() > 60 ? text.substr(0, 57) + "..." : text) + "'";
}
