// Products, attention, memory and streams of the engine's: what it is asked
// for, and that what it does is used.
#include "KernelBench.h"
#include "LlamaPlan.h"
#include "layline/hooks.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

const std::string kModel = LAYLINE_GOLDEN_DIR "/llama/model.safetensors";
constexpr std::int64_t kRanks = 3, kTokens = 11;

/// A prefill and a step of one token.
struct Sequence {
  explicit Sequence(layline_precision precision = LAYLINE_PRECISION_F64,
                    std::int64_t ranks = kRanks)
      : engine(llamaPlan(ranks, Boundaries::Fused), precision) {
    engine.weights(kModel);
  }
  std::vector<double> run() {
    std::vector<double> logits;
    for (std::int64_t tokens : {kTokens, std::int64_t(1)}) {
      engine.input("input_ids", count(tokens, 3));
      engine.input("positions", count(tokens, tokens == 1 ? kTokens : 0));
      engine.run(tokens);
      std::vector<double> more = engine.output("logits").data;
      logits.insert(logits.end(), more.begin(), more.end());
    }
    return logits;
  }
  /// What the first run says when it fails.
  std::string failure(layline_status expected) {
    engine.input("input_ids", count(kTokens, 3));
    engine.input("positions", count(kTokens));
    CHECK(layline_run(engine.get(), kTokens) == expected);
    return layline_engine_error(engine.get());
  }
  TestEngine engine;
};

double at(const void *data, layline_dtype dtype, std::int64_t i) {
  return dtype == LAYLINE_F64 ? static_cast<const double *>(data)[i]
                              : static_cast<const float *>(data)[i];
}

/// An engine's functions, by their contracts and nothing else.
struct Engine {
  layline_status answer = LAYLINE_OK; ///< of the callbacks
  std::string text;                   ///< of a failure
  std::mutex mutex;
  std::vector<layline_gemm_call> gemms;
  std::vector<std::tuple<std::string, std::int64_t, void *>> calls;
  std::map<std::string, std::set<std::int64_t>> experts; ///< by weight
  std::vector<layline_attention_call> attentions;

  layline_status note(const layline_call &call) {
    calls.emplace_back(call.kind, call.rank, call.stream);
    std::snprintf(call.message, call.message_bytes, "%s", text.c_str());
    return answer;
  }

  static layline_status gemm(void *user, const layline_gemm_call *g) {
    auto &engine = *static_cast<Engine *>(user);
    {
      std::lock_guard<std::mutex> lock(engine.mutex);
      engine.gemms.push_back(*g);
      engine.experts[g->weight].insert(g->expert);
      if (layline_status status = engine.note(*g->call); status != LAYLINE_OK)
        return status;
    }
    for (std::int64_t i = 0; i < g->m; ++i)
      for (std::int64_t j = 0; j < g->n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < g->k; ++l)
          sum += at(g->a, g->a_dtype,
                    g->transpose_a ? l * g->lda + i : i * g->lda + l) *
                 at(g->b, g->b_dtype,
                    g->transpose_b ? j * g->ldb + l : l * g->ldb + j);
        double *c = static_cast<double *>(g->c) + i * g->ldc + j;
        *c = g->alpha * sum + (g->beta == 0 ? 0 : g->beta * *c);
      }
    return LAYLINE_OK;
  }

  static const double *item(const layline_pages &pages, std::int64_t row,
                            std::int64_t i) {
    std::int64_t page = row / pages.page_rows;
    page = pages.table ? pages.table[page] : page;
    return static_cast<const double *>(pages.base) + page * pages.page_stride +
           row % pages.page_rows * pages.row_stride + i * pages.item_stride;
  }

  static layline_status attention(void *user, const layline_attention_call *a) {
    auto &engine = *static_cast<Engine *>(user);
    {
      std::lock_guard<std::mutex> lock(engine.mutex);
      engine.attentions.push_back(*a);
      if (layline_status status = engine.note(*a->call); status != LAYLINE_OK)
        return status;
    }
    for (std::int64_t t = 0; t < a->query_rows; ++t)
      for (std::int64_t h = 0; h < a->heads; ++h) {
        auto *q = static_cast<const double *>(a->query) +
                  (t * a->heads + h) * a->width;
        auto *y = static_cast<double *>(a->output) +
                  (t * a->heads + h) * a->value_width;
        std::fill_n(y, a->value_width, 0);
        double sum = 0;
        if (a->sinks)
          sum += std::exp(static_cast<const double *>(a->sinks)[h]);
        for (std::int64_t s = 0; s < a->key_rows; ++s) {
          std::int64_t distance = a->positions[t] - a->key_positions[s];
          if ((a->causal && distance < 0) ||
              (a->window && distance >= a->window))
            continue;
          const double *k = item(a->keys, s, a->key_head[h]),
                       *v = item(a->values, s, a->value_head[h]);
          double score = 0;
          for (std::int64_t i = 0; i < a->width; ++i)
            score += q[i] * k[i];
          score *= a->scale;
          if (a->softcap != 0)
            score = a->softcap * std::tanh(score / a->softcap);
          sum += std::exp(score);
          for (std::int64_t i = 0; i < a->value_width; ++i)
            y[i] += std::exp(score) * v[i];
        }
        for (std::int64_t i = 0; i < a->value_width; ++i)
          y[i] /= sum;
      }
    return LAYLINE_OK;
  }
};

} // namespace

