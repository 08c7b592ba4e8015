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

/// A gated MLP without the bias of its last product.
Value Emitter::gatedMlp(Value x, Weight gate, std::optional<Weight> gateBias,
                        Weight up, std::optional<Weight> upBias, Weight down,
                        StringRef name) {
  Value g = linear(x, gate, gateBias);
  Value u = linear(x, up, upBias);
  Value inner = d::GatedActivationOp::create(builder, at(name), g.getType(), g,
                                             u, toDialect(config.activation));
  return linear(inner, down, std::nullopt);
}

Emitter::Branch Emitter::denseMlp(Value x) {
  x = quantized(x, "mlp_rows");
  Value out;
  if (config.gatedMlp) {
    out = gatedMlp(x, Weight::Gate, Weight::GateBias, Weight::Up,
                   Weight::UpBias, Weight::Down, "mlp_activation");
  } else {
    Value up = linear(x, Weight::Up, Weight::UpBias);
    Value inner =
        d::ActivationOp::create(builder, at("mlp_activation"), up.getType(), up,
                                toDialect(config.activation));
    out = linear(inner, Weight::Down, std::nullopt);
  }
  return {out,
          has(Weight::DownBias) ? std::optional(Weight::DownBias)
                                : std::nullopt,
          "mlp_out"};
}
