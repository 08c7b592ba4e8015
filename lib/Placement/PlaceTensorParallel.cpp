//===- PlaceTensorParallel.cpp - the plain tensor-parallel program --------===//
#include "dialects/Decoder/Decoder.h"
#include "layline/Placement/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <numeric>
#include <set>

namespace layline {
#define GEN_PASS_DEF_PLACETENSORPARALLEL
#include "lib/Placement/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// A split dimension, for the check that parts are even.
struct SplitExtent {
  StringRef factor;
  int64_t items;
  int64_t readers; // 0: a block split
  friend bool operator<(const SplitExtent &a, const SplitExtent &b) {
    return std::tie(a.factor, a.items, a.readers) <
           std::tie(b.factor, b.items, b.readers);
  }
  bool divides(int64_t parts) const {
    // Replicated KV heads: each head on as many ranks.
    return readers ? items % parts == 0 || parts % items == 0
                   : items % parts == 0;
  }
};

class Placer {
public:
  Placer(func::FuncOp function, int64_t tp)
      : function(function), tp(tp), context(function.getContext()),
        axis(StringAttr::get(context, kTensorAxis)) {}

  /// Walks backwards: which split each value should have.
  LogicalResult carrySplitsBack();
  /// Walks forwards: the layout each value gets, and the sums that follow.
  LogicalResult place();
  LogicalResult checkEven();

private:
  LogicalResult placeOp(LayoutOpInterface op);
  void paySums(Operation *op);

  func::FuncOp function;
  int64_t tp;
  MLIRContext *context;
  StringAttr axis;
  DenseMap<Value, LayoutAttr> wanted;
  std::set<SplitExtent> splits;
};

} // namespace

static LayoutAttr wholeLayout(Value value) {
  return LayoutAttr::getWhole(
      value.getContext(), cast<RankedTensorType>(value.getType()).getRank());
}

static void setLayout(Value value, LayoutAttr layout) {
  value.setType(withLayout(cast<RankedTensorType>(value.getType()), layout));
}

/// The layout of a value whose dimensions are bound to factors with splits.
/// Null, with a diagnostic, if there is none.
static LayoutAttr layoutFromFactors(Operation *op, ArrayRef<DimFactor> dims,
                                    ArrayRef<SplitAttr> factors) {
  SmallVector<SplitAttr, 3> layout =
      getDimSplits(dims, [&](unsigned i) { return factors[i]; });
  auto emitError = [&] { return op->emitOpError(); };
  return LayoutAttr::getChecked(EmitError(emitError), op->getContext(),
                                ArrayRef<SplitAttr>(layout),
                                ArrayRef<StringAttr>());
}

LogicalResult Placer::carrySplitsBack() {
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    auto layoutOp = dyn_cast<LayoutOpInterface>(op);
    if (!layoutOp || op.getNumOperands() == 0)
      continue;
    FactorModel model;
    layoutOp.getFactors(model);
    SmallVector<SplitAttr, 6> factors(model.factors.size());
    StringRef own = layoutOp.getTensorParallelFactor();
    std::optional<unsigned> ownFactor =
        own.empty() ? std::nullopt : model.find(own);
    if (ownFactor)
      factors[*ownFactor] = SplitAttr::get(axis);
    for (auto [result, dims] : llvm::zip(op.getResults(), model.results))
      if (LayoutAttr layout = wanted.lookup(result))
        for (auto [split, bound] : llvm::zip(layout.getDims(), dims)) {
          const Factor &factor = model.factors[bound.factor];
          if (!split || factor.kind == FactorKind::NeedWhole)
            continue;
          if (split.getUnit() % bound.unit)
            return op.emitOpError("cannot be split in units of ")
                   << split.getUnit() << " elements: items of '" << factor.name
                   << "' have " << bound.unit;
          factors[bound.factor] = split.withUnit(split.getUnit() / bound.unit);
        }
    for (auto [index, factor] : llvm::enumerate(model.factors))
      if (factor.kind == FactorKind::ReadBy && factors[factor.readers])
        factors[index] =
            SplitAttr::get(axis, PartitionKind::Readers, 1, factor.numReaders);
    for (auto [operand, dims] : llvm::zip(op.getOperands(), model.operands)) {
      LayoutAttr layout = layoutFromFactors(&op, dims, factors);
      if (!layout)
        return failure();
      if (!llvm::any_of(layout.getDims(), [](SplitAttr s) { return !!s; }))
        continue;
      auto [entry, isNew] = wanted.try_emplace(operand, layout);
      if (!isNew && entry->second != layout)
        return op.emitOpError("needs operand ")
               << operand << " in the layout " << layout
               << ", but another op needs it in " << entry->second;
      for (auto [dim, bound] : llvm::enumerate(dims)) {
        SplitAttr split = layout.getDims()[dim];
        if (!split)
          continue;
        int64_t size =
            cast<RankedTensorType>(operand.getType()).getDimSize(dim);
        splits.insert({model.factors[bound.factor].name, size / split.getUnit(),
                       split.getArgument()});
      }
    }
  }
  return success();
}

LogicalResult Placer::checkEven() {
  const SplitExtent *worst = nullptr;
  int64_t largest = 1;
  for (const SplitExtent &extent : splits) {
    largest = std::max(largest, extent.items);
    if (!worst && !extent.divides(tp))
      worst = &extent;
  }
  if (!worst)
    return success();
  InFlightDiagnostic diag = function.emitError()
                            << tp << " ranks cannot hold equal parts of "
                            << worst->items << " " << worst->factor
                            << "; sizes that divide every split dimension: ";
  bool first = true;
  for (int64_t size = 1; size <= largest; ++size)
    if (llvm::all_of(splits, [&](auto &s) { return s.divides(size); })) {
      diag << (first ? "" : ", ") << size;
      first = false;
    }
  return diag;
}

