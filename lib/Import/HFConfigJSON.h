//===- HFConfigJSON.h - the text of a config.json ---------------*- C++ -*-===//
//
// Text -> llvm::json::Object, with what llvm::json::parse leaves open closed:
// its recursion is bounded beforehand, a repeated key is an error instead of
// the last one winning, numbers must follow JSON's grammar, and it is kept
// whether a number was spelled as an integer (4096.0 is not one for HF).
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_LIB_IMPORT_HFCONFIGJSON_H
#define LAYLINE_LIB_IMPORT_HFCONFIGJSON_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace layline {

struct HFConfigText {
  llvm::json::Object object;
  /// Numbers not spelled as an integer, as spelled, by path: "rms_norm_eps",
  /// "rope_scaling.factor", "mlp_only_layers[3]".
  llvm::StringMap<std::string> nonIntegers;
};

/// Errors are malformed HFConfigErrors; those of syntax give line and column.
llvm::Expected<HFConfigText> parseHFConfigText(llvm::StringRef text,
                                               llvm::StringRef file);

} // namespace layline

#endif // LAYLINE_LIB_IMPORT_HFCONFIGJSON_H
