//===- JSONFields.h - typed access to the keys of an object -----*- C++ -*-===//
//
// The first fault sticks, and later reads return a value in the asked range: a
// reader states what it wants line by line and looks for failure at the end.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_COST_JSONFIELDS_H
#define LAYLINE_LIB_COST_JSONFIELDS_H

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace layline {

/// "FILE: kernels[2].ranks: found \"8\", expected a list of whole numbers".
struct JSONFault {
  std::string file;
  std::string message; ///< of the first one

  void add(const std::string &path, const std::string &text) {
    if (message.empty())
      message = file + ": " + path + ": " + text;
  }
};

class JSONFields {
public:
  /// `path` is that of the object in its document, "" at the top.
  JSONFields(const nlohmann::json &object, std::string path, JSONFault &fault);

  bool has(const char *key) const;
  std::string string(const char *key);
  std::string string(const char *key, const std::string &whenAbsent);
  std::string oneOf(const char *key, const std::vector<std::string> &allowed);
  int64_t integer(const char *key, int64_t min, int64_t whenAbsent);
  bool flag(const char *key, bool whenAbsent);
  /// Strings without repeats; `allowed` is empty if any are.
  std::vector<std::string> strings(const char *key,
                                   const std::vector<std::string> &allowed);
  /// Whole numbers from `min` on without repeats, at least one.
  std::vector<int64_t> integers(const char *key, int64_t min);
  /// The objects of a list.
  std::vector<JSONFields> objects(const char *key);
  /// Keys and numbers above 0 of the object at `key`.
  std::vector<std::pair<std::string, double>> numbers(const char *key);

  /// A list of pairs of a whole number and a number, both above 0, the first of
  /// them rising.
  std::map<int64_t, double> points(const char *key);

  void fail(const char *key, const std::string &text);
  /// Keys that nobody asked for are an error: a misspelt one must not pass.
  void finish();

  /// The members `schema`, as given, and `version`, 1.
  void header(const char *schema);

private:
  const nlohmann::json *find(const char *key, const char *expected);
  std::string pathOf(const std::string &key) const;

  const nlohmann::json *value;
  std::string path;
  JSONFault *fault;
  std::set<std::string> asked;
};

/// A value in messages: `"8"`, `4.5`, `a list of 3`.
std::string foundText(const nlohmann::json &value);
/// "a, b or c".
std::string orText(const std::vector<std::string> &names);

} // namespace layline

#endif // LAYLINE_LIB_COST_JSONFIELDS_H
