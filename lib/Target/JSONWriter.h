//===- JSONWriter.h - compact JSON with chosen line breaks ------*- C++ -*-===//
//
// llvm::json::OStream either breaks every line or none. A plan is read by
// people and compared line by line: a step, a weight, a buffer each on one
// line.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_TARGET_JSONWRITER_H
#define LAYLINE_LIB_TARGET_JSONWRITER_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>

namespace layline {

class JSONWriter {
public:
  explicit JSONWriter(llvm::raw_ostream &os) : os(os) {}

  void string(llvm::StringRef text);
  void integer(int64_t value);
  /// The shortest digits that read back as the same double.
  void number(double value);
  void boolean(bool value);
  void null();
  /// Text that is JSON already.
  void raw(llvm::StringRef json);

  void object(llvm::function_ref<void()> contents) { list('{', '}', contents); }
  void array(llvm::function_ref<void()> contents) { list('[', ']', contents); }
  void key(llvm::StringRef name);

  void field(llvm::StringRef name, llvm::StringRef text) {
    key(name);
    string(text);
  }
  void field(llvm::StringRef name, const char *text) {
    field(name, llvm::StringRef(text));
  }
  void field(llvm::StringRef name, int64_t value) {
    key(name);
    integer(value);
  }
  void field(llvm::StringRef name, llvm::function_ref<void()> value) {
    key(name);
    value();
  }

  /// The next element or key begins a line.
  void breakLine(unsigned indent) { pendingIndent = static_cast<int>(indent); }

private:
  void list(char open, char close, llvm::function_ref<void()> contents);
  /// The comma and line break before an element or key.
  void separate();
  void newLine(unsigned indent) {
    os << '\n';
    os.indent(indent);
  }

  llvm::raw_ostream &os;
  bool isFirst = true, afterKey = false;
  int pendingIndent = -1;
};

} // namespace layline

#endif // LAYLINE_LIB_TARGET_JSONWRITER_H
