// The launches of a variant's steps on one rank.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_STEPPLANS_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_STEPPLANS_H

#include "engine/Device.h"
#include "kernels/plan/LaunchPlan.h"

#include <cstdint>
#include <functional>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace layline::runtime {

/// A group of the plan and its first rank; of a rank by itself, kNoGroup and
/// the rank. What shares a workspace.
using LaunchGroup = std::pair<int, std::int64_t>;
constexpr int kNoGroup = -1;
LaunchGroup launchGroup(const Plan &plan, std::int64_t rank, int group);

/// By step: of a fused one that is not launched, its body's too. Steps that are
/// not here are not looked for (isLookedFor).
using StepPlans = std::unordered_map<const Step *, LaunchPlan>;

/// Which steps run as which kernel, and why others do not. `own`: the device's
/// kernel of a step that has none of the catalogue; null: it does not say.
/// `isDoneBefore`: whether an inner step is done by the launch of one before
/// it; null: none is.
std::vector<KernelUse>
listUses(const std::vector<Step> &steps, const StepPlans &plans,
         const std::function<std::string(const Step &)> &own = nullptr,
         const std::function<bool(const Step &)> &isDoneBefore = nullptr);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_STEPPLANS_H
