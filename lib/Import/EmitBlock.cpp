//===- EmitBlock.cpp - a layer: norms, branches and residual --------------===//
#include "Emitter.h"

using namespace mlir;
using namespace layline;
namespace d = layline::decoder;

Value Emitter::block(Value residual) {
  Value out =
      config.isParallel() ? parallelBlock(residual) : sequentialBlock(residual);
  return recorded(out, "output");
}

Emitter::Branch Emitter::mlp(Value x) {
  return config.perLayer[layer].mlp == MlpKind::MoE ? experts(x) : denseMlp(x);
}

Value Emitter::finish(const Branch &branch) {
  return recorded(addBias(branch.product, branch), branch.name);
}

Value Emitter::addBias(Value x, const Branch &branch) {
  if (!branch.bias)
    return x;
  if (!branch.expertIds)
    return addBias(x, *branch.bias);
  return d::AddExpertBiasOp::create(builder, at(weightName(*branch.bias)),
                                    x.getType(), x, branch.expertIds,
                                    branch.expertWeights, weight(*branch.bias));
}

Value Emitter::addToResidual(Value residual, Value branch, StringRef name) {
  branch = scale(branch, config.residualScale, name + Twine("_scale"));
  return d::AddOp::create(builder, at(name), residual.getType(), residual,
                          branch);
}

/// One branch after the other.
Value Emitter::sequentialBlock(Value residual) {
  bool isBefore = config.block != BlockStructure::PostNorm;
  bool isBehind = config.block != BlockStructure::PreNorm;
  auto before = [&](Value x, Weight weight, Weight bias, StringRef name) {
    return isBefore ? recorded(norm(x, weight, bias, name), name) : x;
  };
  auto behind = [&](const Branch &branch, Weight weight, StringRef name) {
    Value x = finish(branch);
    return isBehind ? recorded(norm(x, weight, std::nullopt, name), name) : x;
  };
  Value x =
      before(residual, Weight::InputNorm, Weight::InputNormBias, "input_norm");
  Value attn = behind(attention(x), Weight::AttnBranchNorm, "attn_branch_norm");
  residual = addToResidual(residual, attn, "attn_residual");
  Value y =
      before(residual, Weight::MlpNorm, Weight::MlpNormBias, "post_attn_norm");
  Value out = behind(mlp(y), Weight::MlpBranchNorm, "mlp_branch_norm");
  return addToResidual(residual, out, "mlp_residual");
}

/// Both branches read the layer's input. Their products are added first, so
/// that one sum across ranks pays for both; biases follow it, once. A branch's
/// own output with its bias is then no value of the program.
Value Emitter::parallelBlock(Value residual) {
  Value x = recorded(
      norm(residual, Weight::InputNorm, Weight::InputNormBias, "input_norm"),
      "input_norm");
  Value y = x;
  if (config.block == BlockStructure::ParallelTwoNorms)
    y = recorded(
        norm(residual, Weight::MlpNorm, Weight::MlpNormBias, "post_attn_norm"),
        "post_attn_norm");
  Branch branches[] = {attention(x), mlp(y)};
  for (const Branch &branch : branches)
    if (!branch.bias)
      recorded(branch.product, branch.name);
  Value sum = d::AddOp::create(builder, at("attn_mlp_sum"), residual.getType(),
                               branches[0].product, branches[1].product);
  for (const Branch &branch : branches)
    sum = addBias(sum, branch);
  return addToResidual(residual, recorded(sum, "attn_mlp_out"), "residual");
}
