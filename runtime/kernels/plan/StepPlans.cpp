#include "kernels/plan/StepPlans.h"

#include "transports/Transport.h"

namespace layline::runtime {

LaunchGroup launchGroup(const Plan &plan, std::int64_t rank, int group) {
  if (group < 0 || plan.groups[group].ranks == 1)
    return {kNoGroup, rank};
  return {group, membersOf(plan, plan.groups[group], rank).front()};
}

StepPlans planSteps(const RankRun &rank, const std::vector<Step> &steps,
                    const KernelSet &kernels, bool keepsSums,
                    std::map<LaunchGroup, kernels::WorkspaceNeed> &needs) {
  StepPlans plans;
  auto add = [&](const auto &self, const Step &step) -> void {
    if (!isLookedFor(step))
      return;
    LaunchPlan planned = planLaunch(rank, step, kernels, keepsSums);
    if (planned.hasKernel) {
      LaunchGroup group =
          launchGroup(*rank.plan, rank.rank, planned.work.group);
      kernels::addNeed(needs[group], planned.variant, planned.problem,
                       planned.shape);
    } else {
      for (const Step &inner : step.body)
        self(self, inner);
    }
    plans.emplace(&step, std::move(planned));
  };
  for (const Step &step : steps)
    add(add, step);
  return plans;
}

std::vector<KernelUse>
listUses(const std::vector<Step> &steps, const StepPlans &plans,
         const std::function<std::string(const Step &)> &own) {
  std::vector<KernelUse> uses;
  auto add = [&](const std::string &step, const std::string &kernel,
                 const std::string &reason) {
    for (KernelUse &use : uses)
      if (use.step == step && use.kernel == kernel && use.reason == reason) {
        ++use.steps;
        return;
      }
    uses.push_back({step, kernel, reason, 1});
  };
  auto list = [&](const auto &self, const Step &step) -> void {
    auto found = plans.find(&step);
    if (found == plans.end()) {
      add(step.info().name, own ? own(step) : "", "");
    } else if (found->second.hasKernel) {
      add(kindsOf(step), found->second.variant.name(), "");
    } else {
      add(kindsOf(step), own ? own(step) : "", found->second.reason);
      for (const Step &inner : step.body)
        self(self, inner);
    }
  };
  for (const Step &step : steps)
    list(list, step);
  return uses;
}

} // namespace layline::runtime
