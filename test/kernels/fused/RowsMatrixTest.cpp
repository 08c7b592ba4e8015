// Every kernel of rows that there is, over ranks, rows and widths.
#include "fused/Check.h"

#include <set>

using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

bool isOfRows(const Variant &variant) {
  return variant.family == Family::RowCollective ||
         variant.family == Family::OneShot;
}

/// None, one, and about as many as there are ranks.
std::set<std::int64_t> fewTokens(std::int64_t ranks) {
  return {0, 1, ranks - 1, ranks, ranks + 1};
}

void runMatrix(DType dtype, bool quantized) {
  std::uint64_t seed = 1;
  int kernels = 0;
  for (const Kernel &kernel : getKernels()) {
    const Variant &variant = kernel.variant;
    if (!isOfRows(variant) || variant.dtype != dtype ||
        (variant.scales != ScaleKind::None) != quantized)
      continue;
    ++kernels;
    auto run = [&](std::int64_t tokens, std::int64_t width) {
      RowCase rowCase = caseOf(variant, problemOf(variant, tokens, width));
      if (width > 576)
        rowCase.launches = 1;
      check(rowCase, Mode::Plain, seed++);
    };
    for (std::int64_t width : {64, 576})
      for (std::int64_t tokens : {33, 64})
        run(tokens, width);
    // Wide rows fill all vectors of some threads, and of the last ones not.
    for (std::int64_t width : {64, 576, 2880, 7168, 12288})
      for (std::int64_t tokens : fewTokens(variant.ranks))
        run(tokens, width);
  }
  CHECK(kernels > 20);
}

} // namespace

TEST_CASE("rows in bf16", "[matrix]") { runMatrix(DType::BF16, false); }
TEST_CASE("rows in f16", "[matrix]") { runMatrix(DType::F16, false); }
TEST_CASE("rows in f32", "[matrix]") { runMatrix(DType::F32, false); }
TEST_CASE("rows of bf16 quantized", "[matrix]") {
  runMatrix(DType::BF16, true);
}

TEST_CASE("the shapes that a card would launch") {
  // Not the fewest threads that hold a row, but the block of the catalogue.
  for (int ranks : {2, 8})
    for (std::int64_t width : {64, 2880, 12288}) {
      Variant variant;
      variant.ranks = ranks;
      variant.input = Input::Owed;
      variant.output = Output::Everyone;
      variant.norm = NormKind::Rms;
      RowCase rowCase = caseOf(variant, problemOf(variant, ranks + 1, width));
      rowCase.shape = shapeOf(variant, rowCase.problem, 3);
      check(rowCase, Mode::Plain, 5);
    }
  Variant variant;
  variant.ranks = 4;
  variant.input = Input::Owed;
  variant.output = Output::Everyone;
  variant.norm = NormKind::Rms;
  check(caseOf(variant, problemOf(variant, 64, 7168), 8), Mode::Plain, 5);
}

TEST_CASE("sandwich norms and weights of 1 + w and scaled sums") {
  for (int ranks : {1, 4}) {
    Variant variant;
    variant.ranks = ranks;
    variant.input = ranks == 1 ? Input::Own : Input::Owed;
    variant.output = ranks == 1 ? Output::Own : Output::Everyone;
    variant.norm = NormKind::Rms;
    for (DType dtype : {DType::BF16, DType::F16, DType::F32}) {
      variant.dtype = dtype;
      RowCase rowCase = caseOf(variant, problemOf(variant, 7, 576));
      rowCase.problem.hasInnerNorm = true; // gemma2
      rowCase.weightOffset = 1;
      check(rowCase, Mode::Plain, 2);
      rowCase.problem.hasInnerNorm = false;
      rowCase.innerScale = 0.22F; // granite's residual multiplier
      rowCase.scale = 1.5F;
      check(rowCase, Mode::Plain, 3);
    }
  }
}
