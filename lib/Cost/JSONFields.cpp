//===- JSONFields.cpp - typed access to the keys of an object -------------===//
#include "JSONFields.h"
#include <algorithm>
#include <cmath>
#include <limits>

using namespace layline;
using nlohmann::json;

void JSONFields::header(const char *schema) {
  oneOf("schema", {schema});
  if (integer("version", 1, 0) != 1)
    fail("version", "found " +
                        (value->is_object() && value->contains("version")
                             ? foundText((*value)["version"])
                             : std::string("none")) +
                        ", expected 1");
}

std::string layline::foundText(const json &value) {
  if (value.is_array())
    return "a list of " + std::to_string(value.size());
  if (value.is_object())
    return "an object";
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

std::string layline::orText(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}

JSONFields::JSONFields(const json &object, std::string where,
                       JSONFault &sharedFault)
    : value(&object), path(std::move(where)), fault(&sharedFault) {
  if (!object.is_object())
    fault->add(path.empty() ? "document" : path,
               "found " + foundText(object) + ", expected an object");
}

std::string JSONFields::pathOf(const std::string &key) const {
  return path.empty() ? key : path + "." + key;
}

bool JSONFields::has(const char *key) const {
  return value->is_object() && value->contains(key);
}

/// `expected` is null where the key may be missing.
const json *JSONFields::find(const char *key, const char *expected) {
  asked.insert(key);
  if (has(key))
    return &(*value)[key];
  if (expected)
    fail(key, std::string("found none, expected ") + expected);
  return nullptr;
}

void JSONFields::fail(const char *key, const std::string &text) {
  fault->add(pathOf(key), text);
}

std::string JSONFields::string(const char *key) {
  const json *found = find(key, "a string");
  if (!found)
    return "";
  if (found->is_string() && !found->get_ref<const std::string &>().empty())
    return found->get<std::string>();
  fail(key, "found " + foundText(*found) + ", expected a string");
  return "";
}

std::string JSONFields::string(const char *key, const std::string &whenAbsent) {
  return find(key, nullptr) ? string(key) : whenAbsent;
}

std::string JSONFields::oneOf(const char *key,
                              const std::vector<std::string> &allowed) {
  std::string expected = orText(allowed);
  const json *found = find(key, expected.c_str());
  if (!found)
    return allowed.front();
  if (found->is_string())
    for (const std::string &name : allowed)
      if (name == found->get_ref<const std::string &>())
        return name;
  fail(key, "found " + foundText(*found) + ", expected " + expected);
  return allowed.front();
}

static std::optional<int64_t> asInteger(const json &value) {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() &&
       value.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max())))
    return std::nullopt;
  return value.get<int64_t>();
}

int64_t JSONFields::integer(const char *key, int64_t min, int64_t whenAbsent) {
  const json *found = find(key, nullptr);
  if (!found)
    return whenAbsent;
  std::optional<int64_t> number = asInteger(*found);
  if (number && *number >= min)
    return *number;
  fail(key, "found " + foundText(*found) + ", expected a whole number from " +
                std::to_string(min) + " on");
  return whenAbsent;
}

bool JSONFields::flag(const char *key, bool whenAbsent) {
  const json *found = find(key, nullptr);
  if (!found)
    return whenAbsent;
  if (found->is_boolean())
    return found->get<bool>();
  fail(key, "found " + foundText(*found) + ", expected true or false");
  return whenAbsent;
}

std::vector<std::string>
JSONFields::strings(const char *key, const std::vector<std::string> &allowed) {
  std::string expected =
      allowed.empty() ? "a list of strings" : "a list of " + orText(allowed);
  std::vector<std::string> result;
  const json *found = find(key, expected.c_str());
  if (!found)
    return result;
  if (!found->is_array()) {
    fail(key, "found " + foundText(*found) + ", expected " + expected);
    return result;
  }
  for (size_t i = 0; i < found->size(); ++i) {
    const json &item = (*found)[i];
    std::string name = item.is_string() ? item.get<std::string>() : "";
    bool known = allowed.empty() ? !name.empty()
                                 : std::find(allowed.begin(), allowed.end(),
                                             name) != allowed.end();
    std::string at = std::string(key) + "[" + std::to_string(i) + "]";
    if (!known)
      fail(at.c_str(), "found " + foundText(item) + ", expected " +
                           (allowed.empty() ? "a string" : orText(allowed)));
    else if (std::find(result.begin(), result.end(), name) != result.end())
      fail(at.c_str(),
           "found " + foundText(item) + " once more, expected each name once");
    else
      result.push_back(name);
  }
  return result;
}

