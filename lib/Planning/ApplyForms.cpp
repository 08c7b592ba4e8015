//===- ApplyForms.cpp - ops run in the forms that were chosen -------------===//
#include "ExpertRouting.h"
#include "FormAttributes.h"
#include "RowRegion.h"
#include "layline/Placement/Passes.h"
#include "layline/Planning/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

namespace layline {
#define GEN_PASS_DEF_PLANAPPLYFORMS
#include "lib/Planning/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// The forms that a value of the placed program is there in.
struct Forms {
  Value owed, rows, whole;
  /// The sites whose sums it owes, while it does.
  SmallVector<StringAttr, 1> sites;
};

class Applier {
public:
  Applier(func::FuncOp function, StringAttr axis)
      : function(function), axis(axis), builder(function.getContext()) {}

  LogicalResult apply();

private:
  LogicalResult run(Operation *op);
  LogicalResult setForm(Operation *op, Form form);
  FailureOr<Value> dispatch(Operation *op, StringAttr site);
  LogicalResult take(Operation *op, unsigned operand, Form form);
  LogicalResult convert(Operation *op, unsigned result,
                        ArrayRef<OpChoice::Converted> conversions);
  Value getRows(Value whole);
  void giveKernel(Operation *op, int64_t kernel);

  func::FuncOp function;
  StringAttr axis;
  OpBuilder builder;
  DenseMap<Value, Forms> forms;
  /// The place of the plain program's all_reduces, by the value they return.
  SmallVector<AllReduceOp> paid;
  /// Of the placed program: ops whose rows can be dispatched, and the sites of
  /// the sums that pay them and what joins them.
  DenseSet<Operation *> routed;
  DenseMap<Value, StringAttr> joinedSites;
};

} // namespace

static StringRef getName(Form form) {
  return form == Form::Owed ? "owed" : form == Form::Rows ? "rows" : "whole";
}

void Applier::giveKernel(Operation *op, int64_t kernel) {
  if (kernel >= 0)
    op->setAttr(kKernel, builder.getI64IntegerAttr(kernel));
}

/// A whole value gives its rows for nothing.
Value Applier::getRows(Value whole) {
  Forms &entry = forms[whole];
  if (!entry.whole)
    entry.whole = whole;
  if (entry.rows)
    return entry.rows;
  // Of the reduced or gathered value: the value itself may owe.
  auto type = cast<RankedTensorType>(entry.whole.getType());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(entry.whole);
  entry.rows = SliceOp::create(
      builder, whole.getLoc(),
      withLayout(type,
                 getLayout(type).withDim(0, splitRowsFurther(type, axis))),
      entry.whole, builder.getI64IntegerAttr(0), axis);
  return entry.rows;
}

LogicalResult Applier::take(Operation *op, unsigned operand, Form form) {
  Value value = op->getOperand(operand);
  auto found = forms.find(value);
  if (found == forms.end()) {
    // No choice is about it: it is whole, or split over the axis.
    if (form == Form::Rows)
      op->setOperand(operand, getRows(value));
    return success();
  }
  Forms &entry = found->second;
  Value taken = form == Form::Owed   ? entry.owed
                : form == Form::Rows ? entry.rows
                                     : entry.whole;
  if (!taken && form == Form::Rows && entry.whole)
    taken = getRows(value);
  if (!taken)
    return op->emitOpError("takes operand #")
           << operand << " " << getName(form)
           << ", but it is not there in that form and nothing converts it";
  op->setOperand(operand, taken);
  return success();
}

