//===- NCCLTests.cpp - what nccl-tests prints -----------------------------===//
//
// A run:
//
//   # nThread 1 nGpus 8 minBytes 1024 maxBytes 1048576 step: 2(factor) ...
//   #  Rank  0 Group  0 Pid  4242 on node device  0 [0x1b] NVIDIA H200
//   ...
//   #                                        out-of-place         in-place
//   #  size  count  type  redop  root   time algbw busbw #wrong  time ...
//   #   (B)  (elements)                  (us) (GB/s) (GB/s)      (us) ...
//      1024    256 float    sum    -1  15.62  0.07  0.11      0  15.3 ...
//   # Out of bounds values : 0 OK
//   # Avg bus bandwidth    : 12.3
//
// Columns have come and gone over the years (redop, root, "error" for
// "#wrong"), so they are found by their headings.
//
// `size` is the larger of a rank's send and receive buffers: the whole tensor
// of an all_reduce, reduce_scatter and all_gather, but one rank's part of what
// an all_to_all sends. `count` is the argument of the call: a rank's part of a
// reduce_scatter and all_gather, a pair's part of an all_to_all. The two must
// agree, which tells a file of another convention from these.
//
//===----------------------------------------------------------------------===//
#include "NCCLTests.h"
#include "Samples.h"
#include "TextLines.h"
#include "layline/Cost/CostModel.h"
#include <algorithm>

using namespace layline;

namespace {

const std::pair<const char *, Collective> kTests[] = {
    {"all_reduce_perf", Collective::AllReduce},
    {"reduce_scatter_perf", Collective::ReduceScatter},
    {"all_gather_perf", Collective::AllGather},
    {"alltoall_perf", Collective::AllToAll},
};

/// Where a row has what.
struct Columns {
  size_t size, count, type, time, wrong, total;
};

class Parser {
public:
  Parser(const std::string &fileName, const MeasurementOptions &request,
         std::string &message)
      : file(fileName), options(request), error(message) {}

  bool parse(const std::string &text);
  std::vector<MeasuredCurve> curves() const { return samples.curves(); }

private:
  bool fail(const std::string &message) {
    error = file + ":" + std::to_string(line) + ": " + message;
    return false;
  }
  bool readComment(const std::string &text);
  bool readHeadings(const std::vector<std::string> &words);
  bool readUnits(const std::vector<std::string> &words);
  bool readRow(const std::vector<std::string> &words);
  bool beginRun();
  void endRun() {
    inRows = false;
    columns.reset();
    ranks = 0;
  }

  const std::string &file;
  const MeasurementOptions &options;
  std::string &error;
  size_t line = 0;

  std::optional<Collective> test; ///< the one that the text named last
  int64_t ranks = 0;              ///< "Rank" lines of this run
  std::optional<Columns> columns;
  bool inRows = false;
  Samples samples;
};

int64_t elementBytes(const std::string &type) {
  for (auto [name, bytes] :
       {std::pair("int8", 1), std::pair("uint8", 1), std::pair("int32", 4),
        std::pair("uint32", 4), std::pair("int64", 8), std::pair("uint64", 8),
        std::pair("half", 2), std::pair("float", 4), std::pair("double", 8),
        std::pair("bfloat16", 2), std::pair("fp8_e4m3", 1),
        std::pair("fp8_e5m2", 1), std::pair("f8e4m3", 1),
        std::pair("f8e5m2", 1)})
    if (type == name)
      return bytes;
  return 0;
}

} // namespace

bool Parser::readHeadings(const std::vector<std::string> &words) {
  auto find = [&](const char *name, size_t from) {
    return size_t(std::find(words.begin() + std::min(from, words.size()),
                            words.end(), name) -
                  words.begin());
  };
  size_t time = find("time", 0);
  if (options.inPlace)
    time = find("time", time + 1);
  size_t wrong = std::min(find("#wrong", time), find("error", time));
  Columns found{find("size", 0), find("count", 0), find("type", 0), time,
                wrong,           words.size()};
  if (std::max({found.size, found.count, found.type, found.time}) >=
      words.size())
    return fail("found headings without size, count, type and time" +
                std::string(options.inPlace ? " in place" : "") +
                ", expected those of nccl-tests");
  columns = found;
  return beginRun();
}

bool Parser::readUnits(const std::vector<std::string> &words) {
  for (const std::string &unit : words) {
    bool isTime =
        unit == "(us)" || unit == "(ms)" || unit == "(s)" || unit == "(ns)";
    bool isSize = unit == "(B)" || unit == "(KB)" || unit == "(MB)" ||
                  unit == "(KiB)" || unit == "(MiB)";
    if ((isTime && unit != "(us)") || (isSize && unit != "(B)"))
      return fail("found the unit " + unit + ", expected " +
                  (isTime ? "(us)" : "(B)"));
  }
  return true;
}

