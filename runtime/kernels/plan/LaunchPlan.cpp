#include "kernels/plan/LaunchPlan.h"

#include "kernels/plan/Planners.h"
#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime {

kernels::DType dtypeOf(layline_precision precision) {
  return precision == LAYLINE_PRECISION_BF16 ? kernels::DType::BF16
                                             : kernels::DType::F32;
}

std::int64_t keptBytes(const RankRun &rank, DType dtype) {
  if (isInteger(dtype))
    return sizeof(std::int64_t);
  return rank.precision == LAYLINE_PRECISION_BF16 ? dtypeBytes(dtype)
                                                  : sizeof(float);
}

std::string elementType(const RankRun &rank, DType dtype,
                        kernels::DType &type) {
  if (isInteger(dtype) || isQuantized(dtype))
    return concat("no kernel of rows takes ", dtypeName(dtype));
  type = kernels::DType::F32;
  if (rank.precision == LAYLINE_PRECISION_F32)
    return "";
  if (dtype != DType::BF16 && dtype != DType::F32)
    return concat("a run in bf16 has no kernels of ", dtypeName(dtype));
  if (dtype == DType::BF16)
    type = kernels::DType::BF16;
  return "";
}

std::string LaunchPlan::name() const {
  if (variant.family != kernels::Family::MergeExperts)
    return variant.name();
  kernels::Variant sort = variant, permute = variant;
  sort.family = kernels::Family::SortByExpert;
  permute.family = kernels::Family::PermuteRows;
  return sort.name() + ", " + permute.name() + ", " + variant.name();
}

void LaunchPlan::addTo(kernels::WorkspaceNeed &need) const {
  kernels::addNeed(need, variant, problem, shape);
  if (variant.family == kernels::Family::Broadcast)
    need.maxChunks =
        std::max(need.maxChunks, (bytes + kChunkBytes - 1) / kChunkBytes);
}

kernels::RowBlock LaunchPlan::own(std::int64_t member) const {
  return kernels::row_block(problem.tokens, variant.ranks, member);
}

std::int64_t LaunchPlan::rowsIn(std::int64_t member) const {
  return variant.family == kernels::Family::OneShot || variant.isOwed()
             ? problem.tokens
             : own(member).size;
}

std::int64_t LaunchPlan::rowsOut(std::int64_t member) const {
  return variant.family == kernels::Family::OneShot || variant.isForEveryone()
             ? problem.tokens
             : own(member).size;
}

std::int64_t LaunchPlan::rowsKept(std::int64_t member) const {
  return variant.family == kernels::Family::OneShot ? problem.tokens
                                                    : own(member).size;
}

Region gatheredRegion(const RankRun &rank, const Step &gather,
                      std::int64_t member) {
  const Plan &plan = *rank.plan;
  auto dim = static_cast<std::size_t>(gather.attrs.dim);
  const DimLayout &layout = gather.arg("input").layout.dims[dim];
  // A member differs from this rank on the range's axis only.
  std::vector<std::int64_t> coordinates = plan.coordinates(rank.rank);
  coordinates[static_cast<std::size_t>(plan.ranges[layout.range].axis)] =
      member;
  Environment environment = rank.environment;
  environment.coordinates = coordinates.data();
  Region region = wholeRegion(rank.shape(gather.arg("output")));
  region[dim] = scaled(plan.ownItems(layout.range, environment), layout.unit);
  return region;
}

/// The kernel there is for a step, by its family.
static LaunchPlan planOfFamily(const RankRun &rank, const Step &step,
                               const KernelSet &kernels, bool keepsInner) {
  std::optional<kernels::Family> family = familyOf(step.kind);
  if (!family)
    return planRows(rank, step, kernels, keepsInner);
  switch (*family) {
  case kernels::Family::Rope:
    return planRope(rank, step, kernels);
  case kernels::Family::Broadcast:
    return planBroadcast(rank, step, kernels);
  case kernels::Family::ScatterPages:
    return planScatter(rank, step, kernels);
  default:
    return planExperts(rank, step, kernels);
  }
}

/// Of a launch that there is: by the switch where that can.
static LaunchPlan bySwitch(const RankRun &rank, const KernelSet &kernels,
                           LaunchPlan plan) {
  const kernels::Variant wanted = plan.variant.bySwitch();
  if (!kernels.whyNotBySwitch || !plan.variant.waits() ||
      wanted == plan.variant)
    return plan;
  std::string why = kernels.whyNotBySwitch(rank, plan);
  if (why.empty() && !kernels.has(wanted))
    why = "no kernel is " + wanted.name();
  if (!why.empty()) {
    plan.note = "not by the switch: " + why;
    return plan;
  }
  plan.variant = wanted;
  plan.shape =
      kernels::shapeOf(wanted, plan.problem, kernels.residentBlocks(wanted));
  return plan;
}

LaunchPlan planLaunch(const RankRun &rank, const Step &step,
                      const KernelSet &kernels, bool keepsInner) {
  LaunchPlan result = planOfFamily(rank, step, kernels, keepsInner);
  if (result.hasKernel && kernels.refuses) {
    result.reason = kernels.refuses(rank, result);
    result.hasKernel = result.reason.empty();
  }
  if (result.hasKernel)
    return bySwitch(rank, kernels, std::move(result));
  if (!kernels.refuses || !keepsInner)
    return result;
  // What it would keep may be why.
  LaunchPlan without = planLaunch(rank, step, kernels, false);
  return without.hasKernel ? without : result;
}

} // namespace layline::runtime
