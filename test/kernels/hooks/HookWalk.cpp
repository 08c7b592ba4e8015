#include "hooks/HookWalk.h"

#include "layline/hooks.h"
#include "layline/safetensors.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <numeric>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace layline::test {
namespace {

constexpr std::int64_t kTokens = 3;

/// A call that failed, with its status.
struct Refusal : std::runtime_error {
  Refusal(layline_status code, const std::string &text)
      : std::runtime_error(text), status(code) {}
  layline_status status;
};

std::string readText(const std::string &path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file),
          std::istreambuf_iterator<char>()};
}

/// Four ranks, all fused boundaries; a prefill of a few rows.
class Engine {
public:
  explicit Engine(layline_options options) {
    layline_engine *made = nullptr;
    layline_status status = layline_engine_create(&options, &made);
    engine_.reset(made);
    if (status != LAYLINE_OK)
      throw Refusal(status, layline_engine_create_error());
  }
  void load() {
    check(layline_plan_load(get(),
                            LAYLINE_PLANS_DIR "/v1.0/llama-tp4/plan.json"));
    check(layline_weights_load(get(),
                               LAYLINE_GOLDEN_DIR "/llama/model.safetensors"));
  }
  void run() {
    std::vector<std::int64_t> values(kTokens);
    std::iota(values.begin(), values.end(), 0);
    for (const char *input : {"input_ids", "positions"})
      check(layline_input_bind(get(), input, values.data(), kTokens));
    check(layline_run(get(), kTokens));
  }
  std::vector<double> logits() {
    layline_shape shape;
    check(layline_output_shape(get(), "logits", &shape));
    std::vector<double> row(static_cast<std::size_t>(shape.dims[1]));
    check(layline_output_read_rows(get(), "logits", 0, 1, LAYLINE_F64,
                                   row.data(), shape.dims[1]));
    return row;
  }
  void check(layline_status status) {
    if (status != LAYLINE_OK)
      throw Refusal(status, layline_engine_error(get()));
  }
  layline_engine *get() { return engine_.get(); }

private:
  struct Destroy {
    void operator()(layline_engine *engine) const {
      layline_engine_destroy(engine);
    }
  };
  std::unique_ptr<layline_engine, Destroy> engine_;
};

/// What callbacks saw.
struct Seen {
  const WalkedDevice *device = nullptr; ///< of an allocator
  std::atomic<int> calls{0};
  std::atomic<bool> hasStream{false};
  void *stream = nullptr;
  std::chrono::milliseconds lateness{0}; ///< of rank 0's products
  std::mutex mutex;
  std::size_t poisoned = 0; ///< words of products before they are made
};

layline_status gemm(void *user, const layline_gemm_call *call) {
  auto &seen = *static_cast<Seen *>(user);
  ++seen.calls;
  if (seen.stream && call->call->stream == seen.stream)
    seen.hasStream = true;
  {
    std::lock_guard<std::mutex> lock(seen.mutex);
    const auto *words = static_cast<const std::uint32_t *>(call->c);
    seen.poisoned += static_cast<std::size_t>(
        std::count(words, words + call->m * call->ldc, 0xffffffffU));
  }
  if (call->call->rank == 0)
    std::this_thread::sleep_for(seen.lateness);
  return LAYLINE_DECLINED;
}
layline_status attention(void *user, const layline_attention_call *) {
  ++static_cast<Seen *>(user)->calls;
  return LAYLINE_DECLINED;
}
void *allocate(void *user, std::size_t bytes, std::size_t alignment,
               std::int64_t, layline_memory) {
  auto &seen = *static_cast<Seen *>(user);
  ++seen.calls;
  if (seen.device->allocate)
    return seen.device->allocate(bytes, alignment);
  std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, std::max(whole, alignment));
  std::fill_n(static_cast<char *>(memory), bytes, 0);
  return memory;
}
void release(void *user, void *memory, std::size_t, std::int64_t,
             layline_memory) {
  if (auto &seen = *static_cast<Seen *>(user); seen.device->release)
    seen.device->release(memory);
  else
    std::free(memory);
}
/// A cache's functions fail the run: that they were asked is all that is
/// wanted.
layline_status pages(void *user, const layline_cache_request *,
                     layline_pages *) {
  ++static_cast<Seen *>(user)->calls;
  return LAYLINE_RUN_FAILURE;
}
layline_status append(void *user, const layline_cache_request *, const void *) {
  ++static_cast<Seen *>(user)->calls;
  return LAYLINE_RUN_FAILURE;
}
layline_status readRows(void *, const layline_cache_request *, void *) {
  return LAYLINE_RUN_FAILURE;
}

