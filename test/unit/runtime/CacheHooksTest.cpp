// KV caches of the engine's: in pages, and behind functions; the same bits as
// the runtime's own.
#include "LlamaPlan.h"
#include "PagedCache.h"
#include "TestEngine.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

const std::string kModel = LAYLINE_GOLDEN_DIR "/llama/model.safetensors";
constexpr std::int64_t kRanks = 3;

/// Rows that only its functions can reach.
struct FarCache {
  std::mutex mutex;
  std::map<std::pair<std::string, std::int64_t>, std::string> rows;
  layline_status appendAnswer = LAYLINE_OK, readAnswer = LAYLINE_OK;

  static std::size_t bytes(const layline_cache_request &request,
                           std::int64_t rows) {
    return static_cast<std::size_t>(rows * request.items *
                                    request.item_elements *
                                    (request.dtype == LAYLINE_F32 ? 4 : 8));
  }
  static layline_status append(void *user, const layline_cache_request *request,
                               const void *data) {
    auto &cache = *static_cast<FarCache *>(user);
    std::lock_guard<std::mutex> lock(cache.mutex);
    std::string &rows = cache.rows[{request->cache, request->rank}];
    rows.resize(bytes(*request, request->first));
    rows.append(static_cast<const char *>(data),
                bytes(*request, request->rows));
    return cache.appendAnswer;
  }
  static layline_status read(void *user, const layline_cache_request *request,
                             void *data) {
    auto &cache = *static_cast<FarCache *>(user);
    std::lock_guard<std::mutex> lock(cache.mutex);
    const std::string &rows = cache.rows.at({request->cache, request->rank});
    std::size_t first = bytes(*request, request->first),
                count = bytes(*request, request->rows);
    REQUIRE(rows.size() >= first + count);
    if (count > 0)
      std::memcpy(data, rows.data() + first, count);
    return cache.readAnswer;
  }
  layline_cache_hooks hooks() {
    return {sizeof(layline_cache_hooks), this, nullptr, append, read};
  }
};

class Sequence {
public:
  explicit Sequence(layline_precision precision)
      : engine(llamaPlan(kRanks, Boundaries::Rows), precision) {
    engine.weights(kModel);
  }
  /// Logits of `tokens` more rows of the sequence with this first id.
  std::vector<double> step(std::int64_t tokens, std::int64_t firstId = 3) {
    std::int64_t past = 0;
    engine.check(layline_past_get(engine.get(), &past));
    engine.input("input_ids", count(tokens, firstId + past));
    engine.input("positions", count(tokens, past));
    engine.run(tokens);
    return engine.output("logits").data;
  }
  std::vector<std::vector<double>> all() {
    std::vector<std::vector<double>> logits;
    for (std::int64_t tokens : {13, 1, 1, 7, 2, 1})
      logits.push_back(step(tokens));
    return logits;
  }
  std::vector<double> cached(const char *id) {
    std::vector<double> rows(25 * 2 * 16);
    engine.check(layline_cache_read(engine.get(), id, LAYLINE_F64, rows.data(),
                                    static_cast<std::int64_t>(rows.size())));
    return rows;
  }
  void use(const layline_cache_hooks &hooks, const char *cache = nullptr) {
    engine.check(layline_cache_hooks_set(engine.get(), cache, &hooks));
  }
  TestEngine engine;
};

} // namespace

TEST_CASE("a paged cache gives the bits of the runtime's own", "[hooks]") {
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_F64);
  auto pageRows = GENERATE(1, 4, 16, 100);
  auto isByHead = GENERATE(false, true);
  Sequence own(precision), paged(precision);
  PagedCache cache(pageRows, isByHead);
  paged.use(cache.hooks());
  CHECK(paged.all() == own.all());
  for (const char *id : {"layer.0.key", "layer.1.value"})
    CHECK(paged.cached(id) == own.cached(id));
}

TEST_CASE("a cache behind functions gives the same bits", "[hooks]") {
  Sequence own(LAYLINE_PRECISION_F32), far(LAYLINE_PRECISION_F32);
  FarCache cache;
  far.use(cache.hooks());
  CHECK(far.all() == own.all());
  CHECK(far.cached("layer.1.key") == own.cached("layer.1.key"));
}

TEST_CASE("each cache may have hooks of its own, or none", "[hooks]") {
  Sequence own(LAYLINE_PRECISION_F64), mixed(LAYLINE_PRECISION_F64);
  PagedCache paged(4, true);
  FarCache far;
  mixed.use(paged.hooks(), "layer.0.key");
  mixed.use(far.hooks(), "layer.1.value");
  CHECK(mixed.all() == own.all());
  // Given back: the rows are gone.
  mixed.engine.check(
      layline_cache_hooks_set(mixed.engine.get(), nullptr, nullptr));
  std::int64_t past = -1;
  mixed.engine.check(layline_past_get(mixed.engine.get(), &past));
  CHECK(past == 0);
  CHECK(layline_past_set(mixed.engine.get(), 1) == LAYLINE_NOT_BOUND);
  CHECK(mixed.step(13) == Sequence(LAYLINE_PRECISION_F64).step(13));
}

