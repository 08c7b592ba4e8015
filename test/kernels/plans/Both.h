// A plan of a few steps on the device "simt", beside the device "cpu".
#ifndef LAYLINE_TEST_KERNELS_PLANS_BOTH_H
#define LAYLINE_TEST_KERNELS_PLANS_BOTH_H

#include "KernelBench.h"
#include "KernelUses.h"

#include <catch2/catch.hpp>

namespace layline::test {

/// A finished plan on both devices.
struct Both {
  explicit Both(Bench &bench,
                layline_precision precision = LAYLINE_PRECISION_F32,
                bool taps = true)
      : plan(bench.b.finish()), cpu(plan, precision, "cpu", taps),
        kernels(plan, precision, simt("weak,seed=5"), taps) {
    INFO(findings(plan));
    bench.run(cpu);
    bench.run(kernels);
  }
  void checkBits(const std::string &output) {
    INFO(output);
    CHECK(kernels.output(output).data == cpu.output(output).data);
  }
  void checkKernel(const std::string &name, std::int64_t steps = 1) {
    INFO(name);
    CHECK(count(kernelUses(kernels), name) == steps);
  }
  void checkWithout(const std::string &reason, std::int64_t steps = 1) {
    INFO(reason);
    CHECK(count(withoutKernel(kernels), reason) == steps);
  }

  Json plan;
  TestEngine cpu, kernels;
};

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_PLANS_BOTH_H
