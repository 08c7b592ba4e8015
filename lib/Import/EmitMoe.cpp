//===- EmitMoe.cpp - router and experts -----------------------------------===//
#include "Emitter.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

Emitter::Branch Emitter::experts(Value x) {
  d::LinearOp logits = linear(x, Weight::Router, std::nullopt);
  record(logits, {"router_logits"});
  int64_t topK = config.moe.topK;
  auto router = d::RouterOp::create(
      builder, at("router_top_k"), rows(topK, builder.getI32Type()), rows(topK),
      logits, topK, d::Scoring::Softmax, config.moe.renormalize);
  record(router, {"topk_idx", "topk_w"});
  Value gate = weight(Weight::ExpertGate), up = weight(Weight::ExpertUp),
        down = weight(Weight::ExpertDown);
  Value out = d::ExpertsOp::create(builder, at("experts"), x.getType(), x,
                                   router.getIds(), router.getWeights(), gate,
                                   up, down, toDialect(config.activation));
  return {out, std::nullopt, "mlp_out"};
}
