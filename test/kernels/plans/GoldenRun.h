// A golden model (test/golden) run on the device "simt".
#ifndef LAYLINE_TEST_KERNELS_PLANS_GOLDENRUN_H
#define LAYLINE_TEST_KERNELS_PLANS_GOLDENRUN_H

#include "KernelUses.h"

#include <map>
#include <string>
#include <vector>

namespace layline::test {

/// test/plans/NAME/plan.json: "v1.2/olmo2-tp8".
Json frozenPlan(const std::string &name);
/// The plan of the same model in bfloat16.
Json inBF16(Json plan);

/// shared/data/golden/README.md and docs/numerics.md.
constexpr double kF32Bound = 5e-6, kBF16Bound = 5e-2;

/// Which values are asked for: only outputs, or all that have a name, for which
/// some fused steps run in pieces.
enum class Asked { Outputs, All };

class GoldenRun {
public:
  /// `options` are those of layline_simt_enable.
  GoldenRun(const std::string &model, const Json &plan,
            layline_precision precision, Asked asked = Asked::All,
            const std::string &options = "");
  /// The first so many rows of the recorded input, from position 0.
  void run(std::int64_t tokens);
  /// Largest error of the logits and of all values that were recorded under a
  /// step's name, and how many those are. Fails if replicas differ.
  double error();
  int compared() const { return compared_; }
  std::map<std::string, std::int64_t> kernels() { return kernelUses(engine); }
  std::map<std::string, std::int64_t> withoutKernel() {
    return test::withoutKernel(engine);
  }

  TestEngine engine;

private:
  std::string folder_;
  std::int64_t tokens_ = 0;
  int compared_ = 0;
};

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_PLANS_GOLDENRUN_H
