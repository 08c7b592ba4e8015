// Launches steps of a plan on the machines of their groups.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_KERNELLAUNCHER_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_KERNELLAUNCHER_H

#include "devices/cpu/StepLauncher.h"
#include "devices/simt/plan/GroupMachine.h"
#include "devices/simt/plan/SimtDevice.h"
#include "kernels/plan/RunPlans.h"

#include <map>
#include <memory>
#include <vector>

namespace layline::runtime {

class KernelLauncher final : public StepLauncher<float> {
public:
  KernelLauncher(const Plan &plan, const DeviceOptions &device,
                 const SimtOptions &options);

  void prepare(const std::vector<RankContext<float>> &ranks) override;
  bool keeps(const Step &inner, const Operand &value) const override;
  bool run(RankContext<float> &rank, const Step &step) override;
  std::vector<KernelUse> uses() const override;

private:
  void makeMachines();
  const kernels::Kernel &kernelOf(const kernels::Variant &variant) const;
  std::unique_ptr<MemberLaunch> launchOf(RankContext<float> &rank,
                                         const LaunchPlan &plan) const;
  void runExperts(RankContext<float> &rank, const LaunchPlan &plan,
                  GroupMachine &machine) const;

  const Plan &plan_;
  layline_precision precision_;
  const bool keepsInner_;
  const SimtOptions options_;
  const KernelSet kernels_;
  /// By rank.
  std::vector<RunPlans> plans_;
  std::map<LaunchGroup, kernels::WorkspaceNeed> needs_; ///< of this run
  std::map<LaunchGroup, std::unique_ptr<GroupMachine>> machines_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_KERNELLAUNCHER_H
