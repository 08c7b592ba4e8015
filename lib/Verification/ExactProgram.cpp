//===- ExactProgram.cpp - decoder and grid IR as an exact program ---------===//
#include "layline/Verification/ExactProgram.h"
#include "dialects/Decoder/Decoder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;
using exact::Attributes;
using exact::OpKind;

namespace {

/// Translates one function. Values of fused regions are values of the program.
class ProgramBuilder {
public:
  ProgramBuilder(func::FuncOp function, MeshOp mesh) : function(function) {
    if (!mesh)
      return;
    for (auto [axis, size] :
         llvm::zip(mesh.getAxes().getAsRange<StringAttr>(), mesh.getSizes())) {
      axes[axis] = program.axes.size();
      program.axes.push_back({axis.str(), size});
    }
  }

  FailureOr<exact::Program> build();

private:
  LogicalResult addBlock(Block &block);
  LogicalResult addOp(Operation &op);
  void addInputs();
  exact::ValueId getValue(Value value);
  exact::DimLayout getDim(LayoutAttr layout, unsigned dim);
  std::vector<unsigned> getAxes(ArrayRef<StringAttr> names) const;
  bool isOverContext(Operation &op) const;
  std::optional<OpKind> describe(Operation &op, Attributes &attrs);
  std::optional<OpKind> describeDecoder(Operation &op, Attributes &attrs);
  std::optional<OpKind> describeGrid(Operation &op, Attributes &attrs);

  func::FuncOp function;
  exact::Program program;
  DenseMap<StringAttr, unsigned> axes;
  DenseMap<Attribute, exact::Link> links;
  DenseMap<Value, exact::ValueId> ids;
  /// Values whose rows are cached ones and the step's.
  DenseSet<Value> contexts;
  DenseMap<Attribute, std::shared_ptr<const exact::RopeTable>> tables;
};

} // namespace

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// File, line and column, if the op has them: its place in the model is said
/// anyway.
static std::string describe(Location loc) {
  auto line = loc->findInstanceOf<FileLineColLoc>();
  if (!line)
    return {};
  return llvm::sys::path::filename(line.getFilename().getValue()).str() + ":" +
         std::to_string(line.getLine()) + ":" +
         std::to_string(line.getColumn());
}

std::vector<unsigned>
ProgramBuilder::getAxes(ArrayRef<StringAttr> names) const {
  // An axis that the mesh does not have has one rank.
  std::vector<unsigned> list;
  for (StringAttr name : names)
    if (auto found = axes.find(name); found != axes.end())
      list.push_back(found->second);
  llvm::sort(list);
  return list;
}

exact::DimLayout ProgramBuilder::getDim(LayoutAttr layout, unsigned dim) {
  exact::DimLayout result;
  if (int64_t pad = layout.getPad(dim))
    result.pad = Expr(pad);
  SplitAttr split = layout.getDims()[dim];
  if (!split)
    return result;
  result.unit = split.getUnit();
  for (SplitAttr link : split.withUnit(1).getChain()) {
    auto axis = axes.find(link.getAxis());
    if (axis == axes.end())
      continue;
    auto [entry, isNew] = links.try_emplace(link);
    if (isNew)
      entry->second = exact::makeLink(axis->second, toPartition(link));
    result.links.push_back(entry->second);
  }
  return result;
}

exact::ValueId ProgramBuilder::getValue(Value value) {
  auto [entry, isNew] = ids.try_emplace(value);
  if (!isNew)
    return entry->second;
  exact::Value result;
  auto tensor = cast<RankedTensorType>(value.getType());
  for (int64_t size : tensor.getShape()) {
    if (!ShapedType::isDynamic(size))
      result.shape.push_back(Expr(size));
    else if (contexts.contains(value))
      result.shape.push_back(Expr::symbol("past") + Expr::symbol("tokens"));
    else
      result.shape.push_back(Expr::symbol("tokens"));
  }
  if (isa<IntegerType>(tensor.getElementType()))
    result.elements = exact::ElementClass::Integer;
  if (LayoutAttr layout = getLayout(tensor)) {
    for (unsigned dim = 0, e = layout.getDims().size(); dim < e; ++dim)
      result.dims.push_back(getDim(layout, dim));
    result.owes = getAxes(layout.getOwes());
  }
  // `entry` may have moved.
  exact::ValueId id = program.addValue(std::move(result));
  ids[value] = id;
  return id;
}

