// Rows sorted by expert and merged again.
#include "harness/Counted.h"
#include "harness/ExpertRows.h"
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

/// Sorts, permutes, merges what was permuted: results are the rows themselves.
template <typename T>
void run(const ExpertCase &c, DType dtype, Mode mode, std::uint64_t seed) {
  INFO(c.tokens << " rows, " << c.chosen << " of " << c.experts
                << " experts, here from " << c.firstExpert << " on "
                << c.localExperts << ", " << nameOf(mode));
  const ExpertInputs<T> inputs =
      makeExpertInputs<T>(c, static_cast<std::uint32_t>(seed));
  const ExpertOrder order = orderOf(c, inputs.ids);
  const std::int64_t width = c.width, taken = order.offsets.back();

  simt::Machine machine(1, optionsOf(mode, seed, 8));
  auto upload = [&](const auto &values, const char *name) {
    using E = typename std::decay_t<decltype(values)>::value_type;
    E *to =
        machine.allocate<E>(0, std::max<std::size_t>(values.size(), 16), name);
    std::copy(values.begin(), values.end(), to);
    return to;
  };
  ExpertParams p{};
  p.ids = upload(inputs.ids, "ids");
  p.tokens = c.tokens;
  p.chosen = c.chosen;
  p.firstExpert = c.firstExpert;
  p.experts = c.localExperts;
  p.places = upload(std::vector<std::int64_t>(inputs.ids.size(), 77), "places");
  p.offsets =
      upload(std::vector<std::int64_t>(order.offsets.size(), 77), "offsets");
  p.rows = upload(inputs.rows, "rows");
  T *sorted = machine.allocate<T>(
      0, static_cast<std::size_t>(std::max<std::int64_t>(taken, 1) * width),
      "sorted");
  p.sorted = sorted;
  p.width = c.width;
  p.results = sorted;
  p.weights = upload(inputs.weights, "weights");
  p.shared = c.hasShared ? upload(inputs.shared, "shared") : nullptr;
  p.scale = c.scale;
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
                  ExpertRows{c.tokens, c.chosen, c.width, taken, c.hasShared},
                  {grid, block, false}),
        1);
  };
  REQUIRE(stated(Family::SortByExpert, "sort", unsigned(c.localExperts), 64) ==
          "");
  REQUIRE(stated(Family::PermuteRows, "permute", 3, 32) == "");
  REQUIRE(stated(Family::MergeExperts, "merge", 3, 32) == "");

  ExpertResults<T> got;
  got.places = download(p.places, c.tokens * c.chosen);
  got.offsets = download(p.offsets, c.localExperts + 1);
  got.sorted = download(sorted, taken * width);
  got.merged = download(merged, c.tokens * width);
  REQUIRE(differenceOf(c, inputs, got) == "");
}

} // namespace

TEST_CASE("rows sorted by expert and merged") {
  for (std::int64_t tokens : {0, 1, 7, 33}) {
    run<bf16>({tokens, 2, 8, 0, 8, 64, true}, DType::BF16, Mode::Plain, 1);
    // Experts 3, 4, 5 are here.
    run<float>({tokens, 4, 8, 3, 3, 64, false}, DType::F32, Mode::Plain, 2);
    run<f16>({tokens, 1, 1, 0, 1, 72, true}, DType::F16, Mode::Plain, 3);
  }
  run<bf16>({5, 8, 128, 16, 16, 2880, true}, DType::BF16, Mode::Plain, 4);
}

TEST_CASE("the order of sorted rows is the ids' alone") {
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      run<bf16>({40, 2, 6, 1, 4, 64, true}, DType::BF16, mode, seed);
}
