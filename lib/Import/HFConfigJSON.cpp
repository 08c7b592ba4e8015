//===- HFConfigJSON.cpp - the text of a config.json -----------------------===//

#include "HFConfigJSON.h"
#include "layline/Import/HFConfig.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"
#include <optional>

using namespace layline;
using llvm::StringRef;
using llvm::Twine;

namespace {

// Real configs nest four levels and take at most 40 KB.
constexpr size_t kMaxDepth = 64;
constexpr size_t kMaxBytes = size_t(8) << 20;

struct Position {
  size_t line, column;
};

Position positionOf(StringRef text, size_t offset) {
  StringRef before = text.take_front(offset);
  size_t newline = before.rfind('\n');
  size_t column = newline == StringRef::npos ? offset : offset - newline - 1;
  return {before.count('\n') + 1, column + 1};
}

/// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
struct NumberForm {
  bool valid, integer;
};

NumberForm formOf(StringRef token) {
  auto skipDigits = [&] {
    size_t before = token.size();
    token = token.drop_while(llvm::isDigit);
    return before - token.size();
  };
  token.consume_front("-");
  bool leadingZero = token.starts_with("0");
  size_t digits = skipDigits();
  if (digits == 0 || (leadingZero && digits > 1))
    return {false, false};
  bool integer = token.empty();
  if (token.consume_front(".") && skipDigits() == 0)
    return {false, false};
  if (token.consume_front("e") || token.consume_front("E")) {
    if (!token.consume_front("+"))
      token.consume_front("-");
    if (skipDigits() == 0)
      return {false, false};
  }
  return {token.empty(), integer};
}

/// One pass over the tokens, without a stack of calls. It trusts nothing about
/// the order of tokens: wrong order is the parser's to report.
class Scanner {
public:
  explicit Scanner(StringRef source) : text(source) {}

  struct Fault {
    size_t offset;
    std::string message;
  };

  void run();

  std::optional<Fault> tooDeep;
  /// The first repeated key or malformed number.
  std::optional<Fault> fault;
  llvm::StringMap<std::string> nonIntegers;
  /// NaN and Infinity, which Python's json writes and reads, in order.
  std::vector<StringRef> nonFinites;

private:
  struct Frame {
    bool isObject;
    bool atKey;      // of an object: the next string is a key
    std::string key; // of the value being read
    size_t index = 0;
    llvm::StringSet<> keys;
  };

  void open(bool isObject, size_t at);
  size_t scanString(size_t begin);
  size_t scanNumber(size_t begin);
  size_t scanNonFinite(size_t begin);
  void addKey(StringRef quoted, size_t at);
  std::string path() const;

  void report(size_t offset, const Twine &message) {
    if (!fault)
      fault = Fault{offset, message.str()};
  }

