// The steps of a plan that are launched as kernels of the catalogue
// (kernels/plan): reductions, gathers and the row-wise work around them, on all
// ranks of a card at once. What there is no kernel for runs step by step.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_FUSEDLAUNCHES_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_FUSEDLAUNCHES_H

#include "devices/cuda/Groups.h"
#include "devices/cuda/ProgramBuilder.h"
#include "devices/cuda/Workspaces.h"
#include "kernels/plan/RunPlans.h"

#include <string>
#include <vector>

namespace layline::runtime::cuda {

class FusedLaunches {
public:
  /// All must outlive the object.
  FusedLaunches(const Plan &plan, const DeviceOptions &options,
                std::vector<RankView> &ranks,
                const std::vector<std::unique_ptr<Card>> &cards,
                const Groups &groups);

  /// What each step of the run that the ranks are set to is launched as: on all
  /// ranks the same kernel with the same grid, or on none. Workspaces are made
  /// for it: no kernel may be running. Throws Error.
  RunPlans plan(const Variant &variant);

  /// Adds the launches of a step, by place of the rank.
  void add(ProgramBuilder &builder, const RunPlans::OfRanks &launches);

  /// Workspaces as if no kernel had run. No kernel may be running.
  void reset() { workspaces_.reset(); }

private:
  using OfRanks = RunPlans::OfRanks;

  KernelFunction find(const kernels::Variant &variant, std::size_t card) const;
  std::int64_t residentBlocks(const kernels::Variant &variant) const;
  std::string refusal(const RankView &rank, const LaunchPlan &planned) const;
  std::string whyNotBySwitch(const RankView &rank,
                             const LaunchPlan &planned) const;
  void equalizeGrids(OfRanks &launches) const;
  void checkAgreement(const OfRanks &launches) const;
  void makeWorkspaces(RunPlans &plans);

  const Plan &plan_;
  const DeviceOptions &options_;
  std::vector<RankView> &ranks_;
  const std::vector<std::unique_ptr<Card>> &cards_;
  const Groups &groups_;
  KernelSet kernels_;
  Workspaces workspaces_;
  std::int64_t ranksOnCard_ = 1;    ///< of the card with most
  std::int64_t waitingStreams_ = 1; ///< of the variant that is planned
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_FUSEDLAUNCHES_H
