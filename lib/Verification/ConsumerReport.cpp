//===- ConsumerReport.cpp - the readers of a program, as text and JSON ----===//
#include "layline/Verification/Consumers.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace layline;

namespace {

/// Columns as wide as their widest entry, but the last.
class Columns {
public:
  void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
  void print(llvm::raw_ostream &os) const {
    std::vector<size_t> widths;
    for (const auto &row : rows)
      for (size_t i = 0; i < row.size(); ++i) {
        widths.resize(std::max(widths.size(), i + 1));
        widths[i] = std::max(widths[i], row[i].size());
      }
    for (const auto &row : rows) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i)
        line += (i ? "  " : "") + row[i] +
                std::string(widths[i] - row[i].size(), ' ');
      os << StringRef(line).rtrim() << "\n";
    }
  }

private:
  std::vector<std::vector<std::string>> rows;
};

} // namespace

static std::string join(StringRef op, StringRef at) {
  return at.empty() ? op.str() : (op + " " + at).str();
}

/// Lines of one value: its own, and one for each reader.
static void addLines(const RewrittenValue &value, Columns &columns) {
  columns.add({value.value, value.form, join(value.op, value.name), "", "",
               value.layout});
  if (!value.problem.empty())
    columns.add({"", "", "NOT FED", "", "", value.problem});
  for (const Consumer &reader : value.consumers)
    columns.add({"", reader.isFed() ? "  fed" : "  NOT FED",
                 "  " + join(reader.op, reader.at),
                 "#" + std::to_string(reader.operand), "needs " + reader.needs,
                 reader.isFed() ? "gets " + reader.gets : reader.problem});
}

void layline::printConsumers(const ConsumerReport &report,
                             llvm::raw_ostream &os) {
  size_t readers = 0, unfed = 0;
  Columns columns;
  for (const RewrittenValue &value : report.values) {
    addLines(value, columns);
    readers += value.consumers.size();
    unfed += !value.problem.empty();
    for (const Consumer &reader : value.consumers)
      unfed += !reader.isFed();
  }
  os << "@" << report.function << ": " << report.values.size()
     << " rewritten values, " << readers << " readers, "
     << (unfed ? std::to_string(unfed) + " NOT FED" : "all fed") << "\n";
  columns.print(os);
  printWork(report.work, os);
}

bool layline::printConsumers(func::FuncOp function, llvm::raw_ostream &os) {
  ConsumerReport report = analyzeConsumers(function, /*words=*/true);
  printConsumers(report, os);
  return report.isFed();
}

static void printReader(const Consumer &reader, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("op", reader.op);
    json.attribute("at", reader.at);
    json.attribute("operand", static_cast<int64_t>(reader.operand));
    json.attribute("needs", reader.needs);
    json.attribute("gets", reader.gets);
    json.attribute("fed", reader.isFed());
    if (!reader.isFed())
      json.attribute("problem", reader.problem);
  });
}

static void printWorkJSON(const OpWork &work, llvm::json::OStream &json) {
  json.object([&] {
    json.attribute("op", work.op);
    json.attribute("at", work.at);
    if (work.paddedHeads) {
      json.attribute("heads", work.heads);
      json.attribute("padded_heads", work.paddedHeads);
    }
    json.attribute("useful", work.useful);
    json.attribute("padded", work.padded);
  });
}

void layline::printConsumersJSON(const ConsumerReport &report,
                                 llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("program", report.function);
    json.attribute("fed", report.isFed());
    json.attributeArray("values", [&] {
      for (const RewrittenValue &value : report.values)
        json.object([&] {
          json.attribute("value", value.value);
          json.attribute("form", value.form);
          json.attribute("op", value.op);
          json.attribute("at", value.name);
          json.attribute("layout", value.layout);
          if (!value.problem.empty())
            json.attribute("problem", value.problem);
          json.attributeArray("readers", [&] {
            for (const Consumer &reader : value.consumers)
              printReader(reader, json);
          });
        });
    });
    json.attributeArray("work", [&] {
      for (const OpWork &work : report.work)
        printWorkJSON(work, json);
    });
  });
}
