//===- StepCost.h - how long the cost model thinks a step takes -*- C++ -*-===//
#ifndef LAYLINE_LIB_REPORT_STEPCOST_H
#define LAYLINE_LIB_REPORT_STEPCOST_H

#include "layline/Cost/CostModel.h"
#include "plan/Plan.h"
#include <map>

namespace layline::report {

/// Nothing is known of attention: it depends on what is cached, which no plan
/// says.
struct StepEstimate {
  std::optional<double> us;
  std::string confidence, source;
};

/// Estimates of the steps of a plan on the rank with the most rows.
class StepCosts {
public:
  /// Both outlive it.
  StepCosts(const runtime::Plan &plan, const CostModel &model)
      : plan(plan), model(model) {}

  StepEstimate estimate(const runtime::Step &step, int64_t tokens);
  /// Bytes that the rank has of an operand.
  int64_t bytesOf(const runtime::Operand &operand, int64_t tokens);

private:
  struct Rank {
    std::vector<int64_t> coordinates;
    std::vector<runtime::Part> parts;
  };
  runtime::Environment environmentOf(int64_t tokens);
  runtime::Shape shapeOf(const runtime::Operand &operand, int64_t tokens);
  /// Of the whole value that a collective works on.
  int64_t wireBytes(const runtime::Step &step, int64_t tokens);
  Estimate product(const runtime::Operand &input,
                   const runtime::Operand &weight, int64_t chosen,
                   int64_t tokens);
  std::optional<Estimate> single(const runtime::Step &step, int64_t tokens);
  std::optional<Estimate> fused(const runtime::Step &step, int64_t tokens);

  const runtime::Plan &plan;
  const CostModel &model;
  std::map<int64_t, Rank> known; ///< by tokens
};

} // namespace layline::report

#endif // LAYLINE_LIB_REPORT_STEPCOST_H
