//===- PlanVariants.cpp - one program per range of token counts -----------===//
#include "FormAttributes.h"
#include "Planner.h"
#include "VariantPrices.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/Support/Format.h"

namespace layline {
#define GEN_PASS_DEF_PLANVARIANTS
#include "lib/Planning/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;

namespace {

/// A variant to be made.
struct Range {
  int64_t min, max;
  std::string boundaries;
  std::string reason;
  std::optional<FormChoice> choice; ///< none: the program as it was placed
  bool isAuto = false;
};

struct PlanVariants : layline::impl::PlanVariantsBase<PlanVariants> {
  using PlanVariantsBase::PlanVariantsBase;

  void runOnOperation() override {
    if (failed(plan(getOperation())))
      signalPassFailure();
  }

private:
  LogicalResult plan(ModuleOp module);
  LogicalResult checkOptions(ModuleOp module);
  FailureOr<CostModel> getModel(ModuleOp module);
  void addChosen(const Planner &planner, int64_t min, int64_t max,
                 SmallVectorImpl<Range> &ranges);
};

} // namespace

LogicalResult PlanVariants::checkOptions(ModuleOp module) {
  if (minTokens < 1 || maxTokens < minTokens)
    return module.emitError("the token range is ")
           << minTokens.getValue() << ":" << maxTokens.getValue()
           << ", expected 1 <= min <= max";
  if (!parseBoundaries(boundaries))
    return module.emitError("boundaries are \"")
           << boundaries.getValue()
           << "\", expected auto, rows, whole, or rules up to token counts "
              "like whole:63,rows";
  if (!findExpertRows(experts))
    return module.emitError("experts are to be fed \"")
           << experts.getValue() << "\", expected auto, gathered or dispatched";
  if (experts == "dispatched" &&
      llvm::any_of(*parseBoundaries(boundaries), [](const BoundaryRule &rule) {
        return rule.form == "whole";
      }))
    return module.emitError("rows are to be dispatched to experts, but "
                            "boundaries are \"")
           << boundaries.getValue()
           << "\": a program that stays as it was placed gathers them";
  if (!findLaunchMode(launch))
    return module.emitError("kernels are launched by \"")
           << launch.getValue() << "\", expected graph or eager";
  return success();
}

FailureOr<CostModel> PlanVariants::getModel(ModuleOp module) {
  CostModelOptions options;
  auto attr = module->getAttrOfType<StringAttr>("grid.target");
  options.target = attr ? attr.str() : "cpu";
  options.calibrationFile = calibration;
  options.capabilityFile = kernels;
  options.launch = *findLaunchMode(launch);
  std::string error;
  std::optional<CostModel> model = CostModel::create(options, error);
  if (!model)
    return module.emitError() << error;
  return *model;
}

/// "rows" or "whole" if all sums are treated alike.
static StringRef nameBoundaries(const FormProgram &program,
                                const FormChoice &choice) {
  const FormGraph &graph = program.getGraph();
  bool rows = false, whole = false;
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op)
    rows |= program.isDispatched(op, choice.modes[op]);
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value) {
    rows |= choice.converts(value, Conversion::ReduceScatter);
    whole |= choice.converts(value, Conversion::AllReduce);
  }
  return rows && whole ? "mixed" : rows ? "rows" : "whole";
}

std::optional<SmallVector<BoundaryRule, 2>>
layline::parseBoundaries(StringRef text) {
  SmallVector<BoundaryRule, 2> rules;
  int64_t before = 0;
  do {
    auto [entry, rest] = text.split(',');
    bool isLast = text.find(',') == StringRef::npos;
    text = rest;
    auto [form, limit] = entry.split(':');
    BoundaryRule rule{form.str()};
    if (!llvm::is_contained({"auto", "rows", "whole"}, form) ||
        isLast != (entry.find(':') == StringRef::npos))
      return std::nullopt;
    if (!isLast) {
      if (limit.getAsInteger(10, rule.maxTokens) || rule.maxTokens <= before)
        return std::nullopt;
      before = rule.maxTokens;
    }
    rules.push_back(std::move(rule));
    if (isLast)
      return rules;
  } while (true);
}

