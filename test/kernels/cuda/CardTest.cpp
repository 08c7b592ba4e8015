// Cards, launches and products: what the driver and cuBLASLt are asked for, and
// what is said where they refuse.
#include "FakeGpu.h"
#include "devices/cuda/Gemm.h"
#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/Launch.h"
#include "devices/cuda/Nccl.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace layline::test;
using layline::runtime::Error;
namespace local = layline::local;

TEST_CASE("libraries that are not there are named") {
  CHECK_THROWS_WITH(
      openDriver("libcuda-of-nobody.so.1"),
      Catch::StartsWith("no CUDA device: libcuda-of-nobody.so.1: cannot open"));
  // A library that is there and is no driver.
  CHECK_THROWS_WITH(
      openDriver("libm.so.6"),
      Catch::Equals("no CUDA device: libm.so.6 has no "
                    "'cuGetProcAddress_v2'; a driver of CUDA 12.8 "
                    "or later is expected"));
  CHECK_THROWS_WITH(openNccl("libnccl-of-nobody.so"),
                    Catch::Contains("NCCL is needed") &&
                        Catch::Contains("libnccl-of-nobody.so"));
  CHECK_THROWS_WITH(openNccl("libm.so.6"),
                    Catch::Equals("NCCL: libm.so.6 has no 'ncclGetUniqueId'; "
                                  "NCCL 2.14 or later is expected"));
  CHECK_THROWS_WITH(openBlasLt("libcublasLt-of-nobody.so"),
                    Catch::Contains("cuBLASLt is needed") &&
                        Catch::Contains("libcublasLt-of-nobody.so"));
  CHECK_THROWS_WITH(openBlasLt("libm.so.6"),
                    Catch::Contains("has no 'cublasLtCreate'"));
}

TEST_CASE("whichever call fails, a card leaves nothing behind") {
  FakeGpu gpu;
  for (std::size_t at = 0;; ++at) {
    gpu.failAt(at, kErrorInvalidValue);
    try {
      Card card(0);
      card.kernel("layline_norm");
      DeviceMemory memory(card, 100, "memory");
      PinnedMemory pinned(card, 100, "memory");
      OwnedStream stream(card);
      OwnedEvent event(card, true);
      gpu.failAt(~std::size_t(0), 0);
    } catch (const Error &) {
      CHECK(gpu.liveCount() == 0);
      continue;
    }
    CHECK(gpu.liveCount() == 0);
    CHECK(at > 10);
    break;
  }
}

TEST_CASE("a kernel that is not in the images, and images for other cards") {
  FakeGpu gpu;
  Card card(0);
  CHECK_THROWS_WITH(
      card.kernel("layline_of_nobody"),
      "card 0 (emulated): this build has no kernel 'layline_of_nobody'");
  Card other(0);
  gpu.failOn("cuModuleLoadData", kErrorNoBinaryForDevice);
  CHECK_THROWS_WITH(other.kernel("layline_norm"),
                    "card 0 (emulated) has compute capability 9.0; kernels are "
                    "built for 9.0 and 10.0");
}

