// A step of a run as a launch on one rank: which kernel, for how many rows.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_LAUNCHPLAN_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_LAUNCHPLAN_H

#include "devices/cpu/RankContext.h"
#include "devices/simt/plan/SimtDevice.h"
#include "devices/simt/plan/StepMatch.h"

#include <string>

namespace layline::runtime {

/// Mailboxes are 3 x ranks such buffers on each rank. Above, and where an
/// all_reduce can be done either way, rows are dealt out: one_shot sends each
/// addend to every rank, which pays for few tokens only.
constexpr std::int64_t kMostOneShotBytes = std::int64_t(1) << 20;
constexpr std::int64_t kFewOneShotBytes = std::int64_t(1) << 14;

struct LaunchPlan {
  RowWork work;
  const kernels::Kernel *kernel = nullptr; ///< null: none, for `reason`
  kernels::Problem problem;
  kernels::LaunchShape shape;
  std::string reason;
};

/// What a step is on a rank. All ranks of its group find the same kernel,
/// problem and shape, or all of them none. `keepsSums`: a kernel gives the rows
/// that it norms even where only a tap reads them, if it can.
LaunchPlan planLaunch(const RankContext<float> &rank, const Step &step,
                      const SimtOptions &options, bool keepsSums);

/// The type that kernels of a run compute in.
kernels::DType dtypeOf(layline_precision precision);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_LAUNCHPLAN_H
