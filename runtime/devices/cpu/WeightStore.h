// The ranks' slices of the weights. Ranks that hold the same slice share it.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_WEIGHTSTORE_H
#define LAYLINE_RUNTIME_DEVICES_CPU_WEIGHTSTORE_H

#include "devices/cpu/AlignedBytes.h"
#include "engine/GlobalValue.h"
#include "layline/runtime.h"
#include "layline/safetensors.h"
#include "plan/Plan.h"

#include <memory>
#include <vector>

namespace layline::runtime {

template <typename T> class WeightStore {
public:
  WeightStore(const Plan &plan, layline_precision precision);

  /// Converts one stored tensor and copies its part into every slice.
  void bind(int weight, std::int64_t stackIndex,
            const safetensors::Tensor &stored);
  std::shared_ptr<const AlignedBytes> slice(int weight,
                                            std::int64_t rank) const;

private:
  struct Slice {
    Region region;
    std::shared_ptr<AlignedBytes> values;
  };

  const Plan &plan_;
  layline_precision precision_;
  std::vector<std::vector<Slice>> slices_;       ///< by weight
  std::vector<std::vector<std::size_t>> ofRank_; ///< [weight][rank]
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_WEIGHTSTORE_H
