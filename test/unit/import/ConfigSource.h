//===- ConfigSource.h - configs for the tests -------------------*- C++ -*-===//

#ifndef LAYLINE_TEST_UNIT_IMPORT_CONFIGSOURCE_H
#define LAYLINE_TEST_UNIT_IMPORT_CONFIGSOURCE_H

#include "layline/Import/HFConfig.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include <string>

namespace layline::test {

std::string readFile(const std::string &path);
std::string goldenPath(llvm::StringRef family, llvm::StringRef file);
std::string modelPath(llvm::StringRef model);

/// A config that reads, to be changed by a key: golden ones of test/golden, and
/// "mistral" and "mixtral" of the same size, for which there is none.
class ConfigSource {
public:
  explicit ConfigSource(llvm::StringRef family);

  /// `path` is a key or "outer.inner"; a missing outer object is created.
  ConfigSource &set(llvm::StringRef path, llvm::json::Value value);
  /// Sets to any text, such as 1e400 or NaN.
  ConfigSource &setRaw(llvm::StringRef path, llvm::StringRef text);
  ConfigSource &erase(llvm::StringRef path);

  /// All keys, those of nested objects as "outer.inner".
  std::vector<std::string> paths() const;

  std::string text() const;
  /// The config; fails the test if it does not read.
  DecoderConfig config() const;
  /// The error as "refused: MESSAGE" or "malformed: MESSAGE", "" if it reads.
  std::string error() const;

private:
  llvm::json::Object object;
  std::vector<std::pair<std::string, std::string>> raws;
};

/// As ConfigSource::error, of a result at hand.
std::string errorOf(llvm::Expected<DecoderConfig> result);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_IMPORT_CONFIGSOURCE_H
