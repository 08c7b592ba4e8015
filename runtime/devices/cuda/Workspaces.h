// Flags and mailboxes of the kernels whose blocks wait for other ranks: one
// workspace for each instance of a group on each stream, so that launches of
// different streams, and groups that share ranks, never meet in one flag.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_WORKSPACES_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_WORKSPACES_H

#include "devices/cuda/RankView.h"
#include "devices/cuda/SymmetricMemory.h"
#include "kernels/LaunchSafety.h"
#include "kernels/plan/LaunchParams.h"

#include <cstdint>
#include <string>
#include <vector>

namespace layline::runtime::cuda {

/// Of the members of an instance on one stream.
struct GroupWorkspace {
  std::string name; ///< of the communicator: "group 'tp' of rank 0"
  std::vector<std::int64_t> ranks;
  kernels::WorkspaceNeed need;
  kernels::Workspace layout;
  SymmetricMemory symmetric;     ///< by member
  std::vector<DeviceMemory> own; ///< by member
};

class Workspaces {
public:
  /// `ranks`: of this process; they must outlive the object. `mailboxes`: what
  /// those of one_shot hold.
  Workspaces(const Plan &plan, const std::vector<RankView> &ranks,
             kernels::DType mailboxes)
      : plan_(plan), ranks_(ranks), mailboxes_(mailboxes) {}

  /// One that is large enough. Made anew, all flags zero and all mailboxes
  /// empty, where what there is does not do: no kernel may be running. Throws
  /// Error.
  GroupWorkspace &reserve(int group, std::int64_t rank, std::size_t stream,
                          const kernels::WorkspaceNeed &need);
  /// Of what was reserved, as `rank` maps it; without a bound on waits.
  WorkspaceAddresses addresses(int group, std::int64_t rank,
                               std::size_t stream);
  /// What failed launches left is dropped. No kernel may be running.
  void reset();

private:
  GroupWorkspace &at(int group, std::int64_t rank, std::size_t stream);
  void clear(const GroupWorkspace &workspace) const;

  const Plan &plan_;
  const std::vector<RankView> &ranks_;
  kernels::DType mailboxes_;
  kernels::WorkspaceTable<GroupWorkspace> table_;
  std::vector<GroupWorkspace *> all_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_WORKSPACES_H
