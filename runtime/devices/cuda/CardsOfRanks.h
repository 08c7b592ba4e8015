// Which card each rank of a plan is on.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_CARDSOFRANKS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_CARDSOFRANKS_H

#include "devices/cuda/DriverTypes.h"
#include "plan/Plan.h"
#include "transports/Transport.h"

#include <string>
#include <vector>

namespace layline::runtime::cuda {

struct CardsOfRanks {
  /// Of the ranks of this process, by place: the driver's numbers, ascending.
  std::vector<int> numbers;
  /// Of every rank of the plan.
  std::vector<CardUuid> cards;
};

/// Ranks are dealt out to the cards that their process sees, in order:
/// neighbouring ranks share one where there are fewer cards than ranks, and are
/// of one tp group. Processes that see the same cards share them like ranks of
/// one process: each takes those behind the ones of lower processes. All
/// processes call it. Throws Error.
CardsOfRanks cardsOfRanks(const Plan &plan, Transport &transport);

bool isSame(const CardUuid &a, const CardUuid &b);
/// "GPU-6f1b3c2e-...", as nvidia-smi -L has it.
std::string print(const CardUuid &uuid);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_CARDSOFRANKS_H
