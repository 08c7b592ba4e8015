// What the kernels of the catalogue are given on cards, and what is left to do
// with what they give.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_FUSEDPARAMS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_FUSEDPARAMS_H

#include "devices/cuda/Groups.h"
#include "devices/cuda/ProgramBuilder.h"
#include "devices/cuda/Workspaces.h"
#include "kernels/plan/LaunchParams.h"
#include "kernels/plan/RunPlans.h"

#include <cstdint>
#include <vector>

namespace layline::runtime::cuda {

/// The launches of a step, and what their parameters are made of.
struct FusedStep {
  ProgramBuilder &builder;
  const std::vector<RankView> &ranks;
  Workspaces &workspaces;
  const RunPlans::OfRanks &launches; ///< by place
  bool isTapped;                     ///< all values with a name are asked for

  const LaunchPlan &of(const RankView &rank) const {
    return launches[rank.place];
  }
};

/// The rank's number among those of its launch.
inline std::size_t memberOf(const RankView &rank, const LaunchPlan &planned) {
  return planned.variant.ranks == 1
             ? 0
             : static_cast<std::size_t>(
                   rank.members[static_cast<std::size_t>(planned.group)]);
}

/// Where a kernel leaves FP8 rows of a rank, and their scales: all that it
/// gives the rank, one behind another.
struct QuantizedRows {
  Numbers payload, scales;
  /// They stand where other values are to be, and are put aside first.
  bool areInTheWay = false;
};
QuantizedRows quantizedRows(const RankView &rank, const LaunchPlan &planned);

/// Where a rank's operands of a kernel of rows lie.
RowAddresses addressesOf(const RankView &rank, const LaunchPlan &planned);

/// Adds one launch of ranks of a card, which have the same kernel, grid and
/// block.
void addLaunch(const FusedStep &step, std::size_t card,
               const std::vector<const RankView *> &together);

/// Adds all launches of an `experts` step, on all cards (FusedExperts.cpp).
void addExpertLaunches(const FusedStep &step);

/// Adds what is left to do behind the launches, on all cards: values that the
/// kernel leaves in another form or place than the step's readers and taps find
/// them in (FusedResults.cpp).
void addResults(const FusedStep &step);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_FUSEDPARAMS_H
