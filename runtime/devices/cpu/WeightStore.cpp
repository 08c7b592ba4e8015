#include "devices/cpu/WeightStore.h"

#include "devices/cpu/Rounding.h"

namespace layline::runtime {

template <typename T>
WeightStore<T>::WeightStore(const Plan &plan, layline_precision precision,
                            const std::vector<std::int64_t> &ranks,
                            const layline_allocator *allocator)
    : plan_(plan), precision_(precision), allocator_(allocator),
      slices_(slicesOf(plan, ranks)), values_(plan.weights.size()) {
  for (std::size_t w = 0; w < plan.weights.size(); ++w)
    values_[w].resize(slices_.regions[w].size());
}

template <typename T>
void WeightStore<T>::bind(int index, std::int64_t stackIndex,
                          const safetensors::Tensor &stored) {
  const Weight &weight = plan_.weights[index];
  for (std::size_t s = 0; s < values_[index].size(); ++s) {
    const Region &region = slices_.regions[index][s];
    std::shared_ptr<AlignedBytes> &values = values_[index][s];
    if (!values)
      values = std::make_shared<AlignedBytes>(
          static_cast<std::size_t>(elements(shapeOf(region))) * sizeof(T),
          MemorySource{allocator_, slices_.firstRank[index][s],
                       LAYLINE_MEMORY_WEIGHTS});
    std::optional<SlicePiece> piece = pieceOf(weight, region, stackIndex);
    if (!piece)
      continue;
    T *to = reinterpret_cast<T *>(values->data()) + piece->offset;
    convertPiece(weight, *piece, stored, to);
    bytesRead_ += piece->count * static_cast<std::int64_t>(
                                     safetensors::dtypeBytes(stored.dtype));
    if (isRounded(precision_, weight.dtype))
      roundToBF16(to, piece->count);
  }
}

template <typename T>
std::shared_ptr<const AlignedBytes>
WeightStore<T>::slice(int weight, std::size_t rank) const {
  return values_[weight][slices_.ofRank[weight][rank]];
}

template class WeightStore<float>;
template class WeightStore<double>;

} // namespace layline::runtime
