//===- ExpertRouting.cpp - experts that rows can be sent to ---------------===//
#include "ExpertRouting.h"
#include "RowRegion.h"
#include "dialects/Decoder/Routers.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

// What carries rows in an op with a routing: the rows, their ids, the weights.
static constexpr unsigned kRowOperands = 3;

static std::optional<FactorModel> getRoutedModel(Operation *op) {
  auto layoutOp = dyn_cast<LayoutOpInterface>(op);
  if (!layoutOp || op->getNumResults() != 1)
    return std::nullopt;
  FactorModel model;
  layoutOp.getFactors(model);
  if (!model.routing ||
      getRowOperands(model) != SmallVector<unsigned, 3>{0, 1, 2})
    return std::nullopt;
  return model;
}

/// The items that rows choose among, by the first operand that has them.
static std::optional<std::pair<Value, unsigned>>
findItems(Operation *op, const FactorModel &model) {
  for (auto [operand, dims] : llvm::zip(op->getOperands(), model.operands))
    for (auto [dim, bound] : llvm::enumerate(dims))
      if (bound.factor == model.routing->items)
        return std::pair(operand, static_cast<unsigned>(dim));
  return std::nullopt;
}

bool layline::canDispatch(Operation *op, StringAttr axis) {
  std::optional<FactorModel> model = getRoutedModel(op);
  auto items = model ? findItems(op, *model) : std::nullopt;
  if (!items)
    return false;
  LayoutAttr held = getLayout(items->first.getType());
  if (!held || held.getDims()[items->second] != SplitAttr::get(axis))
    return false;
  for (Value rows : op->getOperands().take_front(kRowOperands)) {
    LayoutAttr layout = getLayout(rows.getType());
    if (!layout || layout.getDimSplitBy(axis) || layout.owesAnything())
      return false;
  }
  LayoutAttr result = getLayout(op->getResult(0).getType());
  return result && result.owesOver(axis) &&
         findRowSum(op->getResult(0), axis) != nullptr;
}

AllReduceOp layline::findRowSum(Value value, StringAttr axis,
                                llvm::function_ref<void(Operation *)> join) {
  LayoutAttr layout = getLayout(value.getType());
  while (value.hasOneUse() && layout && layout.owesOver(axis)) {
    Operation *reader = *value.getUsers().begin();
    if (auto reduce = dyn_cast<AllReduceOp>(reader))
      return isRowSum(reduce, axis) ? reduce : AllReduceOp();
    auto linear = dyn_cast<PartialLinearOpInterface>(reader);
    // Only a sum of equals, each read once: a rank adds its own addends.
    if (!linear || reader->getNumResults() != 1 ||
        linear.getAddends().size() != reader->getNumOperands() ||
        !isa<RowwiseOpInterface>(reader) ||
        !llvm::all_of(reader->getOperands(), [](Value addend) {
          return addend.hasOneUse() && addend.getDefiningOp();
        }))
      return {};
    if (join)
      join(reader);
    value = reader->getResult(0);
    layout = getLayout(value.getType());
  }
  return {};
}

RoutingShape layline::getRoutingShape(Operation *experts) {
  std::optional<FactorModel> model = getRoutedModel(experts);
  auto items = findItems(experts, *model);
  Value ids = experts->getOperand(1);
  RoutingShape shape{
      cast<RankedTensorType>(items->first.getType()).getDimSize(items->second),
      cast<RankedTensorType>(ids.getType()).getDimSize(1)};
  if (decoder::RouterOp router = decoder::findRouter(ids)) {
    shape.groups = router.getGroups().value_or(0);
    shape.chosenGroups = router.getChosenGroups().value_or(0);
  }
  return shape;
}

Value layline::dispatchRows(Operation *op, ArrayRef<Value> rows,
                            StringAttr axis, StringAttr site) {
  OpBuilder builder(op);
  int64_t experts = getRoutingShape(op).experts;
  SmallVector<Type, kRowOperands> types;
  for (Value value : rows) {
    auto type = cast<RankedTensorType>(value.getType());
    LayoutAttr layout = getLayout(type);
    SplitAttr routed = SplitAttr::get(axis, PartitionKind::Routed, 1, experts);
    if (SplitAttr outer = layout.getDims()[0].withoutLast())
      routed = outer.then(routed);
    types.push_back(withLayout(type, layout.withDim(0, routed)));
  }
  auto dispatch = DispatchOp::create(builder, op->getLoc(), types[0], types[1],
                                     types[2], rows[0], rows[1], rows[2],
                                     builder.getI64IntegerAttr(experts), axis);
  for (unsigned i = 0; i < kRowOperands; ++i)
    op->setOperand(i, dispatch->getResult(i));
  auto made = cast<RankedTensorType>(op->getResult(0).getType());
  LayoutAttr layout =
      getLayout(made).withDim(0, getLayout(types[0]).getDims()[0]);
  op->getResult(0).setType(withLayout(made, layout));
  builder.setInsertionPointAfter(op);
  auto combine = CombineOp::create(
      builder, op->getLoc(),
      withLayout(made, layout.withoutOwes(axis).withDim(
                           0, getLayout(rows[0].getType()).getDims()[0])),
      op->getResult(0), rows[1], axis, site);
  // What is recorded is the value, which is whole only behind the combine.
  if (Attribute names = op->removeAttr(decoder::DecoderDialect::kRecord))
    combine->setAttr(decoder::DecoderDialect::kRecord, names);
  return combine.getResult();
}