void runPlan(const layline_options &options) {
  Engine engine(options);
  engine.load();
  engine.run();
}

class Walk {
public:
  explicit Walk(const WalkedDevice &device) : device_(device) {}

  std::map<std::string, std::string> all() {
    add("options.precision", [&] {
      auto logits = [&](layline_precision precision) {
        layline_options options = of();
        options.precision = precision;
        Engine engine(options);
        engine.load();
        engine.run();
        return engine.logits();
      };
      return logits(LAYLINE_PRECISION_F32) != logits(LAYLINE_PRECISION_F64);
    });
    add("options.taps", [&] {
      layline_options options = of();
      options.taps = 1;
      Engine engine(options);
      engine.load();
      engine.run();
      std::int64_t count = 0;
      engine.check(layline_tap_count(engine.get(), &count));
      return count > 0;
    });
    add("options.poison", [&] { return poisons(); });
    add("options.timeout", [&] { return waits(); });
    add("options.by_switch", [&] {
      auto run = [&](bool bySwitch) {
        layline_options options = of();
        options.by_switch = bySwitch;
        runPlan(options);
      };
      if (device_.usesSwitch)
        return device_.usesSwitch(run);
      run(true);
      return false;
    });
    add("layline_gemm_set", [&] {
      Seen seen;
      Engine engine(of());
      engine.load();
      engine.check(layline_gemm_set(engine.get(), gemm, &seen));
      engine.run();
      return seen.calls > 0;
    });
    add("layline_attention_set", [&] {
      Seen seen;
      Engine engine(of());
      engine.load();
      engine.check(layline_attention_set(engine.get(), attention, &seen));
      engine.run();
      return seen.calls > 0;
    });
    add("layline_allocator_set", [&] {
      Seen seen;
      runAllocated(of(), seen);
      return seen.calls > 0;
    });
    add("layline_cache_hooks_set, pages", [&] {
      return runHooked(
          {sizeof(layline_cache_hooks), nullptr, pages, nullptr, nullptr});
    });
    add("layline_cache_hooks_set, append and read", [&] {
      return runHooked(
          {sizeof(layline_cache_hooks), nullptr, nullptr, append, readRows});
    });
    add("layline_stream_set", [&] { return usesStream(); });
    add("layline_trace_begin", [&] {
      Engine engine(of());
      engine.load();
      engine.check(layline_trace_begin(engine.get()));
      engine.run();
      engine.check(layline_trace_end(engine.get()));
      std::string path = "hook-walk-" + device_.name + ".json";
      engine.check(layline_trace_write(engine.get(), path.c_str()));
      std::string text = readText(path);
      std::remove(path.c_str());
      return text.find("\"o_proj") != std::string::npos ||
             text.find("linear") != std::string::npos;
    });
    return std::move(results_);
  }

private:
  layline_options of() const {
    layline_options options;
    layline_options_init(&options);
    options.device = device_.name.c_str();
    return options;
  }

  template <typename Try> void add(const std::string &item, const Try &isDone) {
    try {
      results_[item] = isDone() ? "done" : "ignored";
    } catch (const Refusal &refusal) {
      // Any other status is no answer to being asked.
      results_[item] = refusal.status == LAYLINE_REFUSED_FEATURE
                           ? refusal.what()
                           : "failed: " + std::string(refusal.what());
    }
  }