std::vector<int64_t> JSONFields::integers(const char *key, int64_t min) {
  std::string expected =
      "a list of whole numbers from " + std::to_string(min) + " on";
  std::vector<int64_t> result;
  const json *found = find(key, expected.c_str());
  if (!found)
    return result;
  if (!found->is_array() || found->empty()) {
    fail(key, "found " + foundText(*found) + ", expected " + expected);
    return result;
  }
  for (size_t i = 0; i < found->size(); ++i) {
    std::optional<int64_t> number = asInteger((*found)[i]);
    std::string at = std::string(key) + "[" + std::to_string(i) + "]";
    if (!number || *number < min)
      fail(at.c_str(), "found " + foundText((*found)[i]) +
                           ", expected a whole number from " +
                           std::to_string(min) + " on");
    else if (std::find(result.begin(), result.end(), *number) != result.end())
      fail(at.c_str(), "found " + foundText((*found)[i]) +
                           " once more, expected each number once");
    else
      result.push_back(*number);
  }
  return result;
}

std::vector<JSONFields> JSONFields::objects(const char *key) {
  std::vector<JSONFields> result;
  const json *found = find(key, "a list of objects");
  if (!found)
    return result;
  if (!found->is_array()) {
    fail(key, "found " + foundText(*found) + ", expected a list of objects");
    return result;
  }
  for (size_t i = 0; i < found->size(); ++i)
    result.emplace_back((*found)[i],
                        pathOf(key) + "[" + std::to_string(i) + "]", *fault);
  return result;
}

std::vector<std::pair<std::string, double>>
JSONFields::numbers(const char *key) {
  std::vector<std::pair<std::string, double>> result;
  const json *found = find(key, "an object of numbers");
  if (!found)
    return result;
  if (!found->is_object() || found->empty()) {
    fail(key, "found " + foundText(*found) +
                  ", expected an object of numbers above 0");
    return result;
  }
  for (const auto &[name, number] : found->items()) {
    double amount = number.is_number() ? number.get<double>() : 0;
    if (!(amount > 0) || !std::isfinite(amount))
      fail((std::string(key) + "." + name).c_str(),
           "found " + foundText(number) + ", expected a number above 0");
    result.push_back({name, amount});
  }
  return result;
}

std::map<int64_t, double> JSONFields::points(const char *key) {
  const char *expected = "a list of pairs [BYTES, MICROSECONDS]";
  std::map<int64_t, double> result;
  const json *found = find(key, expected);
  if (!found)
    return result;
  if (!found->is_array() || found->empty()) {
    fail(key, "found " + foundText(*found) + ", expected " + expected);
    return result;
  }
  for (size_t i = 0; i < found->size(); ++i) {
    const json &pair = (*found)[i];
    std::string at = std::string(key) + "[" + std::to_string(i) + "]";
    bool isPair = pair.is_array() && pair.size() == 2;
    std::optional<int64_t> bytes = isPair ? asInteger(pair[0]) : std::nullopt;
    double us = isPair && pair[1].is_number() ? pair[1].get<double>() : 0;
    if (!bytes || *bytes < 1 || !(us > 0) || !std::isfinite(us))
      fail(at.c_str(),
           "found " + (isPair ? pair.dump() : foundText(pair)) +
               ", expected a pair [BYTES, MICROSECONDS], both above 0");
    else if (!result.empty() && *bytes <= result.rbegin()->first)
      fail(at.c_str(), "found " + std::to_string(*bytes) + " bytes after " +
                           std::to_string(result.rbegin()->first) +
                           ", expected rising bytes");
    else
      result[*bytes] = us;
  }
  return result;
}

void JSONFields::finish() {
  if (!value->is_object())
    return;
  for (const auto &[key, unused] : value->items())
    if (!asked.count(key))
      fail(key.c_str(),
           "found, expected only " +
               orText(std::vector<std::string>(asked.begin(), asked.end())));
}
