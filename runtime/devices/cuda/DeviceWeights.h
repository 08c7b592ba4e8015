// The ranks' slices of the weights on their cards. Ranks of one card that hold
// the same slice share it.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_DEVICEWEIGHTS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_DEVICEWEIGHTS_H

#include "devices/cuda/RankView.h"
#include "layline/safetensors.h"
#include "weights/WeightSlices.h"

#include <memory>
#include <vector>

namespace layline::runtime::cuda {

class DeviceWeights {
public:
  /// Makes the slices' memory. `ranks`: of this process. `allocator`: null: the
  /// driver's; it is asked for the lowest rank that has a slice.
  DeviceWeights(const Plan &plan, const ElementTypes &types,
                const std::vector<RankView> &ranks,
                const std::vector<std::unique_ptr<Card>> &cards,
                const layline_allocator *allocator);

  /// Converts one stored tensor and copies its part into every slice.
  void bind(int weight, std::int64_t stackIndex,
            const safetensors::Tensor &stored);
  Address slice(int weight, const RankView &rank) const;
  /// Bytes of stored tensors that have been looked at.
  std::int64_t bytesRead() const { return bytesRead_; }

private:
  struct OfCard {
    const Card *card = nullptr;
    WeightSlices slices;
    std::vector<std::vector<DeviceMemory>> memory; ///< [weight][slice]
  };

  const Plan &plan_;
  const ElementTypes &types_;
  std::vector<OfCard> cards_;
  /// By place: the rank's card, and its number among the card's ranks.
  std::vector<std::pair<std::size_t, std::size_t>> places_;
  std::int64_t bytesRead_ = 0;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_DEVICEWEIGHTS_H
