//===- TokenRangesTest.cpp - where the best choice changes ----------------===//
#include "layline/Planning/TokenRanges.h"
#include "catch2/catch.hpp"
#include <algorithm>
#include <cmath>
#include <random>

using namespace layline;

namespace {

/// Choices whose cost is a latency and a slope.
struct Lines {
  std::vector<std::pair<double, double>> lines;

  double price(int choice, int64_t tokens) const {
    return lines[choice].first +
           lines[choice].second * static_cast<double>(tokens);
  }
  int solve(int64_t tokens) const {
    int best = 0;
    for (int choice = 1; choice < static_cast<int>(lines.size()); ++choice)
      if (price(choice, tokens) < price(best, tokens))
        best = choice;
    return best;
  }
  RangeSearch search(int64_t min, int64_t max, double allowed) const {
    return searchRanges(
        min, max, allowed, [&](int64_t t) { return solve(t); },
        [&](int choice, int64_t t) { return price(choice, t); });
  }
};

/// Disjoint, complete, and nowhere above what is allowed.
void check(const Lines &lines, const RangeSearch &search, int64_t min,
           int64_t max, double allowed) {
  REQUIRE_FALSE(search.ranges.empty());
  CHECK(search.ranges.front().min == min);
  CHECK(search.ranges.back().max == max);
  for (size_t i = 0; i < search.ranges.size(); ++i) {
    const TokenRange &range = search.ranges[i];
    CHECK(range.min <= range.max);
    if (i > 0)
      CHECK(range.min == search.ranges[i - 1].max + 1);
    for (int64_t t = range.min; t <= range.max; ++t)
      CHECK(lines.price(range.choice, t) <=
            lines.price(lines.solve(t), t) * (1 + allowed) + 1e-12);
  }
}

} // namespace

TEST_CASE("without regret a range ends at the crossing") {
  // 10 + t against 30.25 + t / 2: equal at 40.5.
  Lines lines{{{10, 1}, {30.25, 0.5}}};
  RangeSearch search = lines.search(1, 8192, 0);
  check(lines, search, 1, 8192, 0);
  REQUIRE(search.ranges.size() == 2);
  CHECK(search.ranges[0].max == 40);
  CHECK(search.choices == 2);
}

TEST_CASE("a choice that is best by less than what is allowed has no range") {
  // The middle one is best from 90 to 110 by 0.5 % at most.
  Lines lines{{{0, 1}, {45, 0.5445}, {100, 0.0}}};
  RangeSearch exact = lines.search(1, 1000, 0);
  CHECK(exact.ranges.size() == 3);
  RangeSearch merged = lines.search(1, 1000, 0.01);
  CHECK(merged.ranges.size() == 2);
  check(lines, merged, 1, 1000, 0.01);
  for (const TokenRange &range : merged.ranges)
    CHECK(range.regret <= 0.01);
  CHECK(std::any_of(merged.ranges.begin(), merged.ranges.end(),
                    [](const TokenRange &range) { return range.regret > 0; }));
}

TEST_CASE("a range does not go on to counts that were not looked at") {
  // Of 8 H200, an all_reduce in one kernel, apart, and rows: the first is
  // within 1 % up to 66 tokens, the last from 87 on, and the middle one is best
  // between two counts that the crossings give.
  Lines lines{{{740, 11.92}, {978, 8}, {1687, 0}}};
  RangeSearch search = lines.search(1, 8192, 0.01);
  check(lines, search, 1, 8192, 0.01);
  CHECK(search.ranges.size() == 3);
}

TEST_CASE("random lines: no count costs more than is allowed") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int round = 0; round < 300; ++round) {
    Lines lines;
    for (int i = 0; i < 2 + round % 4; ++i)
      lines.lines.push_back(
          {1000 * unit(random), std::exp(8 * unit(random) - 6)});
    INFO(round);
    check(lines, lines.search(1, 2048, 0.01), 1, 2048, 0.01);
  }
}

TEST_CASE("every range of token counts is covered") {
  Lines lines{{{5, 1}, {20, 0.3}, {60, 0.1}, {200, 0.02}}};
  for (int64_t min : {1, 2, 3, 7, 100, 4095})
    for (int64_t max : {min, min + 1, min + 2, int64_t(4096), int64_t(10000)})
      if (max >= min) {
        INFO(min << ".." << max);
        check(lines, lines.search(min, max, 0.01), min, max, 0.01);
      }
}

TEST_CASE("one choice is one range, and costs nothing to serve") {
  Lines lines{{{0, 0}}};
  RangeSearch search = lines.search(3, 77, 0.01);
  REQUIRE(search.ranges.size() == 1);
  CHECK(search.ranges[0].regret == 0);
}
