#include "plan/StepContracts.h"

#include <algorithm>

namespace layline::runtime {
namespace {

const Range *rangeOf(const StepContract &c, const Operand &operand) {
  const DimLayout &rows = operand.layout.dims[0];
  return rows.isSplit() ? &c.plan.ranges[rows.range] : nullptr;
}

/// The rows of `operand` are those of the step's range, each on one rank.
void rowsByRange(const StepContract &c, const Operand &operand) {
  const Range &range = c.plan.ranges[c.attrs().range];
  if (range.hasQueryHeads() || range.isRouted())
    c.fail("sends rows of range '", range.id, "' of kind '",
           kindName(range.kind), "'; each row on one rank is expected");
  if (operand.layout.dims[0] != DimLayout{c.attrs().range, 1})
    c.fail("'", c.id(operand), "' has the layout ",
           print(operand.layout, c.plan), "; rows by range '", range.id,
           "' are expected");
}

/// The rows of `operand` are what the step's range deals out, routed to the
/// step's experts over the same axis.
void routedByStep(const StepContract &c, const Operand &operand) {
  const Range &range = c.plan.ranges[c.attrs().range];
  const Range *routed = rangeOf(c, operand);
  if (!routed || !routed->isRouted() || routed->axis != range.axis ||
      routed->of != c.attrs().experts || routed->within != range.within)
    c.fail("'", c.id(operand), "' has the layout ",
           print(operand.layout, c.plan), "; rows routed to ",
           c.attrs().experts, " experts over axis '",
           c.plan.axes[range.axis].name, "' are expected");
}

/// The same global rows; only who has them changes.
void sameRows(const StepContract &c, const Operand &from, const Operand &to) {
  if (isInteger(from.dtype) != isInteger(to.dtype) ||
      from.shape.size() != to.shape.size() ||
      !sameSize(from.shape[0], to.shape[0]))
    c.fail("changes '", c.id(from), "' of shape ", print(from.shape), " to '",
           c.id(to), "' of shape ", print(to.shape));
  for (std::size_t i = 1; i < from.shape.size(); ++i)
    c.sameDim(from, i, to, i);
}

} // namespace

void checkDispatch(const StepContract &c) {
  c.rangeOfGroup();
  constexpr const char *pairs[][2] = {{"input", "output"},
                                      {"ids", "output_ids"},
                                      {"weights", "output_weights"}};
  for (auto [from, to] : pairs) {
    c.dims(from, 2);
    c.dims(to, 2);
    c.owesNothing(c.arg(from));
    c.owesNothing(c.arg(to));
    rowsByRange(c, c.arg(from));
    routedByStep(c, c.arg(to));
    sameRows(c, c.arg(from), c.arg(to));
  }
  c.sameDims(c.arg("ids"), c.arg("weights"));
  c.sameDim(c.arg("input"), 0, c.arg("ids"), 0);
}

void checkCombine(const StepContract &c) {
  c.rangeOfGroup();
  const Operand &input = c.arg("input"), &ids = c.arg("ids"),
                &output = c.arg("output");
  for (const char *name : {"input", "ids", "output"})
    c.dims(name, 2);
  routedByStep(c, input);
  rowsByRange(c, ids);
  rowsByRange(c, output);
  c.owesNothing(ids);
  sameRows(c, input, output);
  c.sameDim(output, 0, ids, 0);
  // What is paid is the sum over the ranks that the rows went to.
  int axis = c.plan.ranges[c.attrs().range].axis;
  std::vector<int> left = input.layout.owes;
  auto owed = std::find(left.begin(), left.end(), axis);
  if (owed == left.end())
    c.fail("'", c.id(input), "' owes ", printAxes(left, c.plan),
           "; a sum over '", c.plan.axes[axis].name, "' is expected");
  left.erase(owed);
  c.owesExactly(output, left);
}

/// Routed rows are on the ranks of their experts.
void checkRoutedExperts(const StepContract &c) {
  const Range *routed = rangeOf(c, c.arg("input"));
  if (!routed || !routed->isRouted())
    return;
  const Operand &stack = c.arg("up");
  const DimLayout &held = stack.layout.dims[0];
  const Range *experts = held.isSplit() ? &c.plan.ranges[held.range] : nullptr;
  if (!stack.shape[0].isConstant(routed->of))
    c.fail("has ", print(stack.shape[0]), " experts; its rows were routed to ",
           routed->of);
  if (!experts || experts->kind != Range::Kind::Block || experts->isNested() ||
      experts->axis != routed->axis || held.unit != 1)
    c.fail("takes rows routed over axis '", c.plan.axes[routed->axis].name,
           "' and '", c.id(stack), "' with the layout ",
           print(stack.layout, c.plan),
           "; experts in blocks over that axis are expected");
}

} // namespace layline::runtime