TEST_CASE("attributes of launches that wait for ranks") {
  FakeGpu gpu;
  {
    Card card(0);
    OwnedStream stream(card);
    local::ElementwiseParams nothing; // count 0
    DeviceMemory parameters(card, 2 * sizeof nothing, "parameters");
    for (std::size_t i = 0; i < 2; ++i)
      copyIn(card, parameters.address() + i * sizeof nothing, &nothing,
             sizeof nothing, "parameters");
    KernelLaunch plain;
    plain.function = card.kernel("layline_elementwise");
    plain.symbol = "layline_elementwise";
    plain.blocks = 3;
    plain.ranks = 2;
    launch(card, plain, parameters.address(), stream.get());
    KernelLaunch waiting = plain;
    waiting.waitsForRanks = true;
    waiting.isProgrammatic = true;
    launch(card, waiting, parameters.address(), stream.get());
    stream.synchronize("the launches");
    REQUIRE(gpu.launches().size() == 2);
    CHECK_FALSE(gpu.launches()[0].cooperative);
    CHECK_FALSE(gpu.launches()[0].programmatic);
    CHECK_FALSE(gpu.launches()[0].remoteDomain);
    CHECK(gpu.launches()[1].cooperative);
    CHECK(gpu.launches()[1].programmatic);
    CHECK(gpu.launches()[1].remoteDomain);
    CHECK(gpu.launches()[1].grid[0] == 3);
    CHECK(gpu.launches()[1].grid[1] == 2);
    CHECK(gpu.launches()[1].block[0] == 128);

    // 16 blocks of 128 threads a multiprocessor of the fake's four.
    std::int64_t resident = card.residentBlocks(plain.function, 128, 0);
    waiting.blocks = static_cast<unsigned>(resident / 2);
    CHECK_NOTHROW(checkResidency(card, waiting, 0));
    CHECK_THROWS_WITH(checkResidency(card, waiting, 1),
                      Catch::Contains("blocks that wait for one another") &&
                          Catch::Contains("of which 1 stay free"));
    gpu.failOn("cuLaunchKernelEx", kErrorInvalidValue);
    CHECK_THROWS_WITH(
        launch(card, plain, parameters.address(), stream.get()),
        "kernel layline_elementwise, 3 x 2 blocks of 128 threads on card 0 "
        "(emulated): cuLaunchKernelEx says CUDA_ERROR_INVALID_VALUE (told by "
        "the fake driver)");
  }
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("products are planned once a shape and computed row-major") {
  FakeGpu gpu;
  {
    Card card(0);
    OwnedStream stream(card);
    Gemm gemm(card);
    gemm.reserve(1);
    Product product;
    product.rows = 3;
    product.in = 5;
    product.out = 2;
    std::vector<float> x(15), w(10), y(6);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i) - 7;
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = static_cast<float>(i * i % 7);
    DeviceMemory input(card, 60, "x"), weight(card, 40, "w"),
        output(card, 24, "y");
    copyIn(card, input.address(), x.data(), 60, "x");
    copyIn(card, weight.address(), w.data(), 40, "w");
    for (int time = 0; time < 3; ++time)
      gemm.run(product, input.address(), weight.address(), output.address(),
               stream.get(), 0);
    stream.synchronize("products");
    copyOut(card, y.data(), output.address(), 24, "y");
    for (std::size_t t = 0; t < 3; ++t)
      for (std::size_t o = 0; o < 2; ++o) {
        float expected = 0;
        for (std::size_t i = 0; i < 5; ++i)
          expected += x[t * 5 + i] * w[o * 5 + i];
        CHECK(y[t * 2 + o] == expected);
      }
    CHECK(gemm.planned() == 1);
    CHECK(gpu.callsOf("cublasLtMatmulAlgoGetHeuristic") == 1);
    CHECK(gpu.callsOf("cublasLtMatmul") == 3);

    // No rows: nothing is asked for. No features: zeros.
    Product none = product;
    none.rows = 0;
    gemm.plan(none);
    gemm.run(none, 0, 0, 0, stream.get(), 0);
    none.rows = 3;
    none.in = 0;
    gemm.plan(none);
    gemm.run(none, 0, 0, output.address(), stream.get(), 0);
    stream.synchronize("products");
    copyOut(card, y.data(), output.address(), 24, "y");
    CHECK(y == std::vector<float>(6, 0.0F));
    CHECK(gpu.callsOf("cublasLtMatmul") == 3);

    // Half a plan is no plan: it is made again.
    Product other = product;
    other.rows = 4;
    for (const char *call :
         {"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute",
          "cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate",
          "cublasLtMatmulPreferenceSetAttribute",
          "cublasLtMatmulAlgoGetHeuristic"}) {
      int live = gpu.liveCount();
      gpu.failOn(call, 7);
      CHECK_THROWS_WITH(
          gemm.plan(other),
          std::string("product of [4, 5] with [2, 5] transposed on card 0 "
                      "(emulated): ") +
              call + " says CUBLAS_STATUS_TOLD_BY_THE_FAKE");
      CHECK(gpu.liveCount() == live);
      gpu.failOn(call, 0);
    }
    CHECK_NOTHROW(gemm.plan(other));
  }
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("numbers to cards and back") {
  std::vector<float> values = {0.0F,  -0.0F, 1.0F,     -2.5F,
                               1e-3F, 448.F, 3.14159F, -1.0F / 3};
  for (auto [type, relative] :
       {std::pair(NumberType::F32, 0.0), std::pair(NumberType::BF16, 1 / 256.0),
        std::pair(NumberType::F16, 1 / 2048.0),
        std::pair(NumberType::E4M3, 1 / 16.0),
        std::pair(NumberType::E5M2, 1 / 8.0)}) {
    std::vector<std::byte> bytes = encode(values, type);
    CHECK(bytes.size() ==
          values.size() * static_cast<std::size_t>(local::numberBytes(type)));
    std::vector<float> back =
        decode(bytes.data(), static_cast<std::int64_t>(values.size()), type);
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(static_cast<int>(type), values[i], back[i]);
      // Below the smallest normal number of E4M3 only its unit holds.
      CHECK(std::fabs(back[i] - values[i]) <=
            std::fabs(values[i]) * relative +
                (type == NumberType::E4M3 ? 1e-3 : 0));
      CHECK(std::signbit(back[i]) == std::signbit(values[i]));
    }
  }
}
