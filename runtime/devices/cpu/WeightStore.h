// The ranks' slices of the weights. Ranks that hold the same slice share it.
#ifndef LAYLINE_RUNTIME_DEVICES_CPU_WEIGHTSTORE_H
#define LAYLINE_RUNTIME_DEVICES_CPU_WEIGHTSTORE_H

#include "engine/AlignedBytes.h"
#include "layline/runtime.h"
#include "layline/safetensors.h"
#include "plan/Plan.h"
#include "weights/WeightSlices.h"

#include <memory>
#include <vector>

namespace layline::runtime {

template <typename T> class WeightStore {
public:
  /// For these ranks only. A null allocator: the runtime's memory.
  WeightStore(const Plan &plan, layline_precision precision,
              const std::vector<std::int64_t> &ranks,
              const layline_allocator *allocator);

  /// Converts one stored tensor and copies its part into every slice.
  void bind(int weight, std::int64_t stackIndex,
            const safetensors::Tensor &stored);
  /// Of the i-th of the ranks.
  std::shared_ptr<const AlignedBytes> slice(int weight, std::size_t rank) const;
  /// Bytes of stored tensors that have been looked at.
  std::int64_t bytesRead() const { return bytesRead_; }

private:
  const Plan &plan_;
  layline_precision precision_;
  const layline_allocator *allocator_;
  WeightSlices slices_;
  /// [weight][slice], null until something is bound.
  std::vector<std::vector<std::shared_ptr<AlignedBytes>>> values_;
  std::int64_t bytesRead_ = 0;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_DEVICES_CPU_WEIGHTSTORE_H
