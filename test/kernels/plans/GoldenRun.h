// A golden model (test/golden) run on the device "simt".
#ifndef LAYLINE_TEST_KERNELS_PLANS_GOLDENRUN_H
#define LAYLINE_TEST_KERNELS_PLANS_GOLDENRUN_H

#include "TestEngine.h"

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

class GoldenRun {
public:
  /// `options` are those of layline_simt_enable.
  GoldenRun(const std::string &model, const Json &plan,
            layline_precision precision, const std::string &options = "");
  /// The first so many rows of the recorded input, from position 0.
  void run(std::int64_t tokens);
  /// Largest error of the logits and of all values that were recorded under a
  /// step's name, and how many those are. Fails if replicas differ.
  double error();
  int compared() const { return compared_; }
  /// Steps of the last run by kernel of the catalogue.
  std::map<std::string, std::int64_t> kernels();
  /// Collectives and row-wise steps without a kernel: "all_gather: reason".
  std::map<std::string, std::int64_t> withoutKernel();

  TestEngine engine;

private:
  std::string folder_;
  std::int64_t tokens_ = 0;
  int compared_ = 0;
};

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_PLANS_GOLDENRUN_H
