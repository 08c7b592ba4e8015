// Launches of kernels that are one step each: rope, broadcast, rows into a
// cache, the local side of a mixture.
#include "kernels/plan/Planners.h"
#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime {
namespace {

/// kernels/Rope.cuh.
constexpr std::int64_t kMaxPairs = 256;

std::uint32_t threadsFor(std::int64_t items) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      (items + 31) / 32 * 32, 32, kernels::kCopyThreads));
}

/// Takes the kernel if the device has it.
void choose(const KernelSet &kernels, LaunchPlan &result, std::int64_t blocks,
            std::uint32_t threads) {
  if (!kernels.has(result.variant)) {
    result.reason = "no kernel is " + result.variant.name();
    return;
  }
  std::int64_t resident = kernels.residentBlocks(result.variant);
  result.shape.grid =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(blocks, 1, resident));
  result.shape.block = threads;
  result.shape.cooperative = result.variant.waits();
  result.hasKernel = true;
}

} // namespace

LaunchPlan planRope(const RankRun &rank, const Step &step,
                    const KernelSet &kernels) {
  LaunchPlan result;
  result.step = &step;
  kernels::Variant &variant = result.variant;
  variant.family = kernels::Family::Rope;
  const Operand &input = step.arg("input");
  result.reason = elementType(rank, input.dtype, variant.dtype);
  if (!result.reason.empty())
    return result;
  Shape shape = rank.shape(input);
  std::int64_t rotary = step.attrs.rotary,
               vector = kVectorBytes / kernels::bytesOf(variant.dtype);
  switch (step.attrs.style) {
  case RopeStyle::Half:
    variant.style = kernels::RopeStyle::Half;
    break;
  case RopeStyle::Interleaved:
    variant.style = kernels::RopeStyle::Interleaved;
    break;
  case RopeStyle::InterleavedToHalf:
    variant.style = kernels::RopeStyle::InterleavedToHalf;
  }
  variant.byElement = rotary % (2 * vector) != 0 || shape[2] % vector != 0;
  result.problem.tokens = shape[0];
  result.problem.width = shape[1] * shape[2];
  if (rotary / 2 > kMaxPairs) {
    result.reason = concat("it rotates ", rotary,
                           " features, expected at most ", 2 * kMaxPairs);
    return result;
  }
  if (!kernels::checkProblem(variant, result.problem, result.reason))
    return result;
  result.rope = {static_cast<std::int32_t>(shape[1]),
                 static_cast<std::int32_t>(shape[2]),
                 static_cast<std::int32_t>(rotary)};
  std::int64_t each = variant.byElement ? 1 : vector;
  choose(kernels, result, shape[0],
         threadsFor((result.problem.width - shape[1] * rotary / 2) / each));
  return result;
}

LaunchPlan planBroadcast(const RankRun &rank, const Step &step,
                         const KernelSet &kernels) {
  LaunchPlan result;
  result.step = &step;
  result.group = step.attrs.group;
  kernels::Variant &variant = result.variant;
  variant.family = kernels::Family::Broadcast;
  const Operand &input = step.arg("input");
  std::int64_t ranks = rank.plan->groups[step.attrs.group].ranks,
               each = sizeof(std::int64_t);
  if (ranks == 1) {
    result.reason = "its group is one rank";
    return result;
  }
  if (!isInteger(input.dtype)) {
    kernels::DType type = kernels::DType::F32;
    result.reason = elementType(rank, input.dtype, type);
    each = kernels::bytesOf(type);
  }
  if (!result.reason.empty())
    return result;
  variant.dtype = kernels::Variant().dtype;
  variant.ranks = static_cast<int>(ranks);
  std::int64_t count = elements(rank.shape(input));
  result.bytes = count * each;
  if (result.bytes % kVectorBytes != 0) {
    result.reason = concat("it is ", result.bytes,
                           " bytes, kernels move multiples of ", kVectorBytes);
    return result;
  }
  choose(kernels, result, (result.bytes + kChunkBytes - 1) / kChunkBytes,
         threadsFor(result.bytes / kVectorBytes));
  return result;
}

LaunchPlan planScatter(const RankRun &rank, const Step &step,
                       const KernelSet &kernels) {
  LaunchPlan result;
  result.step = &step;
  result.variant.family = kernels::Family::ScatterPages;
  Shape shape = rank.shape(step.arg("input"));
  result.problem.tokens = shape[0];
  result.problem.width = shape[0] == 0 ? 0 : elements(shape) / shape[0];
  choose(kernels, result, shape[0], threadsFor(result.problem.width));
  return result;
}

LaunchPlan planExperts(const RankRun &rank, const Step &step,
                       const KernelSet &kernels) {
  LaunchPlan result;
  result.step = &step;
  const Operand &input = step.arg("input"), &output = step.arg("output");
  kernels::Variant &variant = result.variant;
  result.reason = elementType(rank, input.dtype, variant.dtype);
  kernels::DType merged = variant.dtype;
  if (result.reason.empty())
    result.reason = elementType(rank, output.dtype, merged);
  if (result.reason.empty() && merged != variant.dtype)
    result.reason = concat("it mixes ", dtypeName(input.dtype), " and ",
                           dtypeName(output.dtype));
  if (!result.reason.empty())
    return result;
  Shape rows = rank.shape(input), results = rank.shape(output);
  for (std::int64_t width : {rows.back(), results.back()}) {
    result.problem.tokens = rows[0];
    result.problem.width = width;
    variant.family = kernels::Family::PermuteRows;
    if (!kernels::checkProblem(variant, result.problem, result.reason))
      return result;
  }
  for (kernels::Family family :
       {kernels::Family::SortByExpert, kernels::Family::PermuteRows,
        kernels::Family::MergeExperts}) {
    variant.family = family;
    kernels::Variant asked = variant;
    // Ids have one type whatever the rows have.
    if (family == kernels::Family::SortByExpert)
      asked.dtype = kernels::Variant().dtype;
    if (!kernels.has(asked)) {
      result.reason = "no kernel is " + asked.name();
      return result;
    }
  }
  choose(
      kernels, result, rows[0],
      threadsFor(rows.back() * kernels::bytesOf(variant.dtype) / kVectorBytes));
  return result;
}

} // namespace layline::runtime
