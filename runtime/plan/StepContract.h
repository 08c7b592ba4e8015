// What a check of one step may ask, with messages that say which step.
#ifndef LAYLINE_RUNTIME_PLAN_STEPCONTRACT_H
#define LAYLINE_RUNTIME_PLAN_STEPCONTRACT_H

#include "plan/Error.h"
#include "plan/Plan.h"

namespace layline::runtime {

struct StepContract {
  const Plan &plan;
  const Variant &variant;
  const Step &step;

  const StepAttributes &attrs() const { return step.attrs; }
  const Operand &arg(const char *name) const { return step.arg(name); }

  template <typename... Parts>
  [[noreturn]] void fail(const Parts &...parts) const {
    invalid("variant '", variant.id, "', step '", step.id, "' (",
            step.info().name, step.name().empty() ? "" : ", ", step.name(),
            "): ", parts...);
  }

  const std::string &id(const Operand &operand) const {
    return plan.operandId(variant, operand);
  }

  /// The operand has this many dimensions.
  void dims(const char *name, std::size_t count) const;
  /// Owes no sum: the step is not linear in it.
  void owesNothing(const Operand &operand) const;
  void owesExactly(const Operand &operand, std::vector<int> axes) const;
  void heldWhole(const Operand &operand, std::size_t dim) const;
  /// Same extent and same part of it on every rank.
  void sameDim(const Operand &a, std::size_t i, const Operand &b,
               std::size_t j) const;
  /// All dimensions the same; owed sums are not compared.
  void sameDims(const Operand &a, const Operand &b) const;
  /// The same and owing the same.
  void sameLayout(const Operand &a, const Operand &b) const;
  void extent(const Operand &operand, std::size_t dim,
              std::int64_t expected) const;
  /// The part that a rank holds of the dimension is one run of it.
  void contiguous(const Operand &operand, std::size_t dim) const;
  /// The argument is a cache of that plane.
  void plane(const char *name, const char *expected) const;
  /// All parts of a group's axes: which the range must be over.
  void rangeOfGroup() const;
  /// Axes that split a dimension, none if it is held whole.
  std::vector<int> axesOf(const Operand &operand, std::size_t dim) const;
};

/// Equal for every token count that is looked at.
bool sameSize(const Expr &a, const Expr &b);
/// Ascending union.
std::vector<int> withAxes(std::vector<int> axes, const std::vector<int> &more);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_STEPCONTRACT_H
