#include "kv/Binding.h"

#include <algorithm>

namespace layline::kv {

PageSpan findTablePages(const Plan &plan, const Side &side, const Rank &rank,
                        const Request &wanted, int table) {
  Request request = wanted;
  if (plan.policy.roundsToPages)
    request = roundToPages(request, plan.target.pageTokens);
  PageSpan all;
  bool isFirst = true;
  for (std::size_t i = 0; i < plan.planes.size(); ++i) {
    const Plane &plane = plan.planes[i];
    int buffer = side.planes[i].buffer;
    if (getTable(side, buffer) != table || rank.layers[buffer].empty())
      continue;
    PageSpan own{0, 1};
    if (!plane.isState) {
      std::int64_t begin = request.prefix;
      if (plane.window) {
        begin = std::max(begin, wanted.tokens - plane.window);
        begin -= begin % plan.target.pageTokens; // whole pages may be moved
      }
      own = findPages(
          selectTokens({rank.tokens}, request, {{begin, request.tokens}}),
          request, rank.tokens, side.pageTokens);
      // Also where it keeps nothing behind the prefix: it keeps its pages.
      own.end = (countTokens(rank.tokens, request) + side.pageTokens - 1) /
                side.pageTokens;
      if (begin >= request.tokens)
        own.begin = own.end;
    }
    all.begin = isFirst ? own.begin : std::min(all.begin, own.begin);
    all.end = std::max(all.end, own.end);
    isFirst = false;
  }
  return all;
}

void Binding::List::flatten() {
  auto count = static_cast<std::size_t>(descriptors);
  flatSource.resize(count);
  flatTarget.resize(count);
  if (!equalBytes)
    flatBytes.resize(count);
  std::size_t at = 0;
  for (const Region &region : regions)
    for (std::int64_t j = 0; j < region.outer; ++j)
      for (std::int64_t i = 0; i < region.inner; ++i, ++at) {
        flatSource[at] =
            region.source + j * region.sourceJump + i * region.sourceStep;
        flatTarget[at] =
            region.target + j * region.targetJump + i * region.targetStep;
        if (!equalBytes)
          flatBytes[at] = region.bytes;
      }
}

void Binding::List::addUp() {
  firsts.reserve(regions.size());
  bytesBefore.reserve(regions.size());
  std::int64_t blocks = 0, size = 0;
  for (const Region &region : regions) {
    firsts.push_back(blocks);
    bytesBefore.push_back(size);
    blocks += region.countBlocks();
    size += region.countBlocks() * region.bytes;
  }
}

std::size_t Binding::List::findRegion(std::int64_t number) const {
  return std::upper_bound(firsts.begin(), firsts.end(), number) -
         firsts.begin() - 1;
}

std::int64_t Binding::List::countBytes(std::int64_t count) const {
  if (count == descriptors)
    return bytes;
  if (equalBytes)
    return count * equalBytes;
  std::size_t region = findRegion(count);
  return bytesBefore[region] + (count - firsts[region]) * regions[region].bytes;
}

std::int64_t Binding::countBytesBefore(std::int64_t number) const {
  if (number >= descriptors)
    return totalBytes;
  const Section &section = sections[findSection(&Section::first, number)];
  return section.firstBytes +
         lists[section.list].countBytes(number - section.first);
}

std::size_t Binding::findSection(std::int64_t Section::*member,
                                 std::int64_t number) const {
  auto after = std::upper_bound(
      sections.begin(), sections.end(), number,
      [&](std::int64_t value, const Section &s) { return value < s.*member; });
  return after - sections.begin() - 1;
}

} // namespace layline::kv
