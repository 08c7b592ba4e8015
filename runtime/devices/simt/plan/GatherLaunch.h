// Launches of gather_rows, and gathered parts that stand one behind another.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GATHERLAUNCH_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GATHERLAUNCH_H

#include "devices/cpu/RankContext.h"
#include "devices/simt/plan/GroupMachine.h"

#include <algorithm>
#include <vector>

namespace layline::runtime {

class GatherLaunch final : public MemberLaunch {
public:
  GatherLaunch(RankContext<float> &rank, const LaunchPlan &plan,
               const kernels::Kernel &kernel);

  void place(DeviceMemory &memory) override;
  void launch(GroupMachine &machine,
              const std::vector<MemberLaunch *> &members) override;
  void take(std::int64_t member) override;

private:
  template <typename Element> void takeAs(const Tensor<Element> &output) const;

  RankContext<float> &rank_;
  const kernels::Kernel &kernel_;
  Stored type_;
  int member_ = 0;
  RowAddresses at_;
  void *produced_ = nullptr, *consumed_ = nullptr;
};

/// Parts of an all_gather, one behind another at `from`, into their places;
/// `width`: elements of a row of the kernel.
template <typename Element>
void takeArranged(const RankContext<float> &rank, const LaunchPlan &plan,
                  const void *from, Stored type, std::int64_t width,
                  Element *to) {
  const Step &gather = *plan.step;
  RankRun run{rank.run->plan, rank.rank, rank.run->precision,
              rank.environment()};
  const Shape whole = run.shape(gather.arg("output"));
  std::vector<Element> part;
  for (std::int64_t member = 0; member < plan.variant.ranks; ++member) {
    kernels::RowBlock rows = plan.own(member);
    part.resize(static_cast<std::size_t>(rows.size * width));
    fetch(from, type, rows.begin * width, rows.size * width, part.data());
    forEachRun(
        whole, gatheredRegion(run, gather, member),
        [&](std::int64_t local, std::int64_t global, std::int64_t count) {
          std::copy_n(part.data() + local, count, to + global);
        });
  }
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GATHERLAUNCH_H
