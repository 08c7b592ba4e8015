#include "devices/simt/plan/RowLaunch.h"

#include "devices/simt/plan/GatherLaunch.h"

#include <algorithm>
#include <vector>

namespace layline::runtime {

RowLaunch::RowLaunch(RankContext<float> &rank, const LaunchPlan &plan,
                     const kernels::Kernel &kernel)
    : MemberLaunch(plan), rank_(rank), kernel_(kernel),
      type_(storedAs(plan.variant.dtype)) {}

float *RowLaunch::address(const Operand *operand) {
  return operand ? rank_.address<float>(operand->index) : nullptr;
}

const float *RowLaunch::weight(const Operand *operand) const {
  return operand ? rank_.weight(*operand).data : nullptr;
}

void RowLaunch::place(DeviceMemory &memory) {
  member_ = memory.member();
  const RowWork &work = plan.work;
  const std::int64_t width = plan.problem.width, kept = plan.rowsKept(member_),
                     out = plan.rowsOut(member_), columns = plan.scaleColumns();
  const bool isShared = plan.variant.ranks > 1;
  auto put = [&](const char *name, const float *from,
                 std::int64_t rows) -> void * {
    return from ? memory.put(name, from, rows * width, type_) : nullptr;
  };
  auto make = [&](const char *name, std::int64_t rows, Stored type,
                  std::int64_t each, bool shared) {
    return memory.make(name, rows * each, type, shared);
  };
  produced_ = put("produced rows", address(work.rows), plan.rowsIn(member_));
  at_.rows = make("rows", plan.rowsIn(member_), type_, width, isShared);
  at_.bias = put("bias", weight(work.bias), 1);
  at_.innerWeight = put("inner weight", weight(work.innerWeight), 1);
  at_.weight = put("weight", weight(work.weight), 1);
  at_.normBias = put("norm bias", weight(work.normBias), 1);
  // Every rank may have all rows of what goes with them, the kernel take its
  // own.
  const std::int64_t skipped = work.isAllReduce() && kept != plan.problem.tokens
                                   ? plan.own(member_).begin * width
                                   : 0;
  auto putKept = [&](const char *name, const Operand *operand) -> void * {
    return operand ? put(name, address(operand) + skipped, kept) : nullptr;
  };
  at_.gate = putKept("gate", work.gate);
  at_.residual = putKept("residual", work.residual);
  if (plan.problem.wantsValues) {
    at_.values = make("values", out, type_, width, isShared);
    values_ = make("consumed values", out, type_, width, false);
  }
  if (work.isQuantized()) {
    at_.payload = make("payload", out, Stored::E4M3, width, isShared);
    payload_ = make("consumed payload", out, Stored::E4M3, width, false);
    at_.scales = make("scales", out, Stored::F32, columns, isShared);
    scales_ = make("consumed scales", out, Stored::F32, columns, false);
  }
  if (work.residualOut) {
    at_.residualOut = make("residual out", kept, type_, width, false);
    residual_ = make("consumed residual", kept, type_, width, false);
  }
}

void RowLaunch::launch(GroupMachine &machine,
                       const std::vector<MemberLaunch *> &members) {
  const std::int64_t rowBytes = plan.problem.width * bytesOf(type_),
                     out = plan.rowsOut(member_);
  machine.copy(member_, "producer", produced_, at_.rows,
               plan.rowsIn(member_) * rowBytes);
  withRanks(plan.variant.ranks, [&](auto ranks) {
    constexpr int P = decltype(ranks)::value;
    const WorkspaceAddresses &workspace = machine.workspace(member_);
    if (plan.variant.family == kernels::Family::OneShot)
      return machine.start(member_, kernel_, plan.shape,
                           oneShotParamsOf<P>(plan, at_, workspace, member_));
    std::vector<RowAddresses> all;
    for (const MemberLaunch *member : members)
      all.push_back(static_cast<const RowLaunch *>(member)->at_);
    machine.start(member_, kernel_, plan.shape,
                  rowParamsOf<P>(plan, all, workspace, member_));
  });
  if (values_)
    machine.copy(member_, "consumer", at_.values, values_, out * rowBytes);
  if (payload_) {
    machine.copy(member_, "consumer of the payload", at_.payload, payload_,
                 out * plan.problem.width);
    machine.copy(member_, "consumer of the scales", at_.scales, scales_,
                 out * plan.scaleColumns() * bytesOf(Stored::F32));
  }
  if (residual_)
    machine.copy(member_, "consumer of the residual", at_.residualOut,
                 residual_, plan.rowsKept(member_) * rowBytes);
}

void RowLaunch::takeRows(const void *from, Stored type, std::int64_t width,
                         kernels::RowBlock rows, float *to) const {
  fetch(from, type, rows.begin * width, rows.size * width, to);
}

/// Payload and scales, and their products, which is what their readers take
/// them for.
void RowLaunch::takeQuantized(kernels::RowBlock own) {
  const RowWork &work = plan.work;
  const std::int64_t width = plan.problem.width, columns = plan.scaleColumns(),
                     out = plan.rowsOut(member_);
  takeRows(payload_, Stored::E4M3, width, own, address(work.payload));
  takeRows(scales_, Stored::F32, columns, own, address(work.scaleColumns));
  if (!work.values)
    return;
  std::vector<float> scales(static_cast<std::size_t>(out * columns));
  takeRows(scales_, Stored::F32, columns, {0, out}, scales.data());
  float *to = address(work.values);
  takeRows(payload_, Stored::E4M3, width, {0, out}, to);
  const std::int64_t each = width / columns;
  for (std::int64_t i = 0; i < out * width; ++i)
    to[i] *= scales[static_cast<std::size_t>(i / each)];
  if (work.ungathered)
    std::copy_n(to + own.begin * width, own.size * width,
                address(work.ungathered));
}

void RowLaunch::take(std::int64_t member) {
  const RowWork &work = plan.work;
  const std::int64_t width = plan.problem.width, out = plan.rowsOut(member);
  // Of what was gathered, the rows before that.
  bool isGathered = work.scattered && plan.variant.isForEveryone();
  kernels::RowBlock all{0, out}, own = isGathered ? plan.own(member) : all;
  if (work.isQuantized()) {
    takeQuantized(own);
    if (work.exact)
      takeRows(values_, type_, width, own, address(work.exact));
  } else if (work.isArranged) {
    takeArranged(rank_, plan, values_, type_, width, address(work.values));
  } else {
    takeRows(values_, type_, width, all, address(work.values));
    if (work.ungathered)
      takeRows(values_, type_, width, own, address(work.ungathered));
  }
  if (residual_)
    takeRows(residual_, type_, width, {0, plan.rowsKept(member)},
             address(work.residualOut));
}

} // namespace layline::runtime