/// What the op gives has a row for every cached one and every one of the step.
bool ProgramBuilder::isOverContext(Operation &op) const {
  auto carrier = dyn_cast<RowCarrierOpInterface>(op);
  if (carrier && carrier.prependsHistory())
    return true;
  if (!carrier && !isa<UnrealizedConversionCastOp>(op))
    return false;
  return contexts.contains(carrier ? carrier.getCarriedRows()
                                   : op.getOperand(0));
}

static exact::RopeTable toTable(decoder::RopeOp op) {
  decoder::RopeTableAttr table = op.getTable();
  exact::RopeTable result;
  result.isReordered = op.getStyle() == decoder::RopeStyle::InterleavedToHalf;
  result.isInterleaved = op.getStyle() != decoder::RopeStyle::Half;
  ArrayRef<double> numbers = table.getInvFreq().asArrayRef();
  result.numbers = {{numbers.begin(), numbers.end()},
                    table.getFactor().getValueAsDouble()};
  if (!table.getLongInvFreq())
    return result;
  ArrayRef<double> longNumbers = table.getLongInvFreq().asArrayRef();
  result.longNumbers = {{longNumbers.begin(), longNumbers.end()},
                        table.getLongFactor().getValueAsDouble()};
  result.longAbove = table.getAbove();
  return result;
}

