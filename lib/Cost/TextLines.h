//===- TextLines.h - lines and cells of a text file -------------*- C++ -*-===//
#ifndef LAYLINE_LIB_COST_TEXTLINES_H
#define LAYLINE_LIB_COST_TEXTLINES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// Without "\n" or "\r\n"; a last line need not end.
std::vector<std::string> splitLines(const std::string &text);
/// Cells without blanks around them.
std::vector<std::string> splitCells(const std::string &line, char separator);
/// Between blanks.
std::vector<std::string> splitWords(const std::string &line);

/// From 0 on. The whole text must be the number.
std::optional<int64_t> parseInteger(const std::string &text);
/// A finite number.
std::optional<double> parseNumber(const std::string &text);

/// `text` in quotes, long ones cut, for messages.
std::string inQuotes(const std::string &text);

} // namespace layline

#endif // LAYLINE_LIB_COST_TEXTLINES_H
