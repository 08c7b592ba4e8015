#include "devices/simt/plan/GatherLaunch.h"

namespace layline::runtime {
namespace {

/// In a run in f32 all numbers are floats, 8-bit ones too.
Stored storedAs(layline_precision precision, DType dtype) {
  if (isInteger(dtype))
    return Stored::I64;
  if (precision != LAYLINE_PRECISION_BF16)
    return Stored::F32;
  switch (dtype) {
  case DType::BF16:
    return Stored::BF16;
  case DType::Fp8E4M3:
    return Stored::E4M3;
  case DType::Fp8E5M2:
    return Stored::E5M2;
  default:
    return Stored::F32;
  }
}

} // namespace

GatherLaunch::GatherLaunch(RankContext<float> &rank, const LaunchPlan &plan,
                           const kernels::Kernel &kernel)
    : MemberLaunch(plan), rank_(rank), kernel_(kernel),
      type_(storedAs(rank.run->precision, plan.step->arg("input").dtype)) {
  if (bytesOf(type_) != plan.elementBytes)
    fail(LAYLINE_INTERNAL, "elements of ", bytesOf(type_),
         " bytes are gathered as ", plan.elementBytes);
}

void GatherLaunch::place(DeviceMemory &memory) {
  member_ = memory.member();
  const Operand &input = plan.step->arg("input");
  const std::int64_t width = plan.problem.width / plan.elementBytes,
                     in = plan.rowsIn(member_) * width,
                     out = plan.rowsOut(member_) * width;
  produced_ =
      type_ == Stored::I64
          ? memory.put("produced rows", rank_.integers(input).data, in, type_)
          : memory.put("produced rows", rank_.floats(input).data, in, type_);
  at_.rows = memory.make("rows", in, type_);
  at_.values = memory.make("values", out, type_, /*isShared=*/true);
  consumed_ = memory.make("consumed values", out, type_);
}

void GatherLaunch::launch(GroupMachine &machine,
                          const std::vector<MemberLaunch *> &members) {
  const std::int64_t rowBytes = plan.problem.width;
  machine.copy(member_, "producer", produced_, at_.rows,
               plan.rowsIn(member_) * rowBytes);
  std::vector<RowAddresses> all;
  for (const MemberLaunch *member : members)
    all.push_back(static_cast<const GatherLaunch *>(member)->at_);
  withRanks(plan.variant.ranks, [&](auto ranks) {
    constexpr int P = decltype(ranks)::value;
    machine.start(
        member_, kernel_, plan.shape,
        gatherParamsOf<P>(plan, all, machine.workspace(member_), member_));
  });
  machine.copy(member_, "consumer", at_.values, consumed_,
               plan.rowsOut(member_) * rowBytes);
}

template <typename Element>
void GatherLaunch::takeAs(const Tensor<Element> &output) const {
  const std::int64_t width = plan.problem.width / plan.elementBytes;
  if (plan.work.isArranged)
    takeArranged(rank_, plan, consumed_, type_, width, output.data);
  else
    fetch(consumed_, type_, 0, plan.rowsOut(member_) * width, output.data);
}

void GatherLaunch::take(std::int64_t) {
  const Operand &output = plan.step->arg("output");
  if (type_ == Stored::I64)
    takeAs(rank_.integers(output));
  else
    takeAs(rank_.floats(output));
}

} // namespace layline::runtime
