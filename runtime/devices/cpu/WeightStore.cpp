#include "devices/cpu/WeightStore.h"

#include "plan/Error.h"

#include <algorithm>
#include <map>

namespace layline::runtime {

template <typename T>
WeightStore<T>::WeightStore(const Plan &plan)
    : plan_(plan), slices_(plan.weights.size()), ofRank_(plan.weights.size()) {
  std::vector<std::map<std::pair<Shape, Shape>, std::size_t>> known(
      plan.weights.size());
  for (std::int64_t rank = 0; rank < plan.ranks(); ++rank) {
    std::vector<std::int64_t> coordinates = plan.coordinates(rank);
    std::vector<Part> parts = plan.parts(plan.tokens.min, coordinates);
    Environment environment{plan.tokens.min, 0, coordinates.data(),
                            parts.data()};
    for (std::size_t w = 0; w < plan.weights.size(); ++w) {
      const Weight &weight = plan.weights[w];
      Slice slice{
          partBegins(weight.layout, parts),
          localShape(constantShape(weight.shape), weight.layout, environment),
          nullptr};
      auto [entry, isNew] = known[w].emplace(
          std::pair(slice.begins, slice.shape), slices_[w].size());
      if (isNew)
        slices_[w].push_back(std::move(slice));
      ofRank_[w].push_back(entry->second);
    }
  }
}

template <typename T>
void WeightStore<T>::bind(int index, std::int64_t stackIndex,
                          const safetensors::Tensor &stored) {
  const Weight &weight = plan_.weights[index];
  bool isStack = !weight.stackName.empty();
  for (Slice &slice : slices_[index]) {
    if (!slice.values)
      slice.values = std::make_shared<AlignedBytes>(
          static_cast<std::size_t>(elements(slice.shape)) * sizeof(T));
    T *to = reinterpret_cast<T *>(slice.values->data());
    Shape begins = slice.begins, shape = slice.shape;
    if (isStack) {
      std::int64_t at = stackIndex - begins[0];
      if (at < 0 || at >= shape[0])
        continue;
      begins.erase(begins.begin());
      shape.erase(shape.begin());
      to += at * elements(shape);
    }
    if (weight.rows)
      begins[0] += weight.rows->begin;
    forEachRun(weight.storedShape, shape, begins,
               [&](std::int64_t local, std::int64_t from, std::int64_t count) {
                 if (!safetensors::convert(stored, from, count, to + local))
                   fail(LAYLINE_INTERNAL, "weight '", weight.id,
                        "' cannot be converted");
               });
  }
}

template <typename T>
std::shared_ptr<const AlignedBytes>
WeightStore<T>::slice(int weight, std::int64_t rank) const {
  return slices_[weight][ofRank_[weight][static_cast<std::size_t>(rank)]]
      .values;
}

template class WeightStore<float>;
template class WeightStore<double>;

} // namespace layline::runtime
