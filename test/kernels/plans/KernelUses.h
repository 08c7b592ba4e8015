// Which steps of an engine's last run were launched on the device "simt".
#ifndef LAYLINE_TEST_KERNELS_PLANS_KERNELUSES_H
#define LAYLINE_TEST_KERNELS_PLANS_KERNELUSES_H

#include "TestEngine.h"

#include <cstdint>
#include <map>
#include <string>

namespace layline::test {

/// Enables the device with options of layline_simt_enable, and gives its name:
/// before an engine asks for it. Throws Failure.
const char *simt(const std::string &options = "");

/// Steps by kernel of the catalogue.
std::map<std::string, std::int64_t> kernelUses(TestEngine &engine);
/// Steps that a kernel was looked for and not found: "all_gather: reason".
std::map<std::string, std::int64_t> withoutKernel(TestEngine &engine);

inline std::int64_t count(const std::map<std::string, std::int64_t> &uses,
                          const std::string &name) {
  auto found = uses.find(name);
  return found == uses.end() ? 0 : found->second;
}

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_PLANS_KERNELUSES_H
