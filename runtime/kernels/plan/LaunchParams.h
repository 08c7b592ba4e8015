// A planned launch's parameters, of the addresses that its operands and
// workspace have on a device.
#ifndef LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPARAMS_H
#define LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPARAMS_H

#include "kernels/Params.h"
#include "kernels/plan/LaunchPlan.h"

#include <cstdint>
#include <vector>

namespace layline::runtime {

/// Where a member's operands lie, in the kernel's type; null: not there. Rows
/// that the kernel takes or gives whole are whole (LaunchPlan::rowsIn and so
/// on), others begin at the member's own. `rows` of addends and results that
/// are everyone's must be mapped by all members: symmetric memory.
struct RowAddresses {
  void *rows = nullptr, *bias = nullptr, *innerWeight = nullptr,
       *residual = nullptr, *weight = nullptr, *normBias = nullptr,
       *gate = nullptr;
  void *values = nullptr; ///< null: not wanted (Problem::wantsValues)
  void *payload = nullptr, *scales = nullptr;
  void *residualOut = nullptr;
  /// The same on all members, by the switch: where the variant is so.
  const void *multicastRows = nullptr;
  void *multicastValues = nullptr, *multicastPayload = nullptr,
       *multicastScales = nullptr;
};

/// A group's workspace as one member maps it, laid out as `layout` says; made
/// once, all zero but for mailboxes, which are poison (kPoison16, kPoison32).
struct WorkspaceAddresses {
  kernels::Workspace layout;
  std::uint32_t maxBlocks = 0;            ///< of the WorkspaceNeed
  std::vector<unsigned char *> symmetric; ///< by member
  unsigned char *own = nullptr;
  std::uint64_t waitLimit = 0; ///< nanoseconds; 0: for ever
};

inline kernels::Watch watchOf(const WorkspaceAddresses &workspace) {
  return {reinterpret_cast<kernels::SpinError *>(workspace.own +
                                                 workspace.layout.error),
          workspace.waitLimit};
}

template <int P>
kernels::PeerFlags<P> peerFlagsOf(const WorkspaceAddresses &workspace,
                                  std::int64_t member) {
  kernels::PeerFlags<P> result;
  for (std::size_t peer = 0; peer < P; ++peer)
    result.flags[peer] = reinterpret_cast<std::uint32_t *>(
        workspace.symmetric[peer] + workspace.layout.flags);
  result.epochs = reinterpret_cast<std::uint32_t *>(workspace.own +
                                                    workspace.layout.epochs);
  result.maxBlocks = workspace.maxBlocks;
  result.rank = static_cast<std::uint32_t>(member);
  result.watch = watchOf(workspace);
  return result;
}

/// Of broadcasts, which have flags and epochs of their own.
template <int P>
kernels::PeerFlags<P> readyFlagsOf(const WorkspaceAddresses &workspace,
                                   std::int64_t member) {
  kernels::PeerFlags<P> result = peerFlagsOf<P>(workspace, member);
  for (std::size_t peer = 0; peer < P; ++peer)
    result.flags[peer] = reinterpret_cast<std::uint32_t *>(
        workspace.symmetric[peer] + workspace.layout.readyFlags);
  result.epochs = reinterpret_cast<std::uint32_t *>(
      workspace.own + workspace.layout.readyEpochs);
  return result;
}

inline kernels::RowOperands operandsOf(const LaunchPlan &planned,
                                       const RowAddresses &at) {
  const RowWork &work = planned.work;
  kernels::RowOperands operands{};
  operands.bias = at.bias;
  operands.innerWeight = at.innerWeight;
  operands.residual = at.residual;
  operands.residualOut = at.residualOut;
  operands.weight = at.weight;
  operands.normBias = at.normBias;
  operands.gate = at.gate;
  operands.innerScale = static_cast<float>(work.innerScale);
  operands.scale = static_cast<float>(work.scale);
  operands.eps = static_cast<float>(work.eps);
  operands.weightOffset = static_cast<float>(work.weightOffset);
  operands.groupSize = static_cast<std::int32_t>(planned.problem.groupSize);
  return operands;
}

/// Of Family::RowCollective with P ranks. `members` by member, as this one maps
/// them.
template <int P>
kernels::RowParams<P>
rowParamsOf(const LaunchPlan &planned, const std::vector<RowAddresses> &members,
            const WorkspaceAddresses &workspace, std::int64_t member) {
  const RowAddresses &own = members[static_cast<std::size_t>(member)];
  kernels::RowParams<P> params{};
  params.peers = peerFlagsOf<P>(workspace, member);
  for (std::size_t peer = 0; peer < P; ++peer) {
    params.addends[peer] = members[peer].rows;
    params.out.values[peer] = members[peer].values;
    params.out.payload[peer] =
        static_cast<std::uint8_t *>(members[peer].payload);
    params.out.scales[peer] = static_cast<float *>(members[peer].scales);
  }
  params.multicastAddends = own.multicastRows;
  params.out.multicastValues = own.multicastValues;
  params.out.multicastPayload =
      static_cast<std::uint8_t *>(own.multicastPayload);
  params.out.multicastScales = static_cast<float *>(own.multicastScales);
  params.rows = own.rows;
  params.tokens = planned.problem.tokens;
  params.width = static_cast<std::int32_t>(planned.problem.width);
  params.operands = operandsOf(planned, own);
  return params;
}

/// Of Family::GatherRows with P ranks, as rowParamsOf().
template <int P>
kernels::GatherParams<P>
gatherParamsOf(const LaunchPlan &planned,
               const std::vector<RowAddresses> &members,
               const WorkspaceAddresses &workspace, std::int64_t member) {
  kernels::GatherParams<P> params{};
  params.peers = peerFlagsOf<P>(workspace, member);
  params.rows = members[static_cast<std::size_t>(member)].rows;
  params.tokens = planned.problem.tokens;
  params.rowBytes = planned.problem.width;
  for (std::size_t peer = 0; peer < P; ++peer)
    params.out[peer] = members[peer].values;
  params.multicastOut =
      members[static_cast<std::size_t>(member)].multicastValues;
  return params;
}

/// Of Family::Broadcast with P ranks, from `from`, which the root alone has.
/// `to` by member, as this one maps them.
template <int P>
kernels::BroadcastParams<P>
broadcastParamsOf(const LaunchPlan &planned, const void *from,
                  const std::vector<void *> &to,
                  const WorkspaceAddresses &workspace, std::int64_t member) {
  kernels::BroadcastParams<P> params{};
  params.ready = readyFlagsOf<P>(workspace, member);
  for (std::size_t peer = 0; peer < P; ++peer) {
    params.chunk[peer] = reinterpret_cast<std::uint32_t *>(
        workspace.symmetric[peer] + workspace.layout.chunkFlags);
    params.to[peer] = to[peer];
  }
  params.uses =
      reinterpret_cast<std::uint32_t *>(workspace.own + workspace.layout.uses);
  params.from = from;
  params.bytes = planned.bytes;
  params.chunkBytes = kChunkBytes;
  params.root = static_cast<std::uint32_t>(planned.step->attrs.root);
  return params;
}

/// A position's angles in half turns; a plan's frequencies are in radians.
inline std::vector<double> halfTurnsOf(const RopeNumbers &numbers) {
  constexpr double kPi = 3.14159265358979323846;
  std::vector<double> halfTurns;
  for (double frequency : numbers.invFreq)
    halfTurns.push_back(frequency / kPi);
  return halfTurns;
}

/// Where a rank's operands of a rope step lie.
struct RopeAddresses {
  const void *rows = nullptr;
  void *out = nullptr;
  const std::int64_t *positions = nullptr;
  const double *halfTurns = nullptr; ///< halfTurnsOf()
};

/// Of Family::Rope, of rows that stay on their rank.
inline kernels::RopeParams<1>
ropeParamsOf(const LaunchPlan &planned, const RopeAddresses &at,
             float attentionFactor, const WorkspaceAddresses &workspace) {
  kernels::RopeParams<1> params{};
  params.peers = peerFlagsOf<1>(workspace, 0);
  params.rows = at.rows;
  params.positions = at.positions;
  params.halfTurns = at.halfTurns;
  params.attentionFactor = attentionFactor;
  params.tokens = planned.problem.tokens;
  params.heads = planned.rope.heads;
  params.headWidth = planned.rope.headWidth;
  params.rotary = planned.rope.rotary;
  params.out[0] = at.out;
  return params;
}

/// Of Family::OneShot with P ranks.
template <int P>
kernels::OneShotParams<P>
oneShotParamsOf(const LaunchPlan &planned, const RowAddresses &own,
                const WorkspaceAddresses &workspace, std::int64_t member) {
  kernels::OneShotParams<P> params{};
  for (std::size_t peer = 0; peer < P; ++peer)
    params.boxes[peer] = workspace.symmetric[peer] + workspace.layout.boxes;
  params.capacity = workspace.layout.boxCapacity;
  params.state = reinterpret_cast<kernels::OneShotState *>(
      workspace.own + workspace.layout.state);
  params.rank = static_cast<std::uint32_t>(member);
  params.watch = watchOf(workspace);
  params.addends = own.rows;
  params.tokens = planned.problem.tokens;
  params.width = static_cast<std::int32_t>(planned.problem.width);
  params.operands = operandsOf(planned, own);
  params.out.values[0] = own.values;
  params.out.payload[0] = static_cast<std::uint8_t *>(own.payload);
  params.out.scales[0] = static_cast<float *>(own.scales);
  return params;
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_KERNELS_PLAN_LAUNCHPARAMS_H
