//===- Curve.cpp - measured times of one algorithm by bytes ---------------===//
#include "Curve.h"
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

using namespace layline;

std::string layline::sizeText(int64_t bytes) {
  const char *units[] = {" B", " KiB", " MiB", " GiB"};
  int unit = 0;
  for (; unit < 3 && bytes >= 1024 && bytes % 1024 == 0; ++unit)
    bytes /= 1024;
  return std::to_string(bytes) + units[unit];
}

Curve::Curve(std::map<int64_t, double> measured)
    : rows(std::move(measured)), guarded(rows) {
  guard();
}

void Curve::guard() {
  double least = std::numeric_limits<double>::infinity();
  for (auto row = guarded.rbegin(); row != guarded.rend(); ++row)
    row->second = least = std::min(least, row->second);
}

void Curve::refine(const std::vector<const Curve *> &twins) {
  for (auto upper = rows.begin(); upper != rows.end(); ++upper) {
    if (upper == rows.begin())
      continue;
    auto lower = std::prev(upper);
    const Curve *best = nullptr;
    double least = kAgree, lowerRatio = 0, upperRatio = 0;
    for (const Curve *twin : twins) {
      auto low = twin->rows.find(lower->first);
      auto high = twin->rows.find(upper->first);
      if (low == twin->rows.end() || high == twin->rows.end() ||
          std::next(low) == high)
        continue;
      double atLow = lower->second / low->second;
      double atHigh = upper->second / high->second;
      double off = std::max(std::abs(atLow - 1), std::abs(atHigh - 1));
      if (off > least)
        continue;
      best = twin;
      least = off;
      lowerRatio = atLow;
      upperRatio = atHigh;
    }
    if (!best)
      continue;
    for (auto row = best->rows.upper_bound(lower->first);
         row->first < upper->first; ++row) {
      double share = std::log(double(row->first) / double(lower->first)) /
                     std::log(double(upper->first) / double(lower->first));
      guarded[row->first] = row->second * std::pow(lowerRatio, 1 - share) *
                            std::pow(upperRatio, share);
    }
  }
  guard();
}

Curve::Value Curve::at(int64_t bytes, Axes axes) const {
  auto upper = guarded.lower_bound(bytes);
  if (upper != guarded.end() && upper->first == bytes) {
    auto row = rows.find(bytes);
    if (row != rows.end() && row->second == upper->second)
      return {upper->second, Confidence::Measured, ""};
    return {upper->second, Confidence::Interpolated,
            row == rows.end() ? "shape of another version"
                              : "a larger message is faster"};
  }

  if (guarded.size() == 1) {
    // One row tells latency and bandwidth not apart: padding bounds a smaller
    // message, bandwidth alone a larger one.
    auto [size, us] = *guarded.begin();
    double factor = std::max(1.0, double(bytes) / double(size));
    return {us * factor, Confidence::Formula,
            "measured at " + sizeText(size) + " only"};
  }

  Value value;
  if (upper == guarded.begin()) {
    value.confidence = Confidence::Formula;
    value.note = "below " + sizeText(minBytes()) + " measured";
    ++upper;
  } else if (upper == guarded.end()) {
    value.confidence = Confidence::Formula;
    value.note = "above " + sizeText(maxBytes()) + " measured";
    --upper;
  } else {
    value.confidence = Confidence::Interpolated;
  }
  auto lower = std::prev(upper);
  double x0 = double(lower->first), x1 = double(upper->first);
  double y0 = lower->second, y1 = upper->second;
  if (axes == Axes::LogLog && value.confidence == Confidence::Interpolated)
    value.us = y0 * std::pow(y1 / y0,
                             std::log(double(bytes) / x0) / std::log(x1 / x0));
  else
    value.us = y0 + (y1 - y0) * (double(bytes) - x0) / (x1 - x0);
  // Two rows that rise faster than their bytes would meet 0 below the first.
  value.us = std::max(value.us, std::min(y0, y0 * double(bytes) / x0));
  return value;
}
