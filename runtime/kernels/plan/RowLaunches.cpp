// Launches of kernels of rows: row_collective and one_shot, and gather_rows of
// what those do not take.
#include "kernels/plan/Planners.h"

#include "kernels/LaunchSafety.h"
#include "plan/Error.h"
#include "transports/Transport.h"

#include <algorithm>
#include <numeric>
#include <vector>

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
    if (why.empty() && work_.isArranged)
      why = arrange();
    else if (why.empty() && isSpread())
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
  /// An all_gather with nothing before it, to which rows are bytes.
  bool isPlainGather() const {
    return result_.step->kind == StepKind::AllGather;
  }

  std::string checkTypes();
  std::string measure();
  std::string arrange();
  std::string checkParts() const;
  std::string checkOperands() const;
  std::string choose();
  std::string chooseGather();

  const RankRun &rank_;
  const KernelSet &kernels_;
  LaunchPlan &result_;
  const RowWork &work_;
  kernels::DType dtype_ = kernels::DType::F32;
  /// Kernels of rows do not compute in this type.
  bool areBytes_ = false;
};

/// Kernels have one type; a run in f32 keeps all types as floats.
std::string Planner::checkTypes() {
  const DType moved = work_.rows->dtype;
  areBytes_ = isPlainGather() && (isInteger(moved) || isQuantized(moved));
  if (areBytes_)
    return "";
  const Operand *const all[] = {
      work_.rows,   work_.bias,       work_.innerWeight, work_.residual,
      work_.weight, work_.normBias,   work_.gate,        work_.values,
      work_.exact,  work_.residualOut};
  for (const Operand *operand : all) {
    if (!operand)
      continue;
    kernels::DType type = kernels::DType::F32;
    if (std::string why = elementType(rank_, operand->dtype, type);
        !why.empty())
      return why;
    if (operand == work_.rows)
      dtype_ = type;
    if (type != dtype_)
      return concat("it mixes ", dtypeName(work_.rows->dtype), " and ",
                    dtypeName(operand->dtype));
  }
  return "";
}

