// Kernels with one rule broken, in a run of a plan: the error names the step,
// the rank and what the emulator found.
#include "GoldenRun.h"
#include "LlamaPlan.h"
#include "devices/simt/plan/SimtDevice.h"
#include "kernels/Instances.cuh"

#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::test;

namespace {

constexpr int kRanks = 3;

/// A rank goes on before its peers have stored.
struct NoExit : kernels::Sound {
  static constexpr bool kExitBarrier = false;
};
/// The last rank never says that it has begun.
struct SilentRank : kernels::Sound {
  static void signal(kernels::FlagKind kind, std::uint32_t *flag,
                     std::uint32_t epoch) {
    if (kind != kernels::FlagKind::Exit)
      kernels::st_release_sys(flag, epoch);
  }
};
/// Each rank has as many rows as the first, though there are not so many.
struct RowsRoundedUp : kernels::Sound {
  static kernels::RowBlock own_rows(std::int64_t rows, std::int64_t ranks,
                                    std::int64_t rank) {
    std::int64_t each = (rows + ranks - 1) / ranks;
    return {rank * each, each};
  }
};

template <typename Protocol> void useInPlace(const std::string &options) {
  using namespace kernels;
  static Kernel broken;
  broken.function = reinterpret_cast<void (*)()>(
      row_collective<float, kRanks, Input::Owed, Output::Everyone, Rms,
                     kMaxThreads, kVectorsPerThread<float>, Protocol>);
  runtime::SimtOptions simt = runtime::parseSimtOptions(options);
  simt.find = [](const Variant &variant, std::string &error) {
    const Kernel *kernel = findKernel(variant, error);
    if (!kernel || variant.input != Input::Owed ||
        variant.norm != NormKind::Rms)
      return kernel;
    broken.variant = variant;
    return static_cast<const Kernel *>(&broken);
  };
  runtime::enableSimtDevice(simt);
}

/// What a run with the kernel says.
template <typename Protocol> std::string failureOf(const std::string &options) {
  useInPlace<Protocol>(options);
  TestEngine engine(llamaPlan(kRanks, Boundaries::Fused), LAYLINE_PRECISION_F32,
                    "simt", /*taps=*/false);
  engine.weights(LAYLINE_GOLDEN_DIR "/llama/model.safetensors");
  engine.input("input_ids", count(7));
  engine.input("positions", count(7));
  try {
    engine.run(7);
  } catch (const Failure &failure) {
    CHECK(failure.status == LAYLINE_RUN_FAILURE);
    return failure.what();
  }
  return "";
}

} // namespace

TEST_CASE("a race is the step's error") {
  CHECK(failureOf<kernels::Sound>("race").empty());
  std::string text = failureOf<NoExit>("race");
  CHECK_THAT(text,
             Catch::Contains("step 's") && Catch::Contains("on rank ") &&
                 Catch::Contains("(fused") &&
                 Catch::Contains("row_collective f32 x3 owed->everyone") &&
                 Catch::Contains("race"));
}

TEST_CASE("ranks that wait for ever are the step's error") {
  std::string text = failureOf<SilentRank>("plain");
  CHECK_THAT(text, Catch::Contains("step 's") && Catch::Contains("on rank ") &&
                       Catch::Contains("deadlock") &&
                       Catch::Contains("rank 2 stream 0"));
}

TEST_CASE("an access behind the rows is the error of the rank that makes it") {
  std::string text = failureOf<RowsRoundedUp>("plain");
  CHECK_THAT(text, Catch::Contains("step 's") &&
                       Catch::Contains("on rank 2: kernel row_collective") &&
                       Catch::Contains("access") &&
                       Catch::Contains("rank 2 kernel"));
}

TEST_CASE("an engine runs again after a failure") {
  useInPlace<SilentRank>("plain");
  TestEngine engine(llamaPlan(kRanks, Boundaries::Fused), LAYLINE_PRECISION_F32,
                    "simt", /*taps=*/false);
  engine.weights(LAYLINE_GOLDEN_DIR "/llama/model.safetensors");
  engine.input("input_ids", count(7));
  engine.input("positions", count(7));
  for (int run = 0; run < 2; ++run)
    CHECK_THROWS_WITH(engine.run(7), Catch::Contains("deadlock"));
}
