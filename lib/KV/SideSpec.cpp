//===- SideSpec.cpp - "tp4,cp4,page64,fp8" --------------------------------===//
#include "layline/KV/SideSpec.h"

#include "plan/Error.h"

#include <charconv>
#include <functional>
#include <map>
#include <set>

using namespace layline::kv;

// Sizes of groups, layers and pages: far above any in use, and small enough for
// every product of them.
static constexpr std::int64_t kMostRanks = 4096;
static constexpr std::int64_t kMostTokens = 1 << 20;

namespace {

class SpecParser {
public:
  explicit SpecParser(const std::string &text) : text(text) {}
  SideSpec parse();

private:
  template <typename... Parts> [[noreturn]] void bad(const Parts &...parts) {
    layline::runtime::fail(LAYLINE_BAD_ARGUMENT, "layout '", text, "': '", part,
                           "' ", parts...);
  }
  /// The part starts with `key`, and the rest is its argument.
  bool takes(const std::string &key, std::string &rest) const {
    if (part.compare(0, key.size(), key) != 0)
      return false;
    rest = part.substr(key.size());
    return true;
  }
  void claim(const std::string &what) {
    if (!seen.insert(what).second)
      bad("says ", what, " a second time; once is expected");
  }
  std::int64_t number(const std::string &digits, std::int64_t most);
  std::vector<std::int64_t> numbers(const std::string &list, char separator);
  void parsePart();

  const std::string &text;
  std::string part;
  std::set<std::string> seen;
  SideSpec spec;
};

} // namespace

std::int64_t SpecParser::number(const std::string &digits, std::int64_t most) {
  std::int64_t value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      value < 1 || value > most)
    bad("has the number '", digits, "'; 1 to ", most, " is expected");
  return value;
}

std::vector<std::int64_t> SpecParser::numbers(const std::string &list,
                                              char separator) {
  std::vector<std::int64_t> result;
  std::size_t from = 0;
  while (from <= list.size()) {
    std::size_t to = std::min(list.find(separator, from), list.size());
    result.push_back(number(list.substr(from, to - from), kMostTokens));
    from = to + 1;
  }
  return result;
}

void SpecParser::parsePart() {
  static const std::map<std::string, ComputeSplit> splits = {
      {"zigzag", ComputeSplit::Zigzag},
      {"contiguous", ComputeSplit::Contiguous},
      {"interleave", ComputeSplit::Cyclic}};
  static const std::map<std::string, Residency> residencies = {
      {"layersplit", Residency::Layers},
      {"pagesplit", Residency::Pages},
      {"pagenumber", Residency::Numbers},
      {"cpstore", Residency::Cyclic}}; // which one follows from the split
  static const std::set<std::string> types = {"bf16", "f16", "f32", "fp8"};
  std::string rest;
  if (auto found = splits.find(part); found != splits.end()) {
    claim("how tokens are computed");
    spec.compute = found->second;
  } else if (takes("interleave:", rest)) {
    claim("how tokens are computed");
    spec.compute = ComputeSplit::Cyclic;
    spec.computeRun = number(rest, kMostTokens);
  } else if (auto kept = residencies.find(part); kept != residencies.end()) {
    claim("what cp ranks keep");
    spec.residency = kept->second;
  } else if (takes("owners=", rest)) {
    claim("what cp ranks keep");
    spec.residency = Residency::Layers;
    spec.ownerLayers = numbers(rest, '+');
  } else if (types.count(part)) {
    claim("the element type");
    spec.dtype = part;
  } else if (part == "nhd" || part == "hnd") {
    claim("the order inside a page");
    spec.isHeadMajor = part == "hnd";
  } else if (takes("page", rest)) {
    claim("the tokens of a page");
    spec.pageTokens = number(rest, kMostTokens);
  } else if (takes("dcp", rest)) {
    claim("dcp");
    std::size_t colon = rest.find(':');
    spec.dcp = number(rest.substr(0, colon), kMostRanks);
    if (colon != std::string::npos)
      spec.dcpRun = number(rest.substr(colon + 1), kMostTokens);
  } else if (takes("tp", rest)) {
    claim("tp");
    spec.tp = number(rest, kMostRanks);
  } else if (takes("cp", rest)) {
    claim("cp");
    spec.cp = number(rest, kMostRanks);
  } else if (takes("dp", rest)) {
    claim("dp");
    spec.dp = number(rest, kMostRanks);
  } else if (takes("pp", rest)) {
    claim("pp");
    if (rest.find('+') == std::string::npos) {
      spec.pp = number(rest, kMostRanks);
    } else {
      spec.stageLayers = numbers(rest, '+');
      spec.pp = static_cast<std::int64_t>(spec.stageLayers.size());
    }
  } else {
    bad("is not known; tpN, cpN, ppN, ppA+B, dpN, dcpN, dcpN:I, pageN, nhd, "
        "hnd, bf16, f16, f32, fp8, zigzag, contiguous, interleave, "
        "interleave:I, layersplit, owners=A+B, pagesplit, pagenumber or "
        "cpstore is expected");
  }
}

SideSpec SpecParser::parse() {
  spec.text = text;
  std::size_t from = 0;
  while (from <= text.size()) {
    std::size_t to = std::min(text.find(',', from), text.size());
    part = text.substr(from, to - from);
    parsePart();
    from = to + 1;
  }
  part = text;
  if (seen.count("what cp ranks keep") && spec.residency == Residency::Cyclic)
    spec.residency = spec.compute == ComputeSplit::Zigzag ? Residency::Zigzag
                     : spec.compute == ComputeSplit::Contiguous
                         ? Residency::Contiguous
                         : Residency::Cyclic;
  if (spec.countRanks() > kMostRanks)
    bad("has ", spec.countRanks(), " ranks; at most ", kMostRanks,
        " are expected");
  bool keepsParts = spec.residency != Residency::Gathered;
  bool splitsPages = spec.residency == Residency::Pages ||
                     spec.residency == Residency::Numbers;
  if (keepsParts && spec.cp == 1 && !splitsPages)
    bad("keeps parts over cp, but has no cp ranks; cpN with N above 1 is "
        "expected");
  if (!spec.ownerLayers.empty() &&
      static_cast<std::int64_t>(spec.ownerLayers.size()) != spec.cp)
    bad("has layers of ", spec.ownerLayers.size(), " owners; cp is ", spec.cp);
  if (spec.tp % spec.dcp)
    bad("has dcp ", spec.dcp, ", which does not divide tp ", spec.tp);
  if (spec.dcp > 1 && keepsParts)
    bad("splits tokens over dcp and keeps parts over cp; one of them is "
        "expected");
  return spec;
}

SideSpec layline::kv::parseSideSpec(const std::string &text) {
  return SpecParser(text).parse();
}
