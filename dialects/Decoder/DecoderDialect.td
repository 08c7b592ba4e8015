//===- DecoderDialect.td - what a decoder stack computes ---*- tablegen -*-===//
#ifndef LAYLINE_DECODER_DIALECT
#define LAYLINE_DECODER_DIALECT

include "mlir/IR/OpBase.td"

def Decoder_Dialect : Dialect {
  let name = "decoder";
  let summary = "What a decoder stack computes, on global tensors.";
  let description = [{
    Activations have the tokens as dimension 0, of unknown size. Weights are
    named as in the Hugging Face checkpoint. Ops say nothing about devices: a
    layout, if there is one, stands in the type (see the grid dialect), and the
    same ops are used before and after placement.

    The attribute `decoder.record` on an op names its results, each a value that
    a person may want to compare: ["layer.0.output"].
    The module attribute `decoder.source` is a dictionary that says where the
    program comes from: {config, digest, model_type, layers, max_positions}.
    The function attribute `decoder.reference` marks the program as imported,
    kept for comparison: placement and planning leave it alone.
    The argument attribute `decoder.input` on a function names an input of the
    program: "input_ids", "positions".
  }];
  let cppNamespace = "::layline::decoder";
  let dependentDialects = ["::layline::grid::GridDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let extraClassDeclaration = [{
    static constexpr ::llvm::StringLiteral kRecord = "decoder.record";
    static constexpr ::llvm::StringLiteral kInput = "decoder.input";
    static constexpr ::llvm::StringLiteral kSource = "decoder.source";
    static constexpr ::llvm::StringLiteral kReference = "decoder.reference";
    void registerAttributes();
  }];
}

#endif // LAYLINE_DECODER_DIALECT
