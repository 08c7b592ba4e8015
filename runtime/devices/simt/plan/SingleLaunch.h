// Launches of kernels that are one step each: rope, broadcast, rows into the
// pages of a cache, the local side of a mixture.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_SINGLELAUNCH_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_SINGLELAUNCH_H

#include "devices/cpu/ExpertProducts.h"
#include "devices/cpu/RankContext.h"
#include "devices/simt/plan/GroupMachine.h"

#include <string>
#include <vector>

namespace layline::runtime {

class RopeLaunch final : public MemberLaunch {
public:
  RopeLaunch(RankContext<float> &rank, const LaunchPlan &plan,
             const kernels::Kernel &kernel)
      : MemberLaunch(plan), rank_(rank), kernel_(kernel) {}
  void place(DeviceMemory &memory) override;
  void launch(GroupMachine &machine,
              const std::vector<MemberLaunch *> &members) override;
  void take(std::int64_t member) override;

private:
  std::int64_t count() const {
    return plan.problem.tokens * plan.problem.width;
  }
  Stored type() const { return storedAs(plan.variant.dtype); }

  RankContext<float> &rank_;
  const kernels::Kernel &kernel_;
  void *produced_ = nullptr, *rows_ = nullptr, *out_ = nullptr,
       *consumed_ = nullptr;
  void *positions_ = nullptr, *halfTurns_ = nullptr;
};

class BroadcastLaunch final : public MemberLaunch {
public:
  BroadcastLaunch(RankContext<float> &rank, const LaunchPlan &plan,
                  const kernels::Kernel &kernel);
  void place(DeviceMemory &memory) override;
  void launch(GroupMachine &machine,
              const std::vector<MemberLaunch *> &members) override;
  void take(std::int64_t member) override;

private:
  RankContext<float> &rank_;
  const kernels::Kernel &kernel_;
  Stored type_ = Stored::I64;
  int member_ = 0;
  void *produced_ = nullptr, *from_ = nullptr, *to_ = nullptr,
       *consumed_ = nullptr;
};

/// `plan` is of a cache whose rows canScatter().
class PageLaunch final : public MemberLaunch {
public:
  PageLaunch(RankContext<float> &rank, const LaunchPlan &plan,
             const kernels::Kernel &kernel)
      : MemberLaunch(plan), rank_(rank), kernel_(kernel) {}
  void place(DeviceMemory &memory) override;
  void launch(GroupMachine &machine,
              const std::vector<MemberLaunch *> &members) override;
  void take(std::int64_t) override {}

private:
  void exposePages(DeviceMemory &memory, const layline_pages &pages,
                   std::int64_t items, std::int64_t elements);

  RankContext<float> &rank_;
  const kernels::Kernel &kernel_;
  kernels::PagedRowsParams params_{};
  void *produced_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Why the rows of a step are not scattered into its cache by a kernel; "" if
/// they can be.
std::string whyNotScattered(const RankContext<float> &rank, const Step &step);

/// The first launch of a mixture sorts and permutes, the second merges.
class ExpertLaunch final : public MemberLaunch {
public:
  /// `sort`, `permute` and `merge` are kernels of the plan's types.
  ExpertLaunch(RankContext<float> &rank, const LaunchPlan &plan,
               const kernels::Kernel &sort, const kernels::Kernel &permute,
               const kernels::Kernel &merge);
  void place(DeviceMemory &memory) override;
  void launch(GroupMachine &machine,
              const std::vector<MemberLaunch *> &members) override;
  void take(std::int64_t member) override;
  /// Between the launches: the experts' products.
  void multiply();

private:
  void placeChoices(DeviceMemory &memory);
  void placeResults(DeviceMemory &memory);

  RankContext<float> &rank_;
  const kernels::Kernel &sort_, &permute_, &merge_;
  Stored type_;
  ExpertProducts<float> products_;
  std::vector<std::int64_t> ids_; ///< -1 where a row is not here
  std::vector<bool> isHere_;      ///< by row
  std::int64_t inWidth_, outWidth_;
  std::int64_t choices_ = 0; ///< that are of experts of this rank
  bool isMultiplied_ = false;
  std::vector<std::int64_t> places_, offsets_;
  std::vector<float> sorted_, results_;
  kernels::ExpertParams params_{};
  void *produced_ = nullptr, *taken_ = nullptr, *consumed_ = nullptr;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_SINGLELAUNCH_H
