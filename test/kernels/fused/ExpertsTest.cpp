// Rows sorted by expert and merged again.
#include "harness/Counted.h"
#include "harness/Rows.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

void (*find(Family family, DType dtype))(const ExpertParams) {
  Variant variant;
  variant.family = family;
  variant.dtype = dtype;
  std::string error;
  const Kernel *kernel = findKernel(variant, error);
  INFO(error);
  REQUIRE(kernel);
  return reinterpret_cast<void (*)(const ExpertParams)>(kernel->function);
}

struct Choices {
  std::int64_t tokens;
  int chosen, experts, firstExpert, localExperts;
};

/// Sorts, permutes, merges what was permuted: results are the rows themselves.
template <typename T>
void run(const Choices &c, DType dtype, int width, bool hasShared, Mode mode,
         std::uint64_t seed) {
  INFO(c.tokens << " rows, " << c.chosen << " of " << c.experts
                << " experts, here from " << c.firstExpert << " on "
                << c.localExperts << ", " << nameOf(mode));
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<float> normal;
  auto draw = [&](std::int64_t count) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T &value : values)
      value = from_float<T>(normal(random));
    return values;
  };
  std::vector<std::int32_t> ids;
  std::vector<float> weights;
  for (std::int64_t t = 0; t < c.tokens; ++t)
    for (int k = 0; k < c.chosen; ++k) {
      // Holes of dispatched rows have the id -1.
      bool isHole = random() % 11 == 0;
      ids.push_back(isHole ? -1
                           : static_cast<std::int32_t>(random()) % c.experts);
      if (ids.back() < -1)
        ids.back() = -ids.back();
      weights.push_back(std::abs(normal(random)));
    }
  std::vector<T> rows = draw(c.tokens * width), shared = draw(c.tokens * width);

  // Stable by expert.
  std::vector<std::int64_t> places(ids.size(), -1), offsets;
  std::int64_t next = 0;
  for (int e = 0; e < c.localExperts; ++e) {
    offsets.push_back(next);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (ids[i] == c.firstExpert + e)
        places[i] = next++;
  }
  offsets.push_back(next);

  simt::Machine machine(1, optionsOf(mode, seed, 8));
  auto upload = [&](const auto &values, const char *name) {
    using E = typename std::decay_t<decltype(values)>::value_type;
    E *to =
        machine.allocate<E>(0, std::max<std::size_t>(values.size(), 16), name);
    std::copy(values.begin(), values.end(), to);
    return to;
  };
  ExpertParams p{};
  p.ids = upload(ids, "ids");
  p.tokens = c.tokens;
  p.chosen = c.chosen;
  p.firstExpert = c.firstExpert;
  p.experts = c.localExperts;
  p.places = upload(std::vector<std::int64_t>(ids.size(), 77), "places");
  p.offsets = upload(std::vector<std::int64_t>(offsets.size(), 77), "offsets");
  p.rows = upload(rows, "rows");
  T *sorted = machine.allocate<T>(
      0, static_cast<std::size_t>(std::max<std::int64_t>(next, 1) * width),
      "sorted");
  p.sorted = sorted;
  p.width = width;
  p.results = sorted;
  p.weights = upload(weights, "weights");
  p.shared = hasShared ? upload(shared, "shared") : nullptr;
  p.scale = 2.5F;
  T *merged = machine.allocate<T>(
      0, static_cast<std::size_t>(std::max<std::int64_t>(c.tokens, 1) * width),
      "merged");
  p.merged = merged;
  auto sort = find(Family::SortByExpert, DType::BF16);
  auto permute = find(Family::PermuteRows, dtype);
  auto merge = find(Family::MergeExperts, dtype);
  machine.launch(0, {"sort", {unsigned(c.localExperts)}, {64}},
                 [=] { sort(p); });
  machine.launch(0, {"permute", {3}, {32}}, [=] { permute(p); });
  machine.launch(0, {"merge", {3}, {32}}, [=] { merge(p); });
  simt::Report report = machine.run();
  INFO(report.text);
  REQUIRE(report.ok());
  REQUIRE(report.races == 0);
  auto stated = [&](Family family, const char *name, unsigned grid,
                    unsigned block) {
    Variant variant;
    variant.family = family;
    variant.dtype = dtype;
    return miscounted(
        machine.counters(0, name),
        trafficOf(variant,
                  ExpertRows{c.tokens, c.chosen, width, next, hasShared},
                  {grid, block, false}),
        1);
  };
  REQUIRE(stated(Family::SortByExpert, "sort", unsigned(c.localExperts), 64) ==
          "");
  REQUIRE(stated(Family::PermuteRows, "permute", 3, 32) == "");
  REQUIRE(stated(Family::MergeExperts, "merge", 3, 32) == "");

  REQUIRE(std::equal(places.begin(), places.end(), p.places));
  REQUIRE(std::equal(offsets.begin(), offsets.end(), p.offsets));
  for (std::int64_t t = 0; t < c.tokens; ++t)
    for (int i = 0; i < width; ++i) {
      float sum = 0;
      auto at = static_cast<std::size_t>(t * width + i);
      for (int k = 0; k < c.chosen; ++k) {
        auto choice = static_cast<std::size_t>(t * c.chosen + k);
        if (places[choice] < 0)
          continue;
        REQUIRE(to_float(sorted[places[choice] * width + i]) ==
                to_float(rows[at]));
        sum += weights[choice] * to_float(rows[at]);
      }
      float want = sum * 2.5F + (hasShared ? to_float(shared[at]) : 0.0F);
      REQUIRE(to_float(merged[at]) == to_float(from_float<T>(want)));
    }
}

} // namespace

TEST_CASE("rows sorted by expert and merged") {
  for (std::int64_t tokens : {0, 1, 7, 33}) {
    run<bf16>({tokens, 2, 8, 0, 8}, DType::BF16, 64, true, Mode::Plain, 1);
    // Experts 3, 4, 5 are here.
    run<float>({tokens, 4, 8, 3, 3}, DType::F32, 64, false, Mode::Plain, 2);
    run<f16>({tokens, 1, 1, 0, 1}, DType::F16, 72, true, Mode::Plain, 3);
  }
  run<bf16>({5, 8, 128, 16, 16}, DType::BF16, 2880, true, Mode::Plain, 4);
}

TEST_CASE("the order of sorted rows is the ids' alone") {
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      run<bf16>({40, 2, 6, 1, 4}, DType::BF16, 64, true, mode, seed);
}
