// What the runtime spends outside matrix products.
//
//   runtime_overhead PLAN.json TOKENS [ROUNDS]
//
// In one process, by turns: runs through the C API, runs of the device below it
// (all steps; none), and the bare cblas_sgemm calls of the plan's `linear`
// steps with their local shapes (cblas_sgemv for one row, as the runtime does),
// all ranks' one after another on one thread.
// Weights are random, activations float32.
//
// The time of a step kind is that of a run of its steps alone, on what the last
// whole run left in memory, less that of a run of no steps.
#include "engine/Device.h"
#include "layline/runtime.h"
#include "plan/Load.h"

#include <algorithm>
#include <cblas.h>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

using namespace layline::runtime;
namespace st = layline::safetensors;

namespace {

using Floats = std::vector<float>;

/// Microseconds.
struct Times {
  double wall = 0;
  double cpu = 0; ///< of the whole process: all ranks
};

Times operator-(const Times &a, const Times &b) {
  return {a.wall - b.wall, a.cpu - b.cpu};
}
Times operator/(const Times &a, double b) { return {a.wall / b, a.cpu / b}; }

Times now() {
  timespec cpu{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
  std::chrono::duration<double, std::micro> wall =
      std::chrono::steady_clock::now().time_since_epoch();
  return {wall.count(), static_cast<double>(cpu.tv_sec) * 1e6 +
                            static_cast<double>(cpu.tv_nsec) * 1e-3};
}

double median(std::vector<double> values) {
  auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Times median(const std::vector<Times> &times) {
  std::vector<double> wall, cpu;
  for (const Times &t : times) {
    wall.push_back(t.wall);
    cpu.push_back(t.cpu);
  }
  return {median(wall), median(cpu)};
}

/// Something to time, and its time per run in every round.
struct Candidate {
  std::function<void()> prepare;
  std::function<void()> run;
  std::vector<Times> rounds;
};

/// All candidates have their turn in every round, so that what else the machine
/// does meets them alike. A turn lasts some milliseconds, or one run. Slow ones
/// get fewer rounds.
void measure(std::vector<Candidate *> candidates, int rounds) {
  constexpr double kTurn = 4e3, kAll = 30e6; // us
  constexpr int kFewest = 3;
  Times start = now();
  for (int round = -1; round < rounds; ++round) { // the first warms up
    if (round >= kFewest && now().wall - start.wall > kAll)
      return;
    for (Candidate *candidate : candidates) {
      candidate->prepare();
      Times begin = now();
      int runs = 0;
      do {
        candidate->run();
        ++runs;
      } while (now().wall - begin.wall < kTurn);
      if (round >= 0)
        candidate->rounds.push_back((now() - begin) / runs);
    }
  }
}

/// Median over the rounds of the difference.
Times difference(const Candidate &more, const Candidate &less) {
  std::vector<Times> differences;
  for (std::size_t i = 0; i < more.rounds.size(); ++i)
    differences.push_back(more.rounds[i] - less.rounds[i]);
  return median(differences);
}

template <typename Visit>
void forEachStep(const std::vector<Step> &steps, const Visit &visit) {
  for (const Step &step : steps) {
    if (step.kind != StepKind::Fused)
      visit(step);
    forEachStep(step.body, visit);
  }
}

Floats randomFloats(std::int64_t count, std::int64_t width) {
  static std::mt19937 generator(0);
  // Variance 1 / width keeps activations near 1.
  float bound = std::sqrt(3.0F / static_cast<float>(width));
  std::uniform_real_distribution<float> uniform(-bound, bound);
  Floats values(static_cast<std::size_t>(count));
  for (float &value : values)
    value = uniform(generator);
  return values;
}

Floats weightValues(const Shape &shape) {
  std::int64_t count = elements(shape);
  if (shape.size() < 2)
    return Floats(static_cast<std::size_t>(count), 1.0F);
  return randomFloats(count, shape.back());
}

void require(bool holds, const std::string &what) {
  if (holds)
    return;
  std::fprintf(stderr, "runtime_overhead: %s\n", what.c_str());
  std::exit(1);
}

/// Runs through the C API.
class ApiEngine {
public:
  ApiEngine(const std::string &planFile, std::int64_t tokens)
      : tokens_(tokens) {
    layline_engine *engine = nullptr;
    require(layline_engine_create(nullptr, &engine) == LAYLINE_OK, "no engine");
    engine_.reset(engine);
    check(layline_plan_load(engine, planFile.c_str()));
  }

  void bindWeight(const std::string &key, const Shape &stored,
                  const Floats &values) {
    layline_shape shape{};
    shape.rank = static_cast<std::int32_t>(stored.size());
    std::copy(stored.begin(), stored.end(), shape.dims);
    check(layline_weight_bind(engine_.get(), key.c_str(), LAYLINE_F32, &shape,
                              values.data()));
  }
  void bindInput(const std::string &id,
                 const std::vector<std::int64_t> &values) {
    check(layline_input_bind(engine_.get(), id.c_str(), values.data(),
                             static_cast<std::int64_t>(values.size())));
  }
  void run() {
    check(layline_past_set(engine_.get(), 0));
    check(layline_run(engine_.get(), tokens_));
  }

private:
  void check(layline_status status) {
    require(status == LAYLINE_OK, layline_engine_error(engine_.get()));
  }

  struct Destroy {
    void operator()(layline_engine *engine) const {
      layline_engine_destroy(engine);
    }
  };
  std::unique_ptr<layline_engine, Destroy> engine_;
  std::int64_t tokens_;
};

/// The products of all ranks' `linear` steps. Every weight has memory of its
/// own, as in an engine, so that large ones come from memory and not from
/// cache.
class BareProducts {
public:
  BareProducts(const Plan &plan, const Variant &variant, std::int64_t tokens) {
    std::int64_t in = 1, out = 1;
    for (std::int64_t rank = 0; rank < plan.ranks(); ++rank) {
      std::vector<std::int64_t> coordinates = plan.coordinates(rank);
      std::vector<Part> parts = plan.parts(tokens, coordinates);
      Environment environment{tokens, 0, coordinates.data(), parts.data()};
      auto shapeOf = [&](const Operand &operand) {
        return localShape(operand.shape, operand.layout, environment);
      };
      forEachStep(variant.steps, [&](const Step &step) {
        if (step.kind != StepKind::Linear)
          return;
        Shape weight = shapeOf(step.arg("weight"));
        std::int64_t n = weight[0], k = weight[1],
                     m = elements(shapeOf(step.arg("output"))) / n;
        products_.push_back({m, n, k, randomFloats(n * k, k)});
        in = std::max(in, m * k);
        out = std::max(out, m * n);
      });
    }
    input_ = randomFloats(in, 1);
    output_.resize(static_cast<std::size_t>(out));
  }

  void run() {
    for (const Product &p : products_)
      if (p.m == 1)
        cblas_sgemv(CblasRowMajor, CblasNoTrans, static_cast<int>(p.n),
                    static_cast<int>(p.k), 1.0F, p.weight.data(),
                    static_cast<int>(p.k), input_.data(), 1, 0.0F,
                    output_.data(), 1);
      else
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<int>(p.m),
            static_cast<int>(p.n), static_cast<int>(p.k), 1.0F, input_.data(),
            static_cast<int>(p.k), p.weight.data(), static_cast<int>(p.k), 0.0F,
            output_.data(), static_cast<int>(p.n));
  }

private:
  struct Product {
    std::int64_t m, n, k;
    Floats weight; ///< [n, k]
  };
  std::vector<Product> products_;
  Floats input_, output_;
};

void bindWeights(const Plan &plan, ApiEngine &engine, Device &device) {
  std::set<std::string> bound;
  for (std::size_t w = 0; w < plan.weights.size(); ++w) {
    const Weight &weight = plan.weights[w];
    std::vector<std::string> keys = weight.keys();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      Floats values = weightValues(weight.storedShape);
      device.bindWeight(static_cast<int>(w), static_cast<std::int64_t>(i),
                        {st::DType::F32, weight.storedShape,
                         reinterpret_cast<const std::byte *>(values.data()),
                         values.size() * sizeof(float)});
      if (bound.insert(keys[i]).second)
        engine.bindWeight(keys[i], weight.storedShape, values);
    }
  }
}

void printRow(const char *name, const Times &times) {
  std::printf("  %-34s %11.1f %11.1f\n", name, times.wall, times.cpu);
}

void benchmark(const std::string &planFile, std::int64_t tokens, int rounds) {
  LoadedPlan loaded = loadPlan(readFile(planFile), planFile);
  require(loaded.findings.empty(),
          loaded.findings.empty() ? "" : loaded.findings.front());
  const Plan &plan = loaded.plan;
  const Variant *variant = plan.variantFor(tokens);
  require(variant, planFile + " does not run so many tokens");

  ApiEngine engine(planFile, tokens);
  std::unique_ptr<Transport> transport = makeTransport("threads", {});
  transport->connect(plan, 0);
  std::unique_ptr<Device> device = makeDevice("cpu", plan, {}, *transport);
  bindWeights(plan, engine, *device);
  std::vector<std::vector<std::int64_t>> inputs;
  for (const Input &input : plan.inputs) {
    // 0, 1, 2 ... are positions, and ids too where the vocabulary is as large.
    std::vector<std::int64_t> values(static_cast<std::size_t>(tokens));
    for (std::int64_t t = 0; t < tokens; ++t)
      values[static_cast<std::size_t>(t)] =
          input.id == "positions" ? t : t % 64;
    engine.bindInput(input.id, values);
    inputs.push_back(std::move(values));
  }
  BareProducts bare(plan, *variant, tokens);

  // One variant whose steps change: the device keeps the arenas, and what is in
  // them.
  Variant current = *variant;
  auto ofDevice = [&](const std::vector<Step> &steps) {
    return Candidate{[&] { current.steps = steps; },
                     [&] {
                       device->run({&current, tokens, 0, &inputs});
                     },
                     {}};
  };
  std::map<StepKind, std::vector<Step>> kinds;
  std::int64_t steps = 0;
  forEachStep(variant->steps, [&](const Step &step) {
    kinds[step.kind].push_back(step);
    ++steps;
  });
  const std::vector<Step> noSteps;
  Candidate api{[] {}, [&] { engine.run(); }, {}},
      products{[] {}, [&] { bare.run(); }, {}}, all = ofDevice(variant->steps),
                                                none = ofDevice(noSteps);
  // In the order of StepKind: sums that grow in place come after attention,
  // which refuses what is not a number.
  std::map<StepKind, Candidate> alone;
  std::vector<Candidate *> candidates{&api, &products, &all, &none};
  for (const auto &[kind, ofKind] : kinds) {
    alone.emplace(kind, ofDevice(ofKind));
    candidates.push_back(&alone.at(kind));
  }
  measure(candidates, rounds);

  std::int64_t ranks = plan.ranks();
  Times run = median(api.rounds), gemm = median(products.rounds),
        apart = difference(api, products);
  std::printf("%lld ranks, %lld tokens, variant %s, %lld steps a rank (fused "
              "ones taken apart); OpenBLAS core %s; median of %zu rounds\n",
              static_cast<long long>(ranks), static_cast<long long>(tokens),
              variant->id.c_str(), static_cast<long long>(steps),
              openblas_get_corename(), api.rounds.size());
  std::printf("  %-34s %11s %11s\n", "microseconds", "wall", "cpu");
  printRow("layline_past_set + layline_run", run);
  printRow("device: all steps", median(all.rounds));
  printRow("device: no steps", median(none.rounds));
  printRow("bare sgemm, ranks in turn", gemm);
  if (ranks == 1)
    std::printf("  run / bare, wall: %.2f;", run.wall / gemm.wall);
  else // the bare calls take the ranks in turn: their wall time is no measure
    std::printf(" ");
  std::printf(" run / bare, cpu: %.2f; outside bare sgemm: %.2f us cpu a step "
              "and rank\n\n",
              run.cpu / gemm.cpu,
              apart.cpu / static_cast<double>(steps * ranks));

  std::printf("  %-18s %6s %12s %17s %11s\n", "step", "steps", "us wall/step",
              "us cpu/step/rank", "% of cpu");
  auto printKind = [&](const char *name, std::int64_t count,
                       const Times &step) {
    double n = static_cast<double>(count), r = static_cast<double>(ranks);
    std::printf("  %-18s %6lld %12.2f %17.2f %10.1f%%\n", name,
                static_cast<long long>(count), step.wall, step.cpu / r,
                100 * step.cpu * n / run.cpu);
  };
  Times rest = median(all.rounds) - median(none.rounds);
  for (const auto &[kind, candidate] : alone) {
    auto count = static_cast<std::int64_t>(kinds[kind].size());
    Times ofKind = difference(candidate, none);
    rest = rest - ofKind;
    printKind(infoOf(kind).name, count, ofKind / static_cast<double>(count));
    if (kind == StepKind::Linear)
      printKind("  bare sgemm", count,
                Times{gemm.wall / static_cast<double>(ranks), gemm.cpu} /
                    static_cast<double>(count));
  }
  printKind("(rest)", 1, rest);
  printKind("(no steps)", 1, median(none.rounds));
  std::printf("\n");
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3 || argc > 4) {
    std::fprintf(stderr, "usage: runtime_overhead PLAN.json TOKENS [ROUNDS]\n");
    return 2;
  }
  openblas_set_num_threads(1);
  try {
    benchmark(argv[1], std::atoll(argv[2]), argc > 3 ? std::atoi(argv[3]) : 31);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "runtime_overhead: %s\n", error.what());
    return 1;
  }
}
