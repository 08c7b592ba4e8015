// What every part of kv.json is read with.
#ifndef LAYLINE_RUNTIME_KV_PARSEPARTS_H
#define LAYLINE_RUNTIME_KV_PARSEPARTS_H

#include "kv/PlanNames.h"
#include "plan/Cursor.h"

#include <algorithm>
#include <initializer_list>

namespace layline::kv {

/// An object with these keys, all of them and no other.
inline void expectKeys(const runtime::Cursor &cursor,
                       std::initializer_list<const char *> keys) {
  if (!cursor.json().is_object())
    cursor.fail("is ", cursor.json().type_name(), "; an object is expected");
  for (const auto &[key, value] : cursor.json().items())
    if (std::none_of(keys.begin(), keys.end(),
                     [&, &name = key](const char *k) { return name == k; }))
      cursor.fail("has an unknown key '", key, "'");
  for (const char *key : keys)
    if (!cursor.has(key))
      cursor.fail("has no '", key, "'");
}

/// Calls visit(element) for each of an array.
template <typename Visit>
void forEach(const runtime::Cursor &cursor, const Visit &visit) {
  if (!cursor.json().is_array())
    cursor.fail("is ", cursor.json().type_name(), "; an array is expected");
  for (std::size_t i = 0; i < cursor.size(); ++i)
    visit(cursor.at(i));
}

template <typename Value, std::size_t N>
Value parseName(const runtime::Cursor &cursor, const Name<Value> (&names)[N]) {
  const std::string &text = cursor.string();
  std::string expected;
  for (const Name<Value> &name : names) {
    if (text == name.text)
      return name.value;
    expected += (expected.empty() ? "'" : ", '") + std::string(name.text) + "'";
  }
  cursor.fail("is '", text, "'; one of ", expected, " is expected");
}

/// A number of something that there are `count` of.
inline int parseIndex(const runtime::Cursor &cursor, std::size_t count) {
  std::int64_t index = cursor.integer();
  if (index < 0 || index >= static_cast<std::int64_t>(count))
    cursor.fail("is ", index, "; there are ", count);
  return static_cast<int>(index);
}

inline std::vector<std::int64_t> parseIntegers(const runtime::Cursor &cursor) {
  std::vector<std::int64_t> numbers;
  forEach(cursor,
          [&](const runtime::Cursor &c) { numbers.push_back(c.integer()); });
  return numbers;
}

/// The number of the thing with this name.
template <typename List>
int parseReference(const runtime::Cursor &cursor, const List &list,
                   const char *what) {
  const std::string &name = cursor.string();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].name == name)
      return static_cast<int>(i);
  cursor.fail("is '", name, "'; there is no ", what, " of this name");
}

/// Names stand for what they name, so each is there once.
template <typename List>
void expectUnique(const runtime::Cursor &cursor, const List &list) {
  constexpr std::size_t kMostNames = 256;
  if (list.size() > kMostNames)
    cursor.fail("has ", list.size(), " elements; at most ", kMostNames,
                " are expected");
  for (std::size_t i = 0; i < list.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (list[i].name == list[k].name)
        cursor.fail("has '", list[i].name, "' at ", k, " and again at ", i);
}

/// Readiness, lifetimes, relay and digests, of a plan of which all else has
/// been read.
void parseCompletion(const runtime::Cursor &root, Plan &plan);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PARSEPARTS_H
