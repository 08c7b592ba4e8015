// Cards that map one another's memory, and memory of the ranks that is mapped
// as widely as they can.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_ISLANDS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_ISLANDS_H

#include "devices/cuda/RankView.h"
#include "devices/cuda/SymmetricMemory.h"

#include <memory>
#include <string>
#include <vector>

namespace layline::runtime::cuda {

/// By card: the number of its island. Any two cards of an island reach each
/// other; a card that could be of several is of the lowest.
std::vector<std::size_t>
islandsOf(const std::vector<std::unique_ptr<Card>> &cards);

/// As much memory for every rank of this process, each rank's mapped for all
/// cards of its island.
class IslandMemory {
public:
  IslandMemory() = default;
  /// No bytes: no memory. `multicast`: over all ranks of an island. The ranks'
  /// cards must outlive the memory. Throws Error naming `what`; nothing is left
  /// behind then.
  IslandMemory(const std::vector<RankView> &ranks,
               const std::vector<std::size_t> &islands, std::size_t bytes,
               Multicast multicast, const std::string &what);

  Address part(const RankView &rank) const { return parts_[rank.place]; }
  /// The memory of the rank's island.
  const SymmetricMemory &of(const RankView &rank) const {
    return islands_[islandOf_[rank.cardNumber]];
  }

private:
  std::vector<SymmetricMemory> islands_;
  std::vector<std::size_t> islandOf_; ///< by card
  std::vector<Address> parts_;        ///< by place
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_ISLANDS_H
