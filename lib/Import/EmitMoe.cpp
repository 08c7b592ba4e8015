//===- EmitMoe.cpp - router, experts and the shared expert ----------------===//
#include "Emitter.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

d::RouterOp Emitter::router(Value x) {
  const MoeConfig &moe = config.moe;
  d::LinearOp logits = linear(x, Weight::Router, Weight::RouterBias);
  record(logits, {"router_logits"});
  auto count = [&](int64_t value) {
    return moe.groups ? builder.getI64IntegerAttr(value) : IntegerAttr();
  };
  d::GroupScoreAttr groupScore;
  if (moe.groups)
    groupScore = d::GroupScoreAttr::get(builder.getContext(),
                                        moe.groupScore == GroupScore::Max
                                            ? d::GroupScore::Max
                                            : d::GroupScore::Top2Sum);
  auto scoring = moe.scoring == RouterScoring::Softmax ? d::Scoring::Softmax
                                                       : d::Scoring::Sigmoid;
  auto router = d::RouterOp::create(
      builder, at("router_top_k"), rows(moe.topK, builder.getI32Type()),
      rows(moe.topK), logits,
      has(Weight::ChoiceBias) ? weight(Weight::ChoiceBias) : Value(),
      builder.getI64IntegerAttr(moe.topK),
      d::ScoringAttr::get(builder.getContext(), scoring),
      builder.getBoolAttr(moe.renormalize), count(moe.groups),
      count(moe.chosenGroups), groupScore, builder.getF64FloatAttr(moe.scale));
  record(router, {"topk_idx", "topk_w"});
  return router;
}

Emitter::Branch Emitter::experts(Value x) {
  const MoeConfig &moe = config.moe;
  // The router reads the model's own type.
  d::RouterOp choice = router(x);
  x = quantized(x, "mlp_rows");
  Value gate = weight(Weight::ExpertGate), up = weight(Weight::ExpertUp),
        down = weight(Weight::ExpertDown);
  SmallVector<Value, 2> biases;
  if (has(Weight::ExpertGateBias))
    biases = {weight(Weight::ExpertGateBias), weight(Weight::ExpertUpBias)};
  Value out = d::ExpertsOp::create(
      builder, at("experts"), x.getType(), x, choice.getIds(),
      choice.getWeights(), gate, up, down, biases,
      d::ActivationAttr::get(builder.getContext(),
                             toDialect(config.activation)),
      moe.limit ? builder.getF64FloatAttr(moe.limit) : FloatAttr(),
      builder.getF64FloatAttr(moe.alpha),
      builder.getF64FloatAttr(moe.upOffset));
  if (moe.sharedIntermediate) {
    // Added before any sum across ranks is taken: one may pay for both.
    Value shared =
        gatedMlp(x, Weight::SharedGate, std::nullopt, Weight::SharedUp,
                 std::nullopt, Weight::SharedDown, "shared_activation");
    out = d::AddOp::create(builder, at("routed_shared_sum"), out.getType(), out,
                           shared);
  }
  Branch branch{out, std::nullopt, "mlp_out", choice.getIds(),
                choice.getWeights()};
  if (has(Weight::ExpertDownBias))
    branch.bias = Weight::ExpertDownBias;
  return branch;
}
