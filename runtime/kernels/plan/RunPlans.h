// The launches of a variant's steps on one rank, fused steps whole or in
// pieces.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_RUNPLANS_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_RUNPLANS_H

#include "kernels/plan/StepPlans.h"

#include <list>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace layline::runtime {

/// A fused step is one launch, or runs in pieces: the longest runs of its body
/// that are one launch each, and between them steps without a kernel.
class RunPlans {
public:
  /// The steps must outlive the plans. `isTapped`: all values with a name are
  /// asked for, so that a fused step whose kernel keeps one to itself runs in
  /// pieces, each of which gives its own. Adds to `needs` what the workspace of
  /// each of the rank's groups has to hold.
  RunPlans(const RankRun &rank, const std::vector<Step> &steps,
           const KernelSet &kernels, bool isTapped,
           std::map<LaunchGroup, kernels::WorkspaceNeed> &needs);
  RunPlans(RunPlans &&) = default;
  RunPlans(const RunPlans &) = delete;
  RunPlans &operator=(const RunPlans &) = delete;

  /// Of a step, of a piece that of its first step; null: not looked for
  /// (isLookedFor).
  const LaunchPlan *find(const Step &step) const;
  /// Whether an inner step is done by the launch of one before it.
  bool isDoneBefore(const Step &inner) const;
  /// Whether a value that a step of a body gives is there after the step it is
  /// in. A kernel keeps some on chip.
  bool gives(const Step &inner, const Operand &value) const;

  /// Which steps run as which kernel, and why others do not.
  std::vector<KernelUse> uses() const;

private:
  void plan(const Step &step);
  void planPieces(const Step &step);
  LaunchPlan planned(const Step &step) const;
  void add(const Step &first, const Step *last, LaunchPlan plan);
  /// A step of its own of some that stand one behind another in a body.
  Step pieceOf(const Step &step, std::size_t begin, std::size_t end) const;
  bool isNamed(const Step &inner, std::size_t output) const;
  /// The name of a value that somebody asks for and the launch does not give.
  std::string missing(const Step &step, const LaunchPlan &plan) const;

  const RankRun rank_;
  const std::vector<Step> &steps_;
  const KernelSet &kernels_;
  bool isTapped_;
  std::map<LaunchGroup, kernels::WorkspaceNeed> &needs_;
  StepPlans plans_;
  /// Of steps that are done by a launch, the step that it is planned under.
  std::unordered_map<const Step *, const Step *> launchedWith_;
  std::list<Step> pieces_; ///< what plans of pieces refer to
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_RUNPLANS_H
