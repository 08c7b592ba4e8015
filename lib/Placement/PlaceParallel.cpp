//===- PlaceParallel.cpp - the plain tensor- and context-parallel program -===//
#include "dialects/Decoder/Decoder.h"
#include "layline/Placement/FeatureChains.h"
#include "layline/Placement/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>
#include <set>

namespace layline {
#define GEN_PASS_DEF_PLACEPARALLEL
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
  /// Not the factor that the op asks to be split: others call it by the name of
  /// what they do with it ("features" of a statistic over heads).
  bool isCarried;
  friend bool operator<(const SplitExtent &a, const SplitExtent &b) {
    return std::tie(a.isCarried, a.factor, a.items, a.readers) <
           std::tie(b.isCarried, b.factor, b.items, b.readers);
  }
  bool divides(int64_t parts) const {
    // Replicated KV heads: each head on as many ranks.
    return readers ? items % parts == 0 || parts % items == 0
                   : items % parts == 0;
  }
};

class Placer {
public:
  /// `rows` splits the tokens, or is null. `wholeExperts`: ranks have some of
  /// the experts in place of a part of each.
  Placer(func::FuncOp function, int64_t tp, SplitAttr rows, bool wholeExperts)
      : function(function), tp(tp), rows(rows), wholeExperts(wholeExperts),
        context(function.getContext()),
        axis(StringAttr::get(context, kTensorAxis)) {}

  /// The op's features stay whole.
  void keepWhole(Operation *op) { keptWhole.insert(op); }
  /// Walks backwards: which split each value should have.
  LogicalResult carrySplitsBack();
  /// Walks forwards: the layout each value gets, and the sums that follow.
  LogicalResult place();
  LogicalResult checkEven();

private:
  LogicalResult placeOp(LayoutOpInterface op);
  void sliceArguments();
  void gatherNeeded(Operation *op, const FactorModel &model);
  void countOnce(Operation *op, const FactorModel &model);
  Value getWhole(Value value, unsigned dim, Operation *before);
  void paySum(Value value);

  func::FuncOp function;
  int64_t tp;
  SplitAttr rows;
  bool wholeExperts;
  MLIRContext *context;
  StringAttr axis;
  DenseMap<Value, LayoutAttr> wanted;
  llvm::SmallPtrSet<Operation *, 8> keptWhole;
  /// All rows of a value of which a rank holds some.
  DenseMap<Value, Value> wholeOf;
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
    StringRef own = wholeExperts ? layoutOp.getExpertParallelFactor() : "";
    if (own.empty() && !keptWhole.contains(&op))
      own = layoutOp.getTensorParallelFactor();
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
                       split.getArgument(), ownFactor != bound.factor});
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

/// Whether the op adds up values of which each owes the same and has no other
/// reader: what they owe together is then paid once, behind it.
static bool joinsSums(Operation *op) {
  auto linear = dyn_cast<PartialLinearOpInterface>(op);
  if (!linear)
    return false;
  SmallVector<unsigned, 2> addends = linear.getAddends();
  if (addends.size() < 2)
    return false;
  ArrayRef<StringAttr> owed =
      getLayout(op->getOperand(addends.front()).getType()).getOwes();
  return llvm::all_of(addends, [&](unsigned addend) {
    Value value = op->getOperand(addend);
    return value.hasOneUse() && getLayout(value.getType()).getOwes() == owed;
  });
}

/// Inserts the all_reduce that the plain program has right behind an op whose
/// result owes a sum.
void Placer::paySum(Value value) {
  LayoutAttr layout = getLayout(value.getType());
  if (!layout || !layout.owesAnything())
    return;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(context);
  builder.setInsertionPointAfter(op);
  auto type = cast<RankedTensorType>(value.getType());
  auto reduce = AllReduceOp::create(
      builder, op->getLoc(),
      withLayout(type, layout.withoutOwes(layout.getOwes())), value,
      builder.getArrayAttr(SmallVector<Attribute>(layout.getOwes().begin(),
                                                  layout.getOwes().end())),
      getPlace(op->getLoc()), StringAttr());
  value.replaceAllUsesExcept(reduce.getResult(), reduce);
}