std::optional<OpKind> ProgramBuilder::describeDecoder(Operation &generic,
                                                      Attributes &attrs) {
  using namespace decoder;
  using Result = std::optional<OpKind>;
  return llvm::TypeSwitch<Operation *, Result>(&generic)
      .Case([&](WeightOp op) {
        attrs.weight.key = op.getKey().str();
        auto matrix = op.getStoredMatrix();
        attrs.weight.shape.assign(matrix.begin(), matrix.end());
        attrs.weight.isOneTensor = op.getStoredStack();
        attrs.weight.isTransposed = op.getTransposed();
        attrs.weight.isStacked = op.isStacked();
        if (auto rows = op.getRows())
          attrs.weight.rows = Segment{(*rows)[0], (*rows)[1] - (*rows)[0]};
        attrs.weight.period = static_cast<int64_t>(op.getPeriod().value_or(0));
        return OpKind::Weight;
      })
      .Case([](EmbeddingOp) { return OpKind::Embedding; })
      .Case([&](NormOp op) {
        attrs.function = stringifyNormKind(op.getKind()).str();
        attrs.eps = op.getEps().convertToDouble();
        attrs.weightOffset = op.getWeightOffset().convertToDouble();
        return OpKind::Norm;
      })
      .Case([](RowSquaresOp) { return OpKind::RowSquares; })
      .Case([&](NormByOp op) {
        attrs.eps = op.getEps().convertToDouble();
        attrs.width = static_cast<int64_t>(op.getWidth());
        return OpKind::NormBy;
      })
      .Case<LinearOp, LogitsOp>([](Operation *) { return OpKind::Linear; })
      .Case([](SplitHeadsOp) { return OpKind::SplitHeads; })
      .Case([](MergeHeadsOp) { return OpKind::MergeHeads; })
      .Case([&](RopeOp op) {
        Attribute key =
            ArrayAttr::get(op.getContext(), {op.getTable(), op.getStyleAttr()});
        auto &table = tables[key];
        if (!table)
          table = std::make_shared<const exact::RopeTable>(toTable(op));
        attrs.rope = table;
        return OpKind::Rope;
      })
      .Case([&](CacheOp op) {
        attrs.layer = op.getLayer();
        attrs.plane = stringifyPlane(op.getPlane()).str();
        return OpKind::Cache;
      })
      .Case([&](AttentionOp op) {
        attrs.factor = op.getScale().convertToDouble();
        attrs.isCausal = op.getCausal();
        if (op.getWindow())
          attrs.window = *op.getWindow();
        if (op.getSoftcap())
          attrs.softcap = op.getSoftcap()->convertToDouble();
        return OpKind::Attention;
      })
      .Case([&](LatentAttentionOp op) {
        attrs.factor = op.getScale().convertToDouble();
        attrs.isCausal = op.getCausal();
        return OpKind::LatentAttention;
      })
      .Case([&](IndexerOp op) {
        attrs.factor = op.getScale().convertToDouble();
        attrs.isCausal = op.getCausal();
        attrs.topK = op.getTopK();
        return OpKind::Indexer;
      })
      .Case([&](ActivationOp op) {
        attrs.function = stringifyActivation(op.getFunction()).str();
        return OpKind::Activation;
      })
      .Case([&](GatedActivationOp op) {
        attrs.function = stringifyActivation(op.getFunction()).str();
        return OpKind::GatedActivation;
      })
      .Case([&](RouterOp op) {
        attrs.topK = op.getTopK();
        attrs.function = stringifyScoring(op.getScoring()).str();
        attrs.renormalize = op.getRenormalize();
        attrs.factor = op.getScale().convertToDouble();
        attrs.groups = op.getGroups().value_or(0);
        attrs.chosenGroups = op.getChosenGroups().value_or(0);
        if (op.getGroupScore())
          attrs.groupScore = stringifyGroupScore(*op.getGroupScore()).str();
        return OpKind::Router;
      })
      .Case([&](ExpertsOp op) {
        attrs.function = stringifyActivation(op.getFunction()).str();
        if (op.getLimit())
          attrs.limit = op.getLimit()->convertToDouble();
        attrs.alpha = op.getAlpha().convertToDouble();
        attrs.upOffset = op.getUpOffset().convertToDouble();
        return OpKind::Experts;
      })
      .Case([](AddExpertBiasOp) { return OpKind::AddExpertBias; })
      .Case([](AddOp) { return OpKind::Add; })
      .Case([](AddBiasOp) { return OpKind::AddBias; })
      .Case([&](ScaleOp op) {
        attrs.factor = op.getFactor().convertToDouble();
        return OpKind::Scale;
      })
      .Case([&](SoftcapOp op) {
        attrs.function = "softcap";
        attrs.softcap = op.getCap().convertToDouble();
        return OpKind::Activation;
      })
      .Case([&](CastOp op) {
        auto element = [](Value value) {
          return cast<RankedTensorType>(value.getType()).getElementType();
        };
        attrs.from = print(element(op.getInput()));
        attrs.to = print(element(op.getResult()));
        return OpKind::Cast;
      })
      .Case([&](QuantizeOp op) {
        attrs.format = stringifyQuantFormat(op.getFormat()).str();
        return OpKind::Quantize;
      })
      .Case([](DequantizeOp) { return OpKind::Dequantize; })
      .Case([&](SliceColumnsOp op) {
        attrs.begin = op.getBegin();
        return OpKind::SliceColumns;
      })
      .Case([](ConcatColumnsOp) { return OpKind::ConcatColumns; })
      .Case([](RowScaleOp) { return OpKind::RowScale; })
      .Default([](Operation *) { return Result(); });
}

