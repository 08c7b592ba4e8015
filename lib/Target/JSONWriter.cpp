//===- JSONWriter.cpp - compact JSON with chosen line breaks --------------===//
#include "JSONWriter.h"
#include "llvm/ADT/StringExtras.h"
#include <charconv>

using namespace layline;

void JSONWriter::separate() {
  if (afterKey) {
    afterKey = false;
    return;
  }
  if (!isFirst)
    os << ',';
  if (pendingIndent >= 0)
    newLine(pendingIndent);
  else if (!isFirst)
    os << ' ';
  isFirst = false;
  pendingIndent = -1;
}

static void printQuoted(llvm::raw_ostream &os, llvm::StringRef text) {
  os << '"';
  size_t clean = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    if (c >= 0x20 && c != '"' && c != '\\')
      continue;
    os << text.slice(clean, i);
    clean = i + 1;
    if (c == '"' || c == '\\')
      os << '\\' << static_cast<char>(c);
    else
      os << "\\u00" << llvm::hexdigit(c >> 4, true)
         << llvm::hexdigit(c & 15, true);
  }
  os << text.substr(clean) << '"';
}

void JSONWriter::string(llvm::StringRef text) {
  separate();
  printQuoted(os, text);
}

void JSONWriter::integer(int64_t value) {
  separate();
  os << value;
}

void JSONWriter::number(double value) {
  separate();
  char digits[32];
  auto result = std::to_chars(std::begin(digits), std::end(digits), value);
  llvm::StringRef text(digits, result.ptr - digits);
  os << text;
  // Stay a number with a fraction for readers that tell the two apart.
  if (text.find_first_of(".e") == llvm::StringRef::npos)
    os << ".0";
}

void JSONWriter::boolean(bool value) {
  separate();
  os << (value ? "true" : "false");
}

void JSONWriter::null() {
  separate();
  os << "null";
}

void JSONWriter::raw(llvm::StringRef json) {
  separate();
  os << json;
}

void JSONWriter::key(llvm::StringRef name) {
  separate();
  printQuoted(os, name);
  os << ": ";
  afterKey = true;
}

void JSONWriter::list(char open, char close,
                      llvm::function_ref<void()> contents) {
  separate();
  os << open;
  isFirst = true;
  contents();
  // A break that no element has used goes before the bracket.
  if (pendingIndent >= 0)
    newLine(pendingIndent);
  pendingIndent = -1;
  os << close;
  isFirst = false;
}
