#include "kv/Tokens.h"

#include "plan/Error.h"

#include <algorithm>
#include <numeric>

namespace layline::kv {

using runtime::fail;

namespace {

// Longest common period of cyclic parts: a bound on work, far above any
// interleave in use.
constexpr std::int64_t kLongestPeriod = std::int64_t(1) << 22;

/// Items [begin, end) of part `index` of n items in balanced parts.
Interval getBlock(std::int64_t n, std::int64_t parts, std::int64_t index) {
  std::int64_t base = n / parts, rest = n % parts;
  std::int64_t begin = index * base + std::min(index, rest);
  return {begin, begin + base + (index < rest ? 1 : 0)};
}

/// The tokens that the part deals out.
Interval getDomain(const TokenPart &part, const Request &request) {
  if (part.of == TokenPart::Of::Chunk)
    return request.chunk;
  return {0, request.tokens};
}

/// Tokens of a run of items, cut to the domain.
Interval toTokens(Interval items, std::int64_t unit, Interval domain) {
  return {std::min(domain.begin + items.begin * unit, domain.end),
          std::min(domain.begin + items.end * unit, domain.end)};
}

} // namespace

std::vector<Interval> intersect(const std::vector<Interval> &left,
                                const std::vector<Interval> &right) {
  std::vector<Interval> result;
  for (std::size_t i = 0, k = 0; i < left.size() && k < right.size();) {
    std::int64_t begin = std::max(left[i].begin, right[k].begin);
    std::int64_t end = std::min(left[i].end, right[k].end);
    if (begin < end)
      result.push_back({begin, end});
    (left[i].end < right[k].end ? i : k)++;
  }
  return result;
}

namespace {

/// Phases repeated to a longer period.
std::vector<Interval> unroll(const std::vector<Interval> &phases,
                             std::int64_t period, std::int64_t times) {
  std::vector<Interval> result;
  for (std::int64_t i = 0; i < times; ++i)
    for (const Interval &phase : phases)
      result.push_back({phase.begin + i * period, phase.end + i * period});
  return result;
}

/// Tokens of [within] whose number modulo `period` lies in [phase].
void addRuns(Interval within, Interval phase, std::int64_t period,
             std::vector<TokenRun> &runs) {
  // The first repetition that ends behind the begin.
  std::int64_t k =
      within.begin < phase.end ? 0 : (within.begin - phase.end) / period + 1;
  std::int64_t begin = phase.begin + k * period;
  std::int64_t length = phase.end - phase.begin;
  auto addCut = [&] {
    std::int64_t first = std::max(begin, within.begin);
    std::int64_t end = std::min(begin + length, within.end);
    if (first < end)
      runs.push_back({first, end - first, 1, 0});
    begin += period;
  };
  if (begin < within.begin)
    addCut();
  if (begin >= within.end)
    return;
  std::int64_t whole = (within.end - begin - length) / period + 1;
  if (begin + length > within.end)
    whole = 0;
  if (whole > 0) {
    runs.push_back({begin, length, whole, whole > 1 ? period : 0});
    begin += whole * period;
  }
  addCut();
}

} // namespace

Request roundToPages(Request request, std::int64_t pageTokens) {
  auto up = [&](std::int64_t tokens) {
    return (tokens + pageTokens - 1) / pageTokens * pageTokens;
  };
  request.chunk.end = up(request.chunk.end);
  request.tokens = up(request.tokens);
  return request;
}

std::vector<Interval> getIntervals(const TokenPart &part,
                                   const Request &request) {
  Interval domain = getDomain(part, request);
  std::int64_t items = (domain.end - domain.begin + part.unit - 1) / part.unit;
  std::vector<Interval> result;
  switch (part.kind) {
  case TokenPart::Kind::Cyclic:
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::PageNumber:
    result = {domain};
    break;
  case TokenPart::Kind::Room:
    if (request.room % part.parts == part.index)
      result = {domain};
    break;
  case TokenPart::Kind::Contiguous:
    result = {
        toTokens(getBlock(items, part.parts, part.index), part.unit, domain)};
    break;
  case TokenPart::Kind::Zigzag:
    for (std::int64_t run : {part.index, 2 * part.parts - 1 - part.index})
      result.push_back(
          toTokens(getBlock(items, 2 * part.parts, run), part.unit, domain));
    break;
  }
  result.erase(
      std::remove_if(result.begin(), result.end(),
                     [](const Interval &i) { return i.begin >= i.end; }),
      result.end());
  return result;
}

std::vector<TokenRun> selectTokens(const std::vector<TokenPart> &parts,
                                   const Request &request,
                                   std::vector<Interval> within) {
  std::int64_t period = 1;
  std::vector<Interval> phases; // of a period above 1
  for (const TokenPart &part : parts) {
    within = intersect(within, getIntervals(part, request));
    if (part.kind != TokenPart::Kind::Cyclic || part.parts == 1)
      continue;
    Interval domain = getDomain(part, request);
    std::int64_t own = part.parts * part.unit;
    if (own > kLongestPeriod)
      fail(LAYLINE_BAD_ARGUMENT, "a split of the tokens repeats only after ",
           own, " tokens; at most ", kLongestPeriod, " are expected");
    std::int64_t common = std::lcm(period, own);
    if (common > kLongestPeriod)
      fail(LAYLINE_BAD_ARGUMENT,
           "splits of the tokens repeat together only after ", common,
           " tokens; at most ", kLongestPeriod, " are expected");
    std::int64_t begin = (domain.begin + part.index * part.unit) % own;
    std::vector<Interval> phase;
    if (begin + part.unit <= own)
      phase = {{begin, begin + part.unit}};
    else // wraps around
      phase = {{0, begin + part.unit - own}, {begin, own}};
    phase = unroll(phase, own, common / own);
    phases = period == 1
                 ? phase
                 : intersect(unroll(phases, period, common / period), phase);
    period = common;
  }
  std::vector<TokenRun> runs;
  for (const Interval &interval : within) {
    if (period == 1) {
      runs.push_back({interval.begin, interval.end - interval.begin, 1, 0});
      continue;
    }
    std::size_t from = runs.size();
    for (const Interval &phase : phases)
      addRuns(interval, phase, period, runs);
    std::sort(
        runs.begin() + from, runs.end(),
        [](const TokenRun &a, const TokenRun &b) { return a.first < b.first; });
  }
  return runs;
}

std::int64_t getSlot(const TokenPart &part, const Request &request,
                     std::int64_t token) {
  switch (part.kind) {
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::Room:
  case TokenPart::Kind::PageNumber:
    return token;
  case TokenPart::Kind::Cyclic:
    return token / (part.parts * part.unit) * part.unit + token % part.unit;
  case TokenPart::Kind::Contiguous:
  case TokenPart::Kind::Zigzag:
    break;
  }
  std::int64_t before = 0;
  for (const Interval &interval : getIntervals(part, request)) {
    if (token < interval.end)
      return before + token - interval.begin;
    before += interval.end - interval.begin;
  }
  fail(LAYLINE_INTERNAL, "token ", token, " is not held");
}

std::int64_t countTokens(const TokenPart &part, const Request &request) {
  std::int64_t count = 0;
  for (const TokenRun &run :
       selectTokens({part}, request, {{0, request.tokens}}))
    count += run.length * run.count;
  return count;
}

} // namespace layline::kv
