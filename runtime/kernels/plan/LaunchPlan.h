// A step of a run as a launch on one rank: which kernel, for how many rows.
// What devices that launch kernels have in common; nothing here knows where
// they run.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPLAN_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPLAN_H

#include "engine/GlobalValue.h"
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
/// Of a broadcast: what is read is on its way while the next is written.
constexpr std::int64_t kChunkBytes = std::int64_t(1) << 12;

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

struct LaunchPlan;

/// What a device has to launch with.
struct KernelSet {
  /// Whether it has the kernel.
  std::function<bool(const kernels::Variant &)> has;
  /// Blocks of maxThreads() threads that are resident together on a rank, after
  /// what is left to others. Throws Error where there are none.
  std::function<std::uint32_t(const kernels::Variant &)> residentBlocks;
  /// Why the device does not launch what it has a kernel for; "" if it does.
  /// May be empty.
  std::function<std::string(const RankRun &, const LaunchPlan &)> refuses;
  /// Why the switch does not sum and replicate the rows of a launch that it has
  /// a kernel for; "" if it does. Empty: it is not asked to.
  std::function<std::string(const RankRun &, const LaunchPlan &)>
      whyNotBySwitch;
};

/// A launch, or why there is none. Of families of rows and of gather_rows the
/// operands are those of `work`, their rows the rank's own or all
/// (kernels/plan/LaunchParams.h makes a kernel's parameters of their
/// addresses); of others the step's.
struct LaunchPlan {
  const Step *step = nullptr;
  bool hasKernel = false;
  kernels::Variant variant;
  kernels::Problem problem;
  kernels::LaunchShape shape;
  std::string reason; ///< empty with a kernel
  std::string note;   ///< with a kernel: why it is not another one

  int group = -1; ///< of the plan; -1: no rank needs another one
  RowWork work;   ///< row_collective, one_shot, gather_rows
  struct {
    std::int32_t heads = 0, headWidth = 0, rotary = 0;
  } rope;
  std::int64_t bytes = 0;        ///< broadcast
  std::int64_t elementBytes = 0; ///< gather_rows; problem.width is bytes

  /// The kernel, of a mixture all three: sort_by_expert and permute_rows come
  /// before the products, merge_experts after them.
  std::string name() const;
  /// What its group's workspace has to hold.
  void addTo(kernels::WorkspaceNeed &need) const;

  /// Rows of `work.rows`, of what comes out, and of the residual that the
  /// kernel takes and gives on a member of the group.
  std::int64_t rowsIn(std::int64_t member) const;
  std::int64_t rowsOut(std::int64_t member) const;
  std::int64_t rowsKept(std::int64_t member) const;
  kernels::RowBlock own(std::int64_t member) const;
  /// Everyone gets rows that others have done the work of: rowsOut() are more
  /// than the operands in front of the gather have.
  bool isGathered() const {
    return variant.isForEveryone() && !work.isAllReduce();
  }
  /// Scales of a row.
  std::int64_t scaleColumns() const {
    return variant.scales == kernels::ScaleKind::Group
               ? problem.width / problem.groupSize
               : 1;
  }
};

/// What a step is on a rank. All ranks of its group find the same kernel,
/// problem and shape, or all of them none. `keepsInner`: a kernel gives the
/// rows that it norms and quantizes even where only a tap reads them, if it
/// can.
LaunchPlan planLaunch(const RankRun &rank, const Step &step,
                      const KernelSet &kernels, bool keepsInner);

/// Where a member's part of an all_gather's input stands in its output.
Region gatheredRegion(const RankRun &rank, const Step &gather,
                      std::int64_t member);

/// Bytes of an element as devices keep it: integers in 64 bits, numbers as
/// RankRun::precision says.
std::int64_t keptBytes(const RankRun &rank, DType dtype);

/// The type that kernels of a run compute in, and mailboxes hold.
kernels::DType dtypeOf(layline_precision precision);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPLAN_H