  StringRef text;
  llvm::SmallVector<Frame, 8> frames;
};

void Scanner::open(bool isObject, size_t at) {
  if (frames.size() == kMaxDepth) {
    tooDeep = Fault{at, ("nested deeper than " + Twine(kMaxDepth)).str()};
    return;
  }
  frames.push_back({isObject, isObject, "", 0, {}});
}

std::string Scanner::path() const {
  std::string result;
  for (const Frame &frame : frames) {
    if (!frame.isObject)
      result += "[" + std::to_string(frame.index) + "]";
    else
      result += (result.empty() ? "" : ".") + frame.key;
  }
  return result;
}

void Scanner::addKey(StringRef quoted, size_t at) {
  Frame &frame = frames.back();
  StringRef raw = quoted.drop_front().drop_back();
  frame.key = raw.str();
  if (raw.contains('\\')) {
    // "\u0061" and "a" are one key.
    llvm::Expected<llvm::json::Value> value = llvm::json::parse(quoted);
    if (!value)
      return llvm::consumeError(value.takeError()); // reported by the parser
    frame.key = value->getAsString()->str();
  }
  if (!frame.keys.insert(frame.key).second)
    report(at, "key '" + path() + "' is given twice");
}

/// Returns the offset behind the string's closing quote.
size_t Scanner::scanString(size_t begin) {
  size_t at = begin + 1;
  while (at < text.size() && text[at] != '"')
    at += text[at] == '\\' ? 2 : 1;
  if (at >= text.size())
    return text.size();
  if (!frames.empty() && frames.back().isObject && frames.back().atKey)
    addKey(text.slice(begin, at + 1), begin);
  return at + 1;
}

size_t Scanner::scanNumber(size_t begin) {
  StringRef token = text.substr(begin).take_while([](char c) {
    return llvm::isDigit(c) || StringRef("+-.eE").contains(c);
  });
  NumberForm form = formOf(token);
  if (!form.valid)
    report(begin, "'" + token.take_front(40) + "' is not a JSON number");
  else if (!form.integer)
    nonIntegers[path()] = token.str();
  return begin + token.size();
}

/// Returns `begin` if no such literal begins there.
size_t Scanner::scanNonFinite(size_t begin) {
  for (StringRef literal : {"NaN", "Infinity", "-Infinity"})
    if (text.substr(begin).starts_with(literal)) {
      nonIntegers[path()] = literal.str();
      nonFinites.push_back(text.substr(begin, literal.size()));
      return begin + literal.size();
    }
  return begin;
}

void Scanner::run() {
  for (size_t at = 0; at < text.size() && !tooDeep;) {
    char c = text[at];
    Frame *top = frames.empty() ? nullptr : &frames.back();
    if (c == '"') {
      at = scanString(at);
      continue;
    }
    if (size_t next = scanNonFinite(at); next != at) {
      at = next;
      continue;
    }
    if (llvm::isDigit(c) || c == '-' || c == '+' || c == '.') {
      at = scanNumber(at);
      continue;
    }
    if (c == '{' || c == '[')
      open(c == '{', at);
    else if ((c == '}' || c == ']') && top)
      frames.pop_back();
    else if (c == ':' && top)
      top->atKey = false;
    else if (c == ',' && top) {
      top->atKey = top->isObject;
      ++top->index;
    }
    ++at;
  }
}

llvm::Error malformed(const Twine &message) {
  return llvm::make_error<HFConfigError>(HFConfigError::Kind::Malformed,
                                         message.str());
}

/// The text with a number that overflows to infinity for each of `nonFinites`:
/// a key that is read then fails as out of range, others stay unread.
std::string withoutNonFinites(StringRef text,
                              llvm::ArrayRef<StringRef> nonFinites) {
  std::string result;
  const char *done = text.begin();
  for (StringRef literal : nonFinites) {
    result.append(done, literal.begin());
    result += "1e999";
    done = literal.end();
  }
  return result.append(done, text.end());
}

/// llvm::json's errors print as "[line:column, byte=n]: Expected ...".
llvm::Error syntaxError(StringRef file, llvm::Error error) {
  std::string text = llvm::toString(std::move(error));
  StringRef rest = text;
  unsigned line = 0, column = 0;
  if (rest.consume_front("[") && !rest.consumeInteger(10, line) &&
      rest.consume_front(":") && !rest.consumeInteger(10, column)) {
    StringRef message = rest.split("]: ").second;
    return malformed(file + ":" + Twine(line) + ":" + Twine(column) +
                     ": not JSON: " + message.take_front(1).lower() +
                     message.drop_front(1));
  }
  return malformed(file + ": not JSON: " + text);
}

} // namespace

llvm::Expected<HFConfigText> layline::parseHFConfigText(StringRef text,
                                                        StringRef file) {
  if (text.trim().empty())
    return malformed(file + ": empty, expected a JSON object");
  if (text.size() > kMaxBytes)
    return malformed(file + ": " + Twine(text.size()) +
                     " bytes, expected a config.json of at most " +
                     Twine(kMaxBytes));

  Scanner scanner(text);
  scanner.run();
  auto faultError = [&](const Scanner::Fault &fault) {
    Position at = positionOf(text, fault.offset);
    return malformed(file + ":" + Twine(at.line) + ":" + Twine(at.column) +
                     ": " + fault.message);
  };
  if (scanner.tooDeep)
    return faultError(*scanner.tooDeep);

  std::string finite;
  StringRef parsed = text;
  if (!scanner.nonFinites.empty())
    parsed = finite = withoutNonFinites(text, scanner.nonFinites);
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(parsed);
  if (!value)
    return syntaxError(file, value.takeError());
  if (scanner.fault)
    return faultError(*scanner.fault);
  llvm::json::Object *object = value->getAsObject();
  if (!object)
    return malformed(file + ": found a JSON value that is not an object, "
                            "expected an object at the top level");
  return HFConfigText{std::move(*object), std::move(scanner.nonIntegers)};
}
