// The one exception of the runtime. It is caught at the C border and becomes a
// layline_status with a text.
#ifndef LAYLINE_RUNTIME_PLAN_ERROR_H
#define LAYLINE_RUNTIME_PLAN_ERROR_H

#include "layline/runtime.h"

#include <sstream>
#include <stdexcept>
#include <string>

namespace layline::runtime {

class Error : public std::runtime_error {
public:
  Error(layline_status status, const std::string &text)
      : std::runtime_error(text), status_(status) {}
  layline_status status() const { return status_; }

private:
  layline_status status_;
};

/// Prints its arguments one after the other.
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

template <typename... Parts>
[[noreturn]] void fail(layline_status status, const Parts &...parts) {
  throw Error(status, concat(parts...));
}

/// A contradiction inside a plan.
template <typename... Parts> [[noreturn]] void invalid(const Parts &...parts) {
  fail(LAYLINE_INVALID_PLAN, parts...);
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_ERROR_H
