//===- DecoderOps.cpp - verifiers of decoder ops --------------------------===//
//
// Shapes and layouts are verified from the factor models (DecoderFactors.cpp);
// what stands here is about attributes and element types.
//
//===----------------------------------------------------------------------===//
#include "dialects/Decoder/Decoder.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace layline;
using namespace layline::decoder;

#define GET_OP_CLASSES
#include "dialects/Decoder/DecoderOps.cpp.inc"

SmallVector<int64_t> WeightOp::getStoredMatrix() {
  SmallVector<int64_t> shape(getStoredShape().drop_front(getStoredStack()));
  if (getTransposed())
    std::swap(shape[0], shape[1]);
  return shape;
}

LogicalResult WeightOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  if (getKey().empty())
    return emitOpError("has an empty key");
  if (!type.hasStaticShape())
    return emitOpError("\"") << getKey() << "\" has the type " << type
                             << ", expected a static shape";
  ArrayRef<int64_t> stored = getStoredShape();
  if (stored.empty())
    return emitOpError("\"") << getKey() << "\" has no stored shape";
  size_t experts = getStoredStack();
  if (experts && StringRef(getKey()).contains("{expert}"))
    return emitOpError("\"")
           << getKey() << "\" has all experts and is one of each";
  if (getTransposed() ? stored.size() != experts + 2 : stored.size() <= experts)
    return emitOpError("\"")
           << getKey() << "\" is stored as [" << stored << "], expected "
           << (experts ? "experts and " : "")
           << (getTransposed() ? "rows and columns" : "rows");
  SmallVector<int64_t> shape;
  if (isStacked()) {
    if (type.getRank() == 0)
      return emitOpError("\"") << getKey() << "\" is a stack without a count";
    shape.push_back(experts ? stored[0] : type.getDimSize(0));
  }
  llvm::append_range(shape, getStoredMatrix());
  int64_t &count = shape[isStacked()], storedRows = count;
  if (std::optional<ArrayRef<int64_t>> rows = getRows()) {
    if (rows->size() != 2 || (*rows)[0] < 0 || (*rows)[0] >= (*rows)[1] ||
        (*rows)[1] > storedRows)
      return emitOpError("\"")
             << getKey() << "\" takes the rows [" << *rows << "] of "
             << storedRows << ", expected a window [begin, end) inside";
    count = (*rows)[1] - (*rows)[0];
  }
  if (std::optional<uint64_t> given = getPeriod()) {
    int64_t period = static_cast<int64_t>(*given);
    if (!getRows() || period < (*getRows())[1] || storedRows % period)
      return emitOpError("\"")
             << getKey() << "\" takes a window of every " << period
             << " rows of " << storedRows
             << ", expected a window inside a period that divides the rows";
    count *= storedRows / period;
  }
  if (ArrayRef<int64_t>(shape) != type.getShape())
    return emitOpError("\"")
           << getKey() << "\" has the shape [" << type.getShape()
           << "], expected [" << shape << "] from the stored tensor";
  return success();
}

static LogicalResult verifyEps(Operation *op, double eps) {
  if (std::isfinite(eps) && eps > 0)
    return success();
  return op->emitOpError("has eps ") << eps << ", expected a positive number";
}

LogicalResult NormOp::verify() {
  if (failed(verifyEps(*this, getEps().convertToDouble())))
    return failure();
  if (!std::isfinite(getWeightOffset().convertToDouble()))
    return emitOpError("has a weight offset that is not finite");
  if (getBias() && getKind() != NormKind::Layer)
    return emitOpError("has a bias, which only a layer norm takes");
  return success();
}

/// One column of f32: a number for each row.
static LogicalResult verifyColumn(Operation *op, StringRef what, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getDimSize(1) == 1 && type.getElementType().isF32())
    return success();
  return op->emitOpError("has the ")
         << what << " " << grid::withLayout(type, {})
         << ", expected one of f32 for each row";
}

LogicalResult RowSquaresOp::verify() {
  return verifyColumn(*this, "sums", getResult());
}

LogicalResult NormByOp::verify() {
  if (failed(verifyEps(*this, getEps().convertToDouble())))
    return failure();
  int64_t features = cast<RankedTensorType>(getInput().getType()).getDimSize(1);
  auto width = static_cast<int64_t>(getWidth());
  if (width < 1 || width > features)
    return emitOpError("is over a width of ")
           << width << ", expected 1 to its " << features << " features";
  return verifyColumn(*this, "statistics", getStatistics());
}

LogicalResult RopeOp::verify() {
  int64_t width =
      cast<RankedTensorType>(getInput().getType()).getShape().back();
  int64_t rotary = 2 * getTable().getInvFreq().size();
  if (rotary > width)
    return emitOpError("rotates ")
           << rotary << " features of a head that has " << width;
  return success();
}

