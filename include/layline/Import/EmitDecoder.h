//===- EmitDecoder.h - a model's facts as decoder IR ------------*- C++ -*-===//
#ifndef LAYLINE_IMPORT_EMITDECODER_H
#define LAYLINE_IMPORT_EMITDECODER_H

#include "layline/Import/DecoderConfig.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace layline {

/// Where a program comes from; carried into the launch plan.
struct ProgramSource {
  std::string config; ///< file name, without its folder
  std::string digest; ///< "sha256:..." of the config's text
};

/// The whole decoder stack as one function @decoder(input_ids, positions) ->
/// logits, on global tensors without layouts. The context must have the decoder
/// and func dialects loaded. The result always verifies.
mlir::OwningOpRef<mlir::ModuleOp> emitDecoder(const DecoderConfig &config,
                                              const ProgramSource &source,
                                              mlir::MLIRContext &context);

} // namespace layline

#endif // LAYLINE_IMPORT_EMITDECODER_H
