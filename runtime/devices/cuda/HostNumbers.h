// Numbers on their way between host and cards.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_HOSTNUMBERS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_HOSTNUMBERS_H

#include "devices/cuda/Card.h"
#include "kernels/local/LocalParams.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace layline::runtime::cuda {

using local::NumberType;

/// "bf16", as plans have it.
const char *numberName(NumberType type);

/// Numbers in the form in which a card keeps them; rounds to nearest, ties to
/// even.
std::vector<std::byte> encode(const std::vector<float> &values,
                              NumberType type);
/// The other way round, exact.
std::vector<float> decode(const std::byte *bytes, std::int64_t count,
                          NumberType type);

/// Waits until the bytes are there.
void copyIn(const Card &card, Address to, const void *from, std::size_t bytes,
            const std::string &what);
void copyOut(const Card &card, void *to, Address from, std::size_t bytes,
             const std::string &what);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_HOSTNUMBERS_H