  void runAllocated(const layline_options &options, Seen &seen,
                    bool asProducts = false) const {
    seen.device = &device_;
    Engine engine(options);
    layline_allocator allocator = {sizeof allocator, &seen, allocate, release};
    engine.check(layline_allocator_set(engine.get(), &allocator));
    engine.load();
    if (asProducts)
      engine.check(layline_gemm_set(engine.get(), gemm, &seen));
    engine.run();
  }

  bool runHooked(layline_cache_hooks hooks) const {
    Seen seen;
    hooks.user = &seen;
    Engine engine(of());
    engine.load();
    engine.check(layline_cache_hooks_set(engine.get(), nullptr, &hooks));
    try {
      engine.run();
    } catch (const Refusal &) {
    }
    return seen.calls > 0;
  }

  bool usesStream() const {
    Seen seen;
    int value = 0;
    if (!device_.usesStream) {
      Engine engine(of());
      engine.load();
      seen.stream = &value;
      for (const char *stream : {"compute", "comm"})
        engine.check(layline_stream_set(engine.get(), 0, stream, seen.stream));
      engine.check(layline_gemm_set(engine.get(), gemm, &seen));
      engine.run();
      return seen.hasStream;
    }
    return device_.usesStream([&](void *stream) {
      Engine engine(of());
      engine.load();
      engine.check(layline_stream_set(engine.get(), 0, "compute", stream));
      engine.run();
    });
  }

  bool poisons() const {
    auto run = [&](bool poison) {
      layline_options options = of();
      options.poison = poison;
      Seen seen;
      if (device_.poisons)
        runPlan(options);
      else
        runAllocated(options, seen, /*asProducts=*/true);
      return seen.poisoned;
    };
    if (device_.poisons)
      return device_.poisons([&](bool poison) { run(poison); });
    // A product's memory before it is made, of an allocator that fills with
    // zeros.
    return run(true) > run(false);
  }

  bool waits() const {
    auto run = [&](double seconds, Seen *late) {
      layline_options options = of();
      options.timeout = seconds;
      Engine engine(options);
      engine.load();
      if (late)
        engine.check(layline_gemm_set(engine.get(), gemm, late));
      engine.run();
    };
    if (device_.waits)
      return device_.waits([&](double seconds) { run(seconds, nullptr); });
    Seen late;
    late.lateness = std::chrono::milliseconds(400);
    try {
      run(0.05, &late);
    } catch (const Refusal &failure) {
      return std::string(failure.what()).find("waited 0.05 s") !=
             std::string::npos;
    }
    return false;
  }

  const WalkedDevice &device_;
  std::map<std::string, std::string> results_;
};

} // namespace

std::map<std::string, std::string> walkHooks(const WalkedDevice &device) {
  return Walk(device).all();
}

std::map<std::string, bool> hooksOfHeaders() {
  std::map<std::string, bool> found;
  std::string hooks = readText(LAYLINE_INCLUDE_DIR "/layline/hooks.h"),
              runtime = readText(LAYLINE_INCLUDE_DIR "/layline/runtime.h");
  std::regex setter("layline_status (layline_\\w+(?:_set|_begin))\\(");
  for (std::sregex_iterator at(hooks.begin(), hooks.end(), setter), end;
       at != end; ++at)
    found[(*at)[1]] = true;
  std::smatch options;
  if (std::regex_search(runtime, options,
                        std::regex("typedef struct layline_options "
                                   "\\{([^}]*)\\} layline_options;"))) {
    std::string fields = std::regex_replace(
        options[1].str(), std::regex("/\\*[^*]*(?:\\*[^/][^*]*)*\\*/"), "");
    std::regex field("(\\w+);");
    for (std::sregex_iterator at(fields.begin(), fields.end(), field), end;
         at != end; ++at)
      found["options." + (*at)[1].str()] = true;
  }
  return found;
}

} // namespace layline::test