LogicalResult CacheOp::verify() {
  auto rows = cast<RankedTensorType>(getRows().getType());
  auto context = cast<RankedTensorType>(getType());
  if (rows.getElementType() != context.getElementType() ||
      rows.getShape() != context.getShape())
    return emitOpError("stores ") << rows << " as " << context;
  bool positions = getPlane() == Plane::Positions;
  if (positions != isa<IntegerType>(rows.getElementType()))
    return emitOpError("stores ") << rows.getElementType() << " in the plane "
                                  << stringifyPlane(getPlane()) << ", expected "
                                  << (positions ? "integers" : "floats");
  if (positions ? getLayer() != -1 : getLayer() < 0)
    return emitOpError("has the layer ")
           << getLayer() << ", expected "
           << (positions ? "-1 for the cache of positions" : "0 or more");
  return success();
}

static LogicalResult verifyCap(Operation *op, const APFloat &value) {
  double cap = value.convertToDouble();
  if (std::isfinite(cap) && cap > 0)
    return success();
  return op->emitOpError("has the softcap ")
         << cap << ", expected a positive number";
}

LogicalResult AttentionOp::verify() {
  int64_t heads = cast<RankedTensorType>(getQuery().getType()).getDimSize(1);
  int64_t kvHeads = cast<RankedTensorType>(getKeys().getType()).getDimSize(1);
  if (kvHeads < 1 || heads % kvHeads)
    return emitOpError("has ") << heads << " query heads for " << kvHeads
                               << " KV heads, expected a multiple";
  double scale = getScale().convertToDouble();
  if (!std::isfinite(scale) || scale <= 0)
    return emitOpError("has the scale ")
           << scale << ", expected a positive number";
  if (getWindow() && static_cast<int64_t>(*getWindow()) < 1)
    return emitOpError("has a window of ") << static_cast<int64_t>(*getWindow())
                                           << " keys, expected at least 1";
  if (getSoftcap() && failed(verifyCap(*this, *getSoftcap())))
    return failure();
  return success();
}

LogicalResult SoftcapOp::verify() { return verifyCap(*this, getCap()); }

LogicalResult ScaleOp::verify() {
  if (!std::isfinite(getFactor().convertToDouble()))
    return emitOpError("has a factor that is not finite");
  return success();
}

//===----------------------------------------------------------------------===//
// Quantisation
//===----------------------------------------------------------------------===//

static Type getElementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static bool isQuantized(Value value) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(getElementType(value));
}

/// Scales of groups of the features: f32, a column for each group.
static LogicalResult verifyScales(Operation *op, Value values, Value scales,
                                  std::optional<int64_t> groupSize) {
  int64_t width = cast<RankedTensorType>(values.getType()).getDimSize(1);
  auto type = cast<RankedTensorType>(scales.getType());
  int64_t columns = type.getRank() == 2 ? type.getDimSize(1) : 0;
  if (!type.getElementType().isF32() || columns < 1 || width % columns != 0)
    return op->emitOpError("has the scales ")
           << type << ", expected columns of f32, as many as groups of the "
           << width << " features";
  if (groupSize && columns != width / *groupSize)
    return op->emitOpError("has ")
           << columns << " columns of scales, expected " << width / *groupSize
           << ", one for each group of " << *groupSize << " of the " << width
           << " features";
  return success();
}

LogicalResult QuantizeOp::verify() {
  if (isQuantized(getInput()))
    return emitOpError("quantises ")
           << getElementType(getInput()) << ", which is quantised already";
  Type expected = getFormat() == QuantFormat::Fp8E4M3
                      ? Type(Float8E4M3FNType::get(getContext()))
                      : Type(Float8E5M2Type::get(getContext()));
  if (getElementType(getValues()) != expected)
    return emitOpError("gives values of ")
           << getElementType(getValues()) << " for the format "
           << stringifyQuantFormat(getFormat()) << ", expected " << expected;
  int64_t width = cast<RankedTensorType>(getValues().getType()).getDimSize(1);
  int64_t size = static_cast<int64_t>(getGroupSize().value_or(width));
  if (size < 1 || width % size != 0)
    return emitOpError("has groups of ")
           << size << ", expected a divisor of the " << width << " features";
  return verifyScales(*this, getValues(), getScales(), size);
}

LogicalResult DequantizeOp::verify() {
  if (!isQuantized(getValues()))
    return emitOpError("takes values of ")
           << getElementType(getValues()) << ", expected quantised ones";
  if (isQuantized(getResult()))
    return emitOpError("gives ")
           << getElementType(getResult()) << ", which is a quantised type";
  return verifyScales(*this, getValues(), getScales(), std::nullopt);
}
