// Rows into the device's own caches by the kernel of the catalogue.
#include "FakeGpu.h"
#include "GoldenRun.h"

#include <catch2/catch.hpp>

#include <string>
#include <tuple>
#include <vector>

using namespace layline::test;

TEST_CASE("rows are scattered into the device's own caches", "[fused]") {
  auto precision = GENERATE(LAYLINE_PRECISION_F32, LAYLINE_PRECISION_BF16);
  auto [count, plan, model, kernels] =
      GENERATE(std::tuple(1, "v1.0/llama-tp4", "llama", 1),
               std::tuple(4, "v1.1/llama-tp2-cp2", "llama", 1),
               std::tuple(2, "v1.2/deepseek_v3-tp4", "deepseek_v3", 2));
  CAPTURE(precision, count, plan);
  const bool isBF16 = precision == LAYLINE_PRECISION_BF16;
  FakeGpu gpu(checkedCards(count));
  GoldenRun cuda("cuda", plan, model, precision),
      cpu("cpu", plan, model, precision);
  // Programs are for a token count, whatever the past.
  for (auto [begin, tokens] :
       {std::pair(0, 5), std::pair(5, 1), std::pair(6, 1), std::pair(7, 5)}) {
    CAPTURE(begin);
    cuda.run(begin, tokens);
    cpu.run(begin, tokens);
    CHECK(error(cuda.logits(), cpu.logits()) < (isBF16 ? 0.03 : 5e-6));
  }
  std::vector<std::string> uses = cuda.uses();
  INFO(Catch::Detail::stringify(uses));
  CHECK(usesWith(uses, "cache_append: scatter_pages") == 1);
  CHECK(usesWith(uses, "cache_append: layline_append_rows (rows of 8 bytes, "
                       "kernels move multiples of 16)") == 1);
  CHECK(gpu.emulatorError().empty());
}
