//===- LaunchTypes.td - the buffer type and the closed enums -*- tablegen -*-===//
#ifndef LAYLINE_LAUNCH_TYPES
#define LAYLINE_LAUNCH_TYPES

include "LaunchDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

def Launch_BufferType : TypeDef<Launch_Dialect, "Buffer"> {
  let mnemonic = "buffer";
  let summary = "A piece of memory that steps read and write.";
  let description = [{
    What it holds stands at the `launch.buffer` that defines it.

    Example: `!launch.buffer`
  }];
  let builderCall = "$_builder.getType<::layline::launch::BufferType>()";
}

class Launch_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::layline::launch";
}

def Launch_BufferClass : Launch_Enum<"BufferClass", "Who touches a buffer", [
  I32EnumAttrCase<"Activation", 0, "activation">,
  I32EnumAttrCase<"Symmetric", 1, "symmetric">,
  I32EnumAttrCase<"Input", 2, "input">,
  I32EnumAttrCase<"Output", 3, "output">,
  I32EnumAttrCase<"Register", 4, "register">]>;

def Launch_RangeKind : Launch_Enum<"RangeKind", "How a range deals out its items", [
  I32EnumAttrCase<"Block", 0, "block">, I32EnumAttrCase<"Readers", 1, "readers">,
  I32EnumAttrCase<"Zigzag", 2, "zigzag">, I32EnumAttrCase<"Cyclic", 3, "cyclic">,
  I32EnumAttrCase<"FirstReaders", 4, "first_readers">,
  I32EnumAttrCase<"Routed", 5, "routed">]>;

def Launch_Plane : Launch_Enum<"Plane", "What a cache keeps for each token", [
  I32EnumAttrCase<"Key", 0, "key">, I32EnumAttrCase<"Value", 1, "value">,
  I32EnumAttrCase<"Positions", 2, "positions">, I32EnumAttrCase<"Latent", 3, "latent">,
  I32EnumAttrCase<"RopeKey", 4, "rope_key">, I32EnumAttrCase<"IndexKey", 5, "index_key">]>;

// What each kind takes stands in StepKinds.cpp, in the order of this list.
def Launch_StepKind : Launch_Enum<"StepKind", "What a step does: the kinds of plan format 1", [
  I32EnumAttrCase<"Embedding", 0, "embedding">, I32EnumAttrCase<"Norm", 1, "norm">,
  I32EnumAttrCase<"Linear", 2, "linear">, I32EnumAttrCase<"Rope", 3, "rope">,
  I32EnumAttrCase<"CacheAppend", 4, "cache_append">, I32EnumAttrCase<"Attention", 5, "attention">,
  I32EnumAttrCase<"Activation", 6, "activation">,
  I32EnumAttrCase<"GatedActivation", 7, "gated_activation">,
  I32EnumAttrCase<"Router", 8, "router">, I32EnumAttrCase<"Experts", 9, "experts">,
  I32EnumAttrCase<"Add", 10, "add">, I32EnumAttrCase<"AddBias", 11, "add_bias">,
  I32EnumAttrCase<"Mul", 12, "mul">, I32EnumAttrCase<"Scale", 13, "scale">,
  I32EnumAttrCase<"Cast", 14, "cast">, I32EnumAttrCase<"Slice", 15, "slice">,
  I32EnumAttrCase<"AllReduce", 16, "all_reduce">,
  I32EnumAttrCase<"ReduceScatter", 17, "reduce_scatter">,
  I32EnumAttrCase<"AllGather", 18, "all_gather">, I32EnumAttrCase<"Broadcast", 19, "broadcast">,
  I32EnumAttrCase<"Fused", 20, "fused">,
  I32EnumAttrCase<"SliceColumns", 21, "slice_columns">,
  I32EnumAttrCase<"ConcatColumns", 22, "concat_columns">,
  I32EnumAttrCase<"RowScale", 23, "row_scale">,
  I32EnumAttrCase<"AddExpertBias", 24, "add_expert_bias">,
  I32EnumAttrCase<"LatentAttention", 25, "latent_attention">,
  I32EnumAttrCase<"Indexer", 26, "indexer">,
  I32EnumAttrCase<"Softcap", 27, "softcap">,
  I32EnumAttrCase<"RowSquares", 28, "row_squares">, I32EnumAttrCase<"NormBy", 29, "norm_by">,
  I32EnumAttrCase<"Quantize", 30, "quantize">,
  I32EnumAttrCase<"Dequantize", 31, "dequantize">,
  I32EnumAttrCase<"Dispatch", 32, "dispatch">, I32EnumAttrCase<"Combine", 33, "combine">]>;

#endif // LAYLINE_LAUNCH_TYPES
