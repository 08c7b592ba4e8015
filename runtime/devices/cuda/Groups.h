// How the ranks of each of a plan's groups reach one another, and what they
// need for it.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_GROUPS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_GROUPS_H

#include "devices/cuda/CardsOfRanks.h"
#include "devices/cuda/NcclComms.h"
#include "devices/cuda/ProgramBuilder.h"
#include "devices/cuda/SymmetricMemory.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace layline::runtime::cuda {

enum class Reach : std::uint8_t {
  OneCard, ///< every instance lies on one card: streams order all
  Peers,   ///< the cards of an instance are of one island (Islands.h)
  /// They are not, or members are in several processes; every member has a card
  /// of its own.
  Nccl
};

class Groups {
public:
  /// Sets the ranks' `members` and `instances`. Throws Error if a group's cards
  /// do not reach one another and NCCL cannot do it either (it wants a card for
  /// each rank), or is not there. `ranks`: of this process. `islands`: by card
  /// of it. `timeout`: seconds that a rank waits for another one. `transport`
  /// must outlive the object; all of its processes make theirs.
  Groups(const Plan &plan, std::vector<RankView> &ranks,
         const std::vector<std::unique_ptr<Card>> &cards,
         const std::vector<std::size_t> &islands, const CardsOfRanks &places,
         Transport &transport, double timeout);

  Reach reach(int group) const {
    return reach_[static_cast<std::size_t>(group)];
  }
  bool isOfSeveralProcesses(int group) const {
    return ids_.isOfSeveralProcesses(static_cast<std::size_t>(group));
  }
  /// Of one rank: parameters of a meeting of this group's members.
  local::BarrierParams barrier(ProgramBuilder &builder, const RankView &rank,
                               int group) const;
  NcclComm comm(const RankView &rank, int group) const;
  NcclComms &comms() { return comms_; }

  /// Sets every flag and epoch to zero. No kernel may be running.
  void reset();

  /// What kernels of a rank that waited in vain write, on its card.
  kernels::SpinError *failureOf(const RankView &rank) const {
    return failures_[rank.cardNumber].as<kernels::SpinError>() +
           records_[rank.place];
  }
  /// Of the lowest rank that waited in vain since reset(). Copies: the run has
  /// ended.
  struct Late {
    std::int64_t rank;
    kernels::SpinError error;
  };
  std::optional<Late> late() const;
  /// How long they wait.
  std::uint64_t waitNanoseconds() const { return waitNanoseconds_; }

private:
  /// One that a rank of this process is in.
  struct Instance {
    GroupInstance members;
    SymmetricMemory flags;       ///< [members] words, then the epoch
    std::vector<NcclComm> comms; ///< by member; null: in another process
  };
  /// Of one whose members are all here.
  Reach reachOf(const Instance &instance,
                const std::vector<std::size_t> &islands) const;
  void shareFlags(Instance &instance, const std::string &what);
  void connect(Instance &instance, const CardsOfRanks &places, int group,
               const std::string &what);

  std::vector<RankView> &ranks_;
  std::uint64_t waitNanoseconds_;
  std::vector<DeviceMemory> failures_; ///< by card, a record of each rank
  std::vector<std::size_t> records_;   ///< of each rank: which of its card's
  std::deque<Instance> instances_;     ///< addresses stay
  std::vector<Reach> reach_;           ///< by group
  NcclIds ids_;
  NcclComms comms_;
};

/// Whether what the members show must be brought together by NCCL.
bool needsNccl(const ProgramBuilder &builder, int group);
/// A meeting of the members on every card; nothing where there is one card.
void meet(ProgramBuilder &builder, int group);
/// Brings every member's value into scratch memory of every rank; `sources`:
/// [place][member], where they lie before, as far as they are of this process,
/// and then. `bytes(rank)`: of a rank's.
void gatherByNccl(ProgramBuilder &builder, int group,
                  std::vector<std::vector<Address>> &sources,
                  const std::function<std::size_t(const RankShape &)> &bytes);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_GROUPS_H
