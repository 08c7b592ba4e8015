//===- PageKernelsTest.cpp - vectors of pages against one by one ----------===//
#include "kv/PageKernels.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

using namespace layline::kv;

namespace {

constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();

PageRange findRangeOneByOne(const std::vector<std::int32_t> &pages) {
  return {*std::min_element(pages.begin(), pages.end()),
          *std::max_element(pages.begin(), pages.end()),
          std::adjacent_find(pages.begin(), pages.end(),
                             [](std::int32_t a, std::int32_t b) {
                               return a >= b;
                             }) == pages.end()};
}

bool isEqual(const PageRange &a, const PageRange &b) {
  return a.least == b.least && a.largest == b.largest &&
         a.isAscending == b.isAscending;
}

} // namespace

TEST_CASE("page kernels: one odd entry at any place") {
  // Lengths around those of vectors; what is odd is at every place once.
  for (std::int32_t count = 1; count < 40; ++count) {
    std::vector<std::int32_t> rising(count);
    for (std::int32_t i = 0; i < count; ++i)
      rising[i] = 100 + i;
    REQUIRE(countRun(rising.data(), rising.data(), count) == count);
    REQUIRE(isEqual(findRange(rising.data(), count), {100, 99 + count, true}));
    for (std::int32_t at = 0; at < count; ++at)
      for (std::int32_t odd : {-5, 0, 100, 100 + at, 101 + at, kLargest}) {
        std::vector<std::int32_t> pages = rising;
        pages[at] = odd;
        INFO("entry " << at << " of " << count << " is " << odd);
        REQUIRE(
            isEqual(findRange(pages.data(), count), findRangeOneByOne(pages)));
        if (at == 0 || odd == rising[at])
          continue;
        REQUIRE(countRun(pages.data(), rising.data(), count) == at);
        REQUIRE(countRun(rising.data(), pages.data(), count) == at);
      }
  }
}
