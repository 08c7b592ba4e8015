// NCCL between cards of one process: what becomes of a run when it fails, and
// of the engine after it. Several processes: test/mpi/cuda.py.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "devices/cuda/CardsOfRanks.h"

#include <catch2/catch.hpp>

using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

/// Cards that do not reach one another: every group is NCCL's.
FakeCards apart(int count) {
  FakeCards fake = cards(count, 1);
  fake.island = 1;
  return fake;
}

std::string failureOf(GoldenRun &run, int begin, int tokens) {
  try {
    run.run(begin, tokens);
    return "";
  } catch (const std::runtime_error &error) {
    return error.what();
  }
}

} // namespace

TEST_CASE("a run that NCCL fails in ends, and with it the engine", "[golden]") {
  FakeGpu gpu(apart(2));
  auto [call, text] = GENERATE(
      std::pair("ncclGroupEnd", "step 's2' (fused): ncclGroupEnd says"),
      std::pair("ncclSend", "a collective: ncclSend says"),
      std::pair("ncclRecv", "a collective: ncclRecv says"),
      std::pair("NCCL's network", "step 's2' (fused): NCCL says"),
      std::pair("cuEventQuery", "step 's2' (fused): cuEventQuery says"));
  {
    GoldenRun run("cuda", "v1.0/phi3-tp2", "phi3");
    run.run(0, 2);
    gpu.failOn(call, 2);
    CHECK_THAT(failureOf(run, 2, 1), Contains(text));
    // Its communicators were ended: it says so, and computes nothing on them.
    gpu.failOn(call, 0);
    CHECK(gpu.live().at("communicator") == 0);
    run.setPast(2);
    CHECK_THAT(failureOf(run, 2, 1),
               Contains("an earlier run failed while NCCL was at work"));
  }
  CHECK(gpu.liveCount() == 0);
  // No group of calls was left open: another engine's are its own.
  GoldenRun next("cuda", "v1.0/phi3-tp2", "phi3");
  next.run(0, 2);
  CHECK(error(next.logits(), next.recorded("logits", 0, 2)) < 5e-6);
}

TEST_CASE("a run that fails without NCCL's doing leaves it as it was",
          "[golden]") {
  FakeGpu gpu(apart(2));
  GoldenRun run("cuda", "v1.0/phi3-tp2", "phi3");
  run.run(0, 2);
  std::int64_t outside = 1 << 20, position = 2;
  run.check(layline_input_bind(run.get(), "input_ids", &outside, 1));
  run.check(layline_input_bind(run.get(), "positions", &position, 1));
  CHECK(layline_run(run.get(), 1) == LAYLINE_RUN_FAILURE);
  CHECK_THAT(layline_engine_error(run.get()),
             Contains("is outside the vocabulary"));
  run.setPast(2);
  run.run(2, 1);
  CHECK(error(run.logits(), run.recorded("logits", 2, 1)) < 5e-6);
}

TEST_CASE("communicators end in order where they can", "[golden]") {
  FakeGpu gpu(apart(2));
  auto [call, result, isAborted] = GENERATE(
      std::tuple("nothing", 0, false), std::tuple("ncclCommFinalize", 2, true),
      std::tuple("NCCL's network", 6, true));
  {
    GoldenRun run("cuda", "v1.0/phi3-tp2", "phi3");
    run.run(0, 2);
    gpu.failOn(call, result);
  }
  CHECK(gpu.callsOf("ncclCommAbort") == (isAborted ? 2 : 0));
  CHECK(gpu.callsOf("ncclCommDestroy") == (isAborted ? 0 : 2));
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("cards are told apart as nvidia-smi does") {
  CardUuid uuid{};
  for (unsigned char i = 0; i < 16; ++i)
    uuid.bytes[i] = static_cast<unsigned char>(i * 17);
  CHECK(print(uuid) == "GPU-00112233-4455-6677-8899-aabbccddeeff");
  CardUuid other = uuid;
  CHECK(isSame(uuid, other));
  other.bytes[15] ^= 1;
  CHECK(!isSame(uuid, other));
}
