//===- DecoderAttrs.td - kinds of norms, RoPE and activations -*- tablegen -*-===//
#ifndef LAYLINE_DECODER_ATTRS
#define LAYLINE_DECODER_ATTRS

include "DecoderDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Decoder_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::layline::decoder";
  let genSpecializedAttr = 0;
}

class Decoder_EnumAttr<EnumAttrInfo info, string mnemonic>
    : EnumAttr<Decoder_Dialect, info, mnemonic> {
  let assemblyFormat = "`<` $value `>`";
}

def Decoder_NormKind : Decoder_Enum<"NormKind", "The statistic of a norm", [
  I32EnumAttrCase<"Rms", 0, "rms">, I32EnumAttrCase<"Layer", 1, "layer">]>;
def Decoder_NormKindAttr : Decoder_EnumAttr<Decoder_NormKind, "norm_kind">;

def Decoder_RopeStyle : Decoder_Enum<"RopeStyle",
  "Which features form a rotated pair: (i, i + rotary/2) or (2i, 2i + 1), or the one coming in and the other going out", [
  I32EnumAttrCase<"Half", 0, "half">, I32EnumAttrCase<"Interleaved", 1, "interleaved">,
  I32EnumAttrCase<"InterleavedToHalf", 2, "interleaved_to_half">]>;
def Decoder_RopeStyleAttr : Decoder_EnumAttr<Decoder_RopeStyle, "rope_style">;

def Decoder_Activation : Decoder_Enum<"Activation", "An element-wise function", [
  I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"Gelu", 1, "gelu">,
  I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">, I32EnumAttrCase<"Relu", 3, "relu">,
  I32EnumAttrCase<"Sigmoid", 4, "sigmoid">]>;
def Decoder_ActivationAttr : Decoder_EnumAttr<Decoder_Activation, "function">;

def Decoder_Scoring : Decoder_Enum<"Scoring", "How router logits become scores", [
  I32EnumAttrCase<"Softmax", 0, "softmax">, I32EnumAttrCase<"Sigmoid", 1, "sigmoid">]>;
def Decoder_ScoringAttr : Decoder_EnumAttr<Decoder_Scoring, "scoring">;

def Decoder_GroupScore : Decoder_Enum<"GroupScore", "What a group of experts is chosen by", [
  I32EnumAttrCase<"Max", 0, "max">, I32EnumAttrCase<"Top2Sum", 1, "top2_sum">]>;
def Decoder_GroupScoreAttr : Decoder_EnumAttr<Decoder_GroupScore, "group_score">;

def Decoder_Plane : Decoder_Enum<"Plane", "What a cache keeps for each token", [
  I32EnumAttrCase<"Key", 0, "key">, I32EnumAttrCase<"Value", 1, "value">,
  I32EnumAttrCase<"Positions", 2, "positions">, I32EnumAttrCase<"Latent", 3, "latent">,
  I32EnumAttrCase<"RopeKey", 4, "rope_key">, I32EnumAttrCase<"IndexKey", 5, "index_key">]>;
def Decoder_PlaneAttr : Decoder_EnumAttr<Decoder_Plane, "plane">;

def Decoder_QuantFormat : Decoder_Enum<"QuantFormat", "The number format that rows are quantised to", [
  I32EnumAttrCase<"Fp8E4M3", 0, "fp8_e4m3">, I32EnumAttrCase<"Fp8E5M2", 1, "fp8_e5m2">]>;
def Decoder_QuantFormatAttr : Decoder_EnumAttr<Decoder_QuantFormat, "quant_format">;

def Decoder_RopeTableAttr : AttrDef<Decoder_Dialect, "RopeTable"> {
  let mnemonic = "rope_table";
  let summary = "The angles of a RoPE, with its scaling worked out.";
  let description = [{
    Pair i of a row at position p is rotated by p * inv_freq[i]; cos and sin are
    multiplied by `factor`. All scalings that depend on the model only (linear,
    Llama 3, YaRN) are in these numbers. LongRoPE has two sets: when the largest
    position of a step is at least `above`, the long ones are used for all rows
    of the step.

    Example:

    ```mlir
    #decoder.rope_table<[1.0, 0.01], factor 1.0>
    #decoder.rope_table<[1.0, 0.01], factor 1.19, above 4096 [0.5, 0.005], factor 1.19>
    ```

    Constraints:
    * every frequency is finite and not negative; there is at least one.
    * both sets have as many frequencies; `above` is positive if there are two.
  }];
  let parameters = (ins
    "::mlir::DenseF64ArrayAttr":$invFreq,
    "::mlir::FloatAttr":$factor,
    DefaultValuedParameter<"int64_t", "0">:$above,
    OptionalParameter<"::mlir::DenseF64ArrayAttr">:$longInvFreq,
    OptionalParameter<"::mlir::FloatAttr">:$longFactor);
  let builders = [
    AttrBuilder<(ins "::llvm::ArrayRef<double>":$invFreq, "double":$factor,
                     CArg<"int64_t", "0">:$above,
                     CArg<"::llvm::ArrayRef<double>", "{}">:$longInvFreq,
                     CArg<"double", "1.0">:$longFactor)>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // LAYLINE_DECODER_ATTRS
