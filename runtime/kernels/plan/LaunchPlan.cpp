#include "kernels/plan/LaunchPlan.h"

#include "kernels/LaunchSafety.h"
#include "plan/Error.h"
#include "transports/Transport.h"

#include <algorithm>
#include <numeric>

namespace layline::runtime {
namespace {

class Planner {
public:
  Planner(const RankRun &rank, const KernelSet &kernels, LaunchPlan &result)
      : rank_(rank), kernels_(kernels), result_(result), work_(result.work) {}

  /// "" or why there is no kernel.
  std::string plan() {
    std::string why = checkTypes();
    if (why.empty())
      why = measure();
    if (why.empty() && isSpread())
      why = checkParts();
    if (why.empty())
      why = checkOperands();
    if (why.empty())
      why = choose();
    return why;
  }

private:
  Shape shapeOf(const Operand &operand) const { return rank_.shape(operand); }
  std::int64_t ranks() const {
    return work_.group < 0 ? 1 : rank_.plan->groups[work_.group].ranks;
  }
  bool isSpread() const { return work_.scattered && ranks() > 1; }

  std::string checkTypes();
  std::string measure();
  std::string checkParts() const;
  std::string checkOperands() const;
  std::string choose();

  const RankRun &rank_;
  const KernelSet &kernels_;
  LaunchPlan &result_;
  const RowWork &work_;
  kernels::DType dtype_ = kernels::DType::F32;
};

/// Kernels have one type; a run in f32 keeps all types as floats.
std::string Planner::checkTypes() {
  const Operand *const all[] = {
      work_.rows,     work_.bias,   work_.innerWeight,
      work_.residual, work_.weight, work_.normBias,
      work_.gate,     work_.values, work_.residualOut};
  for (const Operand *operand : all) {
    if (!operand)
      continue;
    if (isInteger(operand->dtype) || isQuantized(operand->dtype))
      return concat("no kernel of rows takes ", dtypeName(operand->dtype));
    if (rank_.precision == LAYLINE_PRECISION_F32)
      continue;
    if (operand->dtype != work_.rows->dtype)
      return concat("it mixes ", dtypeName(work_.rows->dtype), " and ",
                    dtypeName(operand->dtype));
  }
  if (rank_.precision == LAYLINE_PRECISION_F32)
    return "";
  if (work_.rows->dtype != DType::BF16 && work_.rows->dtype != DType::F32)
    return concat("a run in bf16 has no kernels of ",
                  dtypeName(work_.rows->dtype));
  dtype_ = work_.rows->dtype == DType::BF16 ? kernels::DType::BF16
                                            : kernels::DType::F32;
  return "";
}

/// Rows and their width. Between ranks a row is what dimension 0 counts; a
/// local norm of heads has a row for each.
std::string Planner::measure() {
  Shape rows = shapeOf(*work_.rows), values = shapeOf(*work_.values);
  if (rows.empty())
    return "it has no rows";
  std::int64_t rest = std::accumulate(rows.begin() + 1, rows.end(),
                                      std::int64_t(1), std::multiplies<>());
  kernels::Problem &problem = result_.problem;
  problem.width = work_.hasNorm() || work_.bias ? rows.back() : rest;
  if (work_.group < 0) {
    problem.tokens = problem.width == 0 ? 0 : elements(rows) / problem.width;
  } else {
    if (problem.width != rest)
      return concat("a row of ", rest, " elements is normed in parts of ",
                    problem.width);
    problem.tokens = work_.input == kernels::Input::Owed ? rows[0] : values[0];
  }
  problem.hasBias = work_.bias;
  problem.hasInnerNorm = work_.innerWeight;
  problem.hasResidual = work_.residual;
  problem.keepsResidual = work_.residualOut;
  problem.hasGate = work_.gate;
  problem.hasNormBias = work_.normBias;
  return "";
}

/// Kernels deal rows out by balanced block.
std::string Planner::checkParts() const {
  const Plan &plan = *rank_.plan;
  const DimLayout &dim = work_.scattered->layout.dims[0];
  const Range &range = plan.ranges[dim.range];
  auto other = [&] {
    return concat("range '", range.id, "' is ", kindName(range.kind),
                  ", kernels deal rows out by balanced block");
  };
  const std::vector<int> axes = plan.groups[work_.group].axes;
  if (dim.unit != 1 || axes != std::vector<int>{range.axis})
    return other();
  std::vector<std::int64_t> coordinates = plan.coordinates(rank_.rank);
  Environment environment = rank_.environment;
  environment.coordinates = coordinates.data();
  for (std::int64_t member = 0; member < ranks(); ++member) {
    coordinates[range.axis] = member;
    Items items = plan.ownItems(dim.range, environment);
    kernels::RowBlock block =
        kernels::row_block(result_.problem.tokens, ranks(), member);
    bool isBlock = block.size == 0
                       ? items.empty()
                       : items.size() == 1 && items[0].begin == block.begin &&
                             items[0].size == block.size;
    if (!isBlock)
      return other();
  }
  return "";
}

/// Vectors are as wide as a row. What goes with own rows has as many, what goes
/// with all rows all.
std::string Planner::checkOperands() const {
  const kernels::Problem &problem = result_.problem;
  for (const Operand *vector :
       {work_.bias, work_.innerWeight, work_.weight, work_.normBias})
    if (vector && elements(shapeOf(*vector)) != problem.width)
      return concat("a weight of ", elements(shapeOf(*vector)),
                    " elements for rows of ", problem.width);
  std::int64_t rows = problem.tokens;
  if (isSpread()) {
    const Plan &plan = *rank_.plan;
    std::vector<std::int64_t> members =
        membersOf(plan, plan.groups[work_.group], rank_.rank);
    auto at = std::find(members.begin(), members.end(), rank_.rank);
    rows =
        kernels::row_block(problem.tokens, ranks(), at - members.begin()).size;
  }
  for (const Operand *operand : {work_.residual, work_.gate, work_.residualOut})
    if (operand && elements(shapeOf(*operand)) != rows * problem.width)
      return concat("an operand of ", elements(shapeOf(*operand)),
                    " elements beside rows of ", rows * problem.width);
  return "";
}

std::string Planner::choose() {
  kernels::Variant variant;
  variant.dtype = dtype_;
  variant.ranks = static_cast<int>(ranks());
  variant.norm = work_.norm;
  variant.function = work_.function;
  if (ranks() > 1) {
    variant.input = work_.input;
    variant.output = work_.output;
  }
  std::string error;
  kernels::Variant oneShot = variant;
  oneShot.family = kernels::Family::OneShot;
  oneShot.input = kernels::Input::Own;
  oneShot.output = kernels::Output::Own;
  const kernels::Problem &problem = result_.problem;
  std::int64_t bytes = 0;
  if (!kernels::multiplySizes(
          {problem.tokens, problem.width, kernels::bytesOf(dtype_)}, bytes,
          error))
    return error;
  // Only one_shot gives every rank all rows of the residual.
  bool mustBeOneShot = work_.isAllReduce() && ranks() > 1 && work_.residualOut;
  bool canBeOneShot = work_.isAllReduce() && ranks() > 1 && !work_.gate &&
                      dtype_ == dtypeOf(rank_.precision);
  if (mustBeOneShot && (!canBeOneShot || bytes > kMostOneShotBytes))
    return concat("all rows of the residual leave it, ", bytes,
                  " bytes; one_shot gives at most ", kMostOneShotBytes, " in ",
                  nameOf(dtypeOf(rank_.precision)));
  bool isOneShot = mustBeOneShot || (canBeOneShot && bytes <= kFewOneShotBytes);
  if (isOneShot)
    variant = oneShot;
  if (!kernels_.has(variant))
    return "no kernel is " + variant.name();
  if (!kernels::checkProblem(variant, problem, error))
    return error;
  result_.hasKernel = true;
  result_.variant = variant;
  result_.shape =
      kernels::shapeOf(variant, problem, kernels_.residentBlocks(variant));
  return "";
}

} // namespace

kernels::DType dtypeOf(layline_precision precision) {
  return precision == LAYLINE_PRECISION_BF16 ? kernels::DType::BF16
                                             : kernels::DType::F32;
}

kernels::RowBlock LaunchPlan::own(std::int64_t member) const {
  return kernels::row_block(problem.tokens, variant.ranks, member);
}

std::int64_t LaunchPlan::rowsIn(std::int64_t member) const {
  return variant.family == kernels::Family::OneShot ||
                 variant.input == kernels::Input::Owed
             ? problem.tokens
             : own(member).size;
}

std::int64_t LaunchPlan::rowsOut(std::int64_t member) const {
  return variant.family == kernels::Family::OneShot ||
                 variant.output == kernels::Output::Everyone
             ? problem.tokens
             : own(member).size;
}

std::int64_t LaunchPlan::rowsKept(std::int64_t member) const {
  return variant.family == kernels::Family::OneShot ? problem.tokens
                                                    : own(member).size;
}

LaunchPlan planLaunch(const RankRun &rank, const Step &step,
                      const KernelSet &kernels, bool keepsSums) {
  LaunchPlan result;
  if (!matchStep(step, result.work, result.reason))
    return result;
  if (keepsSums && result.work.keptSum) {
    LaunchPlan keeping = result;
    keeping.work.residualOut = keeping.work.keptSum;
    keeping.reason = Planner(rank, kernels, keeping).plan();
    if (keeping.hasKernel)
      return keeping;
  }
  result.reason = Planner(rank, kernels, result).plan();
  return result;
}

} // namespace layline::runtime
