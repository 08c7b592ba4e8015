// The ranks of one group on an emulated machine: their workspace, which stays
// from launch to launch as a GPU's does, and launches of kernels of rows.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H

#include "devices/simt/Machine.h"
#include "engine/AlignedBytes.h"
#include "kernels/Catalogue.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace layline::runtime {

/// A kernel as a member of its group launches it. Pointers are the host's, to
/// floats; null: not there. The device's memory has the kernel's type.
struct RowLaunch {
  const kernels::Kernel *kernel = nullptr;
  kernels::Problem problem;
  kernels::LaunchShape shape;
  /// residual has all rows, of which the member's own are taken where the
  /// kernel asks for those.
  bool isResidualWhole = false;
  float innerScale = 1, scale = 1, eps = 0, weightOffset = 0;

  const float *rows = nullptr, *bias = nullptr, *innerWeight = nullptr,
              *residual = nullptr, *weight = nullptr, *normBias = nullptr,
              *gate = nullptr;
  float *values = nullptr;
  float *residualOut = nullptr;
  float *ungathered = nullptr; ///< own rows of the values

  /// Rows of `rows`, of the values, and of the residual that a kernel takes
  /// and gives.
  std::int64_t rowsIn(std::int64_t member) const;
  std::int64_t rowsOut(std::int64_t member) const;
  std::int64_t rowsKept(std::int64_t member) const;
  kernels::RowBlock own(std::int64_t member) const;
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
  kernels::RowOperands operandsOf(const RowLaunch &launch, int member) const;
  template <int P> kernels::PeerFlags<P> peerFlags(int member) const;
  kernels::Watch watch(int member) const;
  /// Device memory of exactly so many elements, so that an access behind them
  /// is in no buffer. Null `from`: not written.
  void place(int member, Place place, const float *from, std::int64_t count,
             kernels::DType dtype);
  void fetch(int member, Place place, std::int64_t first, std::int64_t count,
             float *to, kernels::DType dtype) const;
  void dropPlaces();
  void setFailure(std::int64_t member, const std::string &text);
  template <typename T> T *own(int member, std::int64_t offset) const {
    return reinterpret_cast<T *>(ownBytes_[static_cast<std::size_t>(member)] +
                                 offset);
  }
  void *at(int member, Place place) const {
    return places_[static_cast<std::size_t>(member)][place].address;
  }

  struct Placed {
    AlignedBytes bytes;
    void *address = nullptr; ///< null: nothing is there for this launch
  };

  kernels::WorkspaceNeed need_;
  kernels::Workspace workspace_;
  // Machines refer to the places, and go first.
  std::vector<std::array<Placed, kPlaces>> places_;
  simt::Machine machine_;
  std::vector<unsigned char *> symmetric_, ownBytes_;
  std::string failure_;
  std::int64_t failedMember_ = 0;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H
