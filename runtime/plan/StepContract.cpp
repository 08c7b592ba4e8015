#include "plan/StepContract.h"

#include <algorithm>

namespace layline::runtime {

bool sameSize(const Expr &a, const Expr &b) {
  if (a == b)
    return true;
  if (a.isConstant() && b.isConstant())
    return false;
  // Two ways to write one size, e.g. 2 * tokens and tokens * 2.
  for (auto [tokens, past] :
       {std::pair{1, 0}, {2, 3}, {7, 64}, {1024, 13}, {4099, 517}}) {
    Environment environment;
    environment.tokens = tokens;
    environment.past = past;
    if (evaluate(a, environment) != evaluate(b, environment))
      return false;
  }
  return true;
}

std::vector<int> withAxes(std::vector<int> axes, const std::vector<int> &more) {
  axes.insert(axes.end(), more.begin(), more.end());
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

void StepContract::dims(const char *name, std::size_t count) const {
  const Operand &operand = arg(name);
  if (operand.shape.size() != count)
    fail("'", name, "' is '", id(operand), "' of shape ", print(operand.shape),
         "; ", count, " dimensions are expected");
}

void StepContract::owesNothing(const Operand &operand) const {
  if (!operand.layout.owes.empty())
    fail("takes '", id(operand), "', which owes a sum over ",
         printAxes(operand.layout.owes, plan), "; reduce it first");
}

void StepContract::owesExactly(const Operand &operand,
                               std::vector<int> axes) const {
  if (operand.layout.owes != axes)
    fail("'", id(operand), "' owes ", printAxes(operand.layout.owes, plan),
         "; ", printAxes(axes, plan), " is expected");
}

void StepContract::heldWhole(const Operand &operand, std::size_t dim) const {
  if (operand.layout.dims[dim].isSplit())
    fail("dimension ", dim, " of '", id(operand), "' is split by '",
         plan.ranges[operand.layout.dims[dim].range].id,
         "'; it must be held whole");
}

void StepContract::sameDim(const Operand &a, std::size_t i, const Operand &b,
                           std::size_t j) const {
  if (!sameSize(a.shape[i], b.shape[j]))
    fail("dimension ", i, " of '", id(a), "' is ", print(a.shape[i]),
         ", dimension ", j, " of '", id(b), "' is ", print(b.shape[j]),
         "; they must be equal");
  if (a.layout.dims[i] != b.layout.dims[j])
    fail("dimension ", i, " of '", id(a), "' with layout ",
         print(a.layout, plan), " and dimension ", j, " of '", id(b),
         "' with layout ", print(b.layout, plan), " do not hold the same part");
}

void StepContract::sameDims(const Operand &a, const Operand &b) const {
  if (a.shape.size() != b.shape.size())
    fail("'", id(a), "' has shape ", print(a.shape), ", '", id(b), "' has ",
         print(b.shape), "; they must be equal");
  for (std::size_t i = 0; i < a.shape.size(); ++i)
    sameDim(a, i, b, i);
}

void StepContract::sameLayout(const Operand &a, const Operand &b) const {
  sameDims(a, b);
  if (a.layout.owes != b.layout.owes)
    fail("'", id(a), "' owes ", printAxes(a.layout.owes, plan), ", '", id(b),
         "' owes ", printAxes(b.layout.owes, plan), "; they must owe the same");
}

void StepContract::extent(const Operand &operand, std::size_t dim,
                          std::int64_t expected) const {
  if (!operand.shape[dim].isConstant(expected))
    fail("dimension ", dim, " of '", id(operand), "' is ",
         print(operand.shape[dim]), "; ", expected, " is expected");
}

void StepContract::contiguous(const Operand &operand, std::size_t dim) const {
  const DimLayout &layout = operand.layout.dims[dim];
  if (!layout.isSplit() || plan.ranges[layout.range].isContiguous())
    return;
  const Range &range = plan.ranges[layout.range];
  fail("dimension ", dim, " of '", id(operand), "' is split by '", range.id,
       "' of kind '", kindName(range.kind), "'",
       range.isNested() ? " within '" + plan.ranges[range.within].id + "'"
                        : std::string(),
       "; parts of one run are expected");
}

void StepContract::plane(const char *name, const char *expected) const {
  const Cache &cache = plan.caches[arg(name).index];
  if (cache.plane != expected)
    fail("takes cache '", cache.id, "' of plane '", cache.plane, "' as '", name,
         "'; plane '", expected, "' is expected");
}

void StepContract::rangeOfGroup() const {
  const Group &group = plan.groups[attrs().group];
  const Range &range = plan.ranges[attrs().range];
  if (group.axes.size() != 1 || group.axes.front() != range.axis)
    fail("group '", group.id, "' is over ", printAxes(group.axes, plan),
         ", range '", range.id, "' over ", printAxes({range.axis}, plan),
         "; they must be the same axis");
}

std::vector<int> StepContract::axesOf(const Operand &operand,
                                      std::size_t dim) const {
  return plan.axesOf(operand.layout.dims[dim].range);
}

} // namespace layline::runtime
