//===- TokenRanges.cpp - where the best choice changes --------------------===//
#include "layline/Planning/TokenRanges.h"
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <map>

using namespace layline;

namespace {

/// Every count that is looked at, with its best choice.
class Samples {
public:
  Samples(const std::function<int(int64_t)> &solve,
          const std::function<double(int, int64_t)> &price,
          const std::function<void(const std::vector<int64_t> &)> &prepare)
      : solve(solve), price(price), prepare(prepare) {}

  void lookAt(const std::vector<int64_t> &counts) {
    if (prepare)
      prepare(counts);
    for (int64_t tokens : counts)
      at(tokens);
  }

  int at(int64_t tokens) {
    auto [entry, isNew] = best.try_emplace(tokens, 0);
    if (isNew)
      entry->second = solve(tokens);
    return entry->second;
  }
  /// Finds where the choices of two counts meet. Their prices say where to
  /// look, for far less than a solution; what is best there is then solved.
  void bisect(int64_t low, int64_t high) {
    int before = at(low), behind = at(high);
    if (high - low <= 1 || before == behind)
      return;
    int64_t left = low, right = high;
    while (right - left > 1) {
      int64_t middle = left + (right - left) / 2;
      (price(before, middle) <= price(behind, middle) ? left : right) = middle;
    }
    lookAt({left, right});
    if (at(left) != before)
      bisect(low, left);
    if (at(right) != behind)
      bisect(right, high);
  }
  const std::map<int64_t, int> &get() const { return best; }

private:
  const std::function<int(int64_t)> &solve;
  const std::function<double(int, int64_t)> &price;
  const std::function<void(const std::vector<int64_t> &)> &prepare;
  std::map<int64_t, int> best;
};

} // namespace

RangeSearch layline::searchRanges(
    int64_t min, int64_t max, double allowed,
    const std::function<int(int64_t)> &solve,
    const std::function<double(int, int64_t)> &price,
    const std::function<void(const std::vector<int64_t> &)> &prepare) {
  assert(min >= 1 && min <= max);
  Samples samples(solve, price, prepare);
  std::vector<int64_t> grid = {min};
  for (double step = std::log2(static_cast<double>(min)) * 2;;) {
    step = std::floor(step) + 1;
    auto next = static_cast<int64_t>(std::llround(std::exp2(step / 2)));
    if (next >= max)
      break;
    if (next > grid.back())
      grid.push_back(next);
  }
  if (max > min)
    grid.push_back(max);
  samples.lookAt(grid);
  for (size_t i = 0; i + 1 < grid.size(); ++i)
    samples.bisect(grid[i], grid[i + 1]);

  std::vector<int64_t> counts;
  int choices = 0;
  for (auto [tokens, choice] : samples.get()) {
    counts.push_back(tokens);
    choices = std::max(choices, choice + 1);
  }
  size_t n = counts.size();
  // Regret of each choice at each count.
  std::vector<std::vector<double>> regret(choices, std::vector<double>(n));
  for (size_t i = 0; i < n; ++i) {
    double best = price(samples.at(counts[i]), counts[i]);
    for (int choice = 0; choice < choices; ++choice) {
      double us = price(choice, counts[i]);
      regret[choice][i] =
          best > 0 ? us / best - 1
                   : (us > 0 ? std::numeric_limits<double>::infinity() : 0);
    }
  }
  // The fewest ranges up to each count, then the least sum of regrets.
  struct Best {
    int ranges = std::numeric_limits<int>::max();
    double sum = 0, worst = 0;
    size_t from = 0;
    int choice = 0;
  };
  std::vector<Best> upTo(n + 1);
  upTo[0].ranges = 0;
  for (size_t begin = 0; begin < n; ++begin) {
    if (upTo[begin].ranges == std::numeric_limits<int>::max())
      continue;
    for (int choice = 0; choice < choices; ++choice) {
      double sum = upTo[begin].sum, worst = 0;
      for (size_t end = begin; end < n; ++end) {
        worst = std::max(worst, regret[choice][end]);
        if (!(worst <= allowed))
          break;
        sum += std::max(0.0, regret[choice][end]);
        Best &best = upTo[end + 1];
        int ranges = upTo[begin].ranges + 1;
        if (ranges < best.ranges || (ranges == best.ranges && sum < best.sum))
          best = {ranges, sum, worst, begin, choice};
      }
    }
  }
  RangeSearch search;
  search.counts = static_cast<int64_t>(n);
  search.choices = choices;
  for (size_t end = n; end > 0; end = upTo[end].from) {
    const Best &best = upTo[end];
    int64_t last = end == n ? max : counts[end] - 1;
    search.ranges.push_back({counts[best.from], last, best.choice, best.worst});
  }
  std::reverse(search.ranges.begin(), search.ranges.end());
  return search;
}