LogicalResult Placer::placeOp(LayoutOpInterface op) {
  if (op->getNumOperands() == 0) {
    for (Value result : op->getResults()) {
      LayoutAttr layout = wanted.lookup(result);
      setLayout(result, layout ? layout : wholeLayout(result));
    }
    return success();
  }
  if (!joinsSums(op))
    llvm::for_each(op->getOperands(), [&](Value value) { paySum(value); });
  FactorModel model;
  op.getFactors(model);
  gatherNeeded(op, model);
  countOnce(op, model);
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
  // Nobody's sum is paid too: it shows as a site that nothing reads.
  for (Value result : op->getResults())
    if (result.use_empty())
      paySum(result);
  return success();
}

/// Each rank takes its rows of the inputs.
void Placer::sliceArguments() {
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (BlockArgument argument : body.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    // What nobody reads is not cut either: its parts would have no reader.
    if (type.getRank() == 0 || !type.isDynamicDim(0) || argument.use_empty())
      continue;
    auto slice =
        SliceOp::create(builder, argument.getLoc(),
                        withLayout(type, getLayout(type).withDim(0, rows)),
                        argument, builder.getI64IntegerAttr(0), rows.getAxis());
    argument.replaceAllUsesExcept(slice.getResult(), slice);
    wholeOf[slice.getResult()] = argument;
  }
}

/// Gives back the last split of a dimension.
static Value gather(OpBuilder &builder, Value value, unsigned dim) {
  auto type = cast<RankedTensorType>(value.getType());
  LayoutAttr layout = getLayout(type);
  SplitAttr split = layout.getDims()[dim];
  return AllGatherOp::create(
      builder, value.getLoc(),
      withLayout(type, layout.withDim(dim, split.withoutLast())), value,
      builder.getI64IntegerAttr(dim), split.getLastAxis());
}

/// The value with dimension `dim` whole: what it was cut from, or gathered.
Value Placer::getWhole(Value value, unsigned dim, Operation *before) {
  if (Value whole = wholeOf.lookup(value))
    return whole;
  OpBuilder builder(before);
  return wholeOf[value] = gather(builder, value, dim);
}

/// Rows that an op needs all of are gathered, once per value.
void Placer::gatherNeeded(Operation *op, const FactorModel &model) {
  if (!rows)
    return;
  for (auto [operand, dims] : llvm::zip(op->getOpOperands(), model.operands))
    if (!dims.empty() &&
        model.factors[dims[0].factor].kind == FactorKind::NeedWhole &&
        getLayout(operand.get().getType()).getDims()[0] == rows)
      operand.set(getWhole(operand.get(), 0, op));
}

/// A sum over KV heads counts those that several ranks hold once: on the first
/// that reads them.
void Placer::countOnce(Operation *op, const FactorModel &model) {
  for (auto [operand, dims] : llvm::zip(op->getOpOperands(), model.operands)) {
    Value value = operand.get();
    LayoutAttr layout = getLayout(value.getType());
    for (auto [dim, bound] : llvm::enumerate(dims)) {
      SplitAttr split = layout.getDims()[dim];
      // A weight is not computed: it can be loaded as it is needed.
      if (!split || split.isPartition() || !value.getDefiningOp() ||
          value.getDefiningOp()->getNumOperands() == 0 ||
          model.factors[bound.factor].kind != FactorKind::Reduction)
        continue;
      OpBuilder builder(op);
      operand.set(SliceOp::create(
          builder, op->getLoc(),
          withLayout(cast<RankedTensorType>(value.getType()),
                     layout.withDim(dim, split.getFirstReaders())),
          value, builder.getI64IntegerAttr(dim), split.getAxis()));
    }
  }
}

LogicalResult Placer::place() {
  Block &body = function.getBody().front();
  for (BlockArgument argument : body.getArguments())
    setLayout(argument, wholeLayout(argument));
  if (rows)
    sliceArguments();
  for (Operation &op : llvm::make_early_inc_range(body)) {
    if (auto layoutOp = dyn_cast<LayoutOpInterface>(op)) {
      if (failed(placeOp(layoutOp)))
        return failure();
    } else if (!op.hasTrait<OpTrait::IsTerminator>() && !isa<SliceOp>(op)) {
      return op.emitOpError("has no layout rules: it cannot be placed");
    }
  }
  // What leaves the program is whole.
  Operation *terminator = body.getTerminator();
  OpBuilder builder(terminator);
  for (OpOperand &operand : terminator->getOpOperands()) {
    paySum(operand.get());
    LayoutAttr layout = getLayout(operand.get().getType());
    // The last dimension first: rows are then gathered at full width, which a
    // kernel can do in one run per row.
    for (unsigned dim = layout.getDims().size(); dim-- > 0;)
      while (getLayout(operand.get().getType()).isSplit(dim))
        operand.set(gather(builder, operand.get(), dim));
  }
  function.setType(FunctionType::get(context, body.getArgumentTypes(),
                                     terminator->getOperandTypes()));
  return success();
}

