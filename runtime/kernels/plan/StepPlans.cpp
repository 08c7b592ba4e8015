#include "kernels/plan/StepPlans.h"

#include "transports/Transport.h"

namespace layline::runtime {

LaunchGroup launchGroup(const Plan &plan, std::int64_t rank, int group) {
  if (group < 0 || plan.groups[group].ranks == 1)
    return {kNoGroup, rank};
  return {group, membersOf(plan, plan.groups[group], rank).front()};
}

std::vector<KernelUse>
listUses(const std::vector<Step> &steps, const StepPlans &plans,
         const std::function<std::string(const Step &)> &own,
         const std::function<bool(const Step &)> &isDoneBefore) {
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
      add(kindsOf(*found->second.step), found->second.name(), "");
    } else {
      add(kindsOf(step), own ? own(step) : "", found->second.reason);
      for (const Step &inner : step.body)
        if (!isDoneBefore || !isDoneBefore(inner))
          self(self, inner);
    }
  };
  for (const Step &step : steps)
    list(list, step);
  return uses;
}

} // namespace layline::runtime
