#include "devices/cuda/Steps.h"

namespace layline::runtime::cuda {
namespace {

local::ElementwiseOp opOf(StepKind kind) {
  switch (kind) {
  case StepKind::Mul:
    return local::ElementwiseOp::Mul;
  case StepKind::Scale:
    return local::ElementwiseOp::Scale;
  case StepKind::Softcap:
    return local::ElementwiseOp::Softcap;
  case StepKind::Activation:
    return local::ElementwiseOp::Activate;
  case StepKind::GatedActivation:
    return local::ElementwiseOp::Gate;
  case StepKind::AddBias:
    return local::ElementwiseOp::AddColumn;
  case StepKind::RowScale:
    return local::ElementwiseOp::ScaleRow;
  default:
    return local::ElementwiseOp::Add;
  }
}

/// In the order in which the kernel combines them.
std::vector<Operand> inputsOf(const Step &step) {
  switch (step.kind) {
  case StepKind::Add:
  case StepKind::Mul:
    return step.list("inputs");
  case StepKind::GatedActivation:
    return {step.arg("gate"), step.arg("up")};
  case StepKind::AddBias:
    return {step.arg("input"), step.arg("bias")};
  case StepKind::RowScale:
    return {step.arg("input"), step.arg("scales")};
  default:
    return {step.arg("input")};
  }
}

} // namespace

void addElementwise(ProgramBuilder &builder, const Step &step) {
  std::vector<Operand> inputs = inputsOf(step);
  builder.kernel<local::ElementwiseParams>(
      "layline_elementwise",
      [&](const RankView &rank, local::ElementwiseParams &p) {
        p.op = opOf(step.kind);
        p.function = functionFor(step.attrs.function);
        p.inputCount = static_cast<std::int32_t>(inputs.size());
        for (std::size_t i = 0; i < inputs.size(); ++i)
          p.inputs[i] = rank.numbers(inputs[i]);
        p.factor = static_cast<float>(step.kind == StepKind::Softcap
                                          ? step.attrs.cap
                                          : step.attrs.factor);
        p.output = rank.numbers(step.arg("output"));
        Shape shape = rank.shape(step.arg("output"));
        p.count = elements(shape);
        p.width = shape.back();
        return blocksForElements(p.count);
      });
}

} // namespace layline::runtime::cuda
