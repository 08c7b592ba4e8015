//===- HFConfigFields.cpp - typed access to config keys -------------------===//

#include "HFConfigFields.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace layline;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

namespace {

std::string expectation(IntegerRange range) {
  if (range.min == 1 && range.max == kMaxSize)
    return "a positive integer below 2^31";
  return ("an integer between " + Twine(range.min) + " and " + Twine(range.max))
      .str();
}

std::string plain(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(value);
  return text;
}

std::string expectation(NumberRange range) {
  std::string text = range.closedBelow
                         ? "a number of at least " + plain(range.low)
                     : range.low == 0 ? "a positive number"
                                      : "a number above " + plain(range.low);
  if (range.high < NumberRange().high)
    text += ", at most " + plain(range.high);
  return text;
}

bool contains(NumberRange range, double value) {
  return std::isfinite(value) && value <= range.high &&
         (range.closedBelow ? value >= range.low : value > range.low);
}

std::string elementPath(StringRef path, size_t index) {
  return (path + "[" + Twine(index) + "]").str();
}

} // namespace

const json::Value *HFConfigFields::find(StringRef path) const {
  const json::Object *object = &text.object;
  while (true) {
    auto [outer, inner] = path.split('.');
    const json::Value *value = object->get(outer);
    if (inner.empty() || !value)
      return value;
    object = value->getAsObject();
    if (!object)
      return nullptr;
    path = inner;
  }
}

bool HFConfigFields::has(StringRef path) const {
  const json::Value *value = find(path);
  return value && value->kind() != json::Value::Null;
}

std::string HFConfigFields::describe(StringRef path) const {
  const json::Value *value = find(path);
  return value ? describe(path, *value) : "nothing";
}

std::string HFConfigFields::describe(StringRef path,
                                     const json::Value &value) const {
  std::string shown;
  llvm::raw_string_ostream os(shown);
  switch (value.kind()) {
  case json::Value::Null:
    return "null";
  case json::Value::Boolean:
    os << "boolean " << value;
    return shown;
  case json::Value::Number: {
    auto spelled = text.nonIntegers.find(path);
    if (spelled != text.nonIntegers.end())
      os << "number " << StringRef(spelled->second).take_front(40);
    else
      os << "number " << value;
    return shown;
  }
  case json::Value::String: {
    // Printing as JSON escapes what a terminal should not see.
    StringRef string = *value.getAsString();
    bool cut = string.size() > 40;
    os << "string "
       << json::Value(
              json::fixUTF8(string.take_front(cut ? 40 : string.size())));
    return shown + (cut ? "..." : "");
  }
  case json::Value::Array:
    return "an array of " + std::to_string(value.getAsArray()->size());
  case json::Value::Object:
    return "an object";
  }
  return shown;
}

void HFConfigFields::fail(HFConfigError::Kind kind, const Twine &message) {
  if (!fault)
    fault.emplace(kind, (file + ": " + message).str());
}

void HFConfigFields::malformed(StringRef path, const Twine &message) {
  fail(HFConfigError::Kind::Malformed, "key '" + path + "': " + message);
}

void HFConfigFields::refuse(StringRef path, const Twine &message) {
  fail(HFConfigError::Kind::Refused, "key '" + path + "': " + message);
}

void HFConfigFields::refuse(const Twine &message) {
  fail(HFConfigError::Kind::Refused, message);
}

llvm::Error HFConfigFields::takeError() {
  if (!fault)
    return llvm::Error::success();
  return llvm::make_error<HFConfigError>(fault->first, fault->second);
}

void HFConfigFields::missing(Paths paths, const Twine &expected) {
  // A null is absent only where absence is allowed.
  for (StringRef path : paths)
    if (find(path))
      return malformed(path, "found null, expected " + expected);
  // Of the spellings in a nested object, the one whose object is there.
  StringRef shown = paths.front();
  for (StringRef path : paths)
    if (StringRef outer = path.rsplit('.').first; outer != path && has(outer)) {
      shown = path;
      break;
    }
  std::string others;
  for (StringRef path : paths)
    if (path != shown && !path.contains('.'))
      others += (others.empty() ? " (or '" : ", '") + path.str() + "'";
  if (!others.empty())
    others += ")";
  fail(HFConfigError::Kind::Malformed,
       "key '" + shown + "'" + others + ": missing, expected " + expected);
}

