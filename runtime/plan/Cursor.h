// A place in a JSON document that can say where it is. The path is only put
// together when a message needs it.
#ifndef LAYLINE_RUNTIME_PLAN_CURSOR_H
#define LAYLINE_RUNTIME_PLAN_CURSOR_H

#include "plan/Error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>

namespace layline::runtime {

/// Children keep a pointer to their parent: use them as locals.
class Cursor {
public:
  explicit Cursor(const nlohmann::json &document) : value_(&document) {}

  const nlohmann::json &json() const { return *value_; }

  std::string path() const {
    if (!parent_)
      return "";
    std::string base = parent_->path();
    if (!key_)
      return base + "[" + std::to_string(index_) + "]";
    return base.empty() ? key_ : base + "." + key_;
  }

  template <typename... Parts>
  [[noreturn]] void fail(const Parts &...parts) const {
    invalid(parent_ ? path() : "document", ": ", parts...);
  }

  bool has(const char *key) const { return value_->contains(key); }

  Cursor at(const char *key) const {
    auto found = value_->find(key);
    if (found == value_->end())
      fail("has no '", key, "'");
    return Cursor(*found, this, key, 0);
  }

  Cursor at(std::size_t index) const {
    return Cursor((*value_)[index], this, nullptr, index);
  }
  std::size_t size() const { return value_->size(); }

  const std::string &string() const {
    if (!value_->is_string())
      fail("is ", value_->type_name(), "; a string is expected");
    return value_->get_ref<const std::string &>();
  }

  std::int64_t integer() const {
    if (!value_->is_number_integer() ||
        (value_->is_number_unsigned() &&
         value_->get<std::uint64_t>() >
             static_cast<std::uint64_t>(
                 std::numeric_limits<std::int64_t>::max())))
      fail("is ", value_->dump(), "; a 64-bit integer is expected");
    return value_->get<std::int64_t>();
  }

  double number() const {
    if (!value_->is_number())
      fail("is ", value_->type_name(), "; a number is expected");
    return value_->get<double>();
  }

  bool boolean() const {
    if (!value_->is_boolean())
      fail("is ", value_->type_name(), "; true or false is expected");
    return value_->get<bool>();
  }

private:
  Cursor(const nlohmann::json &value, const Cursor *parent, const char *key,
         std::size_t index)
      : value_(&value), parent_(parent), key_(key), index_(index) {}

  const nlohmann::json *value_;
  const Cursor *parent_ = nullptr;
  const char *key_ = nullptr;
  std::size_t index_ = 0;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_CURSOR_H
