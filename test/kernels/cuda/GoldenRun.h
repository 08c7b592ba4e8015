// A frozen plan of a golden model on a device, through the C API.
#ifndef LAYLINE_TEST_KERNELS_CUDA_GOLDENRUN_H
#define LAYLINE_TEST_KERNELS_CUDA_GOLDENRUN_H

#include "TestEngine.h"
#include "Uses.h"
#include "layline/hooks.h"
#include "layline/runtime.h"
#include "layline/safetensors.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace layline::test {

class GoldenRun {
public:
  /// Further options of the engine; `timeout` in seconds, 0: the default.
  struct More {
    std::string transport = "threads";
    double timeout = 0;
    bool bySwitch = false;
  };

  /// `plan`: folder under test/plans; `model`: folder under test/golden.
  /// `allocator`: set before the plan is loaded; null: none. Throws
  /// std::runtime_error with the engine's text.
  GoldenRun(const std::string &device, const std::string &plan,
            const std::string &model,
            layline_precision precision = LAYLINE_PRECISION_F32,
            bool taps = false, const layline_allocator *allocator = nullptr)
      : GoldenRun(device, plan, model, precision, taps, allocator, More()) {}
  GoldenRun(const std::string &device, const std::string &plan,
            const std::string &model, layline_precision precision, bool taps,
            const layline_allocator *allocator, const More &more);

  /// Tokens [begin, begin + count) of the recorded ones, behind the past.
  void run(std::int64_t begin, std::int64_t count);
  void setPast(std::int64_t rows) {
    check(layline_past_set(engine_.get(), rows));
  }
  std::vector<double> logits();
  std::vector<double> cache(const std::string &id, std::int64_t elements);
  /// What steps of the last run ran as: "kinds: kernel (reason)".
  std::vector<std::string> uses() { return usesOf(engine_.get()); }
  std::vector<std::string> tapNames();
  std::vector<double> tap(const std::string &name);
  /// Rows of the recorded tensor [T, ..]; empty if it was not recorded.
  std::vector<double> recorded(const std::string &name, std::int64_t begin,
                               std::int64_t count) const;
  void check(layline_status status);
  layline_engine *get() { return engine_.get(); }

private:
  struct Destroy {
    void operator()(layline_engine *engine) const {
      layline_engine_destroy(engine);
    }
  };
  std::unique_ptr<layline_engine, Destroy> engine_;
  std::unique_ptr<safetensors::File> golden_;
};

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_GOLDENRUN_H
