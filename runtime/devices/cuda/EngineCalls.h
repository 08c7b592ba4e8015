// Products and attention by the functions of the engine around this one
// (layline/hooks.h), on the streams of the device.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_ENGINECALLS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_ENGINECALLS_H

#include "devices/cuda/Program.h"
#include "devices/cuda/RankView.h"
#include "engine/Hooks.h"

#include <functional>

namespace layline::runtime::cuda {

/// A command's product, put into the stream by the engine. False where it has
/// no function or declines. Throws Error with step and rank.
bool multiplyByEngine(const Hooks &hooks, const Plan &plan,
                      const Command &command, Stream stream);

/// The attention of one rank in this run, for the engine's function, which must
/// be there: whether it put it into the stream. `hooks` and `step` must outlive
/// the result, which throws Error with step and rank. Throws Error
/// (LAYLINE_REFUSED_FEATURE) for operands that the call cannot describe.
std::function<bool(Stream)>
attentionByEngine(const Hooks &hooks, const RankView &rank, const Step &step);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_ENGINECALLS_H