std::optional<ContextSplit> layline::parseContextSplit(StringRef text) {
  if (text == "zigzag")
    return ContextSplit{PartitionKind::Zigzag};
  if (text == "contiguous")
    return ContextSplit{PartitionKind::Block};
  int64_t run = 1;
  bool isInterleave = text.consume_front("interleave") &&
                      (text.empty() || (text.consume_front(":") &&
                                        !text.getAsInteger(10, run)));
  if (!isInterleave || run < 1)
    return std::nullopt;
  return ContextSplit{PartitionKind::Cyclic, run};
}

namespace {
struct PlaceParallel : layline::impl::PlaceParallelBase<PlaceParallel> {
  using PlaceParallelBase::PlaceParallelBase;

  /// How the tokens are dealt out; null if they are not.
  FailureOr<SplitAttr> getRowSplit(ModuleOp module) {
    std::optional<ContextSplit> split = parseContextSplit(cpSplit);
    if (!split)
      return module.emitError("tokens are to be dealt out by \"")
             << cpSplit.getValue()
             << "\", expected zigzag, contiguous, interleave or interleave:I "
                "with I at least 1";
    if (cp == 1)
      return SplitAttr();
    return SplitAttr::get(StringAttr::get(&getContext(), kContextAxis),
                          split->kind, 1, split->argument);
  }

  LogicalResult keepChainsWhole(func::FuncOp function, Placer &placer) {
    if (replicate.empty())
      return success();
    llvm::StringSet<> known;
    for (const FeatureChain &chain : findFeatureChains(function)) {
      known.insert(chain.name);
      if (llvm::is_contained(replicate, chain.name))
        placer.keepWhole(chain.divided);
    }
    for (const std::string &name : replicate)
      if (!known.contains(name)) {
        InFlightDiagnostic diag = function.emitError()
                                  << "has no chain of products '" << name
                                  << "' whose weights every rank could hold";
        SmallVector<StringRef> names(known.keys());
        llvm::sort(names);
        if (!names.empty())
          diag << ", expected some of " << llvm::join(names, ", ");
        return diag;
      }
    return success();
  }

  LogicalResult checkExperts(ModuleOp module) {
    if (ep != 1 && ep != tp)
      return module.emitError("expert parallelism over ")
             << ep.getValue() << " ranks, expected 1 or the " << tp.getValue()
             << " of tensor parallelism: experts in groups of ranks that share "
                "out their features would need a second axis";
    auto hasExperts = [](Operation *op) {
      auto layoutOp = dyn_cast<LayoutOpInterface>(op);
      return layoutOp && !layoutOp.getExpertParallelFactor().empty()
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    };
    if (ep > 1 && !module.walk(hasExperts).wasInterrupted())
      return module.emitError("expert parallelism over ")
             << ep.getValue() << " ranks, but the program has no experts";
    return success();
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto [name, ranks] :
         {std::pair<StringRef, int64_t>("tensor", tp), {"context", cp}})
      if (ranks < 1) {
        module.emitError() << name << " parallelism over " << ranks
                           << " ranks, expected at least 1";
        return signalPassFailure();
      }
    FailureOr<SplitAttr> rows = getRowSplit(module);
    if (failed(rows) || failed(checkExperts(module)))
      return signalPassFailure();
    if (lookupMesh(module)) {
      module.emitError("has a mesh already: it has been placed");
      return signalPassFailure();
    }
    OpBuilder builder(&getContext());
    builder.setInsertionPointToStart(module.getBody());
    SmallVector<StringRef, 2> axes;
    SmallVector<int64_t, 2> sizes;
    if (cp > 1) {
      axes.push_back(kContextAxis);
      sizes.push_back(cp);
    }
    axes.push_back(kTensorAxis);
    sizes.push_back(tp);
    MeshOp::create(builder, module.getLoc(), "mesh",
                   builder.getStrArrayAttr(axes), sizes);
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
      Placer placer(function, tp, *rows, ep > 1);
      if (failed(keepChainsWhole(function, placer)))
        return signalPassFailure();
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
