// One rank's operands on a card: where they lie, of which type they are, how
// large they are for this run.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_RANKVIEW_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_RANKVIEW_H

#include "devices/cuda/Card.h"
#include "engine/CacheRequests.h"
#include "engine/RunShape.h"
#include "kernels/local/LocalParams.h"
#include "layline/runtime.h"
#include "plan/Plan.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace layline::runtime::cuda {

using local::Numbers;
using local::NumberType;

/// How the plan's types are kept: in float32 throughout, or as the plan says.
class ElementTypes {
public:
  /// Throws Error for a precision that the device does not have.
  ElementTypes(const Plan &plan, layline_precision precision);

  NumberType of(DType dtype) const;
  /// Inside a fused step values are kept in float32: they would be registers.
  NumberType of(const Buffer &buffer) const {
    return buffer.kind == Buffer::Class::Register ? NumberType::F32
                                                  : of(buffer.dtype);
  }
  /// Integers are kept in 64 bits.
  std::int64_t bytes(const Buffer &buffer) const {
    return isInteger(buffer.dtype) ? 8 : local::numberBytes(of(buffer));
  }
  bool areAsPlanned() const { return asPlanned_; }

private:
  bool asPlanned_ = false;
};

/// A cache of one rank: in memory that grows by doubling and keeps its rows, or
/// in pages of the engine's.
struct CacheRows {
  DeviceMemory memory;
  std::int64_t rows = 0, capacity = 0;
  CacheSlice slice;
  std::int64_t elementBytes = 4;
  const layline_cache_hooks *hooks = nullptr; ///< null: in `memory`
  layline_pages pages = {};                   ///< of the hooks, for this run

  /// Where all rows lie, on the rank's card.
  layline_pages place() const;
};

/// What all ranks have in common during a run.
struct CardRun : RunShape {
  const ElementTypes *types = nullptr;
  const Hooks *hooks = nullptr; ///< may be null: the engine does nothing itself
};

/// A rank's memory for an arena.
struct ArenaPlace {
  Address address = 0;
  std::size_t bytes = 0;
  /// Of the same on all ranks of the island, by the switch; 0: there is none.
  Address multicast = 0;
  std::string whyNoMulticast;
  std::size_t ranks = 1; ///< of the island
};

/// The instance of a group that a rank is in: its ranks, by member.
struct GroupInstance {
  std::vector<std::int64_t> ranks;
  std::size_t number = 0; ///< among all instances of all groups
};

/// What is known of any rank of the plan, in whichever process it is.
struct RankShape {
  const CardRun *run = nullptr;
  std::int64_t rank = 0;
  std::vector<std::int64_t> coordinates;
  std::vector<Part> parts; ///< by range, for this run's tokens

  Environment environment() const {
    return {run->tokens, run->past, coordinates.data(), parts.data()};
  }
  Shape shape(const Operand &operand) const {
    return localShape(operand.shape, operand.layout, environment());
  }
  /// Of a value in a buffer.
  std::size_t bytes(const Operand &operand) const;
};

/// A rank of this process.
struct RankView : RankShape {
  std::size_t place = 0; ///< among the ranks of this process
  Card *card = nullptr;
  std::size_t cardNumber = 0; ///< among the device's cards
  std::vector<ArenaPlace> arenas;
  std::vector<Address> inputs;       ///< by buffer, 64-bit integers
  std::vector<Address> weights;      ///< by weight
  std::vector<CacheRows> caches;     ///< by cache
  std::vector<Address> halfTurns;    ///< by table: short, then long numbers
  std::vector<std::int64_t> members; ///< by group
  std::vector<const GroupInstance *> instances; ///< by group

  /// Of a buffer; checks that the local value fits.
  Address address(int buffer) const;
  /// The arena that an address is in; null: none.
  const ArenaPlace *arenaOf(const void *memory) const;
  /// Where the switch reaches what lies there on all ranks; null: nowhere.
  void *multicast(const void *memory) const;
  /// Of a buffer or a weight.
  Numbers numbers(const Operand &operand) const;
  std::int64_t *integers(const Operand &operand) const {
    return reinterpret_cast<std::int64_t *>(address(operand.index));
  }
  local::Pages pages(const Operand &cache) const;

  /// What a rope step rotates by in this run: those of long sequences where its
  /// largest position asks for them.
  struct Rotations {
    const double *halfTurns = nullptr; ///< [rotary / 2], a position's
    float attentionFactor = 1;
  };
  Rotations rotations(const Step &rope) const;

  /// Global index of the first item of this rank's part of a dimension that is
  /// one run.
  std::int64_t begin(const Operand &operand, std::size_t dim) const;
  /// Whether its rows were dispatched to the ranks of their experts.
  bool isRouted(const Operand &operand) const {
    const DimLayout &rows = operand.layout.dims[0];
    return rows.isSplit() && run->plan->ranges[rows.range].isRouted();
  }
  /// What this rank has of the dimension that the range of `dim` deals out, in
  /// elements.
  Items own(const DimLayout &dim) const {
    return scaled(run->plan->ownItems(dim.range, environment()), dim.unit);
  }
};

/// The view of a rank among those of this process, which ascend; null: it is in
/// another one.
template <typename Views> auto *findRank(Views &ranks, std::int64_t rank) {
  auto found = std::lower_bound(ranks.begin(), ranks.end(), rank,
                                [](const RankView &view, std::int64_t wanted) {
                                  return view.rank < wanted;
                                });
  return found != ranks.end() && found->rank == rank ? &*found : nullptr;
}

/// Product of all dimensions but the last, and the last.
inline std::int64_t rowsOf(const Shape &shape) {
  std::int64_t result = 1;
  for (std::size_t i = 0; i + 1 < shape.size(); ++i)
    result *= shape[i];
  return result;
}

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_RANKVIEW_H