std::optional<OpKind> ProgramBuilder::describeGrid(Operation &generic,
                                                   Attributes &attrs) {
  using Result = std::optional<OpKind>;
  if (auto edge = dyn_cast<CommEdgeOpInterface>(generic))
    attrs.axes = getAxes(edge.getGroupAxes());
  return llvm::TypeSwitch<Operation *, Result>(&generic)
      .Case([&](SliceOp op) {
        attrs.dim = op.getDim();
        attrs.axes = getAxes(op.getAxisAttr());
        return OpKind::Slice;
      })
      .Case([&](PadOp op) {
        attrs.dim = op.getDim();
        return OpKind::Pad;
      })
      .Case([&](UnpadOp op) {
        attrs.dim = op.getDim();
        return OpKind::Unpad;
      })
      .Case([](AllReduceOp) { return OpKind::AllReduce; })
      .Case([&](ReduceScatterOp op) {
        attrs.dim = op.getDim();
        return OpKind::ReduceScatter;
      })
      .Case([&](AllGatherOp op) {
        attrs.dim = op.getDim();
        return OpKind::AllGather;
      })
      .Case([&](BroadcastOp op) {
        attrs.root = static_cast<int64_t>(op.getRoot());
        return OpKind::Broadcast;
      })
      .Case([&](DispatchOp op) {
        attrs.experts = static_cast<int64_t>(op.getExperts());
        return OpKind::Dispatch;
      })
      .Case([&](CombineOp op) {
        LayoutAttr layout = getLayout(op.getInput().getType());
        SplitAttr rows = layout ? layout.getDims()[0] : SplitAttr();
        if (rows && rows.isRouted())
          attrs.experts = rows.getChain().back().getArgument();
        return OpKind::Combine;
      })
      .Case([](UnrealizedConversionCastOp) { return OpKind::Relabel; })
      .Default([](Operation *) { return Result(); });
}

std::optional<OpKind> ProgramBuilder::describe(Operation &op,
                                               Attributes &attrs) {
  if (std::optional<OpKind> kind = describeDecoder(op, attrs))
    return kind;
  return describeGrid(op, attrs);
}

LogicalResult ProgramBuilder::addOp(Operation &op) {
  if (auto fused = dyn_cast<FusedOp>(op)) {
    Block &body = fused.getBody().front();
    if (failed(addBlock(body)))
      return failure();
    for (auto [result, yielded] :
         llvm::zip(op.getResults(), body.getTerminator()->getOperands()))
      ids[result] = getValue(yielded);
    return success();
  }
  Attributes attrs;
  std::optional<OpKind> kind = describe(op, attrs);
  if (!kind)
    return op.emitOpError("has no exact meaning: it cannot be checked");
  if (isOverContext(op))
    contexts.insert(op.getResults().begin(), op.getResults().end());
  std::vector<exact::ValueId> operands, results;
  for (Value operand : op.getOperands())
    operands.push_back(getValue(operand));
  for (Value result : op.getResults())
    results.push_back(getValue(result));
  if (*kind == OpKind::Cache)
    program.caches.push_back({attrs.layer, attrs.plane, results.front()});
  exact::Op &added = program.addOp(*kind, std::move(operands),
                                   std::move(results), std::move(attrs));
  if (StringAttr place = getPlace(op.getLoc()))
    added.place = place.str();
  added.location = ::describe(op.getLoc());
  if (auto names =
          op.getAttrOfType<ArrayAttr>(decoder::DecoderDialect::kRecord))
    for (StringAttr name : names.getAsRange<StringAttr>())
      added.names.push_back(name.str());
  return success();
}

LogicalResult ProgramBuilder::addBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(addOp(op)))
      return failure();
  return success();
}

void ProgramBuilder::addInputs() {
  for (BlockArgument argument : function.getArguments()) {
    Attributes attrs;
    if (auto name = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), decoder::DecoderDialect::kInput))
      attrs.input = name.str();
    else
      attrs.input = std::to_string(argument.getArgNumber());
    attrs.role = attrs.input == "positions"   ? exact::InputRole::Positions
                 : attrs.input == "input_ids" ? exact::InputRole::Ids
                                              : exact::InputRole::Values;
    exact::ValueId value = getValue(argument);
    std::string place = "input " + attrs.input;
    program.addOp(OpKind::Input, {}, {value}, std::move(attrs)).place = place;
  }
}

FailureOr<exact::Program> ProgramBuilder::build() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has several blocks, expected one");
  Block &body = function.getBody().front();
  addInputs();
  if (failed(addBlock(body)))
    return failure();
  for (Value value : body.getTerminator()->getOperands())
    program.outputs.push_back(getValue(value));
  return std::move(program);
}

FailureOr<exact::Program> layline::buildExactProgram(func::FuncOp function,
                                                     MeshOp mesh) {
  return ProgramBuilder(function, mesh).build();
}
