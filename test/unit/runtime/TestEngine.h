// The C API as a test uses it: values in, values out, failures as exceptions
// with the engine's text.
#ifndef LAYLINE_TEST_UNIT_RUNTIME_TESTENGINE_H
#define LAYLINE_TEST_UNIT_RUNTIME_TESTENGINE_H

#include "PlanBuilder.h"
#include "layline/runtime.h"

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace layline::test {

struct Failure : std::runtime_error {
  Failure(layline_status code, const std::string &text)
      : std::runtime_error(text), status(code) {}
  layline_status status;
};

struct Value {
  std::vector<std::int64_t> shape;
  std::vector<double> data;
};

class TestEngine {
public:
  /// Without taps a device may keep values to itself that have a name.
  explicit TestEngine(const Json &plan,
                      layline_precision precision = LAYLINE_PRECISION_F64,
                      const char *device = "cpu", bool taps = true);

  void weight(const std::string &key, const Value &value);
  void weights(const std::string &path) {
    check(layline_weights_load(get(), path.c_str()));
  }
  void input(const std::string &id, const std::vector<std::int64_t> &values);
  /// Binds ids 0..n-1 and positions from `past`, unless bound before; runs.
  void run(std::int64_t tokens);
  Value output(const std::string &id);
  std::vector<std::int64_t> integers(const std::string &id);
  Value tap(const std::string &name);
  std::vector<std::string> tapNames();

  layline_engine *get() { return engine_.get(); }
  void check(layline_status status);

private:
  struct Destroy {
    void operator()(layline_engine *engine) const {
      layline_engine_destroy(engine);
    }
  };
  std::unique_ptr<layline_engine, Destroy> engine_;
};

/// Pseudo-random values in (-1, 1), the same on every machine.
Value randomValue(const std::vector<std::int64_t> &shape, std::uint64_t seed);
std::vector<std::int64_t> count(std::int64_t n, std::int64_t from = 0);
/// Largest difference relative to the largest reference value.
double error(const std::vector<double> &found,
             const std::vector<double> &expected);
/// Findings of layline_plan_check_memory, "" for a good plan.
std::string findings(const Json &plan);

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_RUNTIME_TESTENGINE_H