template <typename T>
std::optional<T> HFConfigFields::agreeing(
    Paths paths, const Twine &expected,
    llvm::function_ref<std::optional<T>(StringRef)> convert) {
  std::optional<T> first;
  StringRef firstPath;
  for (StringRef path : paths) {
    if (!has(path))
      continue;
    std::optional<T> value = convert(path);
    if (!value) {
      malformed(path, "found " + describe(path) + ", expected " + expected);
      return std::nullopt;
    }
    if (!first) {
      first = std::move(value);
      firstPath = path;
    } else if (*first != *value) {
      malformed(firstPath, "found " + describe(firstPath) + ", but key '" +
                               path + "' says " + describe(path) +
                               "; expected the same value");
      return std::nullopt;
    }
  }
  return first;
}

std::optional<int64_t> HFConfigFields::asInteger(StringRef path,
                                                 const json::Value &value,
                                                 IntegerRange range) const {
  // getAsInteger takes 4096.0 and 1e3, which HF refuses.
  if (text.nonIntegers.count(path))
    return std::nullopt;
  std::optional<int64_t> integer = value.getAsInteger();
  if (!integer || *integer < range.min || *integer > range.max)
    return std::nullopt;
  return integer;
}

std::optional<int64_t> HFConfigFields::optionalInteger(Paths paths,
                                                       IntegerRange range) {
  return agreeing<int64_t>(paths, expectation(range), [&](StringRef path) {
    return asInteger(path, *find(path), range);
  });
}

int64_t HFConfigFields::integer(Paths paths, IntegerRange range) {
  std::optional<int64_t> value = optionalInteger(paths, range);
  if (!value)
    missing(paths, expectation(range));
  return value.value_or(range.min);
}

std::optional<double> HFConfigFields::optionalNumber(Paths paths,
                                                     NumberRange range) {
  return agreeing<double>(
      paths, expectation(range), [&](StringRef path) -> std::optional<double> {
        std::optional<double> value = find(path)->getAsNumber();
        if (!value || !contains(range, *value))
          return std::nullopt;
        return value;
      });
}

double HFConfigFields::number(Paths paths, NumberRange range) {
  std::optional<double> value = optionalNumber(paths, range);
  if (!value)
    missing(paths, expectation(range));
  return value.value_or(range.low + 1);
}

bool HFConfigFields::flag(Paths paths, bool whenAbsent) {
  return agreeing<bool>(
             paths, "true or false",
             [&](StringRef path) { return find(path)->getAsBoolean(); })
      .value_or(whenAbsent);
}

std::optional<std::string> HFConfigFields::optionalString(Paths paths) {
  return agreeing<std::string>(
      paths, "a string", [&](StringRef path) -> std::optional<std::string> {
        if (std::optional<StringRef> value = find(path)->getAsString())
          return value->str();
        return std::nullopt;
      });
}

const json::Array *HFConfigFields::optionalArray(StringRef path,
                                                 const Twine &expected) {
  if (!has(path))
    return nullptr;
  const json::Array *array = find(path)->getAsArray();
  if (!array)
    malformed(path, "found " + describe(path) + ", expected " + expected);
  return array;
}

std::vector<double> HFConfigFields::numbers(StringRef path, size_t count,
                                            NumberRange range) {
  std::string expected = ("an array of " + Twine(count) + " numbers").str();
  std::vector<double> values;
  if (const json::Array *array = optionalArray(path, expected)) {
    if (array->size() != count)
      malformed(path, "found an array of " + Twine(array->size()) +
                          ", expected " + expected);
    for (const json::Value &element : *array) {
      std::optional<double> value = element.getAsNumber();
      std::string at = elementPath(path, values.size());
      if (!value || !contains(range, *value))
        malformed(at, "found " + describe(at, element) + ", expected " +
                          expectation(range));
      values.push_back(value.value_or(0));
    }
  } else {
    missing(path, expected);
  }
  values.resize(count);
  return values;
}

std::vector<int64_t> HFConfigFields::optionalIntegers(StringRef path,
                                                      IntegerRange range) {
  std::vector<int64_t> values;
  if (const json::Array *array = optionalArray(path, "an array of integers"))
    for (const json::Value &element : *array) {
      std::string at = elementPath(path, values.size());
      std::optional<int64_t> value = asInteger(at, element, range);
      if (!value)
        malformed(at, "found " + describe(at, element) + ", expected " +
                          expectation(range));
      values.push_back(value.value_or(range.min));
    }
  return values;
}

std::vector<std::string> HFConfigFields::optionalStrings(StringRef path) {
  std::vector<std::string> values;
  if (const json::Array *array = optionalArray(path, "an array of strings"))
    for (const json::Value &element : *array) {
      std::optional<StringRef> value = element.getAsString();
      std::string at = elementPath(path, values.size());
      if (!value)
        malformed(at, "found " + describe(at, element) + ", expected a string");
      values.push_back(value ? value->str() : "");
    }
  return values;
}
