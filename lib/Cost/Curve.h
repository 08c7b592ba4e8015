//===- Curve.h - measured times of one algorithm by bytes -------*- C++ -*-===//
//
// Between two rows time is a latency plus bytes over a bandwidth, a straight
// line through both. docs/cost-model.md compares that with a line on log-log
// axes: at a gap of 4 it is off by less in three of four tables.
//
// Outside the rows the line through the two nearest is followed and the result
// is a formula. It is anchored: at the end itself it equals the row.
//
// Rows that are missing between two that are there may be known from another
// version of the same algorithm: where it agrees at both, its shape is taken in
// place of the straight line (protocols switch at the same sizes).
//
// Guard: the times of larger messages bound those of smaller ones, since a
// message may be sent with padding. A row above a later one is noise or a
// switch of protocols that a caller can avoid, and is lowered to it.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_COST_CURVE_H
#define LAYLINE_LIB_COST_CURVE_H

#include "layline/Cost/CostModel.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace layline {

class Curve {
public:
  enum class Axes { Linear, LogLog }; ///< on which a line joins two rows

  Curve() = default;
  /// Bytes -> us, both above 0; at least one.
  explicit Curve(std::map<int64_t, double> measured);

  /// Takes the shape of a twin between rows where both were measured and agree
  /// within kAgree, of the one that agrees best.
  void refine(const std::vector<const Curve *> &twins);
  static constexpr double kAgree = 0.05;

  struct Value {
    double us = 0;
    Confidence confidence = Confidence::Measured;
    std::string note; ///< why it is a formula: "above 512 MiB measured"
  };
  Value at(int64_t bytes, Axes axes = Axes::Linear) const;

  bool covers(int64_t bytes) const {
    return !rows.empty() && bytes >= minBytes() && bytes <= maxBytes();
  }
  int64_t minBytes() const { return rows.begin()->first; }
  int64_t maxBytes() const { return rows.rbegin()->first; }
  /// As measured, without the guard.
  const std::map<int64_t, double> &measured() const { return rows; }

private:
  void guard();

  std::map<int64_t, double> rows;
  std::map<int64_t, double> guarded; ///< and refined
};

/// "16 MiB", "2112 B".
std::string sizeText(int64_t bytes);

} // namespace layline

#endif // LAYLINE_LIB_COST_CURVE_H
