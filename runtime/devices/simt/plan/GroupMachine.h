// The ranks of one group on an emulated machine: their workspace, which stays
// from launch to launch as a GPU's does, and launches of kernels of rows.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H

#include "devices/simt/Machine.h"
#include "engine/AlignedBytes.h"
#include "kernels/plan/LaunchParams.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace layline::runtime {

/// A kernel as a member of its group launches it. Pointers are the host's, to
/// floats; null: not there. The device's memory has the kernel's type.
struct RowLaunch {
  const LaunchPlan *planned = nullptr;
  const kernels::Kernel *kernel = nullptr;
  /// residual has all rows, of which the member's own are taken where the
  /// kernel asks for those.
  bool isResidualWhole = false;

  const float *rows = nullptr, *bias = nullptr, *innerWeight = nullptr,
              *residual = nullptr, *weight = nullptr, *normBias = nullptr,
              *gate = nullptr;
  float *values = nullptr;
  float *residualOut = nullptr;
  float *ungathered = nullptr; ///< own rows of the values
};

class GroupMachine {
public:
  /// `dtype`: what the mailboxes of one_shot hold; other kernels take any.
  /// Throws Error.
  GroupMachine(const simt::Options &options, const kernels::WorkspaceNeed &need,
               kernels::DType dtype);
  GroupMachine(const GroupMachine &) = delete;
  GroupMachine &operator=(const GroupMachine &) = delete;

  const kernels::WorkspaceNeed &need() const { return need_; }
  /// After a failure nothing runs any more.
  bool hasFailed() const { return !failure_.empty(); }
  /// The last failure, and the member that it is of.
  const std::string &failure() const { return failure_; }
  std::int64_t failedMember() const { return failedMember_; }

  /// Launches on all ranks, by member, and waits; false where that fails. Of
  /// several threads one at a time.
  bool run(const std::vector<const RowLaunch *> &members);

private:
  /// What lies in device memory for a launch.
  enum Place {
    Rows,
    Values,
    Residual,
    ResidualOut,
    Bias,
    InnerWeight,
    Weight,
    NormBias,
    Gate,
    Produced, ///< the rows, before a kernel writes them to Rows
    Consumed, ///< the values, after a kernel has read them
    ConsumedResidual
  };
  static constexpr std::size_t kPlaces = ConsumedResidual + 1;

  template <int P> void launch(const std::vector<const RowLaunch *> &members);
  void copy(int member, const char *kernel, Place from, Place to,
            std::int64_t bytes);
  RowAddresses addressesOf(int member) const;
  /// Device memory of exactly so many elements, so that an access behind them
  /// is in no buffer. Null `from`: not written.
  void place(int member, Place place, const float *from, std::int64_t count,
             kernels::DType dtype);
  void fetch(int member, Place place, std::int64_t first, std::int64_t count,
             float *to, kernels::DType dtype) const;
  void dropPlaces();
  void setFailure(std::int64_t member, const std::string &text);
  void *at(int member, Place place) const {
    return places_[static_cast<std::size_t>(member)][place].address;
  }

  struct Placed {
    AlignedBytes bytes;
    void *address = nullptr; ///< null: nothing is there for this launch
  };

  kernels::WorkspaceNeed need_;
  kernels::Workspace layout_;
  // Machines refer to the places, and go first.
  std::vector<std::array<Placed, kPlaces>> places_;
  simt::Machine machine_;
  std::vector<WorkspaceAddresses> workspaces_; ///< by member
  std::string failure_;
  std::int64_t failedMember_ = 0;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H
