// One kernel launch and what is asked of it.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_LAUNCH_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_LAUNCH_H

#include "devices/cuda/Card.h"

#include <cstdint>
#include <string>

namespace layline::runtime::cuda {

struct KernelLaunch {
  KernelFunction function = nullptr;
  const char *symbol = ""; ///< for messages
  unsigned blocks = 1;     ///< of each rank
  unsigned ranks = 1;      ///< of the card: blockIdx.y
  unsigned threads = 128;
  /// Blocks wait for other ranks: all must be on the card at once, and the
  /// driver is asked to see to it. Also puts the launch's system-scope traffic
  /// into a memory domain of its own, so that its fences do not wait for what
  /// kernels beside it store.
  bool waitsForRanks = false;
  /// May begin before the launch in front of it has ended; the kernel waits
  /// with griddepcontrol.
  bool isProgrammatic = false;
};

/// `parameters`: address of the kernel's array of parameters, on the card.
/// Throws Error.
void launch(const Card &card, const KernelLaunch &launch, Address parameters,
            Stream stream);

/// Throws Error if the blocks of a launch that waits for ranks cannot all be on
/// the card at once; `margin` blocks stay free for what else runs.
void checkResidency(const Card &card, const KernelLaunch &launch,
                    std::int64_t margin);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_LAUNCH_H