/// Inserts the all_reduce that the plain program has right behind a product
/// whose result owes a sum.
void Placer::paySums(Operation *op) {
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    LayoutAttr layout = getLayout(result.getType());
    if (!layout || !layout.owesAnything())
      continue;
    auto type = cast<RankedTensorType>(result.getType());
    StringAttr site = getPlace(op->getLoc());
    auto reduce = AllReduceOp::create(
        builder, op->getLoc(),
        withLayout(type, layout.withoutOwes(layout.getOwes())), result,
        builder.getArrayAttr(SmallVector<Attribute>(layout.getOwes().begin(),
                                                    layout.getOwes().end())),
        site, StringAttr());
    result.replaceAllUsesExcept(reduce.getResult(), reduce);
  }
}

LogicalResult Placer::placeOp(LayoutOpInterface op) {
  if (op->getNumOperands() == 0) {
    for (Value result : op->getResults()) {
      LayoutAttr layout = wanted.lookup(result);
      setLayout(result, layout ? layout : wholeLayout(result));
    }
    return success();
  }
  FactorModel model;
  op.getFactors(model);
  // A weight that no split was carried to follows the activations: the
  // features of a row-parallel product.
  SmallVector<SplitAttr, 6> factors(model.factors.size());
  auto isWeight = [](Value value) {
    Operation *producer = value.getDefiningOp();
    return producer && producer->getNumOperands() == 0;
  };
  for (auto [operand, dims] : llvm::zip(op->getOperands(), model.operands)) {
    LayoutAttr layout = getLayout(operand.getType());
    for (auto [split, bound] : llvm::zip(layout.getDims(), dims))
      if (split && split.getUnit() % bound.unit == 0)
        factors[bound.factor] = split.withUnit(split.getUnit() / bound.unit);
  }
  for (auto [operand, dims] : llvm::zip(op->getOperands(), model.operands)) {
    if (!isWeight(operand))
      continue;
    LayoutAttr layout = layoutFromFactors(op, dims, factors);
    if (!layout)
      return failure();
    if (layout == getLayout(operand.getType()))
      continue;
    if (!operand.hasOneUse())
      return op->emitOpError("needs the weight ")
             << operand << " in the layout " << layout
             << ", but other ops use it in " << getLayout(operand.getType());
    setLayout(operand, layout);
  }
  SmallVector<LayoutAttr> operands, results;
  for (Type type : op->getOperandTypes())
    operands.push_back(getLayout(type));
  if (failed(inferLayouts(op, operands, results,
                          [&] { return op->emitOpError(); })))
    return failure();
  for (auto [result, layout] : llvm::zip(op->getResults(), results))
    setLayout(result, layout);
  paySums(op);
  return success();
}

LogicalResult Placer::place() {
  Block &body = function.getBody().front();
  for (BlockArgument argument : body.getArguments())
    setLayout(argument, wholeLayout(argument));
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (auto layoutOp = dyn_cast<LayoutOpInterface>(op)) {
      if (failed(placeOp(layoutOp)))
        return failure();
    } else if (!op.hasTrait<OpTrait::IsTerminator>()) {
      return op.emitOpError("has no layout rules: it cannot be placed");
    }
  }
  // What leaves the program is whole.
  Operation *terminator = body.getTerminator();
  OpBuilder builder(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    LayoutAttr layout = getLayout(operand.get().getType());
    for (auto [dim, split] : llvm::enumerate(layout.getDims())) {
      if (!split)
        continue;
      Value value = operand.get();
      layout = layout.withDim(dim, {});
      auto type = cast<RankedTensorType>(value.getType());
      operand.set(AllGatherOp::create(builder, value.getLoc(),
                                      withLayout(type, layout), value, dim,
                                      split.getAxis()));
    }
  }
  function.setType(FunctionType::get(context, body.getArgumentTypes(),
                                     terminator->getOperandTypes()));
  return success();
}

namespace {
struct PlaceTensorParallel
    : layline::impl::PlaceTensorParallelBase<PlaceTensorParallel> {
  using PlaceTensorParallelBase::PlaceTensorParallelBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (tp < 1) {
      module.emitError("tensor parallelism over ")
          << tp.getValue() << " ranks, expected at least 1";
      return signalPassFailure();
    }
    if (lookupMesh(module)) {
      module.emitError("has a mesh already: it has been placed");
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(module.getBody());
    MeshOp::create(builder, module.getLoc(), "mesh",
                   builder.getStrArrayAttr({kTensorAxis}),
                   ArrayRef<int64_t>{tp});
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (function.isExternal() ||
          function->hasAttr(decoder::DecoderDialect::kReference))
        continue;
      if (reference) {
        builder.setInsertionPoint(function);
        auto copy = cast<func::FuncOp>(builder.clone(*function));
        copy.setSymName((function.getSymName() + ".reference").str());
        copy.setPrivate();
        copy->setAttr(decoder::DecoderDialect::kReference,
                      builder.getUnitAttr());
      }
      if (!llvm::hasSingleElement(function.getBody())) {
        function.emitOpError("has several blocks, expected one");
        return signalPassFailure();
      }
      for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
        if (!isa<RankedTensorType>(type)) {
          function.emitOpError("takes ")
              << type << " as argument #" << index
              << ", expected a ranked tensor: it cannot be placed";
          return signalPassFailure();
        }
      Placer placer(function, tp);
      // One rank splits nothing.
      if (tp > 1 && (failed(placer.carrySplitsBack()) ||
                     (even && failed(placer.checkEven()))))
        return signalPassFailure();
      if (failed(placer.place()))
        return signalPassFailure();
    }
  }
};
} // namespace
