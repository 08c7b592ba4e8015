//===- HFConfigFields.h - typed access to config keys -----------*- C++ -*-===//
//
// Reads keys that have several spellings. Keys are paths: "rope_theta",
// "rope_parameters.rope_theta". Where several are given, each that is present
// and not null counts, and they must agree.
//
// The first fault sticks and later reads return a value in the asked range, so
// that a reader states what it wants line by line and looks for failure once
// per step. Nothing read after a fault reaches a caller of the reader.
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_LIB_IMPORT_HFCONFIGFIELDS_H
#define LAYLINE_LIB_IMPORT_HFCONFIGFIELDS_H

#include "HFConfigJSON.h"
#include "layline/Import/HFConfig.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include <optional>

namespace layline {

/// The largest size read: what a 32-bit signed count holds.
inline constexpr int64_t kMaxSize = (int64_t(1) << 31) - 1;

struct IntegerRange {
  int64_t min = 1;
  int64_t max = kMaxSize;
};

/// Finite numbers v with low < v <= high, or low <= v if closed below.
struct NumberRange {
  double low = 0;
  double high = 1e300;
  bool closedBelow = false;
};

class HFConfigFields {
public:
  using Paths = llvm::ArrayRef<llvm::StringRef>;

  HFConfigFields(std::string fileName, HFConfigText configText)
      : file(std::move(fileName)), text(std::move(configText)) {}

  /// Present and not null.
  bool has(llvm::StringRef path) const;
  /// The value at a path, null or not; nullptr when absent.
  const llvm::json::Value *find(llvm::StringRef path) const;
  const llvm::json::Object &object() const { return text.object; }

  int64_t integer(Paths paths, IntegerRange range = {});
  std::optional<int64_t> optionalInteger(Paths paths, IntegerRange range = {});
  double number(Paths paths, NumberRange range = {});
  std::optional<double> optionalNumber(Paths paths, NumberRange range = {});
  bool flag(Paths paths, bool whenAbsent);
  std::optional<std::string> optionalString(Paths paths);
  std::vector<double> numbers(llvm::StringRef path, size_t count,
                              NumberRange range = {});
  std::vector<int64_t> optionalIntegers(llvm::StringRef path,
                                        IntegerRange range);
  std::vector<std::string> optionalStrings(llvm::StringRef path);

  bool failed() const { return bool(fault); }
  /// "FILE: key 'PATH': MESSAGE". Only the first fault is kept.
  void malformed(llvm::StringRef path, const llvm::Twine &message);
  void refuse(llvm::StringRef path, const llvm::Twine &message);
  void refuse(const llvm::Twine &message);
  llvm::Error takeError();

  /// `string "32"`, `number 4096.0`, `an array of 3`: for messages.
  std::string describe(llvm::StringRef path) const;

private:
  /// Converts each present spelling and checks that all agree. `convert`
  /// returns nullopt for a value that is not `expected`.
  template <typename T>
  std::optional<T>
  agreeing(Paths paths, const llvm::Twine &expected,
           llvm::function_ref<std::optional<T>(llvm::StringRef)> convert);

  std::optional<int64_t> asInteger(llvm::StringRef path,
                                   const llvm::json::Value &value,
                                   IntegerRange range) const;
  const llvm::json::Array *optionalArray(llvm::StringRef path,
                                         const llvm::Twine &expected);
  std::string describe(llvm::StringRef path,
                       const llvm::json::Value &value) const;
  void missing(Paths paths, const llvm::Twine &expected);
  void fail(HFConfigError::Kind kind, const llvm::Twine &message);

  std::string file;
  HFConfigText text;
  std::optional<std::pair<HFConfigError::Kind, std::string>> fault;
};

} // namespace layline

#endif // LAYLINE_LIB_IMPORT_HFCONFIGFIELDS_H