TEST_CASE("an engine's GEMM gets every product", "[hooks]") {
  std::vector<double> expected = Sequence().run();
  Engine engine;
  Sequence sequence;
  sequence.engine.check(
      layline_gemm_set(sequence.engine.get(), Engine::gemm, &engine));
  CHECK(error(sequence.run(), expected) < 1e-12);

  // 7 products of 2 layers and the head, 2 runs, 3 ranks.
  CHECK(engine.gemms.size() == 15 * 2 * kRanks);
  std::multiset<std::int64_t> columns, rows;
  for (const layline_gemm_call &g : engine.gemms) {
    CHECK(g.size == sizeof(layline_gemm_call));
    CHECK((g.a_dtype == LAYLINE_F64 && g.b_dtype == LAYLINE_F64 &&
           g.c_dtype == LAYLINE_F64));
    CHECK((g.transpose_a == 0 && g.transpose_b == 1));
    CHECK((g.lda == g.k && g.ldb == g.k && g.ldc == g.n));
    CHECK((g.alpha == 1 && g.beta == 0 && g.expert == -1));
    rows.insert(g.m);
    if (g.weight == std::string("model.layers.1.self_attn.q_proj.weight"))
      columns.insert(g.n);
  }
  CHECK(rows.count(kTokens) == 15 * kRanks);
  CHECK(rows.count(1) == 15 * kRanks);
  // 8 heads of 16 over 3 ranks: 3, 3 and 2 of them.
  CHECK(columns == std::multiset<std::int64_t>{32, 32, 48, 48, 48, 48});
  CHECK(engine.experts.count("lm_head.weight") == 1);

  // The default again.
  engine.gemms.clear();
  sequence.engine.check(
      layline_gemm_set(sequence.engine.get(), nullptr, nullptr));
  sequence.engine.check(layline_caches_reset(sequence.engine.get()));
  CHECK(sequence.run() == expected);
  CHECK(engine.gemms.empty());
}

TEST_CASE("an engine's GEMM gets the experts' products", "[hooks]") {
  constexpr int kExperts = 4, kIn = 3, kInner = 5;
  Bench bench(2, 6);
  Value x = randomValue({64, kIn}, 1), logits = randomValue({64, kExperts}, 2),
        gate = randomValue({kInner, kIn}, 3),
        up = randomValue({kInner, kIn}, 4),
        down = randomValue({kIn, kInner}, 5);
  std::string xw = bench.table("x", x), lw = bench.table("logits", logits);
  Json stack = {{"stack", {{"name", "e"}, {"count", kExperts}}}};
  auto stacked = [&](const std::string &name, const Value &value) {
    for (int e = 0; e < kExperts; ++e)
      bench.weight(name + std::to_string(e), value);
    return bench.b.weight(name + "{e}", value.shape,
                          {bench.b.block(kExperts), nullptr, nullptr}, stack);
  };
  std::string gw = stacked("gate", gate), uw = stacked("up", up),
              dw = stacked("down", down);
  bench.begin();
  std::string source = bench.source(xw, kIn), l = bench.source(lw, kExperts);
  std::string ids = bench.b.typed("i64", {"tokens", 2}, {nullptr, nullptr}),
              weights = bench.buffer({"tokens", 2}, {nullptr, nullptr}),
              partial = bench.buffer({"tokens", kIn}, {nullptr, nullptr}, true),
              y = bench.buffer({"tokens", kIn}, {nullptr, nullptr});
  bench.b.step("router", {{"logits", l}, {"ids", ids}, {"weights", weights}},
               {{"top_k", 2},
                {"scoring", "softmax"},
                {"renormalize", true},
                {"scale", 1.0}});
  bench.b.step("experts",
               {{"input", source},
                {"ids", ids},
                {"weights", weights},
                {"gate", gw},
                {"up", uw},
                {"down", dw},
                {"output", partial}},
               {{"function", "silu"}});
  bench.b.step("all_reduce", {{"input", partial}, {"output", y}},
               {{"group", "tp"}});
  bench.b.output("y", y);
  std::vector<double> expected = bench.run().output("y").data;
  Engine engine;
  TestEngine &runtime = bench.again(6); // the same plan, once more
  runtime.check(layline_caches_reset(runtime.get()));
  runtime.input("input_ids", count(6));
  runtime.input("positions", count(6));
  runtime.check(layline_gemm_set(runtime.get(), Engine::gemm, &engine));
  runtime.run(6);
  CHECK(error(runtime.output("y").data, expected) < 1e-12);
  // Which of the stack: every expert that a row chose, by its global number.
  for (const char *key : {"gate{e}", "up{e}", "down{e}"})
    CHECK(engine.experts.at(key) == std::set<std::int64_t>{0, 1, 2, 3});
}

