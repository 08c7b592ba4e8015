//===- StepCosts.h - what a budget asks of a cost model ---------*- C++ -*-===//
#ifndef LAYLINE_TRACE_STEPCOSTS_H
#define LAYLINE_TRACE_STEPCOSTS_H

#include "layline/Cost/CostModel.h"
#include "layline/Trace/Budget.h"

namespace layline::trace {

/// How a collective moves its data. Times of two of these do not compare as
/// "the same, fused".
enum class Transport : uint8_t {
  Peers,  ///< the engine's own kernels, which load and store peers' memory
  Switch, ///< the switch adds and multicasts
  Library ///< NCCL and the like
};
const char *getName(Transport transport); ///< "peers", "switch", "library"
/// By the name of a kernel or an algorithm.
Transport findTransport(const std::string &name);

/// A price, in microseconds.
struct StepCost {
  double us = 0;
  /// Usual relative error: the 90th percentile of what is known of such
  /// figures.
  double error = 0;
  FigureBasis basis = FigureBasis::Formula;
  std::string source;
  Transport transport = Transport::Peers; ///< of what holds a collective
};

/// Prices of steps on one target. Bytes of collectives as in CostModel.h.
class StepCosts {
public:
  virtual ~StepCosts() = default;

  virtual const std::string &target() const = 0;
  /// One memory-bound kernel of one rank.
  virtual StepCost rowKernel(int64_t read, int64_t written) const = 0;
  /// Rows [m, k] times a weight [n, k]; bytes are those of an element.
  virtual StepCost product(int64_t m, int64_t n, int64_t k, int weightBytes,
                           int activationBytes) const = 0;
  /// Nothing if no price of such work is known.
  virtual std::optional<StepCost> collective(Work work, int64_t bytes,
                                             int64_t ranks) const = 0;
  /// One kernel that holds collectives and these row-wise steps, by their kinds
  /// in a plan. Nothing if the target has no kernel of that form; `reason` then
  /// says why. It also says so if there is one, but not with these steps in it:
  /// the price is then that of the form.
  virtual std::optional<StepCost> fused(const FusedShape &shape,
                                        const std::vector<std::string> &steps,
                                        int64_t ranks,
                                        std::string &reason) const = 0;
  /// What a kernel takes beside its memory traffic, us.
  virtual double launchUs() const = 0;
  virtual double memoryBytesPerUs() const = 0;
};

/// Those of the cost model, with the errors that docs/generated/
/// cost-accuracy.md and docs/traces.md report.
class ModelCosts : public StepCosts {
public:
  explicit ModelCosts(CostModel model);

  const std::string &target() const override { return model.target(); }
  StepCost rowKernel(int64_t read, int64_t written) const override;
  StepCost product(int64_t m, int64_t n, int64_t k, int weightBytes,
                   int activationBytes) const override;
  std::optional<StepCost> collective(Work work, int64_t bytes,
                                     int64_t ranks) const override;
  std::optional<StepCost> fused(const FusedShape &shape,
                                const std::vector<std::string> &steps,
                                int64_t ranks,
                                std::string &reason) const override;
  double launchUs() const override { return model.launchOverheadUs(); }
  double memoryBytesPerUs() const override { return bytesPerUs; }

private:
  const FusedKernel *findKernel(const std::string &name) const;

  CostModel model;
  double bytesPerUs;
};

} // namespace layline::trace

#endif // LAYLINE_TRACE_STEPCOSTS_H
