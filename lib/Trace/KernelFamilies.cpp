//===- KernelFamilies.cpp - what kind of work a kernel does ---------------===//
#include "layline/Trace/KernelFamilies.h"
#include "EmbeddedFamilies.h"
#include <array>
#include <sstream>

using namespace layline::trace;

namespace {
struct FamilyInfo {
  const char *name, *group;
  bool isCommunication = false, isAuxiliary = false;
};
} // namespace

/// In the order of the enumeration.
static constexpr std::array<FamilyInfo, kNumFamilies> kInfo = {{
    {"unknown", "unknown"},
    {"all_reduce", "communication", true},
    {"reduce_scatter", "communication", true},
    {"all_gather", "communication", true},
    {"all_to_all", "communication", true},
    {"broadcast", "communication", true},
    {"dispatch", "communication", true},
    {"combine", "communication", true},
    {"all_reduce_norm", "communication with norm", true},
    {"rs_norm_ag", "communication with norm", true},
    {"gemm", "dense GEMM"},
    {"gemm_reduce", "dense GEMM", false, true},
    {"moe_gemm", "MoE GEMM"},
    {"attention", "attention"},
    {"attention_merge", "attention"},
    {"indexer", "indexer"},
    {"rope", "RoPE"},
    {"kv_store", "KV store"},
    {"norm", "norm"},
    {"add_norm", "norm"},
    {"norm_rope", "norm"},
    {"activation", "activation"},
    {"quantize", "quantisation", false, true},
    {"add", "elementwise", false, true},
    {"mul", "elementwise", false, true},
    {"cast", "elementwise", false, true},
    {"concat", "elementwise", false, true},
    {"elementwise", "elementwise", false, true},
    {"copy", "copy kernels", false, true},
    {"fill", "copy kernels", false, true},
    {"reduce", "elementwise", false, true},
    {"router", "routing"},
    {"moe_permute", "expert permutes"},
    {"moe_finalize", "expert sums"},
    {"gather", "gather of rows", false, true},
    {"step_inputs", "step inputs", false, true},
    {"sampling", "sampling", false, true},
    {"memcpy_htod", "host copies", false, true},
    {"memcpy_dtoh", "host copies", false, true},
    {"memcpy_dtod", "device copies", false, true},
    {"memset", "copy kernels", false, true},
}};

static const FamilyInfo &infoOf(Family family) {
  return kInfo[static_cast<size_t>(family)];
}

const char *layline::trace::getName(Family family) {
  return infoOf(family).name;
}

std::optional<Family> layline::trace::findFamily(std::string_view name) {
  for (size_t i = 1; i < kInfo.size(); ++i)
    if (name == kInfo[i].name)
      return static_cast<Family>(i);
  return std::nullopt;
}

const char *layline::trace::getShareGroup(Family family) {
  return infoOf(family).group;
}

bool layline::trace::isCommunication(Family family) {
  return infoOf(family).isCommunication;
}

bool layline::trace::isAuxiliary(Family family) {
  return infoOf(family).isAuxiliary;
}

KernelFamilies KernelFamilies::builtIn() {
  KernelFamilies families;
  families.addFront(layline::runtime::kKernelFamilies, "families.csv");
  return families;
}

void KernelFamilies::addFront(const std::string &text,
                              const std::string &file) {
  std::vector<Row> added;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.empty() && line.back() == '\r')
      line.pop_back();
    auto fail = [&](const std::string &what) {
      throw TraceError(file + ": line " + std::to_string(number) + ": " + what);
    };
    if (number == 1) {
      if (line != "family,pattern,source")
        fail("found '" + line.substr(0, 60) +
             "', expected the heading 'family,pattern,source'");
      continue;
    }
    if (line.empty())
      continue;
    // A pattern has no commas: what stands behind the second is the source's.
    size_t first = line.find(','), second = line.find(',', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      fail("found '" + line.substr(0, 60) +
           "', expected family, pattern and source");
    Row row;
    std::string name = line.substr(0, first);
    std::optional<Family> family = findFamily(name);
    if (!family)
      fail("found the family '" + name +
           "', expected one of those of data/kernels/README.md");
    row.family = *family;
    row.pattern = line.substr(first + 1, second - first - 1);
    row.source = line.substr(second + 1);
    std::string_view rest = row.pattern;
    row.fromBegin = !rest.empty() && rest.front() == '^';
    if (row.fromBegin)
      rest.remove_prefix(1);
    row.toEnd = !rest.empty() && rest.back() == '$';
    if (row.toEnd)
      rest.remove_suffix(1);
    if (rest.find_first_not_of('*') == std::string_view::npos)
      fail("found the pattern '" + row.pattern +
           "', expected one that says something");
    for (size_t star; (star = rest.find('*')) != std::string_view::npos;
         rest.remove_prefix(star + 1))
      row.pieces.emplace_back(rest.substr(0, star));
    row.pieces.emplace_back(rest);
    added.push_back(std::move(row));
  }
  if (number == 0)
    throw TraceError(file + ": found nothing, expected the heading "
                            "'family,pattern,source'");
  rows.insert(rows.begin(), added.begin(), added.end());
}

bool KernelFamilies::matches(const Row &row, std::string_view name) {
  size_t at = 0;
  for (size_t i = 0; i < row.pieces.size(); ++i) {
    const std::string &piece = row.pieces[i];
    bool isLast = i + 1 == row.pieces.size();
    if (isLast && row.toEnd) {
      if (name.size() < at + piece.size() ||
          name.substr(name.size() - piece.size()) != piece)
        return false;
      if (i == 0 && row.fromBegin && name.size() != piece.size())
        return false;
      continue;
    }
    size_t found = name.find(piece, at);
    if (found == std::string_view::npos ||
        (i == 0 && row.fromBegin && found != 0))
      return false;
    at = found + piece.size();
  }
  return true;
}

KernelFamilies::Match KernelFamilies::classify(const std::string &name) const {
  std::string normal = normaliseName(name);
  for (const Row &row : rows)
    if (matches(row, normal))
      return {row.family, row.pattern, row.source};
  return {};
}

std::vector<KernelFamilies::Match>
KernelFamilies::classify(const DeviceTrace &trace) const {
  std::vector<Match> matches;
  for (const std::string &name : trace.names)
    matches.push_back(classify(name));
  return matches;
}
