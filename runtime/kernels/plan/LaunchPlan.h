// A step of a run as a launch on one rank: which kernel, for how many rows.
// What devices that launch kernels have in common; nothing here knows where
// they run.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPLAN_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPLAN_H

#include "kernels/Catalogue.h"
#include "kernels/plan/StepMatch.h"
#include "layline/runtime.h"
#include "plan/Plan.h"

#include <cstdint>
#include <functional>
#include <string>

namespace layline::runtime {

/// Mailboxes are 3 x ranks such buffers on each rank. Above, and where an
/// all_reduce can be done either way, rows are dealt out: one_shot sends each
/// addend to every rank, which pays for few tokens only.
constexpr std::int64_t kMostOneShotBytes = std::int64_t(1) << 20;
constexpr std::int64_t kFewOneShotBytes = std::int64_t(1) << 14;

/// One rank in a run: all that sizes depend on. Nothing is owned.
struct RankRun {
  const Plan *plan = nullptr;
  std::int64_t rank = 0;
  /// f32: everything is kept as float. bf16: as the plan says.
  layline_precision precision = LAYLINE_PRECISION_F32;
  Environment environment; ///< with the rank's coordinates and parts

  Shape shape(const Operand &operand) const {
    return localShape(operand.shape, operand.layout, environment);
  }
};

/// What a device has to launch with.
struct KernelSet {
  /// Whether it has the kernel.
  std::function<bool(const kernels::Variant &)> has;
  /// Blocks of kMaxThreads threads that are resident together on a rank, after
  /// what is left to others. Throws Error where there are none.
  std::function<std::uint32_t(const kernels::Variant &)> residentBlocks;
};

/// A launch, or why there is none. The rank's operands are those of `work`, of
/// the step; their rows are the rank's own or all (kernels/plan/LaunchParams.h
/// makes a kernel's parameters of their addresses).
struct LaunchPlan {
  RowWork work;
  bool hasKernel = false;
  kernels::Variant variant;
  kernels::Problem problem;
  kernels::LaunchShape shape;
  std::string reason; ///< empty with a kernel

  /// Rows of `work.rows`, of the values, and of the residual that the kernel
  /// takes and gives on a member of the group.
  std::int64_t rowsIn(std::int64_t member) const;
  std::int64_t rowsOut(std::int64_t member) const;
  std::int64_t rowsKept(std::int64_t member) const;
  kernels::RowBlock own(std::int64_t member) const;
};

/// What a step is on a rank. All ranks of its group find the same kernel,
/// problem and shape, or all of them none. `keepsSums`: a kernel gives the rows
/// that it norms even where only a tap reads them, if it can.
LaunchPlan planLaunch(const RankRun &rank, const Step &step,
                      const KernelSet &kernels, bool keepsSums);

/// The type that kernels of a run compute in, and mailboxes hold.
kernels::DType dtypeOf(layline_precision precision);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPLAN_H
