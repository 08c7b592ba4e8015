#include "hooks/OneCall.h"

#include "layline/hooks.h"

#include <catch2/catch.hpp>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace layline::test {
namespace {

constexpr std::int64_t kTokens = 3;

struct Destroy {
  void operator()(layline_engine *engine) const {
    layline_engine_destroy(engine);
  }
};
using EnginePtr = std::unique_ptr<layline_engine, Destroy>;

EnginePtr makeEngine(const std::string &device) {
  layline_options options;
  layline_options_init(&options);
  options.device = device.c_str();
  layline_engine *engine = nullptr;
  REQUIRE(layline_engine_create(&options, &engine) == LAYLINE_OK);
  EnginePtr owned(engine);
  REQUIRE(layline_plan_load(engine, LAYLINE_PLANS_DIR
                            "/v1.0/llama-tp4/plan.json") == LAYLINE_OK);
  REQUIRE(layline_weights_load(engine, LAYLINE_GOLDEN_DIR
                               "/llama/model.safetensors") == LAYLINE_OK);
  std::vector<std::int64_t> values(kTokens);
  std::iota(values.begin(), values.end(), 0);
  for (const char *input : {"input_ids", "positions"})
    REQUIRE(layline_input_bind(engine, input, values.data(), kTokens) ==
            LAYLINE_OK);
  return owned;
}

std::vector<float> logitsOf(layline_engine *engine) {
  layline_shape shape;
  REQUIRE(layline_output_shape(engine, "logits", &shape) == LAYLINE_OK);
  std::vector<float> values(
      static_cast<std::size_t>(shape.dims[0] * shape.dims[1]));
  REQUIRE(layline_output_read(engine, "logits", LAYLINE_F32, values.data(),
                              static_cast<std::int64_t>(values.size())) ==
          LAYLINE_OK);
  return values;
}

struct Answer {
  layline_status status = LAYLINE_OK;
  std::string text;
};

/// Rank 0's first product waits until another thread has tried to use the
/// engine, so that the run is certain to be under way then.
struct Meeting {
  layline_engine *engine = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  bool isRunning = false, hasTried = false;
  Answer fromCallback;

  static layline_status multiply(void *user, const layline_gemm_call *call) {
    auto &meeting = *static_cast<Meeting *>(user);
    if (call->call->rank != 0)
      return LAYLINE_DECLINED;
    std::unique_lock<std::mutex> lock(meeting.mutex);
    if (!meeting.isRunning) {
      std::int64_t past = 0;
      meeting.fromCallback.status = layline_past_get(meeting.engine, &past);
      meeting.fromCallback.text = layline_engine_error(meeting.engine);
      meeting.isRunning = true;
      meeting.changed.notify_all();
    }
    meeting.changed.wait(lock, [&] { return meeting.hasTried; });
    return LAYLINE_DECLINED;
  }
};

} // namespace

void checkOneCallAtATime(const std::string &device) {
  EnginePtr engine = makeEngine(device), other = makeEngine(device);
  REQUIRE(layline_run(other.get(), kTokens) == LAYLINE_OK);
  const std::vector<float> expected = logitsOf(other.get());

  Meeting meeting;
  meeting.engine = engine.get();
  REQUIRE(layline_gemm_set(engine.get(), Meeting::multiply, &meeting) ==
          LAYLINE_OK);
  Answer run, past, oddly;
  std::thread second([&] {
    std::unique_lock<std::mutex> lock(meeting.mutex);
    meeting.changed.wait(lock, [&] { return meeting.isRunning; });
    run.status = layline_run(engine.get(), kTokens);
    run.text = layline_engine_error(engine.get());
    std::int64_t value = 0;
    past.status = layline_past_get(engine.get(), &value);
    past.text = layline_engine_error(engine.get());
    // Of another engine nothing was turned away.
    oddly.status = layline_past_get(other.get(), &value);
    oddly.text = layline_engine_error(other.get());
    meeting.hasTried = true;
    meeting.changed.notify_all();
  });
  Answer first;
  first.status = layline_run(engine.get(), kTokens);
  first.text = layline_engine_error(engine.get());
  second.join();

  const std::string under =
      ": the engine is in use: layline_run, of another thread or the one that "
      "this is a callback of, has not returned; one call at a time is expected";
  CHECK(first.text == "");
  REQUIRE(first.status == LAYLINE_OK);
  CHECK(run.status == LAYLINE_IN_USE);
  CHECK(run.text == "layline_run" + under);
  CHECK(past.status == LAYLINE_IN_USE);
  CHECK(past.text == "layline_past_get" + under);
  CHECK(meeting.fromCallback.status == LAYLINE_IN_USE);
  CHECK(meeting.fromCallback.text == "layline_past_get" + under);
  CHECK(oddly.status == LAYLINE_OK);
  CHECK(oddly.text == "");
  // The run did not notice, and the engine is free again.
  CHECK(logitsOf(engine.get()) == expected);
  std::int64_t rows = 0;
  CHECK(layline_past_get(engine.get(), &rows) == LAYLINE_OK);
  CHECK(rows == kTokens);
  CHECK(std::string(layline_status_name(LAYLINE_IN_USE)) == "engine in use");
}

} // namespace layline::test