/// The op takes its operands in that form; its results follow from the rules of
/// the types.
LogicalResult Applier::setForm(Operation *op, Form form) {
  FactorModel model;
  if (auto layoutOp = dyn_cast<LayoutOpInterface>(op))
    layoutOp.getFactors(model);
  SmallVector<unsigned, 3> rows = getRowOperands(model);
  if (form == Form::Rows && !isa<RowwiseOpInterface>(op))
    return op->emitOpError("is to run by rows, but is not row-wise");
  auto linear = dyn_cast<PartialLinearOpInterface>(op);
  if (form == Form::Owed && !linear)
    return op->emitOpError("is to run on values that owe a sum, but is not "
                           "linear in any operand");
  SmallVector<unsigned, 2> addends;
  if (linear)
    addends = linear.getAddends();
  bool takesOwed = false;
  for (unsigned index = 0; index < op->getNumOperands(); ++index) {
    bool isRow = llvm::is_contained(rows, index);
    Form taken = Form::Whole;
    if (form == Form::Rows && isRow)
      taken = Form::Rows;
    if (form == Form::Owed && isRow && linear.isLinearIn(index) &&
        forms.contains(op->getOperand(index)) &&
        (llvm::is_contained(addends, index) || !takesOwed)) {
      taken = Form::Owed;
      takesOwed = true;
    }
    if (failed(take(op, index, taken)))
      return failure();
  }
  if (form == Form::Whole)
    return success();
  SmallVector<LayoutAttr> operands, results;
  for (Type type : op->getOperandTypes())
    operands.push_back(getLayout(type));
  if (failed(inferLayouts(op, operands, results,
                          [&] { return op->emitOpError(); })))
    return failure();
  for (auto [result, layout] : llvm::zip(op->getResults(), results))
    result.setType(
        withLayout(cast<RankedTensorType>(result.getType()), layout));
  return success();
}

/// Each rank sends its own rows to the ranks of their experts: what comes back.
FailureOr<Value> Applier::dispatch(Operation *op, StringAttr site) {
  SmallVector<Value, 3> rows;
  for (unsigned index = 0; index < 3; ++index) {
    if (failed(take(op, index, Form::Rows)))
      return failure();
    rows.push_back(op->getOperand(index));
  }
  for (unsigned index = 3; index < op->getNumOperands(); ++index)
    if (failed(take(op, index, Form::Whole)))
      return failure();
  return dispatchRows(op, rows, axis, site);
}

LogicalResult Applier::convert(Operation *op, unsigned result,
                               ArrayRef<OpChoice::Converted> conversions) {
  Value made = op->getResult(result);
  auto type = cast<RankedTensorType>(made.getType());
  Forms &entry = forms[made];
  auto wholeType = [&] {
    LayoutAttr layout =
        getLayout(entry.rows ? entry.rows.getType() : type).withoutOwes({axis});
    if (entry.rows)
      layout = layout.withDim(0, layout.getDims()[0].withoutLast());
    return withLayout(type, layout);
  };
  SmallVector<Attribute> siteNames;
  std::string joined = llvm::join(
      llvm::map_range(entry.sites, [](StringAttr s) { return s.getValue(); }),
      "+");
  StringAttr site =
      joined.empty() ? StringAttr() : builder.getStringAttr(joined);
  for (const OpChoice::Converted &converted : conversions) {
    Operation *conversion = nullptr;
    switch (converted.conversion) {
    case Conversion::ReduceScatter: {
      if (!entry.owed || entry.rows)
        return op->emitOpError("has result #")
               << result << " scattered, but it owes no sum";
      LayoutAttr layout = getLayout(type).withoutOwes({axis});
      RankedTensorType plain = withLayout(type, layout);
      auto scatter = ReduceScatterOp::create(
          builder, op->getLoc(),
          withLayout(type, layout.withDim(0, splitRowsFurther(plain, axis))),
          entry.owed, builder.getI64IntegerAttr(0), axis, site);
      entry.rows = scatter;
      conversion = scatter;
      break;
    }
    case Conversion::AllReduce: {
      if (!entry.owed || entry.rows)
        return op->emitOpError("has result #")
               << result << " reduced, but it owes no sum";
      auto reduce =
          AllReduceOp::create(builder, op->getLoc(), wholeType(), entry.owed,
                              builder.getArrayAttr({axis}), site, StringAttr());
      entry.whole = reduce;
      conversion = reduce;
      break;
    }
    case Conversion::AllGather: {
      if (!entry.rows || entry.whole)
        return op->emitOpError("has result #")
               << result << " gathered, but it is not there by rows";
      auto gather =
          AllGatherOp::create(builder, op->getLoc(), wholeType(), entry.rows,
                              builder.getI64IntegerAttr(0), axis);
      entry.whole = gather;
      conversion = gather;
      break;
    }
    }
    giveKernel(conversion, converted.kernel);
  }
  return success();
}

