//===- Samples.h - repeated measurements to curves --------------*- C++ -*-===//
#ifndef LAYLINE_LIB_COST_SAMPLES_H
#define LAYLINE_LIB_COST_SAMPLES_H

#include "layline/Cost/Calibration.h"
#include <algorithm>
#include <tuple>

namespace layline {

/// Times of the same op, ranks, algorithm and bytes become their median.
class Samples {
public:
  void add(const std::string &op, int64_t ranks, const std::string &algorithm,
           int64_t bytes, double us) {
    times[{op, ranks, algorithm}][bytes].push_back(us);
  }

  bool empty() const { return times.empty(); }

  /// By op, ranks and algorithm.
  std::vector<MeasuredCurve> curves() const {
    std::vector<MeasuredCurve> result;
    for (const auto &[key, points] : times) {
      MeasuredCurve curve{
          std::get<0>(key), std::get<1>(key), std::get<2>(key), {}};
      for (const auto &[bytes, samples] : points)
        curve.points[bytes] = medianOf(samples);
      result.push_back(std::move(curve));
    }
    return result;
  }

private:
  static double medianOf(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    size_t half = samples.size() / 2;
    return samples.size() % 2 ? samples[half]
                              : (samples[half - 1] + samples[half]) / 2;
  }

  std::map<std::tuple<std::string, int64_t, std::string>,
           std::map<int64_t, std::vector<double>>>
      times;
};

} // namespace layline

#endif // LAYLINE_LIB_COST_SAMPLES_H
