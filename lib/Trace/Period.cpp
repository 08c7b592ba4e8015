//===- Period.cpp - kernels that come again and again ---------------------===//
#include "layline/Trace/Mapping.h"
#include <algorithm>

using namespace layline::trace;

// A layer has tens of kernels, two kinds of layers by turns no more than
// hundreds. What is far behind says nothing new.
static constexpr size_t kLongest = 2000, kMostEvents = 20000;
// A step has fewer layers that differ (the first, the last) than this.
static constexpr double kEnough = 0.97;

static double matchingPart(const std::vector<Family> &families, size_t count,
                           size_t period) {
  size_t matches = 0;
  for (size_t i = 0; i + period < count; ++i)
    matches += families[i] == families[i + period];
  return static_cast<double>(matches) / static_cast<double>(count - period);
}

Period layline::trace::findPeriod(const std::vector<Family> &families) {
  size_t count = std::min(families.size(), kMostEvents);
  std::vector<double> parts;
  double best = 0;
  for (size_t period = 1; period <= std::min(count / 3, kLongest); ++period) {
    parts.push_back(matchingPart(families, count, period));
    best = std::max(best, parts.back());
  }
  Period found;
  // Half of all at least: any two sequences of few kinds agree here and there.
  if (best < 0.5)
    return found;
  for (size_t i = 0; i < parts.size() && found.events == 0; ++i)
    if (parts[i] >= kEnough * best)
      found.events = i + 1;
  // It reaches from the first whole period that comes again to the last.
  size_t length = found.events, run = 0;
  bool hasBegun = false;
  for (size_t i = 0; i + length < families.size(); ++i) {
    run = families[i] == families[i + length] ? run + 1 : 0;
    if (run < length)
      continue;
    if (!hasBegun)
      found.begin = i + 1 - length;
    hasBegun = true;
    found.end = i + length + 1;
  }
  if (!hasBegun)
    return Period();
  found.repeats = (found.end - found.begin) / length;
  return found;
}
