#include "plan/StepContracts.h"

namespace layline::runtime {
namespace {

/// Scales are a column for each of the groups that the features fall into; a
/// rank has those of its features. Returns the width of a group.
std::int64_t checkGroups(const StepContract &c, const Operand &values,
                         const Operand &scales) {
  c.sameDim(values, 0, scales, 0);
  c.owesNothing(scales);
  if (scales.dtype != DType::F32)
    c.fail("'", c.id(scales), "' holds scales of ", dtypeName(scales.dtype),
           "; f32 is expected");
  const Expr &width = values.shape[1], &columns = scales.shape[1];
  if (!width.isConstant() || !columns.isConstant() || columns.value < 1 ||
      width.value % columns.value != 0)
    c.fail("'", c.id(scales), "' has ", print(columns),
           " columns; a divisor of ", print(width), ", the features of '",
           c.id(values), "', is expected");
  std::int64_t size = width.value / columns.value;
  DimLayout of = values.layout.dims[1], held = scales.layout.dims[1];
  if (columns.value == 1) {
    c.heldWhole(scales, 1);
    return size;
  }
  // The part of a rank begins and ends between groups.
  held.unit *= size;
  if (of != held)
    c.fail("'", c.id(values), "' is ", print(values.layout, c.plan), ", '",
           c.id(scales), "' is ", print(scales.layout, c.plan),
           "; the same groups of ", size, " features are expected");
  return size;
}

} // namespace

DType dtypeOf(QuantFormat format) {
  return format == QuantFormat::Fp8E4M3 ? DType::Fp8E4M3 : DType::Fp8E5M2;
}

void checkQuantize(const StepContract &c) {
  const Operand &input = c.arg("input"), &values = c.arg("values"),
                &scales = c.arg("scales");
  for (const char *name : {"input", "values", "scales"})
    c.dims(name, 2);
  // Rounding is not linear.
  c.owesNothing(input);
  c.sameLayout(input, values);
  if (values.dtype != dtypeOf(c.attrs().format))
    c.fail("gives ", dtypeName(values.dtype), "; ",
           dtypeName(dtypeOf(c.attrs().format)), " is expected");
  std::int64_t size = checkGroups(c, values, scales);
  // The scale of a group is that of its largest feature.
  if (scales.shape[1].value == 1)
    c.heldWhole(input, 1);
  std::int64_t asked =
      c.attrs().groupSize > 0 ? c.attrs().groupSize : input.shape[1].value;
  if (size != asked)
    c.fail("'", c.id(scales), "' has a column for every ", size,
           " features; one for every ", asked, " is expected");
}

void checkDequantize(const StepContract &c) {
  const Operand &values = c.arg("values");
  for (const char *name : {"values", "scales", "output"})
    c.dims(name, 2);
  c.owesNothing(values);
  c.sameLayout(values, c.arg("output"));
  checkGroups(c, values, c.arg("scales"));
}

} // namespace layline::runtime