TEST_CASE("an engine's attention gets heads, positions and rows", "[hooks]") {
  // 8 query heads and 2 KV heads over 3 ranks: the second reads both.
  std::vector<double> expected = Sequence().run();
  Engine engine;
  Sequence sequence;
  sequence.engine.check(
      layline_attention_set(sequence.engine.get(), Engine::attention, &engine));
  CHECK(error(sequence.run(), expected) < 1e-12);
  REQUIRE(engine.attentions.size() == 2 * 2 * kRanks);
  std::multiset<std::int64_t> heads, keyRows;
  for (const layline_attention_call &a : engine.attentions) {
    heads.insert(a.heads);
    keyRows.insert(a.key_rows);
    CHECK(a.dtype == LAYLINE_F64);
    CHECK((a.width == 16 && a.value_width == 16));
    CHECK(a.scale == Approx(0.25));
    CHECK((a.causal == 1 && a.window == 0 && a.softcap == 0 && !a.sinks));
  }
  CHECK(heads.count(3) == 8);
  CHECK(heads.count(2) == 4);
  CHECK(keyRows.count(kTokens) == 6);
  CHECK(keyRows.count(kTokens + 1) == 6);
}

TEST_CASE("an engine's attention gets windows, soft-caps and sinks",
          "[hooks]") {
  Bench bench(2, 6);
  bench.b.require("softcap");
  bench.b.require("attention_sinks");
  Value q = randomValue({64, 8}, 1), k = randomValue({64, 4}, 2),
        v = randomValue({64, 6}, 3), sinks = randomValue({4}, 4);
  std::string qw = bench.table("q", q), kw = bench.table("k", k),
              vw = bench.table("v", v);
  bench.weight("sinks", sinks);
  std::string sw =
      bench.b.weight("sinks", {4}, Json::array({bench.b.block(4)}));
  Json kv = bench.b.readers(2, 4);
  bench.b.cache("key", 0, "key", {2, 2}, {nullptr, kv, nullptr});
  bench.b.cache("value", 0, "value", {2, 3}, {nullptr, kv, nullptr});
  bench.b.cache("positions", -1, "positions", {}, Json::array({nullptr}));
  bench.begin();
  auto split = [&](const std::string &table, std::int64_t width,
                   std::int64_t count, const Json &dim) {
    std::string whole = bench.source(table, count * width);
    std::string part =
        bench.buffer({"tokens", count, width}, {nullptr, dim, nullptr});
    bench.b.step(
        "slice",
        {{"input", {{"buffer", whole}, {"shape", {"tokens", count, width}}}},
         {"output", part}},
        {{"dim", 1}, {"range", dim["range"]}});
    return part;
  };
  std::string qb = split(qw, 2, 4, bench.b.block(4)), kb = split(kw, 2, 2, kv),
              vb = split(vw, 3, 2, kv);
  bench.b.step("cache_append", {{"input", kb}, {"cache", "key"}});
  bench.b.step("cache_append", {{"input", vb}, {"cache", "value"}});
  bench.b.step("cache_append",
               {{"input", bench.positions}, {"cache", "positions"}});
  std::string y =
      bench.buffer({"tokens", 4, 3}, {nullptr, bench.b.block(4), nullptr});
  bench.b.step("attention",
               {{"query", qb},
                {"keys", "key"},
                {"values", "value"},
                {"positions", bench.positions},
                {"key_positions", "positions"},
                {"sinks", sw},
                {"output", y}},
               {{"scale", 0.7},
                {"causal", true},
                {"window", 3},
                {"softcap", 0.8},
                {"heads", 4},
                {"kv_heads", 2}});
  bench.b.output("y", y);
  TestEngine &runtime = bench.run();
  std::vector<double> expected = runtime.output("y").data;
  Engine engine;
  runtime.check(
      layline_attention_set(runtime.get(), Engine::attention, &engine));
  runtime.check(layline_caches_reset(runtime.get()));
  runtime.run(6);
  CHECK(error(runtime.output("y").data, expected) < 1e-12);
  REQUIRE(engine.attentions.size() == 2);
  CHECK(engine.attentions[0].window == 3);
  CHECK(engine.attentions[0].softcap == 0.8);
}

