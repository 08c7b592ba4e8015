#include "weights/WeightSlices.h"

#include "plan/Error.h"

#include <algorithm>
#include <map>

namespace layline::runtime {
namespace {

/// Where an item stands in a list, -1 if it does not.
std::int64_t placeOf(std::int64_t item, const Items &items) {
  std::int64_t before = 0;
  for (Part part : items) {
    if (part.begin <= item && item < part.end())
      return before + item - part.begin;
    before += part.size;
  }
  return -1;
}

/// Where rows of a weight that is a window stand in the stored tensor.
Items storedRows(const Weight &weight, const Items &rows) {
  std::int64_t begin = weight.rows->begin, size = weight.rows->size;
  Items stored;
  for (Part part : rows)
    while (part.size > 0) {
      // One period's window at a time; without a period it is the only one.
      std::int64_t window = weight.period ? part.begin / size : 0;
      std::int64_t within = part.begin - window * size;
      std::int64_t count = std::min(part.size, size - within);
      stored.push_back({window * weight.period + begin + within, count});
      part = {part.begin + count, part.size - count};
    }
  return stored;
}

/// A region of a tensor that is stored [.., columns, rows], as [.., rows,
/// columns].
template <typename T>
void copyTransposed(const Weight &weight, Region region,
                    const safetensors::Tensor &stored, T *to) {
  std::size_t last = region.size() - 1;
  std::swap(region[last - 1], region[last]);
  Shape shape = shapeOf(region);
  std::vector<T> values(static_cast<std::size_t>(elements(shape)));
  forEachRun(
      weight.storedShape, region,
      [&](std::int64_t local, std::int64_t from, std::int64_t count) {
        if (!safetensors::convert(stored, from, count, values.data() + local))
          fail(LAYLINE_INTERNAL, "weight '", weight.id,
               "' cannot be converted");
      });
  std::int64_t columns = shape[last - 1], rows = shape[last];
  const T *from = values.data();
  for (std::int64_t outer =
           elements(shape) / std::max<std::int64_t>(1, columns * rows);
       outer-- > 0; from += columns * rows, to += columns * rows)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        to[r * columns + c] = from[c * rows + r];
}

} // namespace

WeightSlices slicesOf(const Plan &plan,
                      const std::vector<std::int64_t> &ranks) {
  WeightSlices slices;
  slices.regions.resize(plan.weights.size());
  slices.firstRank.resize(plan.weights.size());
  slices.ofRank.resize(plan.weights.size());
  std::vector<std::map<Region, std::size_t>> known(plan.weights.size());
  for (std::int64_t rank : ranks) {
    std::vector<std::int64_t> coordinates = plan.coordinates(rank);
    std::vector<Part> parts = plan.parts(plan.tokens.min, coordinates);
    Environment environment{plan.tokens.min, 0, coordinates.data(),
                            parts.data()};
    for (std::size_t w = 0; w < plan.weights.size(); ++w) {
      const Weight &weight = plan.weights[w];
      Region region = regionOf(plan, weight.shape, weight.layout, environment);
      auto [entry, isNew] = known[w].emplace(region, slices.regions[w].size());
      if (isNew) {
        slices.regions[w].push_back(std::move(region));
        slices.firstRank[w].push_back(rank);
      }
      slices.ofRank[w].push_back(entry->second);
    }
  }
  return slices;
}

std::optional<SlicePiece> pieceOf(const Weight &weight, const Region &slice,
                                  std::int64_t stackIndex) {
  SlicePiece piece;
  piece.region = slice;
  if (!weight.stackName.empty()) {
    std::int64_t at = placeOf(stackIndex, slice[0]);
    if (at < 0)
      return std::nullopt;
    piece.region.erase(piece.region.begin());
    piece.offset = at * elements(shapeOf(piece.region));
  }
  piece.count = elements(shapeOf(piece.region));
  // Rows of a weight, behind the experts of a stored stack.
  std::size_t rows = weight.storedStack ? 1 : 0;
  if (weight.rows)
    piece.region[rows] = storedRows(weight, piece.region[rows]);
  return piece;
}

template <typename T>
void convertPiece(const Weight &weight, const SlicePiece &piece,
                  const safetensors::Tensor &stored, T *to) {
  if (weight.isTransposed) {
    copyTransposed(weight, piece.region, stored, to);
    return;
  }
  forEachRun(weight.storedShape, piece.region,
             [&](std::int64_t local, std::int64_t from, std::int64_t count) {
               if (!safetensors::convert(stored, from, count, to + local))
                 fail(LAYLINE_INTERNAL, "weight '", weight.id,
                      "' cannot be converted");
             });
}

template void convertPiece<float>(const Weight &, const SlicePiece &,
                                  const safetensors::Tensor &, float *);
template void convertPiece<double>(const Weight &, const SlicePiece &,
                                   const safetensors::Tensor &, double *);

} // namespace layline::runtime
