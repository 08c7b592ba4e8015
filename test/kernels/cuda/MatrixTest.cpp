// The kernels that are compiled for cards, launched as device cuda launches
// them, over ranks, rows and widths: on a card all of it, on the emulator a
// small part.
#include "CardRows.h"
#include "Gpu.h"
#include "fused/Check.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace layline::kernels;
using namespace layline::kernels::test;
using namespace layline::test;

namespace {

bool isOfRows(const Variant &variant) {
  return (variant.family == Family::RowCollective ||
          variant.family == Family::OneShot) &&
         variant.input != Input::OwedMulticast &&
         variant.output != Output::EveryoneMulticast;
}

template <typename T>
void checkOn(const Gpu &gpu, const Cards &cards, const FusedKernel &kernel,
             const Problem &problem, std::uint32_t salt) {
  RowCase rowCase = cardCase(cards, kernel, problem, gpu.isEmulated() ? 3 : 64,
                             gpu.isEmulated());
  INFO(kernel.symbol << ", " << problem.tokens << " rows of " << problem.width
                     << ", grid " << rowCase.shape.grid << " x "
                     << rowCase.shape.block << " on " << cards.size()
                     << " cards");
  RowInputs<T> inputs = makeInputs<T>(rowCase, salt);
  std::string late;
  RowResults<T> got = runOnCards(cards, kernel, rowCase, inputs, late);
  REQUIRE(late == "");
  REQUIRE(disagreementOf(rowCase, got) == "");
  REQUIRE(outsideOf(rowCase, inputs, got) == "");
  // The emulator rounds as the reference does. A card may fuse a product and a
  // sum, and its functions differ in the last place.
  if (gpu.isEmulated())
    REQUIRE(differenceOf(got, expectOrdered(rowCase, inputs)) == "");
  // Another run gives the same bits.
  if (!gpu.isEmulated())
    REQUIRE(differenceOf(runOnCards(cards, kernel, rowCase, inputs, late),
                         got) == "");
}

void runMatrix(const Gpu &gpu, int count) {
  Cards cards = openCards(count);
  std::uint32_t salt = 1;
  std::size_t kernels = 0;
  for (const FusedKernel &kernel : fusedKernels()) {
    const Variant &variant = kernel.variant;
    if (!isOfRows(variant) || variant.ranks < count)
      continue;
    ++kernels;
    std::set<std::int64_t> tokens = {0,
                                     1,
                                     variant.ranks - 1,
                                     variant.ranks,
                                     variant.ranks + 1,
                                     33,
                                     64},
                           widths = {64, 576, 2880, 7168, 12288};
    if (gpu.isEmulated()) {
      tokens = {variant.ranks + 1};
      widths = {64};
    }
    for (std::int64_t width : widths)
      for (std::int64_t rows : tokens) {
        Problem problem = problemOf(variant, rows, width);
        if (variant.dtype == DType::BF16)
          checkOn<bf16>(gpu, cards, kernel, problem, salt++);
        else
          checkOn<float>(gpu, cards, kernel, problem, salt++);
      }
  }
  CHECK(kernels > 20);
}

} // namespace

TEST_CASE("every kernel of rows, its ranks one launch on a card", "[matrix]") {
  auto gpu = makeGpu();
  runMatrix(*gpu, 1);
  CHECK(gpu->fault().empty());
  CHECK(gpu->liveCount() == 0);
}

TEST_CASE("every kernel of rows, its ranks on several cards", "[matrix]") {
  auto gpu = makeGpu(2);
  int count = std::min(countCards(), 8);
  if (count < 2) {
    WARN("one card: nothing runs over several");
    return;
  }
  runMatrix(*gpu, 2);
  if (count > 2)
    runMatrix(*gpu, count);
  CHECK(gpu->fault().empty());
  CHECK(gpu->liveCount() == 0);
}
