#include "plan/StepContracts.h"

#include <cmath>

namespace layline::runtime {
namespace {

void checkGroups(const StepContract &c, std::int64_t experts) {
  const StepAttributes &attrs = c.attrs();
  bool hasGroups = attrs.groups > 0;
  for (const char *name : {"chosen_groups", "group_score"})
    if (hasGroups != c.step.has(name))
      c.fail("has 'groups' or '", name, "'; both or none are expected");
  if (!hasGroups)
    return;
  std::int64_t size = experts / attrs.groups;
  if (experts % attrs.groups != 0)
    c.fail("has ", experts, " experts in ", attrs.groups,
           " groups; groups that divide them are expected");
  if (attrs.chosenGroups > attrs.groups ||
      attrs.chosenGroups * size < attrs.topK)
    c.fail("takes the ", attrs.topK, " largest of ", attrs.chosenGroups, " of ",
           attrs.groups, " groups of ", size, " experts");
  if (attrs.groupScore == GroupScore::Top2Sum && size < 2)
    c.fail("adds the two largest of groups of one expert");
}

void checkActivation(const StepContract &c) {
  const StepAttributes &attrs = c.attrs();
  if (attrs.limit && !(*attrs.limit > 0))
    c.fail("has the limit ", *attrs.limit, "; a positive number is expected");
  if (attrs.alpha != 1 && attrs.function != Function::Silu)
    c.fail("has an alpha, which only silu has");
}

} // namespace

void checkRouter(const StepContract &c) {
  const Operand &logits = c.arg("logits");
  c.dims("logits", 2);
  c.owesNothing(logits);
  c.heldWhole(logits, 1);
  std::int64_t topK = c.attrs().topK;
  if (!logits.shape[1].isConstant() || logits.shape[1].value < topK)
    c.fail("takes the ", topK, " largest of ", print(logits.shape[1]),
           " logits");
  if (const Operand *bias = c.step.find("bias")) {
    c.dims("bias", 1);
    c.sameDim(*bias, 0, logits, 1);
  }
  checkGroups(c, logits.shape[1].value);
  for (const char *name : {"ids", "weights"}) {
    const Operand &output = c.arg(name);
    c.dims(name, 2);
    c.owesNothing(output);
    c.sameDim(logits, 0, output, 0);
    c.extent(output, 1, topK);
    c.heldWhole(output, 1);
  }
}

void checkExperts(const StepContract &c) {
  const Operand &input = c.arg("input"), &output = c.arg("output"),
                &up = c.arg("up"), &down = c.arg("down");
  for (const char *name : {"gate", "up", "down"})
    c.dims(name, 3);
  for (const char *name : {"input", "ids", "weights", "output"})
    c.dims(name, 2);
  for (const char *name : {"input", "ids", "weights"})
    c.owesNothing(c.arg(name));
  c.sameDims(c.arg("gate"), up);
  c.contiguous(up, 0);
  c.sameDim(up, 0, down, 0);
  c.sameDim(up, 1, down, 2);
  c.sameDim(input, 1, up, 2);
  c.heldWhole(input, 1);
  c.sameDim(output, 1, down, 1);
  for (const char *name : {"ids", "weights", "output"})
    c.sameDim(input, 0, c.arg(name), 0);
  c.sameDims(c.arg("ids"), c.arg("weights"));
  c.heldWhole(c.arg("ids"), 1);
  for (const char *name : {"gate_bias", "up_bias"}) {
    const Operand *bias = c.step.find(name);
    if (!bias != !c.step.find("gate_bias"))
      c.fail("has the bias of gate or of up; both or none are expected");
    if (!bias)
      continue;
    c.dims(name, 2);
    c.sameDim(*bias, 0, up, 0);
    c.sameDim(*bias, 1, up, 1);
  }
  checkActivation(c);
  checkRoutedExperts(c);
  // Experts of other ranks, and other parts of F, are missing from the sum.
  c.owesExactly(output,
                withAxes(withAxes({}, c.axesOf(up, 0)), c.axesOf(up, 1)));
}

void checkAddExpertBias(const StepContract &c) {
  const Operand &input = c.arg("input"), &ids = c.arg("ids"),
                &bias = c.arg("bias");
  for (const char *name : {"input", "ids", "weights", "bias"})
    c.dims(name, 2);
  // On a partial value every rank would add it: the sum would hold it often.
  for (const char *name : {"input", "ids", "weights"})
    c.owesNothing(c.arg(name));
  c.sameLayout(input, c.arg("output"));
  c.sameDims(ids, c.arg("weights"));
  c.heldWhole(ids, 1);
  c.sameDim(input, 0, ids, 0);
  c.heldWhole(bias, 0);
  c.sameDim(bias, 1, input, 1);
}

} // namespace layline::runtime
