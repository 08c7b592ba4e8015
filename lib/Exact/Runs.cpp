//===- Runs.cpp - token counts worth a run --------------------------------===//
#include "layline/Exact/Checker.h"
#include <algorithm>

using namespace layline::exact;

/// More tokens say nothing new and cost time.
static constexpr int64_t kMostTokens = 41;

/// In the order in which they are worth it.
static std::vector<int64_t> chooseTokens(std::vector<int64_t> axes) {
  axes.erase(std::remove_if(axes.begin(), axes.end(),
                            [](int64_t size) { return size < 2; }),
             axes.end());
  std::sort(axes.begin(), axes.end());
  int64_t together = 1;
  for (int64_t size : axes)
    if (together * size < kMostTokens)
      together *= size;
  std::vector<int64_t> tokens = {together + 1, 1};
  // The smaller axis splits tokens into zigzag halves more often than not.
  for (int64_t size : axes)
    tokens.push_back(2 * size + 1);
  tokens.push_back(together - 1);
  for (int64_t size : axes)
    for (int64_t count : {2 * size - 1, size + 1, size - 1, size})
      tokens.push_back(count);
  tokens.insert(tokens.end(), {together, 5, 3});
  std::vector<int64_t> unique;
  for (int64_t count : tokens)
    if (count >= 1 && count <= kMostTokens &&
        std::find(unique.begin(), unique.end(), count) == unique.end())
      unique.push_back(count);
  return unique;
}

std::vector<Run> layline::exact::chooseRuns(const std::vector<int64_t> &axes,
                                            size_t most,
                                            std::optional<int64_t> longAbove) {
  constexpr int64_t kPast = 3;
  std::vector<Run> runs;
  for (int64_t tokens : chooseTokens(axes)) {
    if (runs.size() == most)
      break;
    Run run;
    run.tokens = tokens;
    run.past = runs.size() % 2 == 1 ? kPast : 0;
    run.base = 11 + 6 * int64_t(runs.size());
    runs.push_back(run);
  }
  // Of this step the last position only is a long one; the others are short
  // or, beyond, all long.
  if (longAbove && !runs.empty())
    runs[0].base = std::max<int64_t>(1, *longAbove - runs[0].tokens + 1);
  return runs;
}
