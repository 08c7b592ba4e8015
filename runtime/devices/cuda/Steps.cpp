#include "devices/cuda/Steps.h"

#include "plan/Error.h"

#include <array>

namespace layline::runtime::cuda {

StepFunction functionOf(StepKind kind) {
  // In the order of StepKind.
  static const std::array<StepFunction, kStepKinds> functions = {
      addEmbedding,     addNorm,
      addLinear,        addRope,
      addCacheAppend,   addAttention,
      addElementwise,   addElementwise, // activation, gated_activation
      addRouter,        addExperts,
      addElementwise,
      addElementwise,                   // add, add_bias
      addElementwise,   addElementwise, // mul, scale
      addCast,          addSlice,
      addAllReduce,     addReduceScatter,
      addAllGather,     addBroadcast,
      nullptr,          addSliceColumns, // fused
      addConcatColumns, addElementwise,  // row_scale
      addExpertBias,    addLatentAttention,
      addIndexer,       addElementwise, // softcap
      addRowSquares,    addNormBy,
      addQuantize,      addDequantize,
      addDispatch,      addCombine};
  return functions[static_cast<std::size_t>(kind)];
}

local::Function functionFor(runtime::Function function) {
  switch (function) {
  case Function::Silu:
    return local::Function::Silu;
  case Function::Gelu:
    return local::Function::Gelu;
  case Function::GeluTanh:
    return local::Function::GeluTanh;
  case Function::Relu:
    return local::Function::Relu;
  case Function::Sigmoid:
    return local::Function::Sigmoid;
  }
  return local::Function::Silu;
}

std::string titleOf(const Step &step) {
  return concat("step '", step.id, "' (", step.info().name,
                step.name().empty() ? "" : ", ", step.name(), ")");
}

namespace {

[[noreturn]] void refuse(const Step &step, const std::string &why) {
  fail(LAYLINE_REFUSED_FEATURE, "device 'cuda' cannot run step '", step.id,
       "' (", step.info().name, step.place.empty() ? "" : ", ", step.place,
       "): ", why);
}

/// A head's elements, of its last dimension.
void checkHeadWidth(const Step &step, const Operand &operand) {
  const Expr &width = operand.shape.back();
  if (width.isConstant() && width.value > local::kMaxHeadWidth)
    refuse(step, concat("heads of ", width.value, " features; at most ",
                        local::kMaxHeadWidth, " are expected"));
}

/// What a query is beside cached latents and rotated keys.
void checkLatentWidth(const Step &step) {
  const Expr &latent = step.arg("key_up").shape.back(),
             &rotary = step.arg("query_rope").shape.back();
  if (latent.isConstant() && rotary.isConstant() &&
      latent.value + rotary.value > local::kMaxHeadWidth)
    refuse(step, concat("latents of ", latent.value, " and ", rotary.value,
                        " rotated features; together at most ",
                        local::kMaxHeadWidth, " are expected"));
}

void checkStep(const Step &step) {
  for (const Step &inner : step.body)
    checkStep(inner);
  switch (step.kind) {
  case StepKind::Add:
  case StepKind::Mul:
    if (step.list("inputs").size() > local::kMaxInputs)
      refuse(step, concat(step.list("inputs").size(), " inputs; at most ",
                          local::kMaxInputs, " are expected"));
    break;
  case StepKind::Attention:
    checkHeadWidth(step, step.arg("query"));
    checkHeadWidth(step, step.arg("output"));
    break;
  case StepKind::LatentAttention:
    checkLatentWidth(step);
    break;
  case StepKind::Rope:
    checkHeadWidth(step, step.arg("input"));
    break;
  case StepKind::Router:
    if (const Expr &experts = step.arg("logits").shape.back();
        experts.isConstant() && experts.value > local::kMaxExperts)
      refuse(step, concat(experts.value, " experts; at most ",
                          local::kMaxExperts, " are expected"));
    break;
  default:
    break;
  }
}

} // namespace

void checkSteps(const Plan &plan) {
  for (const Variant &variant : plan.variants)
    for (const Step &step : variant.steps)
      checkStep(step);
}

} // namespace layline::runtime::cuda
