#include "plan/StepContracts.h"

namespace layline::runtime {
namespace {

/// The number of columns of a value that holds all of them.
std::int64_t columns(const StepContract &c, const Operand &operand) {
  if (operand.shape.size() < 2)
    c.fail("'", c.id(operand), "' has shape ", print(operand.shape),
           "; rows and columns are expected");
  std::size_t last = operand.shape.size() - 1;
  c.heldWhole(operand, last);
  if (!operand.shape[last].isConstant())
    c.fail("'", c.id(operand), "' has ", print(operand.shape[last]),
           " columns; a constant number is expected");
  return operand.shape[last].value;
}

/// Two values agree in every dimension but the last, and in what they owe.
void sameOuter(const StepContract &c, const Operand &a, const Operand &b) {
  if (a.shape.size() != b.shape.size())
    c.fail("'", c.id(a), "' has shape ", print(a.shape), ", '", c.id(b),
           "' has ", print(b.shape), "; equally many dimensions are expected");
  for (std::size_t i = 0; i + 1 < a.shape.size(); ++i)
    c.sameDim(a, i, b, i);
}

} // namespace

void checkSliceColumns(const StepContract &c) {
  const Operand &input = c.arg("input"), &output = c.arg("output");
  std::int64_t count = columns(c, input), taken = columns(c, output);
  sameOuter(c, input, output);
  c.owesExactly(output, input.layout.owes);
  std::int64_t begin = c.attrs().begin;
  if (taken < 1 || begin < 0 || begin > count - taken)
    c.fail("takes the columns [", begin, ", ", begin + taken, ") of the ",
           count, " of '", c.id(input), "'");
}

void checkConcatColumns(const StepContract &c) {
  const Operand &output = c.arg("output");
  const std::vector<Operand> &inputs = c.step.list("inputs");
  if (inputs.size() < 2)
    c.fail("has one input; two or more are expected");
  std::int64_t count = columns(c, output), sum = 0;
  for (const Operand &input : inputs) {
    sum += columns(c, input);
    sameOuter(c, input, output);
    c.owesExactly(input, output.layout.owes);
  }
  if (sum != count)
    c.fail("puts ", sum, " columns into the ", count, " of '", c.id(output),
           "'");
}

void checkRowScale(const StepContract &c) {
  const Operand &input = c.arg("input"), &scales = c.arg("scales");
  c.dims("input", 2);
  c.dims("scales", 2);
  // s (sum x) = sum (s x): the input may owe a sum, the scales may not.
  c.owesNothing(scales);
  c.extent(scales, 1, 1);
  c.heldWhole(scales, 1);
  c.sameDim(input, 0, scales, 0);
  c.sameLayout(input, c.arg("output"));
}

} // namespace layline::runtime
