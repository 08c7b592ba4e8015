#include "plan/StepContracts.h"

namespace layline::runtime {

void checkEmbedding(const StepContract &c) {
  c.dims("ids", 1);
  c.dims("weight", 2);
  c.dims("output", 2);
  c.contiguous(c.arg("weight"), 0);
  c.owesNothing(c.arg("ids"));
  const Operand &output = c.arg("output");
  c.sameDim(c.arg("ids"), 0, output, 0);
  c.sameDim(c.arg("weight"), 1, output, 1);
  // A rank gives zeros for ids outside its rows of the table.
  c.owesExactly(output, withAxes({}, c.axesOf(c.arg("weight"), 0)));
}

void checkNorm(const StepContract &c) {
  const Operand &input = c.arg("input");
  c.owesNothing(input);
  if (input.shape.empty())
    c.fail("'", c.id(input), "' has no dimension to normalise over");
  c.heldWhole(input, input.shape.size() - 1);
  c.sameLayout(input, c.arg("output"));
  // The weight is of one row's last dimensions: [d], or [heads, d] for a norm
  // with its own weight per head.
  for (const char *name : {"weight", "bias"}) {
    const Operand *weight = c.step.find(name);
    if (!weight)
      continue;
    if (weight->shape.empty() || weight->shape.size() > input.shape.size())
      c.fail("'", name, "' '", c.id(*weight), "' has shape ",
             print(weight->shape), "; the last dimensions of ",
             print(input.shape), " are expected");
    std::size_t skipped = input.shape.size() - weight->shape.size();
    for (std::size_t i = 0; i < weight->shape.size(); ++i)
      c.sameDim(*weight, i, input, skipped + i);
  }
}

void checkRowSquares(const StepContract &c) {
  const Operand &input = c.arg("input"), &output = c.arg("output");
  c.dims("input", 2);
  c.dims("output", 2);
  c.owesNothing(input);
  c.sameDim(input, 0, output, 0);
  c.extent(output, 1, 1);
  c.heldWhole(output, 1);
  const DimLayout &features = input.layout.dims[1];
  if (features.isSplit() &&
      c.plan.ranges[features.range].kind == Range::Kind::Readers)
    c.fail("sums over '", c.id(input), "', whose range '",
           c.plan.ranges[features.range].id,
           "' gives one KV head to several ranks: it would count more than "
           "once");
  // Features of other ranks are missing from the sum.
  c.owesExactly(output, withAxes({}, c.axesOf(input, 1)));
}

void checkNormBy(const StepContract &c) {
  const Operand &input = c.arg("input"), &statistics = c.arg("statistics"),
                &weight = c.arg("weight");
  c.dims("input", 2);
  c.dims("statistics", 2);
  c.dims("weight", 1);
  c.owesNothing(input);
  c.owesNothing(statistics);
  c.sameLayout(input, c.arg("output"));
  c.sameDim(statistics, 0, input, 0);
  c.extent(statistics, 1, 1);
  c.heldWhole(statistics, 1);
  c.sameDim(weight, 0, input, 1);
  std::int64_t width = c.attrs().width;
  if (!input.shape[1].isConstant() || width < 1 || width > input.shape[1].value)
    c.fail("is over a width of ", width, "; 1 to ", print(input.shape[1]),
           ", the features of '", c.id(input), "', are expected");
}

void checkLinear(const StepContract &c) {
  const Operand &input = c.arg("input"), &weight = c.arg("weight"),
                &output = c.arg("output");
  c.dims("weight", 2);
  if (input.shape.empty() || input.shape.size() != output.shape.size())
    c.fail("'input' has shape ", print(input.shape), ", 'output' ",
           print(output.shape), "; equally many dimensions are expected");
  std::size_t last = input.shape.size() - 1;
  for (std::size_t i = 0; i < last; ++i)
    c.sameDim(input, i, output, i);
  c.sameDim(input, last, weight, 1);
  c.sameDim(output, last, weight, 0);
  // W (sum x) = sum (W x): a sum owed by the input stays owed; a split
  // contraction owes one more.
  c.owesExactly(output, withAxes(input.layout.owes, c.axesOf(weight, 1)));
  if (const Operand *bias = c.step.find("bias")) {
    c.dims("bias", 1);
    c.sameDim(*bias, 0, weight, 0);
    if (!output.layout.owes.empty())
      c.fail("adds a bias on every rank to '", c.id(output),
             "', which owes a sum over ", printAxes(output.layout.owes, c.plan),
             "; add it once, after the sum");
  }
}

void checkAddBias(const StepContract &c) {
  const Operand &input = c.arg("input"), &bias = c.arg("bias");
  c.dims("bias", 1);
  // On a partial value every rank would add it: the sum would hold it often.
  c.owesNothing(input);
  c.sameLayout(input, c.arg("output"));
  if (input.shape.empty())
    c.fail("'", c.id(input), "' has no dimension to add a bias to");
  c.sameDim(bias, 0, input, input.shape.size() - 1);
}

void checkRope(const StepContract &c) {
  const Operand &input = c.arg("input");
  c.dims("input", 3);
  c.dims("positions", 1);
  c.owesNothing(input);
  c.owesNothing(c.arg("positions"));
  c.heldWhole(input, 2);
  c.sameLayout(input, c.arg("output"));
  c.sameDim(c.arg("positions"), 0, input, 0);
  std::int64_t rotary = c.attrs().rotary;
  if (!input.shape[2].isConstant() || rotary > input.shape[2].value ||
      rotary % 2 != 0)
    c.fail("rotates ", rotary, " features of heads with ",
           print(input.shape[2]),
           "; an even number of at most that many is expected");
  const Table &table = c.plan.tables[c.arg("table").index];
  if (static_cast<std::int64_t>(table.numbers.invFreq.size()) != rotary / 2)
    c.fail("table '", table.id, "' has ", table.numbers.invFreq.size(),
           " frequencies; ", rotary / 2, " are expected");
}

void checkRowwise(const StepContract &c) {
  c.owesNothing(c.arg("input"));
  c.sameLayout(c.arg("input"), c.arg("output"));
}

void checkGatedActivation(const StepContract &c) {
  for (const char *name : {"gate", "up"}) {
    c.owesNothing(c.arg(name));
    c.sameLayout(c.arg(name), c.arg("output"));
  }
}

} // namespace layline::runtime
