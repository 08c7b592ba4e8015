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
    auto [left, right] = findCrossing(low, before, high, behind);
    lookAt({left, right});
    if (at(left) != before)
      bisect(low, left);
    if (at(right) != behind)
      bisect(right, high);
  }
  /// Looks at where two choices cross, if there is a count between; false if
  /// there is none.
  bool lookBetween(int64_t low, int before, int64_t high, int behind) {
    if (high - low <= 1)
      return false;
    auto [left, right] = findCrossing(low, before, high, behind);
    lookAt({left, right});
    return true;
  }
  const std::map<int64_t, int> &get() const { return best; }

private:
  /// Neighbours in [low, high]: up to the first the one choice is no dearer, by
  /// bisection.
  std::pair<int64_t, int64_t> findCrossing(int64_t low, int before,
                                           int64_t high, int behind) const {
    while (high - low > 1) {
      int64_t middle = low + (high - low) / 2;
      (price(before, middle) <= price(behind, middle) ? low : high) = middle;
    }
    return {low, high};
  }

  const std::function<int(int64_t)> &solve;
  const std::function<double(int, int64_t)> &price;
  const std::function<void(const std::vector<int64_t> &)> &prepare;
  std::map<int64_t, int> best;
};

/// Counts and what each choice costs there above the best.
struct Regrets {
  std::vector<int64_t> counts;
  std::vector<std::vector<double>> of; ///< [choice][count]
};

/// A run of counts that one choice serves.
struct Run {
  size_t begin = 0, end = 0; ///< numbers of counts
  int choice = 0;
  double worst = 0;
};

} // namespace

static Regrets getRegrets(const std::map<int64_t, int> &samples,
                          const std::function<double(int, int64_t)> &price) {
  Regrets regrets;
  int choices = 0;
  for (auto [tokens, choice] : samples) {
    regrets.counts.push_back(tokens);
    choices = std::max(choices, choice + 1);
  }
  regrets.of.resize(choices);
  for (auto [tokens, chosen] : samples) {
    double best = price(chosen, tokens);
    for (int choice = 0; choice < choices; ++choice) {
      double us = price(choice, tokens);
      regrets.of[choice].push_back(
          best > 0 ? us / best - 1
                   : (us > 0 ? std::numeric_limits<double>::infinity() : 0));
    }
  }
  return regrets;
}

/// The fewest runs of counts, and of these divisions the one with the least sum
/// of regrets.
static std::vector<Run> divide(const Regrets &regrets, double allowed) {
  size_t n = regrets.counts.size();
  struct Best {
    int runs = std::numeric_limits<int>::max();
    double sum = 0;
    Run last;
  };
  std::vector<Best> upTo(n + 1);
  upTo[0].runs = 0;
  for (size_t begin = 0; begin < n; ++begin) {
    if (upTo[begin].runs == std::numeric_limits<int>::max())
      continue;
    for (size_t choice = 0; choice < regrets.of.size(); ++choice) {
      double sum = upTo[begin].sum, worst = 0;
      for (size_t end = begin; end < n; ++end) {
        double regret = regrets.of[choice][end];
        worst = std::max(worst, regret);
        if (!(worst <= allowed))
          break;
        sum += std::max(0.0, regret);
        Best &best = upTo[end + 1];
        int runs = upTo[begin].runs + 1;
        if (runs < best.runs || (runs == best.runs && sum < best.sum))
          best = {runs, sum, {begin, end + 1, static_cast<int>(choice), worst}};
      }
    }
  }
  std::vector<Run> runs;
  for (size_t end = n; end > 0; end = upTo[end].last.begin)
    runs.push_back(upTo[end].last);
  std::reverse(runs.begin(), runs.end());
  return runs;
}

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

  // A range may end only where the counts on both sides were looked at: what is
  // best between two that were not may be neither's choice.
  Regrets regrets;
  std::vector<Run> runs;
  for (bool isComplete = false; !isComplete;) {
    isComplete = true;
    regrets = getRegrets(samples.get(), price);
    runs = divide(regrets, allowed);
    for (size_t i = 0; i + 1 < runs.size(); ++i)
      isComplete &=
          !samples.lookBetween(regrets.counts[runs[i].end - 1], runs[i].choice,
                               regrets.counts[runs[i].end], runs[i + 1].choice);
  }
  RangeSearch search;
  search.counts = static_cast<int64_t>(regrets.counts.size());
  search.choices = static_cast<int>(regrets.of.size());
  for (const Run &run : runs)
    search.ranges.push_back(
        {regrets.counts[run.begin],
         run.end == regrets.counts.size() ? max : regrets.counts[run.end] - 1,
         run.choice, run.worst});
  return search;
}
