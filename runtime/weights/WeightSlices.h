// Which elements of a stored tensor a rank's slice of a weight takes, and their
// conversion.
#ifndef LAYLINE_RUNTIME_WEIGHTS_WEIGHTSLICES_H
#define LAYLINE_RUNTIME_WEIGHTS_WEIGHTSLICES_H

#include "engine/GlobalValue.h"
#include "layline/safetensors.h"
#include "plan/Plan.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace layline::runtime {

/// The distinct slices of every weight among some ranks.
struct WeightSlices {
  std::vector<std::vector<Region>> regions;         ///< by weight
  std::vector<std::vector<std::int64_t>> firstRank; ///< lowest that has it
  std::vector<std::vector<std::size_t>> ofRank;     ///< [weight][i-th rank]
};
WeightSlices slicesOf(const Plan &plan, const std::vector<std::int64_t> &ranks);

/// What one stored tensor of a weight fills of a slice.
struct SlicePiece {
  Region region;           ///< of the stored tensor, rows first
  std::int64_t offset = 0; ///< of the slice, elements
  std::int64_t count = 0;
};
/// Nothing if the slice has none of the stack's tensors number `stackIndex`.
std::optional<SlicePiece> pieceOf(const Weight &weight, const Region &slice,
                                  std::int64_t stackIndex);

/// Converts a piece; `to` is where its first element goes.
template <typename T>
void convertPiece(const Weight &weight, const SlicePiece &piece,
                  const safetensors::Tensor &stored, T *to);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_WEIGHTS_WEIGHTSLICES_H
