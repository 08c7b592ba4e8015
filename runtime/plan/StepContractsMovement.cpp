#include "plan/StepContracts.h"

#include <algorithm>
#include <set>

namespace layline::runtime {

void checkAdd(const StepContract &c) {
  if (c.step.list("inputs").size() < 2)
    c.fail("has one input; two or more are expected");
  for (const Operand &input : c.step.list("inputs"))
    c.sameLayout(input, c.arg("output"));
}

void checkMul(const StepContract &c) {
  const std::vector<Operand> &inputs = c.step.list("inputs");
  if (inputs.size() < 2)
    c.fail("has one input; two or more are expected");
  // x * (sum y) = sum (x * y), so one factor may owe a sum.
  std::vector<int> owed;
  for (const Operand &input : inputs) {
    c.sameDims(input, c.arg("output"));
    if (!input.layout.owes.empty() && !owed.empty())
      c.fail("multiplies two values that owe a sum; reduce one first");
    if (!input.layout.owes.empty())
      owed = input.layout.owes;
  }
  c.owesExactly(c.arg("output"), owed);
}

void checkLinearElementwise(const StepContract &c) {
  c.sameLayout(c.arg("input"), c.arg("output"));
}

namespace {

void sameElement(const StepContract &c) {
  DType from = c.arg("input").dtype, to = c.arg("output").dtype;
  // Numbers of a narrow format are none without their scales: they are moved
  // and not converted.
  bool isMoved = from == to || (!isQuantized(from) && !isQuantized(to));
  if (isInteger(from) != isInteger(to) || !isMoved)
    c.fail("takes ", dtypeName(c.arg("input").dtype), " '",
           c.id(c.arg("input")), "' to ", dtypeName(c.arg("output").dtype),
           " '", c.id(c.arg("output")), "'");
}

// Input and output agree in every dimension but attrs.dim.
void sameOtherDims(const StepContract &c) {
  const Operand &input = c.arg("input"), &output = c.arg("output");
  std::size_t count = input.shape.size();
  auto dim = static_cast<std::size_t>(c.attrs().dim);
  if (count != output.shape.size() || dim >= count)
    c.fail("'dim' is ", dim, " of shapes ", print(input.shape), " and ",
           print(output.shape));
  for (std::size_t i = 0; i < count; ++i)
    if (i != dim)
      c.sameDim(input, i, output, i);
  if (!sameSize(input.shape[dim], output.shape[dim]))
    c.fail("changes the global shape ", print(input.shape), " to ",
           print(output.shape));
}

std::string printDim(const StepContract &c, const DimLayout &dim) {
  return !dim.isSplit()  ? std::string("held whole")
         : dim.unit == 1 ? "split by '" + c.plan.ranges[dim.range].id + "'"
                         : concat("split by '", c.plan.ranges[dim.range].id,
                                  "' in units of ", dim.unit);
}

/// First readers are cut out of what all readers hold.
void keptOfReaders(const StepContract &c, const Range &kept,
                   const DimLayout &inner, const Operand &from) {
  const DimLayout &outer =
      from.layout.dims[static_cast<std::size_t>(c.attrs().dim)];
  const Range *held = outer.isSplit() ? &c.plan.ranges[outer.range] : nullptr;
  if (!held || held->kind != Range::Kind::Readers || held->axis != kept.axis ||
      held->of != kept.of || held->extent != kept.extent ||
      outer.unit != inner.unit)
    c.fail("dimension ", c.attrs().dim, " of '", c.id(from), "' is ",
           printDim(c, outer), "; the readers whose first ones range '",
           kept.id, "' names are expected");
}

/// `part` holds the step's range of the dimension, and `from` what the range
/// deals out: all of it, or the range around a nested one.
void splitByRange(const StepContract &c, const Operand &part,
                  const Operand &from) {
  auto dim = static_cast<std::size_t>(c.attrs().dim);
  const Range &range = c.plan.ranges[c.attrs().range];
  const DimLayout &inner = part.layout.dims[dim],
                  &outer = from.layout.dims[dim];
  if (inner.range != c.attrs().range)
    c.fail("dimension ", dim, " of '", c.id(part), "' is ", printDim(c, inner),
           "; range '", range.id, "' is expected");
  if (range.kind == Range::Kind::FirstReaders)
    return keptOfReaders(c, range, inner, from);
  if (!range.isNested())
    return c.heldWhole(from, dim);
  DimLayout expected{range.within, inner.unit};
  if (outer != expected)
    c.fail("dimension ", dim, " of '", c.id(from), "' is ", printDim(c, outer),
           "; range '", range.id, "' deals out what is ",
           printDim(c, expected));
}

// What is left to owe after the group has summed.
std::vector<int> withoutGroup(const StepContract &c) {
  const Group &group = c.plan.groups[c.attrs().group];
  const std::vector<int> &owes = c.arg("input").layout.owes;
  if (!std::includes(owes.begin(), owes.end(), group.axes.begin(),
                     group.axes.end()))
    c.fail("sums over group '", group.id, "' with axes ",
           printAxes(group.axes, c.plan), "; '", c.id(c.arg("input")),
           "' owes ", printAxes(owes, c.plan));
  std::vector<int> left;
  std::set_difference(owes.begin(), owes.end(), group.axes.begin(),
                      group.axes.end(), std::back_inserter(left));
  return left;
}

} // namespace

void checkCast(const StepContract &c) {
  if (isQuantized(c.arg("input").dtype))
    c.fail("takes ", dtypeName(c.arg("input").dtype), " '",
           c.id(c.arg("input")), "', which only 'dequantize' makes numbers of");
  sameElement(c);
  checkLinearElementwise(c);
}

void checkSlice(const StepContract &c) {
  sameElement(c);
  sameOtherDims(c);
  splitByRange(c, c.arg("output"), c.arg("input"));
  c.owesExactly(c.arg("output"), c.arg("input").layout.owes);
}

void checkAllReduce(const StepContract &c) {
  c.sameDims(c.arg("input"), c.arg("output"));
  c.owesExactly(c.arg("output"), withoutGroup(c));
}

void checkReduceScatter(const StepContract &c) {
  c.rangeOfGroup();
  sameOtherDims(c);
  splitByRange(c, c.arg("output"), c.arg("input"));
  c.owesExactly(c.arg("output"), withoutGroup(c));
}

void checkAllGather(const StepContract &c) {
  sameElement(c);
  c.rangeOfGroup();
  sameOtherDims(c);
  splitByRange(c, c.arg("input"), c.arg("output"));
  c.owesExactly(c.arg("output"), c.arg("input").layout.owes);
}

void checkBroadcast(const StepContract &c) {
  sameElement(c);
  c.owesNothing(c.arg("input"));
  c.sameLayout(c.arg("input"), c.arg("output"));
  const Group &group = c.plan.groups[c.attrs().group];
  if (c.attrs().root >= group.ranks)
    c.fail("has root ", c.attrs().root, " in group '", group.id, "' of ",
           group.ranks, " ranks");
  // A part would arrive where another part belongs.
  for (std::size_t i = 0; i < c.arg("input").shape.size(); ++i)
    for (int axis : c.axesOf(c.arg("input"), i))
      if (std::find(group.axes.begin(), group.axes.end(), axis) !=
          group.axes.end())
        c.fail("dimension ", i, " of '", c.id(c.arg("input")),
               "' is split over group '", group.id,
               "'; a broadcast value is held whole");
}

void checkFused(const StepContract &c) {
  std::set<int> written, inputs, outputs;
  for (const Operand &operand : c.step.list("inputs"))
    if (operand.of == Operand::Of::Buffer)
      inputs.insert(operand.index);
  for (const Operand &operand : c.step.list("outputs"))
    if (operand.of == Operand::Of::Buffer)
      outputs.insert(operand.index);
    else if (operand.of != Operand::Of::Cache)
      c.fail("lists '", c.id(operand),
             "' as an output; a buffer or a cache is expected");
  auto name = [&](int buffer) { return c.variant.buffers[buffer].id; };
  auto isRegister = [&](int buffer) {
    return c.variant.buffers[buffer].kind == Buffer::Class::Register;
  };
  const Kernel &kernel = c.plan.kernels[c.attrs().kernel];
  std::vector<std::string> ops;
  for (const Step &step : c.step.body) {
    ops.emplace_back(step.info().name);
    if (step.info().isCollective && step.attrs.group != kernel.group)
      c.fail("kernel '", kernel.id, "' is of ",
             kernel.group < 0
                 ? "no group"
                 : "group '" + c.plan.groups[kernel.group].id + "'",
             "; step '", step.id, "' of its body uses group '",
             c.plan.groups[step.attrs.group].id, "'");
    for (bool isWrite : {false, true})
      for (std::size_t i = 0; i < step.args.size(); ++i)
        for (const Operand &operand : step.args[i]) {
          if (operand.of != Operand::Of::Buffer ||
              step.info().args[i].isOutput != isWrite)
            continue;
          if (isWrite)
            written.insert(operand.index);
          else if (!written.count(operand.index) &&
                   !inputs.count(operand.index))
            c.fail(
                "step '", step.id, "' of its body reads '", name(operand.index),
                "', which is neither an input nor written before in the body");
        }
  }
  for (int buffer : outputs)
    if (!written.count(buffer))
      c.fail("lists the output '", name(buffer),
             "', which its body does not write");
  for (int buffer : written)
    if (!isRegister(buffer) && !outputs.count(buffer))
      c.fail("writes '", name(buffer), "', which is not one of its outputs");
  for (const std::set<int> *list : {&inputs, &outputs})
    for (int buffer : *list)
      if (isRegister(buffer))
        c.fail("lists the register '", name(buffer),
               "'; registers live inside one fused step");
  if (ops != kernel.ops) {
    std::string found;
    for (const std::string &op : ops)
      found += (found.empty() ? "" : ", ") + op;
    c.fail("has the body [", found, "], which is not that of kernel '",
           kernel.id, "'");
  }
}

} // namespace layline::runtime
