//===- EmitMlp.cpp - the dense MLP ----------------------------------------===//
#include "Emitter.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

d::Activation layline::toDialect(Activation function) {
  switch (function) {
  case Activation::SiLU:
    return d::Activation::Silu;
  case Activation::GELU:
    return d::Activation::Gelu;
  case Activation::GELUTanh:
    return d::Activation::GeluTanh;
  case Activation::ReLU:
    return d::Activation::Relu;
  }
  llvm_unreachable("unknown activation");
}

Emitter::Branch Emitter::denseMlp(Value x) {
  d::Activation function = toDialect(config.activation);
  Value inner;
  if (config.gatedMlp) {
    Value gate = linear(x, Weight::Gate, Weight::GateBias);
    Value up = linear(x, Weight::Up, Weight::UpBias);
    inner = d::GatedActivationOp::create(builder, at("mlp_activation"),
                                         gate.getType(), gate, up, function);
  } else {
    Value up = linear(x, Weight::Up, Weight::UpBias);
    inner = d::ActivationOp::create(builder, at("mlp_activation"), up.getType(),
                                    up, function);
  }
  return {linear(inner, Weight::Down, std::nullopt),
          has(Weight::DownBias) ? std::optional(Weight::DownBias)
                                : std::nullopt,
          "mlp_out"};
}