void PlanVariants::addChosen(const Planner &planner, int64_t min, int64_t max,
                             SmallVectorImpl<Range> &ranges) {
  const FormProgram &program = planner.getProgram();
  Planner::Ranges found = planner.searchRanges(min, max);
  for (const TokenRange &range : found.search.ranges) {
    const FormChoice &choice = found.choices[range.choice];
    std::string reason;
    llvm::raw_string_ostream(reason)
        << "least cost of " << found.search.choices << " choices at "
        << found.search.counts << " token counts, at most "
        << llvm::format("%.2f", 100 * range.regret) << " % above the best";
    ranges.push_back({range.min, range.max,
                      nameBoundaries(program, choice).str(), std::move(reason),
                      choice, /*isAuto=*/true});
  }
}

LogicalResult PlanVariants::plan(ModuleOp module) {
  if (failed(checkOptions(module)))
    return failure();
  SmallVector<func::FuncOp> placed;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function->hasAttr(kVariantTokens))
      placed.push_back(function);
  if (placed.size() != 1)
    return module.emitError("has ")
           << placed.size() << " placed programs, expected one";

  auto axis = StringAttr::get(&getContext(), kTensorAxis);
  grid::MeshOp mesh = grid::lookupMesh(module);
  int64_t share =
      mesh ? mesh.getAxisSize(kContextAxis).value_or(1) : int64_t(1);
  SmallVector<BoundaryRule, 2> rules = *parseBoundaries(boundaries);
  auto asksFor = [&](StringRef form) {
    return llvm::any_of(
        rules, [&](const BoundaryRule &rule) { return rule.form == form; });
  };
  // A program that stays as it was placed needs neither tables nor a graph.
  std::optional<Planner> planner;
  std::optional<CostModel> model;
  if (asksFor("auto") || asksFor("rows")) {
    FailureOr<CostModel> found = getModel(module);
    if (failed(found))
      return failure();
    model = *found;
    planner.emplace(placed[0], axis, *model, share, fuse && asksFor("auto"),
                    *findExpertRows(experts));
    if (experts == "dispatched" && !planner->getProgram().hasRouting())
      return module.emitError("rows are to be dispatched to experts, but no "
                              "experts are dealt out over ")
             << axis << " with a sum behind them";
  }
  SmallVector<Range> ranges;
  int64_t from = minTokens;
  for (const BoundaryRule &rule : rules) {
    int64_t to = std::min<int64_t>(maxTokens, rule.maxTokens);
    if (to < from)
      continue;
    std::string why = "boundaries=" + boundaries + " was asked for";
    if (rule.form == "auto")
      addChosen(*planner, from, to, ranges);
    else if (rule.form == "rows")
      ranges.push_back({from, to, "rows", why, planner->chooseByRows(), false});
    else
      ranges.push_back({from, to, "whole", why, std::nullopt, false});
    from = to + 1;
  }

  OpBuilder builder(&getContext());
  builder.setInsertionPointAfter(placed[0]);
  SmallVector<PricedVariant> priced;
  for (auto [index, range] : llvm::enumerate(ranges)) {
    IRMapping mapping;
    auto variant = cast<func::FuncOp>(builder.clone(*placed[0], mapping));
    variant.setSymName("v" + std::to_string(index));
    variant->setAttr(kVariantTokens,
                     builder.getDenseI64ArrayAttr({range.min, range.max}));
    variant->setAttr(kVariantBoundaries,
                     builder.getStringAttr(range.boundaries));
    variant->setAttr(kVariantReason, builder.getStringAttr(range.reason));
    if (!range.choice)
      continue;
    if (range.choice->us == kNever)
      return placed[0].emitOpError("has no choice of forms that feeds every "
                                   "reader");
    const FormProgram &program = planner->getProgram();
    SmallVector<Operation *> ops;
    for (int op = 0; op < static_cast<int>(program.getGraph().ops.size()); ++op)
      ops.push_back(mapping.lookup(program.getOp(op)));
    annotate(program, *range.choice, ops);
    variant->setAttr(kVariantChosen, builder.getUnitAttr());
    if (range.isAuto) {
      variant->setAttr(kVariantKernels, builder.getUnitAttr());
      priced.push_back({variant, &*range.choice, range.min, range.max});
    }
  }
  if (planner)
    setPrices(*planner, priced);
  placed[0].setPrivate();
  return success();
}