/// Rows and their width. Between ranks a row is what dimension 0 counts; a
/// local norm of heads has a row for each.
std::string Planner::measure() {
  Shape rows = shapeOf(*work_.rows), values = shapeOf(*work_.last());
  if (rows.empty())
    return "it has no rows";
  std::int64_t rest = std::accumulate(rows.begin() + 1, rows.end(),
                                      std::int64_t(1), std::multiplies<>());
  kernels::Problem &problem = result_.problem;
  bool areWhole = work_.hasNorm() || work_.bias || work_.isQuantized();
  problem.width = areWhole ? rows.back() : rest;
  if (work_.group < 0) {
    problem.tokens = problem.width == 0 ? 0 : elements(rows) / problem.width;
    // Work on elements does not mind where a row ends.
    while (!areWhole && problem.width % 8 != 0 && problem.tokens > 0 &&
           problem.tokens % 2 == 0) {
      problem.width *= 2;
      problem.tokens /= 2;
    }
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
  problem.groupSize = work_.groupSize;
  problem.wantsValues = !work_.isQuantized() || work_.exact;
  return "";
}

/// Parts are as many rows of a kernel as the members hold, in the order of the
/// members: where those are rows, dealt out by balanced block if not by block;
/// where they are columns, equally many.
std::string Planner::arrange() {
  if (ranks() == 1 || (result_.step->attrs.dim == 0 && checkParts().empty())) {
    result_.work.isArranged = false;
    return "";
  }
  const Step &gather = *result_.step;
  auto dim = static_cast<std::size_t>(gather.attrs.dim);
  const Shape whole = shapeOf(gather.arg("output"));
  kernels::Problem &problem = result_.problem;
  std::int64_t inner =
      std::accumulate(whole.begin() + static_cast<std::ptrdiff_t>(dim) + 1,
                      whole.end(), std::int64_t(1), std::multiplies<>());
  std::int64_t outer = std::accumulate(
      whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(dim),
      std::int64_t(1), std::multiplies<>());
  std::vector<std::int64_t> held;
  for (std::int64_t member = 0; member < ranks(); ++member)
    held.push_back(
        runtime::shapeOf(gatheredRegion(rank_, gather, member))[dim]);
  if (dim > 0) {
    problem.tokens = ranks() * outer;
    problem.width = held.front() * inner;
  }
  for (std::int64_t member = 0; member < ranks(); ++member) {
    std::int64_t expected =
        dim > 0 ? held.front()
                : kernels::row_block(problem.tokens, ranks(), member).size;
    if (std::int64_t found = held[static_cast<std::size_t>(member)];
        found != expected)
      return concat("member ", member, " holds ", found, " of ", whole[dim],
                    dim > 0 ? " columns, kernels gather equal parts"
                            : " rows, kernels deal rows out by balanced block");
  }
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
  if (work_.isArranged)
    return "";
  std::int64_t rows = problem.tokens;
  if (isSpread()) {
    const Plan &plan = *rank_.plan;
    std::vector<std::int64_t> members =
        membersOf(plan, plan.groups[work_.group], rank_.rank);
    auto at = std::find(members.begin(), members.end(), rank_.rank);
    rows =
        kernels::row_block(problem.tokens, ranks(), at - members.begin()).size;
  }
  for (const Operand *operand :
       {work_.residual, work_.gate, work_.exact, work_.residualOut})
    if (operand && elements(shapeOf(*operand)) != rows * problem.width)
      return concat("an operand of ", elements(shapeOf(*operand)),
                    " elements beside rows of ", rows * problem.width);
  return "";
}

/// What is only moved needs no kernel that knows its type, nor one that keeps
/// rows in registers.
std::string Planner::chooseGather() {
  if (ranks() == 1)
    return "its group is one rank";
  kernels::Variant variant;
  variant.family = kernels::Family::GatherRows;
  variant.ranks = static_cast<int>(ranks());
  variant.output = kernels::Output::Everyone;
  kernels::Problem problem;
  problem.tokens = result_.problem.tokens;
  std::string error;
  result_.elementBytes = keptBytes(rank_, work_.rows->dtype);
  if (!kernels::multiplySizes({result_.problem.width, result_.elementBytes},
                              problem.width, error))
    return error;
  variant.byElement = problem.width % kVectorBytes != 0;
  if (!kernels_.has(variant))
    return "no kernel is " + variant.name();
  if (!kernels::checkProblem(variant, problem, error))
    return error;
  result_.hasKernel = true;
  result_.variant = variant;
  result_.problem = problem;
  result_.shape =
      kernels::shapeOf(variant, problem, kernels_.residentBlocks(variant));
  return "";
}

std::string Planner::choose() {
  if (areBytes_)
    return chooseGather();
  kernels::Variant variant;
  variant.dtype = dtype_;
  variant.ranks = static_cast<int>(ranks());
  variant.norm = work_.norm;
  variant.function = work_.function;
  variant.scales = work_.scales;
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
    error = "no kernel is " + variant.name();
  if (!error.empty() || !kernels::checkProblem(variant, problem, error))
    return isPlainGather() && chooseGather().empty() ? "" : error;
  result_.hasKernel = true;
  result_.variant = variant;
  result_.shape =
      kernels::shapeOf(variant, problem, kernels_.residentBlocks(variant));
  return "";
}

} // namespace

LaunchPlan planRows(const RankRun &rank, const Step &step,
                    const KernelSet &kernels, bool keepsInner) {
  LaunchPlan result;
  result.step = &step;
  if (!matchRows(step, result.work, result.reason))
    return result;
  result.group = result.work.group;
  if (keepsInner && (result.work.keptSum || result.work.keptExact)) {
    LaunchPlan keeping = result;
    if (keeping.work.keptSum)
      keeping.work.residualOut = keeping.work.keptSum;
    if (keeping.work.keptExact)
      keeping.work.exact = keeping.work.keptExact;
    keeping.reason = Planner(rank, kernels, keeping).plan();
    if (keeping.hasKernel)
      return keeping;
  }
  result.reason = Planner(rank, kernels, result).plan();
  return result;
}

} // namespace layline::runtime
