// The C API around a run: what is missing or wrong is said, and nothing else
// happens.
#include "LlamaPlan.h"
#include "TestEngine.h"
#include "hooks/OneCall.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <thread>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

const std::string kModel = LAYLINE_GOLDEN_DIR "/llama/model.safetensors";

std::string failure(TestEngine &engine, layline_status status,
                    layline_status expected) {
  CHECK(std::string(layline_status_name(status)) ==
        layline_status_name(expected));
  return layline_engine_error(engine.get());
}

/// y = table[ids], both halves of a fused tensor.
Json tiny() {
  PlanBuilder builder(2, 4, "bf16");
  std::string table = builder.weight(
      "table", {6, 2}, {nullptr, builder.block(2)}, {{"rows", {3, 6}}});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  std::string y = builder.buffer({"tokens", 2}, {nullptr, builder.block(2)});
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", y}});
  builder.output("y", y);
  return builder.finish();
}

} // namespace

TEST_CASE("weights that are missing or wrong are named", "[engine]") {
  TestEngine engine(tiny());
  engine.input("input_ids", {0, 1, 2});
  engine.input("positions", {0, 1, 2});
  CHECK_THAT(
      failure(engine, layline_run(engine.get(), 3), LAYLINE_MISSING_WEIGHT),
      Contains("weight 'w0' of the plan expects tensor 'table'"));
  engine.weights(kModel); // has nothing of this plan
  CHECK_THAT(failure(engine, layline_weights_check(engine.get()),
                     LAYLINE_MISSING_WEIGHT),
             Contains("llama/model.safetensors"));
  layline_shape shape = {2, {3, 2}};
  double values[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CHECK_THAT(failure(engine,
                     layline_weight_bind(engine.get(), "table", LAYLINE_F64,
                                         &shape, values),
                     LAYLINE_WRONG_WEIGHT),
             Contains("tensor 'table' has shape [3, 2]; weight 'w0' of the "
                      "plan expects [6, 2]"));
  CHECK_THAT(failure(engine,
                     layline_weight_bind(engine.get(), "other", LAYLINE_F64,
                                         &shape, values),
                     LAYLINE_BAD_ARGUMENT),
             Contains("no weight with the key 'other'"));
  shape.dims[0] = 6;
  CHECK_THAT(failure(engine,
                     layline_weight_bind(engine.get(), "table", LAYLINE_I64,
                                         &shape, values),
                     LAYLINE_BAD_ARGUMENT),
             Contains("given as I64"));
  engine.check(
      layline_weight_bind(engine.get(), "table", LAYLINE_F64, &shape, values));
  engine.run(3);
  CHECK(engine.output("y").data == std::vector<double>{6, 7, 8, 9, 10, 11});
  CHECK_THAT(failure(engine, layline_weights_load(engine.get(), "/nowhere"),
                     LAYLINE_UNREADABLE_FILE),
             Contains("'/nowhere': cannot be opened"));
}

TEST_CASE("inputs and sizes are checked before a run", "[engine]") {
  TestEngine engine(tiny());
  engine.weight("table", randomValue({6, 2}, 1));
  CHECK_THAT(failure(engine, layline_run(engine.get(), 2), LAYLINE_NOT_BOUND),
             Contains("input 'input_ids' is not bound"));
  engine.input("input_ids", {0, 1, 2});
  engine.input("positions", {0, 1, 2});
  CHECK_THAT(failure(engine, layline_run(engine.get(), 2), LAYLINE_NOT_BOUND),
             Contains("is bound to 3 elements; 2 tokens need 2"));
  for (std::int64_t tokens : {0, 5, -1})
    CHECK_THAT(failure(engine, layline_run(engine.get(), tokens),
                       LAYLINE_BAD_ARGUMENT),
               Contains("the plan runs [1, 4] tokens"));
  std::int64_t id = 0;
  CHECK_THAT(failure(engine, layline_input_bind(engine.get(), "ids", &id, 1),
                     LAYLINE_BAD_ARGUMENT),
             Contains("no input 'ids'"));
  engine.run(3);
  double value = 0;
  CHECK_THAT(
      failure(engine,
              layline_output_read(engine.get(), "y", LAYLINE_F64, &value, 1),
              LAYLINE_BAD_ARGUMENT),
      Contains("has shape [3, 2], 6 elements; there is room for 1"));
  CHECK_THAT(
      failure(engine,
              layline_output_read(engine.get(), "z", LAYLINE_F64, &value, 1),
              LAYLINE_BAD_ARGUMENT),
      Contains("no output 'z'"));
}

TEST_CASE("some rows of an output are those of all of it", "[engine]") {
  // Held whole by every rank; split by columns.
  for (bool isWhole : {true, false}) {
    TestEngine engine(isWhole ? llamaPlan(3, Boundaries::Rows) : tiny());
    if (isWhole)
      engine.weights(kModel);
    else
      engine.weight("table", randomValue({6, 2}, 1));
    engine.input("input_ids", {0, 2, 1, 0});
    engine.input("positions", count(4));
    engine.run(4);
    const char *id = isWhole ? "logits" : "y";
    Value all = engine.output(id);
    std::int64_t width = all.shape[1];
    for (auto [first, rows] : {std::pair(0, 4), {3, 1}, {1, 2}, {4, 0}}) {
      std::vector<double> some(static_cast<std::size_t>(rows * width));
      engine.check(layline_output_read_rows(engine.get(), id, first, rows,
                                            LAYLINE_F64, some.data(),
                                            rows * width));
      CHECK(some ==
            std::vector<double>(all.data.begin() + first * width,
                                all.data.begin() + (first + rows) * width));
    }
    double value = 0;
    CHECK_THAT(failure(engine,
                       layline_output_read_rows(engine.get(), id, 3, 2,
                                                LAYLINE_F64, &value, 1),
                       LAYLINE_BAD_ARGUMENT),
               Contains("2 rows from 3 on are asked for"));
    CHECK_THAT(failure(engine,
                       layline_output_read_rows(engine.get(), id, 3, 1,
                                                LAYLINE_F64, &value, 1),
                       LAYLINE_BAD_ARGUMENT),
               Contains("there is room for 1"));
  }
}

TEST_CASE("null pointers and unknown devices are refused", "[engine]") {
  CHECK(layline_engine_create(nullptr, nullptr) == LAYLINE_BAD_ARGUMENT);
  CHECK(layline_run(nullptr, 1) == LAYLINE_BAD_ARGUMENT);
  CHECK(layline_plan_check(nullptr, nullptr) == LAYLINE_BAD_ARGUMENT);
  CHECK(std::string(layline_engine_error(nullptr)) == "engine is null");
  layline_engine_destroy(nullptr);
  layline_engine *engine = nullptr;
  layline_options options;
  layline_options_init(&options);
  options.device = "tpu";
  CHECK(layline_engine_create(&options, &engine) == LAYLINE_REFUSED_FEATURE);
  CHECK_THAT(layline_engine_create_error(), Contains("device 'tpu'"));
  layline_options_init(&options);
  options.transport = "smoke";
  CHECK(layline_engine_create(&options, &engine) == LAYLINE_REFUSED_FEATURE);
  CHECK_THAT(layline_engine_create_error(),
             Contains("transport 'smoke'") && Contains("'threads' or 'mpi'"));
  for (double timeout : {-1.0, 1e7}) {
    layline_options_init(&options);
    options.timeout = timeout;
    CHECK(layline_engine_create(&options, &engine) == LAYLINE_BAD_ARGUMENT);
    CHECK_THAT(layline_engine_create_error(), Contains("options.timeout"));
  }
  // What a caller of the first version does not know of is not read.
  layline_options_init(&options);
  options.size = offsetof(layline_options, transport);
  options.transport = "smoke";
  REQUIRE(layline_engine_create(&options, &engine) == LAYLINE_OK);
  layline_engine_destroy(engine);
  options.size = 8;
  CHECK(layline_engine_create(&options, &engine) == LAYLINE_BAD_ARGUMENT);
  CHECK(engine == nullptr);
  REQUIRE(layline_engine_create(nullptr, &engine) == LAYLINE_OK);
  std::int64_t ranks = 0;
  CHECK(layline_plan_ranks(engine, &ranks) == LAYLINE_NOT_BOUND);
  CHECK(layline_run(engine, 1) == LAYLINE_NOT_BOUND);
  CHECK(layline_plan_load(engine, nullptr) == LAYLINE_BAD_ARGUMENT);
  CHECK(layline_plan_load_memory(engine, "{}", 2, "p") == LAYLINE_INVALID_PLAN);
  CHECK_THAT(layline_engine_error(engine),
             Contains("'p': document: has no 'schema'"));
  layline_engine_destroy(engine);
}

TEST_CASE("after a plan that cannot be loaded there is none", "[engine]") {
  std::int64_t ranks = 0;
  for (int way : {0, 1, 2}) {
    TestEngine engine(tiny());
    engine.check(layline_plan_ranks(engine.get(), &ranks));
    CHECK((way == 0 ? layline_plan_load(engine.get(), "/nowhere")
           : way == 1
               ? layline_plan_load_memory(engine.get(), "{}", 2, "p")
               : layline_plan_load(engine.get(), nullptr)) != LAYLINE_OK);
    CHECK(layline_plan_ranks(engine.get(), &ranks) == LAYLINE_NOT_BOUND);
  }
}

TEST_CASE("a plan can be asked what it is", "[engine]") {
  TestEngine engine(llamaPlan(4, Boundaries::Rows, 6));
  std::int64_t number = 0, min = 0, max = 0;
  engine.check(layline_plan_ranks(engine.get(), &number));
  CHECK(number == 4);
  engine.check(layline_plan_symbol(engine.get(), "past", &min, &max));
  CHECK(max == 256);
  const char *id = nullptr;
  for (auto [tokens, variant] : {std::pair(5, "small"), {6, "large"}}) {
    engine.check(layline_plan_variant(engine.get(), tokens, &id));
    CHECK(std::string(id) == variant);
  }
  engine.check(
      layline_plan_count(engine.get(), LAYLINE_PLAN_WEIGHT_KEYS, &number));
  CHECK(number == 21);
  engine.check(layline_plan_id(engine.get(), LAYLINE_PLAN_WEIGHT_KEYS, 0, &id));
  CHECK(std::string(id) == "lm_head.weight");
  engine.check(layline_plan_count(engine.get(), LAYLINE_PLAN_CACHES, &number));
  CHECK(number == 5);
  layline_cache_info info;
  engine.check(layline_plan_cache(engine.get(), 1, &info));
  CHECK(std::string(info.plane) == "value");
  CHECK(info.row_shape.rank == 2);
  CHECK(info.row_shape.dims[1] == 16);
  CHECK(layline_plan_cache(engine.get(), 5, &info) == LAYLINE_BAD_ARGUMENT);
}

TEST_CASE("a failed run leaves the sequence as it was", "[engine]") {
  TestEngine engine(llamaPlan(3, Boundaries::Fused));
  engine.weights(kModel);
  engine.input("input_ids", {1, 2, 3, 4});
  engine.input("positions", count(4));
  engine.run(4);
  std::vector<double> before = engine.output("logits").data;
  engine.check(layline_past_set(engine.get(), 2));
  engine.input("input_ids", {3, 999});
  engine.input("positions", count(2, 2));
  CHECK(layline_run(engine.get(), 2) == LAYLINE_RUN_FAILURE);
  CHECK(engine.tapNames().empty());
  engine.input("input_ids", {3, 4});
  engine.run(2);
  CHECK(error(engine.output("logits").data,
              {before.begin() + 2 * 128, before.end()}) < 1e-12);
}

TEST_CASE("runs give the same bits", "[engine]") {
  std::vector<double> first;
  for (int round = 0; round < 5; ++round) {
    TestEngine engine(llamaPlan(5, Boundaries::Fused), LAYLINE_PRECISION_F32);
    engine.weights(kModel);
    engine.input("input_ids", count(13, 7));
    engine.input("positions", count(13));
    engine.run(13);
    std::vector<double> logits = engine.output("logits").data;
    if (first.empty())
      first = logits;
    CHECK(logits == first);
  }
}

TEST_CASE("one call at a time uses an engine of the host",
          "[engine][threads]") {
  checkOneCallAtATime("cpu");
}

TEST_CASE("threads that use one engine at once are told, and break nothing",
          "[engine][threads]") {
  TestEngine engine(tiny(), LAYLINE_PRECISION_F32);
  Value table = randomValue({6, 2}, 1);
  engine.weight("table", table);
  engine.input("input_ids", {0, 1, 2});
  engine.input("positions", {0, 1, 2});
  engine.run(3);
  const std::vector<double> expected = engine.output("y").data;
  constexpr int kThreads = 4, kCalls = 200;
  std::atomic<int> done{0}, turnedAway{0}, others{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        layline_status statuses[] = {layline_past_set(engine.get(), 0),
                                     layline_run(engine.get(), 3)};
        for (layline_status status : statuses) {
          done += status == LAYLINE_OK;
          turnedAway += status == LAYLINE_IN_USE;
          // A run of one thread between the calls of another.
          others += status != LAYLINE_OK && status != LAYLINE_IN_USE &&
                    status != LAYLINE_BAD_ARGUMENT;
        }
        if (statuses[1] == LAYLINE_IN_USE &&
            std::string(layline_engine_error(engine.get()))
                    .rfind("layline_run: the engine is in use", 0) != 0)
          ++others;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(others == 0);
  CHECK(done > 0);
  engine.check(layline_past_set(engine.get(), 0));
  engine.run(3);
  CHECK(engine.output("y").data == expected);
}
