// One rank goes wrong in the middle of a run; every process says what it was
// told.
//
//   layline-rank-faults PLAN WEIGHTS TRANSPORT TIMEOUT FAULT RANK
//
// FAULT is what RANK does in its tenth matrix product: "none", "kill" (SIGKILL
// to itself), "exit" (ends with status 0), "fail" (its callback fails), "late"
// (sleeps a second), "hang" (sleeps until nobody waits any more); or "memory":
// it has none for its activations. Prints a line for each process: "rank R:
// STATUS: text", and exits 1 if it is not "ok".
#include "layline/hooks.h"
#include "layline/runtime.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

struct Fault {
  std::string kind;
  long rank = 0;
  double timeout = 0;
  std::atomic<int> calls{0};
};

void *allocate(void *user, size_t bytes, size_t alignment, int64_t rank,
               layline_memory what) {
  const auto &fault = *static_cast<Fault *>(user);
  if (fault.kind == "memory" && rank == fault.rank &&
      what == LAYLINE_MEMORY_ARENA)
    return nullptr;
  return std::aligned_alloc(alignment,
                            (bytes + alignment - 1) / alignment * alignment);
}

void release(void *, void *memory, size_t, int64_t, layline_memory) {
  std::free(memory);
}

layline_status multiply(void *user, const layline_gemm_call *gemm) {
  auto &fault = *static_cast<Fault *>(user);
  if (gemm->call->rank != fault.rank || ++fault.calls != 10)
    return LAYLINE_DECLINED;
  if (fault.kind == "kill")
    std::raise(SIGKILL);
  if (fault.kind == "exit")
    std::_Exit(0);
  if (fault.kind == "late")
    std::this_thread::sleep_for(std::chrono::seconds(1));
  if (fault.kind == "hang")
    std::this_thread::sleep_for(
        std::chrono::duration<double>(3 * fault.timeout));
  if (fault.kind != "fail")
    return LAYLINE_DECLINED;
  std::snprintf(gemm->call->message, gemm->call->message_bytes,
                "the card is lost");
  return LAYLINE_RUN_FAILURE;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 7) {
    std::fprintf(stderr,
                 "usage: %s PLAN WEIGHTS TRANSPORT TIMEOUT FAULT RANK\n",
                 argv[0]);
    return 2;
  }
  Fault fault;
  fault.kind = argv[5];
  fault.rank = std::atol(argv[6]);
  fault.timeout = std::atof(argv[4]);
  layline_options options;
  layline_options_init(&options);
  options.transport = argv[3];
  options.timeout = fault.timeout;
  layline_engine *engine = nullptr;
  if (layline_engine_create(&options, &engine) != LAYLINE_OK) {
    std::fprintf(stderr, "%s\n", layline_engine_create_error());
    return 2;
  }
  constexpr int64_t kTokens = 16;
  std::vector<int64_t> ids(kTokens), positions(kTokens);
  for (int64_t i = 0; i < kTokens; ++i)
    ids[i] = positions[i] = i;
  int64_t rank = 0, ranks = 0;
  layline_allocator allocator = {sizeof(layline_allocator), &fault, allocate,
                                 release};
  layline_status status = layline_allocator_set(engine, &allocator);
  std::string text = layline_engine_error(engine);
  auto then = [&](auto &&call) {
    if (status != LAYLINE_OK)
      return;
    status = call();
    text = layline_engine_error(engine);
  };
  then([&] { return layline_plan_load(engine, argv[1]); });
  then([&] { return layline_plan_local_ranks(engine, &rank, &ranks); });
  then([&] { return layline_weights_load(engine, argv[2]); });
  then([&] { return layline_gemm_set(engine, multiply, &fault); });
  then([&] {
    return layline_input_bind(engine, "input_ids", ids.data(), kTokens);
  });
  then([&] {
    return layline_input_bind(engine, "positions", positions.data(), kTokens);
  });
  then([&] { return layline_run(engine, kTokens); });
  // What a caller reads after a failure must not look like a result.
  layline_shape shape;
  bool hasOutput = layline_output_shape(engine, "logits", &shape) == LAYLINE_OK;
  std::string line = "rank " + std::to_string(rank) + ": " +
                     layline_status_name(status) +
                     (hasOutput ? " with an output" : " without an output") +
                     ": " + text + "\n";
  // One write: lines of processes do not mix.
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0)
    return 2;
  layline_engine_destroy(engine);
  return status == LAYLINE_OK ? 0 : 1;
}
