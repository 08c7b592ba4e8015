//===- HFConfig.h - reads Hugging Face config.json --------------*- C++ -*-===//
//
// config.json -> DecoderConfig. What a model computes is code in HF and only
// its sizes are in the file, so a model is read through the description of its
// family (`model_type`); an unknown family is refused, never guessed.
//
// Absent keys: a value that HF derives from other keys of the file
// (num_key_value_heads of llama, head_dim) or that belongs to the method
// (rope_theta 10000, activation silu) is filled in. A number that HF takes from
// one published model (qwen3's head_dim 128, mistral's window 4096) is not: the
// key is then required.
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_IMPORT_HFCONFIG_H
#define LAYLINE_IMPORT_HFCONFIG_H

#include "layline/Import/DecoderConfig.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace layline {

/// Why a config was not read. The message names the file, the key, what was
/// found and what was expected:
///   config.json: key 'num_attention_heads': found string "32", expected a
///   positive integer
class HFConfigError : public llvm::ErrorInfo<HFConfigError> {
public:
  enum class Kind {
    /// A well-formed model that this compiler does not support (tools: exit 1).
    Refused,
    /// The file cannot be read, is not JSON, or states something impossible or
    /// contradictory (tools: exit 2).
    Malformed,
  };
  static char ID;

  HFConfigError(Kind kind, std::string message)
      : errorKind(kind), text(std::move(message)) {}

  Kind kind() const { return errorKind; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  Kind errorKind;
  std::string text;
};

/// Reads the file at `path`, whose text is left in `text` if it is given.
/// Errors are HFConfigErrors that name the file as given.
llvm::Expected<DecoderConfig> readHFConfig(llvm::StringRef path,
                                           std::string *text = nullptr);

/// Reads config text; `name` stands for the file in messages.
llvm::Expected<DecoderConfig> parseHFConfig(llvm::StringRef text,
                                            llvm::StringRef name);

/// The supported values of `model_type`, sorted.
std::vector<std::string> knownModelTypes();

} // namespace layline

#endif // LAYLINE_IMPORT_HFCONFIG_H
