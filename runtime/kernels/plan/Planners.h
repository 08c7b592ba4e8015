// How launches of the families of kernels are planned; planLaunch chooses.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_PLANNERS_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_PLANNERS_H

#include "kernels/plan/LaunchPlan.h"

namespace layline::runtime {

/// What kernels move at once.
constexpr std::int64_t kVectorBytes = 16;

// RowLaunches.cpp
LaunchPlan planRows(const RankRun &rank, const Step &step,
                    const KernelSet &kernels, bool keepsInner);
// SingleLaunches.cpp: steps of a familyOf their own.
LaunchPlan planRope(const RankRun &rank, const Step &step,
                    const KernelSet &kernels);
LaunchPlan planBroadcast(const RankRun &rank, const Step &step,
                         const KernelSet &kernels);
LaunchPlan planScatter(const RankRun &rank, const Step &step,
                       const KernelSet &kernels);
LaunchPlan planExperts(const RankRun &rank, const Step &step,
                       const KernelSet &kernels);

/// The type in which a run keeps values of `dtype`; "" or why kernels have none
/// for it.
std::string elementType(const RankRun &rank, DType dtype, kernels::DType &type);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_PLANNERS_H
