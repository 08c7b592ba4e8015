//===- IntegerSystem.h - linear conditions on integers ----------*- C++ -*-===//
#ifndef LAYLINE_LIB_KVVERIFICATION_INTEGERSYSTEM_H
#define LAYLINE_LIB_KVVERIFICATION_INTEGERSYSTEM_H

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace layline::kv {

/// A sum of variables with coefficients, and a constant.
struct Form {
  std::vector<std::pair<unsigned, std::int64_t>> terms;
  std::int64_t constant = 0;

  Form() = default;
  Form(std::int64_t constant) : constant(constant) {}
};
Form operator+(Form a, const Form &b);
Form operator-(Form a, const Form &b);
Form operator*(std::int64_t scale, Form a);

/// A conjunction of conditions, decided by the Presburger library.
class IntegerSystem {
public:
  Form addVariable();
  /// floor(dividend / divisor), as a variable.
  Form addQuotient(const Form &dividend, std::int64_t divisor);
  void addZero(Form form) { zeros.push_back(std::move(form)); }
  void addAtLeastZero(Form form) { atLeastZero.push_back(std::move(form)); }
  /// low <= form <= high
  void addRange(const Form &form, const Form &low, const Form &high) {
    addAtLeastZero(form - low);
    addAtLeastZero(high - form);
  }

  /// Values of all variables, in the order in which they were added; nothing
  /// if there are none.
  std::optional<std::vector<std::int64_t>> findPoint() const;

private:
  unsigned variables = 0;
  std::vector<Form> zeros, atLeastZero;
};

} // namespace layline::kv

#endif // LAYLINE_LIB_KVVERIFICATION_INTEGERSYSTEM_H
