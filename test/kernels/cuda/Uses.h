// What the steps of an engine's last run ran as.
#ifndef LAYLINE_TEST_KERNELS_CUDA_USES_H
#define LAYLINE_TEST_KERNELS_CUDA_USES_H

#include "layline/runtime.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace layline::test {

/// "kinds: kernel (reason)", once for steps alike. Throws std::runtime_error
/// with the engine's text.
std::vector<std::string> usesOf(layline_engine *engine);

/// How many of these texts have this in their text.
std::ptrdiff_t usesWith(const std::vector<std::string> &uses,
                        const std::string &text);

/// Whether a kernel is one of the catalogue, by its symbol: no local one.
bool isFused(const std::string &symbol);

/// Whether blocks of a kernel, by its symbol, wait for those of other ranks.
bool waitsForRanks(const std::string &symbol);

/// Steps by kernel, or by the reason why they have none.
std::map<std::string, int> stepsBy(layline_engine *engine);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_USES_H
