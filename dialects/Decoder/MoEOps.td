//===- MoEOps.td - router, experts and their biases --------*- tablegen -*-===//
//
// Included by DecoderOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DECODER_MOE_OPS
#define LAYLINE_DECODER_MOE_OPS

def Decoder_RouterOp : Decoder_Op<"router", [Rowwise]> {
  let summary = "The top_k experts of each row and their weights.";
  let description = [{
    Scores are the softmax (or sigmoid) of the logits; the top_k largest are
    taken, largest first, ties by the lower number. With `renormalize` their
    weights are divided by their sum; then they are multiplied by `scale`.

    A bias is added to the scores for the choice only: the weights are without
    it. With `groups` the experts are that many groups of neighbours; experts of
    the `chosen_groups` best groups are taken only. A group's score, `max` of its
    experts' or `top2_sum`, is of what the choice goes by.

    A softmax over the chosen logits, as gpt-oss takes it, is the softmax over all,
    renormalised.

    Example:

    ```mlir
    %ids, %weights = decoder.router %logits {top_k = 2, scoring = #decoder.scoring<softmax>, renormalize = true}
       : (tensor<?x8xbf16>) -> (tensor<?x2xi32>, tensor<?x2xbf16>)
    %i, %w = decoder.router %logits, %bias {top_k = 2, scoring = #decoder.scoring<sigmoid>, renormalize = true,
                                            groups = 4, chosen_groups = 2, group_score = #decoder.group_score<top2_sum>, scale = 2.5 : f64}
       : (tensor<?x8xbf16>, tensor<8xbf16>) -> (tensor<?x2xi32>, tensor<?x2xbf16>)
    ```

    Constraints:
    * top_k is at least 1 and at most the number of experts, and the results' width.
    * groups, chosen_groups and group_score are given together or not at all.
    * the groups divide the experts; those chosen are at least 1, at most all,
      and hold top_k experts.
    * a group of which the two best count has two.
    * the scale is finite.
  }];
  let arguments = (ins Decoder_Float:$logits, Optional<Decoder_Float>:$bias, I64Attr:$top_k,
                       Decoder_ScoringAttr:$scoring, BoolAttr:$renormalize,
                       OptionalAttr<I64Attr>:$groups, OptionalAttr<I64Attr>:$chosen_groups,
                       OptionalAttr<Decoder_GroupScoreAttr>:$group_score,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale);
  let results = (outs Decoder_Index:$ids, Decoder_Float:$weights);
  let hasVerifier = 1;
}

def Decoder_ExpertsOp : Decoder_SplitOp<"experts", "features", [RowwiseContraction]> {
  let summary = "The weighted sum of the chosen experts' gated MLPs.";
  let description = [{
    y[t] = sum_k weights[t, k] * down_e (f(gate_e x[t]) * up_e x[t]) with
    e = ids[t, k]. Weights are stacks: gate and up [experts, features, in], down
    [experts, out, features].

    Biases, if there are any, are those of gate and of up: [experts, features].
    The one of down is added behind the sum: see `add_expert_bias`. With a `limit`
    L the gate is cut off above L and up at both -L and L; `alpha` is that of
    x / (1 + exp(-alpha x)), and `up_offset` is added to up.

    Ids are global: a rank that holds a part of the experts passes over those of
    others. So the result owes a sum over what splits the experts as well as over
    what splits the features.

    It also takes rows that `grid.dispatch` has sent to the ranks of their
    experts: of these a rank computes its experts' part, and `grid.combine` adds
    the parts up.

    Example:

    ```mlir
    %y = decoder.experts %x, %ids, %weights, %gate, %up, %down {function = #decoder.function<silu>}
       : (tensor<?x64xbf16>, tensor<?x2xi32>, tensor<?x2xbf16>, tensor<8x16x64xbf16>, tensor<8x16x64xbf16>, tensor<8x64x16xbf16>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * there are two biases or none.
    * routed rows, their ids and weights come from one dispatch, to as many
      experts as there are; what is made of them is read by `grid.combine` alone.
    * the limit is positive and finite, alpha and up_offset are finite.
    * alpha is 1 unless the function is silu.
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Index:$ids, Decoder_Float:$weights,
                       Decoder_Float:$gate, Decoder_Float:$up, Decoder_Float:$down,
                       Variadic<Decoder_Float>:$biases, Decoder_ActivationAttr:$function,
                       OptionalAttr<F64Attr>:$limit, DefaultValuedAttr<F64Attr, "1.0">:$alpha,
                       DefaultValuedAttr<F64Attr, "0.0">:$up_offset);
  let extraClassDeclaration = [{
    ::llvm::StringRef getTensorParallelFactor() { return "features"; }
    ::llvm::StringRef getExpertParallelFactor() { return "experts"; }
    ::mlir::Value getGateBias() { return getBiases().empty() ? ::mlir::Value() : getBiases()[0]; }
    ::mlir::Value getUpBias() { return getBiases().empty() ? ::mlir::Value() : getBiases()[1]; }
  }];
  let hasVerifier = 1;
}

def Decoder_AddExpertBiasOp : Decoder_Op<"add_expert_bias", [Rowwise]> {
  let summary = "Adds the chosen experts' biases of down, weighted.";
  let description = [{
    y[t] = input[t] + sum_k weights[t, k] * bias[ids[t, k]]. It is added once, to
    the reduced value, so the op never takes a value that owes a sum.

    Example:

    ```mlir
    %y = decoder.add_expert_bias %x, %ids, %weights, %bias
       : (tensor<?x64xbf16>, tensor<?x2xi32>, tensor<?x2xbf16>, tensor<8x64xbf16>) -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Index:$ids, Decoder_Float:$weights, Decoder_Float:$bias);
}

#endif // LAYLINE_DECODER_MOE_OPS
