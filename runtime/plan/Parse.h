// From a schema-valid JSON document to a Plan: ids resolved, expressions
// folded, views given their layouts.
#ifndef LAYLINE_RUNTIME_PLAN_PARSE_H
#define LAYLINE_RUNTIME_PLAN_PARSE_H

#include "plan/Cursor.h"
#include "plan/Plan.h"

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

namespace layline::runtime {

/// Ids of one kind of thing, each defined once.
class Names {
public:
  explicit Names(const char *what) : what_(what) {}
  /// The id's index; throws if it is taken.
  int define(const Cursor &id);
  int resolve(const Cursor &id) const;
  /// -1 if unknown.
  int find(const std::string &id) const;
  std::size_t size() const { return indices_.size(); }
  const char *what() const { return what_; }

private:
  const char *what_;
  std::unordered_map<std::string, int> indices_;
};

/// Everything that is defined once for all variants.
struct PlanNames {
  /// By range: whether it has one begin. Filled as the ranges are read.
  std::vector<bool> hasBegin;

  Names axes{"axis"}, groups{"group"}, ranges{"range"}, inputs{"input"},
      caches{"cache"}, tables{"table"}, weights{"weight"}, flags{"flag"},
      kernels{"kernel"}, streams{"stream"}, variants{"variant"};
};

Expr parseExpr(const Cursor &at, const PlanNames &names);
/// A global shape: its expressions may use `tokens` and `past` only.
ShapeExpr parseShape(const Cursor &at, const PlanNames &names);
Layout parseLayout(const Cursor &at, const PlanNames &names);
DType parseDType(const Cursor &at);

/// The value that goes with a name of a closed list.
template <typename Value>
Value choose(const Cursor &at,
             std::initializer_list<std::pair<const char *, Value>> choices) {
  std::string expected;
  for (const auto &[name, value] : choices) {
    if (at.string() == name)
      return value;
    expected += (expected.empty() ? "" : ", ") + std::string(name);
  }
  at.fail("is '", at.string(), "'; one of ", expected, " is expected");
}

/// Fills `step.attrs` from the step's "attrs" (parsed as its kind lists them).
void parseAttributes(const Cursor &step, const PlanNames &names, Step &into);
Variant parseVariant(const Cursor &at, const Plan &plan,
                     const PlanNames &names);
Plan parsePlan(const nlohmann::json &document, const std::string &file);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_PARSE_H
