// The kernels that share memory, in every mode of the emulator.
#include "fused/Check.h"

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

constexpr std::uint64_t kSeeds = 20;

void runModes(Variant variant, std::int64_t tokens) {
  RowCase rowCase = caseOf(variant, problemOf(variant, tokens, 64), 2);
  rowCase.launches = 4;
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
      check(rowCase, mode, seed);
}

Variant rows(Input input, Output output, NormKind norm, int ranks) {
  Variant variant;
  variant.input = input;
  variant.output = output;
  variant.norm = norm;
  variant.ranks = ranks;
  return variant;
}

} // namespace

TEST_CASE("reduce_scatter + add + norm + all_gather in every mode") {
  for (int ranks : {2, 3, 4})
    runModes(rows(Input::Owed, Output::Everyone, NormKind::Rms, ranks),
             ranks + 2);
  runModes(rows(Input::Owed, Output::Everyone, NormKind::Rms, 4), 3);
}

TEST_CASE("plain collectives in every mode") {
  runModes(rows(Input::Owed, Output::Own, NormKind::None, 3), 5);
  runModes(rows(Input::Owed, Output::Own, NormKind::Layer, 2), 5);
  runModes(rows(Input::Own, Output::Everyone, NormKind::None, 3), 5);
  runModes(rows(Input::Owed, Output::Everyone, NormKind::None, 3), 5);
  Variant quantized = rows(Input::Owed, Output::Everyone, NormKind::Rms, 2);
  quantized.scales = ScaleKind::Group;
  runModes(quantized, 5);
}

TEST_CASE("sums and gathers by the switch in every mode") {
  runModes(
      rows(Input::OwedMulticast, Output::EveryoneMulticast, NormKind::Rms, 3),
      5);
  runModes(rows(Input::OwedMulticast, Output::Own, NormKind::Rms, 3), 5);
  runModes(rows(Input::Own, Output::EveryoneMulticast, NormKind::None, 3), 5);
  Variant quantized =
      rows(Input::OwedMulticast, Output::EveryoneMulticast, NormKind::Rms, 2);
  for (ScaleKind scales : {ScaleKind::Row, ScaleKind::Group}) {
    quantized.scales = scales;
    runModes(quantized, 3);
  }
}

TEST_CASE("one_shot in every mode") {
  for (int ranks : {2, 3, 4}) {
    Variant variant = rows(Input::Own, Output::Own, NormKind::Rms, ranks);
    variant.family = Family::OneShot;
    runModes(variant, 3);
  }
  Variant wide = rows(Input::Own, Output::Own, NormKind::None, 3);
  wide.family = Family::OneShot;
  wide.dtype = DType::F32;
  runModes(wide, 2);
}

TEST_CASE("a switch adds in an order of its own") {
  // Sums of a few numbers of bf16 are mostly exact in float32: within a step
  // whatever the order was.
  Variant variant =
      rows(Input::OwedMulticast, Output::EveryoneMulticast, NormKind::None, 8);
  RowCase rowCase = caseOf(variant, problemOf(variant, 9, 64));
  auto inputs = makeInputs<bf16>(rowCase, 3);
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    simt::Options options = optionsOf(Mode::Plain, seed, rowCase.shape.grid);
    options.randomReductionOrder = true;
    RowResults<bf16> got;
    simt::Report report = runCatalogue<bf16>(rowCase, inputs, options, got);
    INFO(report.text);
    REQUIRE(report.ok());
    REQUIRE(disagreementOf(rowCase, got) == "");
    REQUIRE(outsideOf(rowCase, inputs, got) == "");
  }
}
