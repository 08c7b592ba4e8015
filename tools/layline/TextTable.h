//===- TextTable.h - columns of text ----------------------------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_TEXTTABLE_H
#define LAYLINE_TOOLS_LAYLINE_TEXTTABLE_H

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace layline::tool {

/// Rows of cells, printed with aligned columns. A column whose heading begins
/// with '>' is aligned to the right.
class TextTable {
public:
  explicit TextTable(std::vector<std::string> headings)
      : headings(std::move(headings)) {}
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print(std::ostream &os, const std::string &indent = "  ") const;

private:
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> rows;
};

/// "117.4 MB": decimal units, as networks are rated.
std::string formatBytes(int64_t bytes);
/// "80GiB", "80 GB", "8.5e10": a number of bytes, or nothing.
std::optional<int64_t> parseBytes(const std::string &text);
/// A field of a CSV line (RFC 4180).
std::string quoteCsv(const std::string &text);
/// Three digits and an exponent: "1.32e-15".
std::string formatError(double error);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_TEXTTABLE_H
