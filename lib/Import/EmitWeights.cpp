//===- EmitWeights.cpp - weights, products with them, norms ---------------===//
#include "Emitter.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

Value Emitter::weight(Weight which) {
  StoredWeight stored = config.find(which, layer);
  bool isOfEach = StringRef(stored.tensor).contains("{expert}");
  SmallVector<int64_t> matrix = {stored.storedRows}, shape = {stored.rows()};
  if (stored.storedCols) {
    matrix.push_back(stored.storedCols);
    shape.push_back(stored.storedCols);
  }
  if (stored.isTransposed)
    std::swap(matrix[0], matrix[1]);
  if (stored.stack)
    matrix.insert(matrix.begin(), stored.stack);
  if (stored.stack || isOfEach)
    shape.insert(shape.begin(), config.moe.experts);
  DenseI64ArrayAttr window;
  if (!stored.isWholeTensor())
    window = builder.getDenseI64ArrayAttr({stored.rowBegin, stored.rowEnd});
  auto flag = [&](bool isSet) {
    return isSet ? builder.getUnitAttr() : UnitAttr();
  };
  return d::WeightOp::create(
      builder, at(weightName(which)), RankedTensorType::get(shape, element),
      builder.getStringAttr(stored.tensor),
      builder.getDenseI64ArrayAttr(matrix), window,
      stored.period ? builder.getI64IntegerAttr(stored.period) : IntegerAttr(),
      flag(stored.stack != 0), flag(stored.isTransposed));
}

Value Emitter::quantized(Value x, StringRef name) {
  if (!config.quantizedRows)
    return x;
  Value &known = quantizedRows[x];
  if (known)
    return known;
  int64_t width = cast<RankedTensorType>(x.getType()).getDimSize(1);
  int64_t size = config.quantizedRows->groupSize;
  auto op = d::QuantizeOp::create(
      builder, at(name),
      rows(width, Float8E4M3FNType::get(builder.getContext())),
      rows(size ? width / size : 1, builder.getF32Type()), x,
      d::QuantFormatAttr::get(builder.getContext(), d::QuantFormat::Fp8E4M3),
      size ? builder.getI64IntegerAttr(size) : IntegerAttr());
  std::string scales = (name + "_scales").str();
  record(op, {name, scales});
  return known = d::DequantizeOp::create(builder, at(name), x.getType(),
                                         op.getValues(), op.getScales());
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
