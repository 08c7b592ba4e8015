// The launches of a variant's steps, fused steps whole or in pieces, and which
// steps run as which kernel.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_RUNPLANS_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_RUNPLANS_H

#include "engine/Device.h"
#include "kernels/plan/LaunchPlan.h"

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace layline::runtime {

/// A group of the plan and its first rank; of a rank by itself, kNoGroup and
/// the rank. What shares a workspace.
using LaunchGroup = std::pair<int, std::int64_t>;
constexpr int kNoGroup = -1;
LaunchGroup launchGroup(const Plan &plan, std::int64_t rank, int group);

/// A fused step is one launch, or runs in pieces: the longest runs of its body
/// that are one launch each, and between them steps without a kernel. Of
/// several ranks all run a step the same way.
class RunPlans {
public:
  /// By rank, in the order in which the ranks were given.
  using OfRanks = std::vector<LaunchPlan>;

  /// The steps must outlive the plans. A step has a kernel where it has one on
  /// each of `ranks`, else none, for the reason of the first that has none.
  /// `isTapped`: all values with a name are asked for, so that a fused step
  /// whose kernel keeps one to itself runs in pieces, each of which gives its
  /// own.
  RunPlans(const std::vector<RankRun> &ranks, const std::vector<Step> &steps,
           const KernelSet &kernels, bool isTapped);
  RunPlans(RunPlans &&) = default;
  RunPlans(const RunPlans &) = delete;
  RunPlans &operator=(const RunPlans &) = delete;

  /// The launches of a step, of a piece those of its first step; null: it has
  /// none.
  const OfRanks *launchesOf(const Step &step) const;
  /// Calls visit(top-level step, OfRanks &) for all launches in their order.
  template <typename Visit> void forEachLaunch(const Visit &visit) {
    for (const Step &step : steps_)
      visitLaunches(step, step, visit);
  }
  /// Whether an inner step is done by the launch of one before it.
  bool isDoneBefore(const Step &inner) const;
  /// Whether a value that a step of a body gives is there after the step it is
  /// in. A kernel keeps some on chip.
  bool gives(const Step &inner, const Operand &value) const;

  /// Which steps run as which kernel on the first rank, and why others do not.
  /// `own`: the device's kernel of a step that has none of the catalogue; null:
  /// it does not say.
  std::vector<KernelUse>
  uses(const std::function<std::string(const Step &)> &own = nullptr) const;

private:
  struct Asked; // what is planned for
  void plan(const Asked &asked, const Step &step);
  void planPieces(const Asked &asked, const Step &step);
  void add(const Step &first, const Step *last, OfRanks launches);

  template <typename Visit>
  void visitLaunches(const Step &topLevel, const Step &step,
                     const Visit &visit) {
    if (launchesOf(step))
      visit(topLevel, plans_.at(&step));
    for (const Step &inner : step.body)
      visitLaunches(topLevel, inner, visit);
  }

  const std::vector<Step> &steps_;
  /// Of the steps that are looked for (isLookedFor).
  std::unordered_map<const Step *, OfRanks> plans_;
  /// Of steps that are done by a launch, the step that it is planned under.
  std::unordered_map<const Step *, const Step *> launchedWith_;
  std::list<Step> pieces_; ///< what plans of pieces refer to
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_RUNPLANS_H
