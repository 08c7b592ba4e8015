// The ranks of one group on an emulated machine: their workspace, which stays
// from launch to launch as a GPU's does, and launches of kernels.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H

#include "devices/simt/Machine.h"
#include "devices/simt/plan/DeviceMemory.h"
#include "kernels/plan/LaunchParams.h"
#include "plan/Error.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

namespace layline::runtime {

class GroupMachine;

/// A kernel as one member of its group launches it, of a step of that member.
/// What it reads and writes is the host's.
class MemberLaunch {
public:
  explicit MemberLaunch(const LaunchPlan &plan) : plan(plan) {}
  virtual ~MemberLaunch() = default;
  MemberLaunch(const MemberLaunch &) = delete;
  MemberLaunch &operator=(const MemberLaunch &) = delete;

  /// Puts operands into device memory and makes room for results.
  virtual void place(DeviceMemory &memory) = 0;
  /// Appends to the member's stream what writes the operands, the kernel and
  /// what reads the results. All members have placed theirs; those of one group
  /// are of one class.
  virtual void launch(GroupMachine &machine,
                      const std::vector<MemberLaunch *> &members) = 0;
  /// Takes the results.
  virtual void take(std::int64_t member) = 0;

  const LaunchPlan &plan;
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

  /// A member's launch, before the members meet. It is kept until the next one
  /// of the member: a rank that fails while it waits for the others takes
  /// nothing away that the machine still works on.
  void offer(int member, std::shared_ptr<MemberLaunch> launch);
  /// Launches on all ranks what was offered, and waits; false where that fails.
  /// Of several threads one at a time; all members have offered theirs.
  bool run();

  // For MemberLaunch::launch.
  const WorkspaceAddresses &workspace(int member) const {
    return workspaces_[static_cast<std::size_t>(member)];
  }
  /// A kernel that copies, dependent on the launch before it; addresses are
  /// multiples of 16, `bytes` is one of 4.
  void copy(int member, const char *kernel, const void *from, void *to,
            std::int64_t bytes);
  /// The kernel of a plan, with parameters of its family.
  template <typename Params>
  void start(int member, const kernels::Kernel &kernel,
             const kernels::LaunchShape &shape, const Params &params,
             std::uint32_t gridY = 1) {
    auto function = reinterpret_cast<void (*)(const Params)>(kernel.function);
    append(member, kernel.variant.name(), shape, gridY,
           [=] { function(params); });
  }

private:
  bool run(const std::vector<MemberLaunch *> &members);
  void append(int member, const std::string &name,
              const kernels::LaunchShape &shape, std::uint32_t gridY,
              std::function<void()> body);
  void setFailure(std::int64_t member, const std::string &text);
  void checkWaits(const std::string &kernel);

  kernels::WorkspaceNeed need_;
  kernels::Workspace layout_;
  // Machines refer to what is in memory, and go first.
  std::vector<DeviceMemory> memory_; ///< by member
  simt::Machine machine_;
  std::vector<WorkspaceAddresses> workspaces_; ///< by member
  std::mutex offering_;
  std::vector<std::shared_ptr<MemberLaunch>> offered_; ///< by member
  std::string failure_;
  std::int64_t failedMember_ = 0;
};

/// Calls body(std::integral_constant<int, P>) for a number of ranks that there
/// are kernels for.
template <typename Body> void withRanks(int ranks, const Body &body) {
  switch (ranks) {
  case 1:
    return body(std::integral_constant<int, 1>());
  case 2:
    return body(std::integral_constant<int, 2>());
  case 3:
    return body(std::integral_constant<int, 3>());
  case 4:
    return body(std::integral_constant<int, 4>());
  case 8:
    return body(std::integral_constant<int, 8>());
  default:
    fail(LAYLINE_INTERNAL, "no kernel is for ", ranks, " ranks");
  }
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_PLAN_GROUPMACHINE_H