TEST_CASE("what an engine declines the runtime does", "[hooks]") {
  std::vector<double> expected = Sequence().run();
  Engine engine;
  engine.answer = LAYLINE_DECLINED;
  Sequence sequence;
  sequence.engine.check(
      layline_gemm_set(sequence.engine.get(), Engine::gemm, &engine));
  sequence.engine.check(
      layline_attention_set(sequence.engine.get(), Engine::attention, &engine));
  CHECK(sequence.run() == expected);
  CHECK(engine.calls.size() == 17 * 2 * kRanks);
}

TEST_CASE("a callback that fails is named with its step and rank", "[hooks]") {
  Engine engine;
  engine.answer = LAYLINE_OUT_OF_MEMORY;
  engine.text = "no workspace";
  Sequence sequence;
  layline_engine *runtime = sequence.engine.get();
  sequence.engine.check(layline_gemm_set(runtime, Engine::gemm, &engine));
  CHECK_THAT(sequence.failure(LAYLINE_OUT_OF_MEMORY),
             Contains("(linear") && Contains("on rank 0") &&
                 Contains("the engine's GEMM function: no workspace"));
  sequence.engine.check(layline_gemm_set(runtime, nullptr, nullptr));
  sequence.engine.check(
      layline_attention_set(runtime, Engine::attention, &engine));
  engine.answer = static_cast<layline_status>(15); // none of ours
  engine.text = "";
  CHECK_THAT(sequence.failure(LAYLINE_RUN_FAILURE),
             Contains("(attention") &&
                 Contains("the engine's attention function: returns 15"));
  // A message that fills all of its room.
  engine.text = std::string(4000, 'x');
  CHECK(sequence.failure(LAYLINE_RUN_FAILURE).size() < 1000);
  // The engine stays usable.
  sequence.engine.check(layline_attention_set(runtime, nullptr, nullptr));
  CHECK(sequence.run() == Sequence().run());
}

TEST_CASE("callbacks get the stream of their rank", "[hooks]") {
  Engine engine;
  engine.answer = LAYLINE_DECLINED;
  Sequence sequence;
  layline_engine *runtime = sequence.engine.get();
  int streams[kRanks] = {};
  for (std::int64_t rank = 0; rank < kRanks; ++rank)
    sequence.engine.check(
        layline_stream_set(runtime, rank, "compute", &streams[rank]));
  CHECK(layline_stream_set(runtime, kRanks, "compute", nullptr) ==
        LAYLINE_BAD_ARGUMENT);
  CHECK_THAT(layline_engine_error(runtime),
             Contains("rank 3") && Contains("3 ranks"));
  CHECK(layline_stream_set(runtime, 0, "copy", nullptr) ==
        LAYLINE_BAD_ARGUMENT);
  CHECK_THAT(layline_engine_error(runtime),
             Contains("no stream 'copy'") && Contains("'compute'"));
  sequence.engine.check(layline_gemm_set(runtime, Engine::gemm, &engine));
  sequence.run();
  for (const auto &[kind, rank, stream] : engine.calls)
    CHECK(stream == &streams[rank]);
}

namespace {

/// Memory with a limit, that knows what is out.
struct Memory {
  std::int64_t left = 1 << 30;
  std::size_t shift = 0; ///< bytes off the alignment
  std::map<void *, std::pair<std::size_t, layline_memory>> out;
  std::map<layline_memory, std::int64_t> given;

