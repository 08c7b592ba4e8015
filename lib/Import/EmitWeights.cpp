//===- EmitWeights.cpp - weights, products with them, norms ---------------===//
#include "Emitter.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

Value Emitter::weight(Weight which) {
  StoredWeight stored = config.find(which, layer);
  bool stacked = StringRef(stored.tensor).contains("{expert}");
  SmallVector<int64_t> storedShape = {stored.storedRows}, shape;
  if (stored.storedCols)
    storedShape.push_back(stored.storedCols);
  if (stacked)
    shape.push_back(config.moe.experts);
  shape.push_back(stored.rows());
  if (stored.storedCols)
    shape.push_back(stored.storedCols);
  DenseI64ArrayAttr window;
  if (!stored.isWholeTensor())
    window = builder.getDenseI64ArrayAttr({stored.rowBegin, stored.rowEnd});
  return d::WeightOp::create(
      builder, at(weightName(which)), RankedTensorType::get(shape, element),
      stored.tensor, storedShape, window,
      stored.period ? builder.getI64IntegerAttr(stored.period) : IntegerAttr());
}

Value Emitter::norm(Value x, Weight which, std::optional<Weight> bias,
                    StringRef name) {
  return norm(x, which, bias, name, config.norm.kind, config.norm.eps);
}

Value Emitter::norm(Value x, Weight which, std::optional<Weight> bias,
                    StringRef name, NormKind statistic, double eps) {
  Value w = weight(which);
  Value b = bias && has(*bias) ? weight(*bias) : Value();
  auto kind =
      statistic == NormKind::RMS ? d::NormKind::Rms : d::NormKind::Layer;
  return d::NormOp::create(builder, at(name), x.getType(), x, w, b,
                           d::NormKindAttr::get(builder.getContext(), kind),
                           builder.getF64FloatAttr(eps),
                           builder.getF64FloatAttr(config.norm.weightOffset));
}

d::LinearOp Emitter::linear(Value x, Weight which, std::optional<Weight> bias) {
  Value w = weight(which);
  Value b = bias && has(*bias) ? weight(*bias) : Value();
  return d::LinearOp::create(
      builder, at(weightName(which)),
      rows(cast<RankedTensorType>(w.getType()).getDimSize(0)), x, w, b);
}

Value Emitter::addBias(Value x, Weight bias) {
  if (!has(bias))
    return x;
  return d::AddBiasOp::create(builder, at(weightName(bias)), x.getType(), x,
                              weight(bias));
}

Value Emitter::softcap(Value x, double cap, const Twine &name) {
  if (cap == 0)
    return x;
  return d::SoftcapOp::create(builder, at(name), x.getType(), x,
                              builder.getF64FloatAttr(cap));
}

Value Emitter::scale(Value x, double factor, const Twine &name) {
  if (factor == 1)
    return x;
  return d::ScaleOp::create(builder, at(name), x.getType(), x,
                            builder.getF64FloatAttr(factor));
}
