//===- ColumnOps.cpp - columns of values and scales of rows ---------------===//
#include "dialects/Decoder/Decoder.h"

using namespace mlir;
using namespace layline;
using namespace layline::decoder;
using namespace layline::grid;

static RankedTensorType tensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Tokens and heads pass through; every value has columns of its own, whole.
static void getColumnFactors(Operation *op, FactorModel &model) {
  int64_t rank = std::max<int64_t>(1, tensor(op->getResult(0)).getRank());
  SmallVector<DimFactor, 3> outer;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    outer.push_back({model.add(dim == 0 ? StringRef(kTokens) : "heads",
                               FactorKind::PassThrough)});
  auto dims = [&] {
    SmallVector<DimFactor, 3> all = outer;
    all.push_back({model.add("columns", FactorKind::NeedWhole)});
    return all;
  };
  for (unsigned i = 0, e = op->getNumOperands(); i < e; ++i)
    model.operand(dims());
  model.result(dims());
}

static LogicalResult verifyColumns(Operation *op) {
  auto result = tensor(op->getResult(0));
  if (result.getRank() < 2)
    return op->emitOpError("has ")
           << result.getRank() << " dimension, expected rows and columns";
  for (Value operand : op->getOperands())
    if (tensor(operand).getElementType() != result.getElementType())
      return op->emitOpError("takes columns of ")
             << tensor(operand).getElementType() << " and gives "
             << result.getElementType();
  return success();
}

void SliceColumnsOp::getFactors(FactorModel &model) {
  getColumnFactors(*this, model);
}
bool SliceColumnsOp::isLinearIn(unsigned) { return true; }

LogicalResult SliceColumnsOp::verify() {
  if (failed(verifyColumns(*this)))
    return failure();
  int64_t columns = tensor(getInput()).getShape().back();
  int64_t taken = tensor(getResult()).getShape().back();
  int64_t begin = getBegin();
  if (begin < 0 || taken < 1 || begin > columns - taken)
    return emitOpError("takes the columns [")
           << begin << ", " << begin + taken << ") of " << columns
           << ", expected a window inside that is not empty";
  return success();
}

void ConcatColumnsOp::getFactors(FactorModel &model) {
  getColumnFactors(*this, model);
}
bool ConcatColumnsOp::isLinearIn(unsigned) { return true; }
SmallVector<unsigned, 2> ConcatColumnsOp::getAddends() {
  // [a, b] is [a, 0] + [0, b].
  return llvm::to_vector<2>(llvm::seq<unsigned>(0, getNumOperands()));
}

LogicalResult ConcatColumnsOp::verify() {
  if (getNumOperands() < 2)
    return emitOpError("takes ")
           << getNumOperands() << " values, expected at least 2";
  if (failed(verifyColumns(*this)))
    return failure();
  int64_t sum = 0;
  for (Value operand : getOperands())
    sum += tensor(operand).getShape().back();
  if (int64_t columns = tensor(getResult()).getShape().back(); sum != columns)
    return emitOpError("takes ")
           << sum << " columns together and gives " << columns;
  return success();
}

void RowScaleOp::getFactors(FactorModel &model) {
  unsigned tokens = model.add(kTokens, FactorKind::PassThrough);
  unsigned features = model.add("features", FactorKind::PassThrough);
  unsigned scale = model.add("scale", FactorKind::NeedWhole);
  model.operand({{tokens}, {features}});
  model.operand({{tokens}, {scale}});
  model.result({{tokens}, {features}});
}
bool RowScaleOp::isLinearIn(unsigned operand) { return operand == 0; }

LogicalResult RowScaleOp::verify() {
  if (int64_t columns = tensor(getScales()).getDimSize(1); columns != 1)
    return emitOpError("has ") << columns << " scales a row, expected 1";
  return success();
}
