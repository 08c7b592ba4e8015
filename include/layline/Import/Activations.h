//===- Activations.h - rows that products read in 8 bits --------*- C++ -*-===//
#ifndef LAYLINE_IMPORT_ACTIVATIONS_H
#define LAYLINE_IMPORT_ACTIVATIONS_H

#include "layline/Import/DecoderConfig.h"
#include "llvm/Support/Error.h"

namespace layline {

/// Sets `config.quantizedRows` as `how` says, and adds to its assumptions what
/// a reader should know of it:
///   model       the model's own type: nothing is quantised
///   checkpoint  as the config's quantization_config says
///   fp8, fp8:token  E4M3, a scale for each row
///   fp8:groupN      E4M3, a scale for every N features of a row
/// An error says what was found and what was expected, without the file's name.
llvm::Error quantizeActivations(DecoderConfig &config, llvm::StringRef how);

/// For usage messages.
inline constexpr llvm::StringLiteral kActivationChoices =
    "model, checkpoint, fp8, fp8:token or fp8:groupN with N features";

} // namespace layline

#endif // LAYLINE_IMPORT_ACTIVATIONS_H
