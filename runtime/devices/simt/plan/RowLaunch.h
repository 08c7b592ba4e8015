// Launches of row_collective and one_shot.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_ROWLAUNCH_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_ROWLAUNCH_H

#include "devices/cpu/RankContext.h"
#include "devices/simt/plan/GroupMachine.h"

namespace layline::runtime {

class RowLaunch final : public MemberLaunch {
public:
  RowLaunch(RankContext<float> &rank, const LaunchPlan &plan,
            const kernels::Kernel &kernel);

  void place(DeviceMemory &memory) override;
  void launch(GroupMachine &machine,
              const std::vector<MemberLaunch *> &members) override;
  void take(std::int64_t member) override;

private:
  float *address(const Operand *operand);
  const float *weight(const Operand *operand) const;
  /// Rows of what is gathered that are the member's own, or all.
  void takeRows(const void *from, Stored type, std::int64_t width,
                kernels::RowBlock rows, float *to) const;
  void takeQuantized(kernels::RowBlock own);

  RankContext<float> &rank_;
  const kernels::Kernel &kernel_;
  Stored type_;
  int member_ = 0;
  /// As kernels take them, and those that others write and read: the rows
  /// before a kernel wrote them, the results after one has read them.
  RowAddresses at_;
  void *produced_ = nullptr, *values_ = nullptr, *payload_ = nullptr,
       *scales_ = nullptr, *residual_ = nullptr;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_ROWLAUNCH_H