LogicalResult Applier::run(Operation *op) {
  FailureOr<OpChoice> choice = readChoice(op);
  if (failed(choice))
    return failure();
  op->removeAttr(kChoice);
  // What a value stands for is known by the op's operands in the placed
  // program, before they are replaced.
  SmallVector<StringAttr, 1> sites;
  if (choice->form == Form::Owed)
    for (Value operand : op->getOperands())
      if (auto found = forms.find(operand); found != forms.end())
        for (StringAttr site : found->second.sites)
          if (!llvm::is_contained(sites, site))
            sites.push_back(site);
  bool isDispatched = choice->form == Form::Rows && routed.contains(op);
  if (isDispatched) {
    FailureOr<Value> returned =
        dispatch(op, joinedSites.lookup(op->getResult(0)));
    if (failed(returned))
      return failure();
    forms[op->getResult(0)].rows = *returned;
    builder.setInsertionPointAfterValue(*returned);
  } else {
    if (failed(setForm(op, choice->form)))
      return failure();
    giveKernel(op, choice->kernel);
    builder.setInsertionPointAfter(op);
  }
  for (OpResult result : op->getResults()) {
    auto conversions = choice->results[result.getResultNumber()];
    LayoutAttr layout = getLayout(result.getType());
    // The plain program pays a sum right behind the op that owes it.
    AllReduceOp sum;
    for (Operation *reader : result.getUsers())
      if (auto reduce = dyn_cast<AllReduceOp>(reader);
          reduce && isRowSum(reduce, axis))
        sum = reduce;
    if (!isDispatched && !result.hasOneUse())
      sum = {};
    bool owes = !isDispatched && layout && layout.owesOver(axis);
    if (!owes && choice->form == Form::Whole)
      continue;
    if (owes && conversions.empty() && choice->form == Form::Whole && !sum)
      continue;
    Forms &entry = forms[result];
    if (owes) {
      entry.owed = result;
      entry.sites = sites;
      if (sum && sum.getSiteAttr())
        entry.sites.push_back(sum.getSiteAttr());
      else if (StringAttr joined = joinedSites.lookup(result))
        entry.sites.push_back(joined);
    } else if (choice->form == Form::Rows && !isDispatched) {
      entry.rows = result;
    }
    if (failed(convert(op, result.getResultNumber(), conversions)))
      return failure();
    if (sum) {
      // Its readers look up the forms of what it reduced.
      Forms copy = forms[result];
      forms[sum.getResult()] = std::move(copy);
      paid.push_back(sum);
    }
  }
  return success();
}

LogicalResult Applier::apply() {
  Block &body = function.getBody().front();
  SmallVector<Operation *> ops;
  for (Operation &op : body) {
    ops.push_back(&op);
    if (!canDispatch(&op, axis))
      continue;
    routed.insert(&op);
    SmallVector<Value> addends = {op.getResult(0)};
    AllReduceOp sum = findRowSum(op.getResult(0), axis, [&](Operation *join) {
      llvm::append_range(addends, join->getOperands());
    });
    for (Value addend : addends)
      joinedSites[addend] = sum.getSiteAttr();
  }
  for (Operation *op : ops) {
    if (auto reduce = dyn_cast<AllReduceOp>(op))
      if (llvm::is_contained(paid, reduce))
        continue;
    if (failed(run(op)))
      return failure();
  }
  for (AllReduceOp reduce : llvm::reverse(paid)) {
    if (!reduce->use_empty())
      return reduce.emitOpError("is still read: its readers were not given "
                                "another form");
    reduce.erase();
  }
  function.setType(FunctionType::get(function.getContext(),
                                     body.getArgumentTypes(),
                                     body.getTerminator()->getOperandTypes()));
  return success();
}

namespace {
struct PlanApplyForms : layline::impl::PlanApplyFormsBase<PlanApplyForms> {
  using PlanApplyFormsBase::PlanApplyFormsBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || !function->hasAttr(kVariantChosen))
      return;
    function->removeAttr(kVariantChosen);
    auto axis = StringAttr::get(&getContext(), kTensorAxis);
    if (failed(Applier(function, axis).apply()))
      signalPassFailure();
  }
};
} // namespace