/// A run's rows begin.
bool Parser::beginRun() {
  if (!options.op.empty()) {
    test.reset();
    for (auto [name, collective] : kTests)
      if (options.op == getName(collective))
        test = collective;
    if (!test)
      return fail("op: found " + inQuotes(options.op) +
                  ", expected all_reduce, reduce_scatter, all_gather or "
                  "all_to_all");
  }
  if (!test)
    return fail("found rows of no test, expected a line above them that names "
                "all_reduce_perf, reduce_scatter_perf, all_gather_perf or "
                "alltoall_perf, or --op");
  if (ranks < 2)
    return fail("found " + std::to_string(ranks) +
                " lines '# Rank ..' above the rows, expected one for each of "
                "2 or more ranks");
  inRows = true;
  return true;
}

bool Parser::readRow(const std::vector<std::string> &words) {
  if (words.size() != columns->total)
    return fail("found " + std::to_string(words.size()) + " cells, expected " +
                std::to_string(columns->total) + " as in the headings");
  std::optional<int64_t> size = parseInteger(words[columns->size]);
  std::optional<int64_t> count = parseInteger(words[columns->count]);
  int64_t width = elementBytes(words[columns->type]);
  std::optional<double> us = parseNumber(words[columns->time]);
  if (!size)
    return fail("size: found " + inQuotes(words[columns->size]) +
                ", expected bytes");
  if (!count)
    return fail("count: found " + inQuotes(words[columns->count]) +
                ", expected a number of elements");
  if (!width)
    return fail("type: found " + inQuotes(words[columns->type]) +
                ", expected a type of nccl-tests");
  if (!us || *us <= 0)
    return fail("time: found " + inQuotes(words[columns->time]) +
                ", expected microseconds above 0");
  if (columns->wrong < words.size()) {
    const std::string &wrong = words[columns->wrong];
    std::optional<double> number = parseNumber(wrong);
    if (wrong != "N/A" && (!number || *number > 1e-2))
      return fail("#wrong: found " + inQuotes(wrong) +
                  ", expected 0: times of wrong results are no measurement");
  }
  bool isPart = *test != Collective::AllReduce;
  int64_t expected = *count * width * (isPart ? ranks : 1);
  if (*size != expected)
    return fail("size: found " + std::to_string(*size) + " bytes, expected " +
                std::to_string(expected) + ": " + std::to_string(*count) +
                " elements of " + std::to_string(width) + " bytes" +
                (isPart ? " from each of " + std::to_string(ranks) + " ranks"
                        : std::string()));
  // Fewer elements than ranks: nothing was sent.
  if (*size == 0)
    return true;
  int64_t whole = *test == Collective::AllToAll ? *size * ranks : *size;
  samples.add(getName(*test), ranks, options.algorithm, whole, *us);
  return true;
}

bool Parser::readComment(const std::string &text) {
  std::vector<std::string> words = splitWords(text.substr(text.find('#') + 1));
  auto has = [&](const char *word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  if (inRows && has("nThread"))
    return fail("found another run, expected '# Avg bus bandwidth' at the end "
                "of the one before: was the file cut?");
  if (has("nThread"))
    ranks = 0;
  else if (!words.empty() && words[0] == "Rank")
    ++ranks;
  else if (has("size") && has("count") && has("time"))
    return readHeadings(words);
  else if (columns && has("(elements)"))
    return readUnits(words);
  else if (text.find("Avg bus bandwidth") != std::string::npos)
    endRun();
  return true;
}

bool Parser::parse(const std::string &text) {
  for (const std::string &content : splitLines(text)) {
    ++line;
    size_t first = content.find_first_not_of(" \t");
    if (first == std::string::npos)
      continue;
    // In a comment of the program itself or in the echo of its command.
    for (auto [name, collective] : kTests)
      if (content.find(name) != std::string::npos)
        test = collective;
    if (content[first] == '#') {
      if (!readComment(content))
        return false;
    } else if (inRows && !readRow(splitWords(content))) {
      return false;
    }
  }
  if (inRows)
    return fail("found the end of the file, expected '# Avg bus bandwidth' at "
                "the end of a run: was the file cut?");
  if (samples.empty()) {
    error = file + ": found no rows of nccl-tests and no line "
                   "op,ranks,bytes,us, expected either";
    return false;
  }
  return true;
}

std::optional<std::vector<MeasuredCurve>>
layline::parseNCCLTests(const std::string &text, const std::string &file,
                        const MeasurementOptions &options, std::string &error) {
  Parser parser(file, options, error);
  if (!parser.parse(text))
    return std::nullopt;
  return parser.curves();
}