  static void *allocate(void *user, size_t bytes, size_t alignment,
                        int64_t rank, layline_memory what) {
    auto &memory = *static_cast<Memory *>(user);
    if (memory.left < static_cast<std::int64_t>(bytes))
      return nullptr;
    memory.left -= static_cast<std::int64_t>(bytes);
    std::size_t room = (bytes + memory.shift + alignment) / alignment;
    char *block =
        static_cast<char *>(std::aligned_alloc(alignment, room * alignment)) +
        memory.shift;
    memory.out[block] = {bytes, what};
    memory.given[what] += rank < 0 ? 0 : static_cast<std::int64_t>(bytes);
    return block;
  }
  static void release(void *user, void *block, size_t bytes, int64_t,
                      layline_memory what) {
    auto &memory = *static_cast<Memory *>(user);
    REQUIRE(memory.out.at(block) == std::pair(bytes, what));
    memory.out.erase(block);
    std::free(static_cast<char *>(block) - memory.shift);
  }
  layline_allocator allocator() {
    return {sizeof(layline_allocator), this, allocate, release};
  }
};

/// Runs the golden llama with an engine of its own; what failed first.
layline_status runWith(Memory &memory, std::string &text) {
  layline_engine *engine = nullptr;
  REQUIRE(layline_engine_create(nullptr, &engine) == LAYLINE_OK);
  layline_allocator allocator = memory.allocator();
  REQUIRE(layline_allocator_set(engine, &allocator) == LAYLINE_OK);
  std::string plan = llamaPlan(2, Boundaries::Rows).dump();
  std::vector<std::int64_t> values = count(kTokens);
  layline_status status = LAYLINE_OK;
  auto then = [&](layline_status next) {
    if (status == LAYLINE_OK && next != LAYLINE_OK)
      text = layline_engine_error(engine);
    status = status == LAYLINE_OK ? next : status;
  };
  then(layline_plan_load_memory(engine, plan.data(), plan.size(), "plan"));
  then(layline_weights_load(engine, kModel.c_str()));
  then(layline_input_bind(engine, "input_ids", values.data(), kTokens));
  then(layline_input_bind(engine, "positions", values.data(), kTokens));
  if (status == LAYLINE_OK)
    then(layline_run(engine, kTokens));
  layline_engine_destroy(engine);
  return status;
}

} // namespace

TEST_CASE("an engine's allocator gives all memory and gets it back",
          "[hooks]") {
  Memory memory;
  std::string text;
  CHECK(runWith(memory, text) == LAYLINE_OK);
  CHECK(memory.out.empty());
  // 2 layers, keys and values of one of 2 KV heads of 16, F32, on each of 2
  // ranks; and a position of 8 bytes a row on both.
  CHECK(memory.given[LAYLINE_MEMORY_CACHE] ==
        kTokens * (2 * 2 * 2 * 16 * 4 + 2 * 8));
  CHECK(memory.given[LAYLINE_MEMORY_ARENA] > 0);
  std::int64_t weights = memory.given[LAYLINE_MEMORY_WEIGHTS];
  CHECK(weights > 0);

  // Each of the three is refused in its turn, and nothing is lost.
  std::int64_t arenas = memory.given[LAYLINE_MEMORY_ARENA];
  for (auto [limit, what] :
       {std::pair(weights - 1, "for weights of rank"),
        {weights + arenas - 1, "for activations of rank 1"},
        {weights + arenas + 100, "for a cache of rank"}}) {
    Memory small;
    small.left = limit;
    CHECK(runWith(small, text) == LAYLINE_OUT_OF_MEMORY);
    CHECK_THAT(text,
               Contains("the engine's allocator has no") && Contains(what));
    CHECK(small.out.empty());
  }
  Memory crooked;
  crooked.shift = 8;
  CHECK(runWith(crooked, text) == LAYLINE_BAD_ARGUMENT);
  CHECK_THAT(text, Contains("not at a multiple of 64 bytes"));
  CHECK(crooked.out.empty());
}

TEST_CASE("an allocator comes before the plan, and whole", "[hooks]") {
  Memory memory;
  layline_allocator allocator = memory.allocator();
  Sequence sequence;
  layline_engine *runtime = sequence.engine.get();
  CHECK(layline_allocator_set(runtime, &allocator) == LAYLINE_BAD_ARGUMENT);
  CHECK_THAT(layline_engine_error(runtime), Contains("after a plan"));
  allocator.release = nullptr;
  CHECK(layline_allocator_set(runtime, &allocator) == LAYLINE_BAD_ARGUMENT);
  CHECK_THAT(layline_engine_error(runtime),
             Contains("both allocate and release"));
  allocator = memory.allocator();
  allocator.size = 8;
  CHECK(layline_allocator_set(runtime, &allocator) == LAYLINE_BAD_ARGUMENT);
  CHECK_THAT(layline_engine_error(runtime), Contains("allocator.size is 8"));
}
