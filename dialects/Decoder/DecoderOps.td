//===- DecoderOps.td - the ops of a decoder stack ----------*- tablegen -*-===//
#ifndef LAYLINE_DECODER_OPS
#define LAYLINE_DECODER_OPS

include "DecoderAttrs.td"
include "dialects/Grid/GridInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Decoder_Float : RankedTensorOf<[AnyFloat]>;
def Decoder_Index : RankedTensorOf<[I64, I32]>;
def Decoder_Any : RankedTensorOf<[AnyFloat, I64, I32]>;

// Every op has a factor model; shapes and layouts are verified from it.
class Decoder_Op<string mnemonic, list<Trait> traits = []>
    : Op<Decoder_Dialect, mnemonic, !listconcat(
        [Pure, DeclareOpInterfaceMethods<LayoutOpInterface>], traits)> {
  let results = (outs Decoder_Float:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

// ... and names the factor that tensor parallelism splits.
class Decoder_SplitOp<string mnemonic, string factor, list<Trait> traits = []>
    : Decoder_Op<mnemonic, traits> {
  let extraClassDeclaration =
    "::llvm::StringRef getTensorParallelFactor() { return \"" # factor # "\"; }";
}

defvar Rowwise = DeclareOpInterfaceMethods<RowwiseOpInterface>;
defvar RowwiseView = DeclareOpInterfaceMethods<RowwiseOpInterface, ["isView"]>;
defvar RowwiseVariant = DeclareOpInterfaceMethods<RowwiseOpInterface, ["getVariant"]>;
defvar RowwiseContraction = DeclareOpInterfaceMethods<RowwiseOpInterface, ["hasContraction"]>;
defvar PartialLinear = DeclareOpInterfaceMethods<PartialLinearOpInterface>;
defvar PartialLinearSum = DeclareOpInterfaceMethods<PartialLinearOpInterface, ["getAddends"]>;
defvar Positioned = DeclareOpInterfaceMethods<PositionedOpInterface>;

def Decoder_WeightOp : Decoder_Op<"weight"> {
  let summary = "A tensor of the checkpoint.";
  let description = [{
    `key` is the tensor's name in the safetensors file and `stored_shape` its
    shape there. `rows` selects a window of its first dimension: a fused QKV
    tensor is three weights. With a `period` the window is taken of every so many
    rows, as where q, k and v of each head stand together. If the key contains
    `{expert}`, the weight is the stack of that tensor over all experts, and the
    result has the expert in front.

    Of a `stored_stack` one tensor has all experts, in its first dimension. A
    `transposed` one is stored [columns, rows]. Both are seen as a weight first,
    and rows are counted in that.

    Example:

    ```mlir
    %w = decoder.weight {key = "model.norm.weight", stored_shape = array<i64: 64>} : () -> tensor<64xbf16>
    %k = decoder.weight {key = "model.layers.0.self_attn.qkv_proj.weight",
                         stored_shape = array<i64: 96, 64>, rows = array<i64: 64, 80>} : () -> tensor<16x64xbf16>
    // Eight heads of 3 * 16 rows: q, k, v.
    %v = decoder.weight {key = "gpt_neox.layers.0.attention.query_key_value.weight",
                         stored_shape = array<i64: 384, 64>, rows = array<i64: 32, 48>, period = 48} : () -> tensor<128x64xbf16>
    // Columns of gate and up in turns.
    %u = decoder.weight {key = "model.layers.0.mlp.experts.gate_up_proj", stored_shape = array<i64: 8, 64, 32>,
                         stored_stack, transposed, rows = array<i64: 1, 2>, period = 2} : () -> tensor<8x16x64xbf16>
    ```

    Constraints:
    * the key is not empty; the result's shape is static.
    * the result's shape is the stored one, with the transposition, `rows`,
      `period` and the stack applied.
    * the window lies in the stored tensor and is not empty.
    * a period needs a window, which lies inside it, and divides the stored rows.
    * a transposed tensor has rows and columns, and no more but the experts.
    * a stored stack is not also one tensor of each expert.
  }];
  let arguments = (ins StrAttr:$key, DenseI64ArrayAttr:$stored_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$rows, OptionalAttr<I64Attr>:$period,
                       UnitAttr:$stored_stack, UnitAttr:$transposed);
  let extraClassDeclaration = [{
    /// The result has the experts in front.
    bool isStacked() { return getStoredStack() || getKey().contains("{expert}"); }
    /// The stored shape of one expert, rows first.
    ::llvm::SmallVector<int64_t> getStoredMatrix();
  }];
  let hasVerifier = 1;
}

def Decoder_EmbeddingOp : Decoder_SplitOp<"embedding", "vocabulary"> {
  let summary = "Rows of the embedding table.";
  let description = [{
    With the vocabulary split, an id outside a rank's part gives a zero row
    there: the result owes the sum.

    Example:

    ```mlir
    %x = decoder.embedding %ids, %table : (tensor<?xi64>, tensor<128x64xbf16>) -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins Decoder_Index:$ids, Decoder_Float:$table);
}

def Decoder_NormOp : Decoder_Op<"norm", [RowwiseVariant]> {
  let summary = "RMSNorm or LayerNorm over the last dimension.";
  let description = [{
    rms: x / sqrt(mean(x^2) + eps) * (weight_offset + w)
    layer: (x - mean(x)) / sqrt(var(x) + eps) * (weight_offset + w) + bias

    Of a tensor [tokens, heads, width] every head is normalised by itself, with
    one weight [width] for all heads or a weight [heads, width] of their own.

    Example:

    ```mlir
    %y = decoder.norm %x, %w {kind = #decoder.norm_kind<rms>, eps = 1.0e-6 : f64}
       : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * the input has 2 or 3 dimensions, the weight 1: the width, or 2 of an input
      with 3: heads and width. A bias is as the weight.
    * eps is positive and finite, weight_offset finite.
    * only a layer norm has a bias.
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Float:$weight, Optional<Decoder_Float>:$bias,
                       Decoder_NormKindAttr:$kind, F64Attr:$eps,
                       DefaultValuedAttr<F64Attr, "0.0">:$weight_offset);
  let hasVerifier = 1;
}

def Decoder_RowSquaresOp : Decoder_Op<"row_squares", [Rowwise]> {
  let summary = "The sum of squares of each row: what an RMSNorm knows of its row.";
  let description = [{
    y[t] = sum_i x[t, i]^2, as one column of f32.

    With the features split, a rank gives the sum over its own and the result
    owes the sum over the ranks. A feature that several ranks hold (a KV head
    that is there more than once) would count more than once, so the features
    are to be a partition: of KV heads, those of the `first_readers`.

    Example:

    ```mlir
    %s = decoder.row_squares %x : (tensor<?x64xbf16>) -> tensor<?x1xf32>
    ```

    Constraints:
    * the operand has two dimensions, the result is one column of f32.
  }];
  let arguments = (ins Decoder_Float:$input);
  let hasVerifier = 1;
}

def Decoder_NormByOp : Decoder_Op<"norm_by", [Rowwise]> {
  let summary = "RMSNorm of rows whose sum of squares is given.";
  let description = [{
    y[t, i] = x[t, i] / sqrt(statistics[t] / width + eps) * w[i]

    With `row_squares` this is a norm in two steps: the features may be split
    over ranks between the two, which a `norm` does not allow. `width` is the
    number of features that the norm is over. It is a number of the model:
    neither splitting nor features that were added to make parts even change it.

    Example:

    ```mlir
    %y = decoder.norm_by %x, %s, %w {eps = 1.0e-6 : f64, width = 64 : i64}
       : (tensor<?x64xbf16>, tensor<?x1xf32>, tensor<64xbf16>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * the statistics are one column of f32 for the same rows, and owe nothing.
    * eps is positive and finite.
    * the width is at least 1 and at most the number of features.
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Float:$statistics, Decoder_Float:$weight,
                       F64Attr:$eps, I64Attr:$width);
  let hasVerifier = 1;
}

def Decoder_LinearOp : Decoder_Op<"linear", [RowwiseContraction, PartialLinearSum]> {
  let summary = "y[t, o] = sum_i x[t, i] w[o, i] + bias[o]";
  let description = [{
    Example:

    ```mlir
    %y = decoder.linear %x, %w : (tensor<?x64xbf16>, tensor<128x64xbf16>) -> tensor<?x128xbf16>
    ```
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Float:$weight, Optional<Decoder_Float>:$bias);
}

def Decoder_LogitsOp : Decoder_SplitOp<"logits", "vocabulary", [RowwiseContraction, PartialLinear]> {
  let summary = "The scores of all vocabulary entries: a linear without bias.";
  let description = [{
    Example:

    ```mlir
    %l = decoder.logits %x, %w : (tensor<?x64xbf16>, tensor<128x64xbf16>) -> tensor<?x128xbf16>
    ```
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Float:$weight);
}

def Decoder_SplitHeadsOp : Decoder_Op<"split_heads", [RowwiseView, PartialLinear]> {
  let summary = "[tokens, heads * width] seen as [tokens, heads, width].";
  let description = [{
    Example:

    ```mlir
    %q = decoder.split_heads %x : (tensor<?x128xbf16>) -> tensor<?x8x16xbf16>
    ```

    Constraints:
    * the result has three dimensions.
  }];
  let arguments = (ins Decoder_Float:$input);
}

def Decoder_MergeHeadsOp : Decoder_Op<"merge_heads", [RowwiseView, PartialLinear]> {
  let summary = "[tokens, heads, width] seen as [tokens, heads * width].";
  let description = [{
    Example:

    ```mlir
    %x = decoder.merge_heads %o : (tensor<?x8x16xbf16>) -> tensor<?x128xbf16>
    ```

    Constraints:
    * the operand has three dimensions.
  }];
  let arguments = (ins Decoder_Float:$input);
}

def Decoder_RopeOp : Decoder_Op<"rope", [Rowwise, Positioned]> {
  let summary = "Rotates pairs of features of each head by the row's position.";
  let description = [{
    The first 2 * (number of frequencies) features of every head are rotated,
    the rest pass. Of the style `interleaved_to_half` the pairs (2i, 2i + 1) go in
    and come out as (i, i + rotary/2), as DeepSeek's latent attention has it. Positions are global: they travel with the rows.

    Example:

    ```mlir
    %k = decoder.rope %x, %positions {style = #decoder.rope_style<half>, table = #decoder.rope_table<[1.0, 0.1], factor 1.0>}
       : (tensor<?x2x16xbf16>, tensor<?xi64>) -> tensor<?x2x16xbf16>
    ```

    Constraints:
    * the rotated width is at most the head width.
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Index:$positions,
                       Decoder_RopeStyleAttr:$style, Decoder_RopeTableAttr:$table);
  let hasVerifier = 1;
}

def Decoder_CacheOp : Decoder_Op<"cache", [DeclareOpInterfaceMethods<RowCarrierOpInterface, ["prependsHistory"]>]> {
  let summary = "The cached rows followed by the rows of this step.";
  let description = [{
    The rows are appended to the cache of that layer and plane and stay there
    for later steps. The one cache of positions has the layer -1.

    Example:

    ```mlir
    %keys = decoder.cache %k {layer = 0, plane = #decoder.plane<key>} : (tensor<?x2x16xbf16>) -> tensor<?x2x16xbf16>
    ```

    Constraints:
    * operand and result have the same type but for their layouts.
    * positions are integers of layer -1; keys and values are floats of a layer >= 0.
  }];
  let arguments = (ins Decoder_Any:$rows, SI64Attr:$layer, Decoder_PlaneAttr:$plane);
  let results = (outs Decoder_Any:$result);
  let hasVerifier = 1;
}

def Decoder_AttentionOp : Decoder_SplitOp<"attention", "heads", [Positioned]> {
  let summary = "Softmax attention of each query head over the keys it may see.";
  let description = [{
    Query head h of `heads` reads KV head h / (heads / kv_heads). Key row s is
    visible to query row t iff not causal or pos[s] <= pos[t], and, with a
    window W, pos[t] - pos[s] < W (W keys, itself included). The softmax is over
    scale * q.k of the visible keys; with a `softcap` c over
    c * tanh(scale * q.k / c).

    Query rows and heads may be split; the keys and values that a rank's queries
    look at must be there: all rows, and exactly the KV heads its heads read.

    A sink of each query head is one more logit of its softmax, as it is, that
    every row sees and that has no value.

    Example:

    ```mlir
    %o = decoder.attention %q, %keys, %values, %positions, %key_positions {scale = 0.25 : f64, causal = true}
       : (tensor<?x8x16xbf16>, tensor<?x2x16xbf16>, tensor<?x2x16xbf16>, tensor<?xi64>, tensor<?xi64>) -> tensor<?x8x16xbf16>
    ```

    Constraints:
    * the number of query heads is a multiple of the number of KV heads.
    * the scale is finite and positive; a window is at least 1; a softcap is
      finite and positive.
  }];
  let arguments = (ins Decoder_Float:$query, Decoder_Float:$keys, Decoder_Float:$values,
                       Decoder_Index:$positions, Decoder_Index:$key_positions,
                       Optional<Decoder_Float>:$sinks, F64Attr:$scale, BoolAttr:$causal,
                       OptionalAttr<I64Attr>:$window, OptionalAttr<F64Attr>:$softcap);
  let hasVerifier = 1;
}

def Decoder_ActivationOp : Decoder_SplitOp<"activation", "features", [Rowwise]> {
  let summary = "An element-wise function.";
  let description = [{
    Example:

    ```mlir
    %y = decoder.activation %x {function = #decoder.function<gelu>} : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_ActivationAttr:$function);
}

def Decoder_GatedActivationOp : Decoder_SplitOp<"gated_activation", "features", [Rowwise]> {
  let summary = "f(gate) * up";
  let description = [{
    Example:

    ```mlir
    %y = decoder.gated_activation %gate, %up {function = #decoder.function<silu>}
       : (tensor<?x32xbf16>, tensor<?x32xbf16>) -> tensor<?x32xbf16>
    ```
  }];
  let arguments = (ins Decoder_Float:$gate, Decoder_Float:$up, Decoder_ActivationAttr:$function);
}

def Decoder_AddOp : Decoder_Op<"add", [Rowwise, PartialLinearSum, Commutative]> {
  let summary = "The sum of two values of one shape: the residual add.";
  let description = [{
    Example:

    ```mlir
    %h = decoder.add %residual, %x : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * both hold the same rows and owe the same sums.
  }];
  let arguments = (ins Decoder_Float:$lhs, Decoder_Float:$rhs);
}

def Decoder_AddBiasOp : Decoder_Op<"add_bias", [Rowwise]> {
  let summary = "Adds one row to every row.";
  let description = [{
    The bias of a projection whose sum is taken across ranks: it is added once,
    to the reduced value, so the op never takes a value that owes a sum.

    Example:

    ```mlir
    %y = decoder.add_bias %x, %b : (tensor<?x64xbf16>, tensor<64xbf16>) -> tensor<?x64xbf16>
    ```
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_Float:$bias);
}

def Decoder_ScaleOp : Decoder_Op<"scale", [Rowwise, PartialLinear]> {
  let summary = "The value times a constant.";
  let description = [{
    Example:

    ```mlir
    %y = decoder.scale %x {factor = 0.22 : f64} : (tensor<?x64xbf16>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * the factor is finite.
  }];
  let arguments = (ins Decoder_Float:$input, F64Attr:$factor);
  let hasVerifier = 1;
}

def Decoder_SoftcapOp : Decoder_Op<"softcap", [Rowwise]> {
  let summary = "cap * tanh(x / cap)";
  let description = [{
    Keeps every element within -cap and cap; not linear, so the value owes no
    sum.

    Example:

    ```mlir
    %y = decoder.softcap %x {cap = 30.0 : f64} : (tensor<?x128xbf16>) -> tensor<?x128xbf16>
    ```

    Constraints:
    * the cap is finite and positive.
  }];
  let arguments = (ins Decoder_Float:$input, F64Attr:$cap);
  let hasVerifier = 1;
}

def Decoder_CastOp : Decoder_Op<"cast", [Rowwise]> {
  let summary = "The value in another floating-point type.";
  let description = [{
    A value that owes a sum is not cast: rounding is not linear.

    Example:

    ```mlir
    %y = decoder.cast %x : (tensor<?x64xbf16>) -> tensor<?x64xf32>
    ```
  }];
  let arguments = (ins Decoder_Float:$input);
}

def Decoder_QuantizeOp : Decoder_Op<"quantize", [Rowwise]> {
  let summary = "Each row in a narrow format, with scales of its own.";
  let description = [{
    scale[t, g] = max_i |x[t, i]| / largest number of the format, of the
    features i of group g; values[t, i] = x[t, i] / scale[t, g] rounded to the
    nearest number of the format, ties to even. A group of zeros has the scale 0
    and stays zeros.

    A group is `group_size` neighbouring features; without it, all of the row.
    The values have the format's element type, so that they cannot be taken for
    the numbers that they stand for; the scales are f32, a column for each group,
    the same rows as the values. Rounding is not linear: a value that owes a sum
    is not quantised. A group's scale needs all of its features: a row may be
    split between groups, and without a `group_size` not at all.

    Example:

    ```mlir
    %v, %s = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>}
       : (tensor<?x64xbf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>)
    %w, %r = decoder.quantize %x {format = #decoder.quant_format<fp8_e4m3>, group_size = 16}
       : (tensor<?x64xbf16>) -> (tensor<?x64xf8E4M3FN>, tensor<?x4xf32>)
    ```

    Constraints:
    * the operand has two dimensions and is not quantised yet.
    * the values have the element type of the format.
    * a group size is positive and divides the features.
    * the scales are f32, one column for each group.
  }];
  let arguments = (ins Decoder_Float:$input, Decoder_QuantFormatAttr:$format,
                       OptionalAttr<I64Attr>:$group_size);
  let results = (outs Decoder_Float:$values, Decoder_Float:$scales);
  let hasVerifier = 1;
}

def Decoder_DequantizeOp : Decoder_Op<"dequantize", [Rowwise]> {
  let summary = "y[t, i] = values[t, i] * scales[t, group of i]";
  let description = [{
    The groups are as wide as the scales' columns say. An engine whose product
    takes scales does this in it.

    Example:

    ```mlir
    %y = decoder.dequantize %v, %s : (tensor<?x64xf8E4M3FN>, tensor<?x1xf32>) -> tensor<?x64xbf16>
    ```

    Constraints:
    * values and scales hold the same rows: a row is not read with the scale of
      another.
    * the values have the element type of a format, the result has not.
    * the scales are f32, of a number of columns that divides the features.
  }];
  let arguments = (ins Decoder_Float:$values, Decoder_Float:$scales);
  let hasVerifier = 1;
}

include "ColumnOps.td"
include "LatentOps.td"
include "MoEOps.td"

#endif // LAYLINE_DECODER_OPS
