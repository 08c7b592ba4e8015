// What a run is given and ranks on other cards read: the inputs of collectives
// over cards. They have places in memory that all cards of the group map, and
// are copied there in front of a run; other inputs are read where the
// parameters of kernels lie, which their own card alone maps.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_SHAREDINPUTS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_SHAREDINPUTS_H

#include "devices/cuda/Groups.h"
#include "devices/cuda/Islands.h"

#include <optional>
#include <vector>

namespace layline::runtime::cuda {

class SharedInputs {
public:
  /// Makes the places, as large as the longest run of any variant needs: their
  /// addresses stay. `groups` is not kept; the ranks' cards must outlive the
  /// object.
  SharedInputs(const Plan &plan, const std::vector<RankView> &ranks,
               const std::vector<std::size_t> &islands, const Groups &groups);

  struct Place {
    Address address = 0;
    std::size_t bytes = 0;
  };
  /// Where a rank's part of an input buffer goes; none where no other card
  /// reads it. The variant is one of the plan's.
  std::optional<Place> find(const Variant &variant, std::size_t buffer,
                            const RankView &rank) const;

private:
  struct Room {
    std::size_t offset = 0, bytes = 0; ///< no bytes: none
  };

  const Plan &plan_;
  std::vector<std::vector<Room>> rooms_; ///< [variant][buffer]
  IslandMemory memory_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_SHAREDINPUTS_H