TEST_CASE("an engine changes between sequences in place", "[hooks]") {
  Sequence first(LAYLINE_PRECISION_F32), second(LAYLINE_PRECISION_F32),
      both(LAYLINE_PRECISION_F32);
  PagedCache cache(4, false);
  both.use(cache.hooks());
  struct Of {
    Sequence &alone;
    std::int64_t id, past;
  } sequences[] = {{first, 3, 0}, {second, 40, 0}};
  for (std::int64_t tokens : {9, 1, 5, 1})
    for (Of &of : sequences) {
      cache.sequence = of.id;
      both.engine.check(layline_past_set(both.engine.get(), of.past));
      CHECK(both.step(tokens, of.id) == of.alone.step(tokens, of.id));
      of.past += tokens;
    }
}

TEST_CASE("rows can be bound to a paged cache", "[hooks]") {
  Sequence own(LAYLINE_PRECISION_F64), paged(LAYLINE_PRECISION_F64);
  PagedCache cache(4, true);
  paged.use(cache.hooks());
  Value rows = randomValue({5, 2, 16}, 7);
  std::vector<std::int64_t> positions = count(5);
  for (Sequence *sequence : {&own, &paged}) {
    layline_engine *engine = sequence->engine.get();
    for (const char *id :
         {"layer.0.key", "layer.0.value", "layer.1.key", "layer.1.value"})
      sequence->engine.check(
          layline_cache_bind(engine, id, LAYLINE_F64, rows.data.data(), 5));
    sequence->engine.check(layline_cache_bind(engine, "positions", LAYLINE_I64,
                                              positions.data(), 5));
    sequence->engine.check(layline_past_set(engine, 5));
  }
  CHECK(paged.step(3) == own.step(3));
}

TEST_CASE("a cache's hooks that fail or contradict themselves are named",
          "[hooks]") {
  Sequence sequence(LAYLINE_PRECISION_F32);
  PagedCache cache(4, false);
  sequence.use(cache.hooks());
  layline_engine *engine = sequence.engine.get();
  sequence.step(6);
  auto fails = [&](layline_status expected) {
    sequence.engine.input("input_ids", count(3));
    sequence.engine.input("positions", count(3, 6));
    CHECK(layline_run(engine, 3) == expected);
    return std::string(layline_engine_error(engine));
  };
  cache.answer = LAYLINE_OUT_OF_MEMORY;
  CHECK_THAT(fails(LAYLINE_OUT_OF_MEMORY),
             Contains("cache 'layer.0.key' on rank 0: the engine's pages hook: "
                      "no page left"));
  cache.answer = LAYLINE_DECLINED; // means nothing here
  fails(LAYLINE_RUN_FAILURE);
  cache.answer = LAYLINE_OK;
  cache.tooFew = 1;
  CHECK_THAT(fails(LAYLINE_BAD_ARGUMENT),
             Contains("gives 2 pages of 4 rows for 9 rows"));
  cache.tooFew = 0;
  cache.hasNoMemory = true;
  CHECK_THAT(fails(LAYLINE_BAD_ARGUMENT), Contains("gives no memory"));
  cache.hasNoMemory = false;
  cache.wrongPage = -5;
  CHECK_THAT(fails(LAYLINE_BAD_ARGUMENT),
             Contains("gives page number -5 for rows from 8 on"));
  std::int64_t past = 0;
  sequence.engine.check(layline_past_get(engine, &past));
  CHECK(past == 6);

  FarCache far;
  sequence.use(far.hooks());
  far.appendAnswer = LAYLINE_RUN_FAILURE;
  sequence.engine.input("positions", count(3));
  CHECK_THAT(fails(LAYLINE_RUN_FAILURE),
             Contains("(cache_append") && Contains("append hook: returns 8"));
  far.appendAnswer = LAYLINE_OK;
  far.readAnswer = LAYLINE_RUN_FAILURE;
  CHECK_THAT(fails(LAYLINE_RUN_FAILURE),
             Contains("(attention") && Contains("read hook"));
}

TEST_CASE("hooks are either pages, or append and read", "[hooks]") {
  Sequence sequence(LAYLINE_PRECISION_F32);
  layline_engine *engine = sequence.engine.get();
  FarCache far;
  PagedCache paged(4, false);
  layline_cache_hooks hooks = far.hooks();
  hooks.pages = paged.hooks().pages;
  CHECK(layline_cache_hooks_set(engine, nullptr, &hooks) ==
        LAYLINE_BAD_ARGUMENT);
  hooks = far.hooks();
  hooks.read = nullptr;
  CHECK(layline_cache_hooks_set(engine, "layer.0.key", &hooks) ==
        LAYLINE_BAD_ARGUMENT);
  CHECK_THAT(layline_engine_error(engine),
             Contains("cache 'layer.0.key'") && Contains("append and read"));
  hooks = far.hooks();
  CHECK(layline_cache_hooks_set(engine, "layer.9.key", &hooks) ==
        LAYLINE_BAD_ARGUMENT);
  hooks.size = 1;
  CHECK(layline_cache_hooks_set(engine, nullptr, &hooks) ==
        LAYLINE_BAD_ARGUMENT);
}
