// Ranks of device 'cuda' in several processes, each with emulated cards of its
// own: NCCL is between them. Every process says what it computed or was told.
//
//   layline-cuda-ranks PLAN MODEL TRANSPORT TIMEOUT CARDS ISLAND MACHINES
//                      FAULT PROCESS
//
// PLAN: a folder under test/plans; MODEL: one under test/golden. CARDS: that a
// process sees, of which ISLAND reach one another (0: all). MACHINES: "one" for
// all processes, which then see the same cards, or "each". FAULT is what
// becomes of PROCESS: "none"; in its second run, when NCCL is to send: "kill"
// (SIGKILL to itself), "exit" (ends with status 0), "late" (sleeps a second),
// "hang" (sleeps until nobody waits any more); from that run on: "launch" (its
// driver launches nothing), "network" (NCCL says so), "group" (NCCL takes no
// calls); before any: "memory" (it has none), "join" (it is killed when NCCL is
// to connect it), "absent" (it sleeps there). Prints a line for each process:
// "process P: ranks A to B: STATUS: text", and exits 1 if it is not "ok".
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "transports/Hash.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <unistd.h>

using namespace layline::test;

namespace {

constexpr double kTolerance = 5e-6;

void sleepFor(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

struct Fault {
  std::string kind;
  double timeout;

  /// Before the engine is made.
  void begin(FakeGpu &gpu) const {
    constexpr const char *kJoin = "ncclCommInitRankConfig";
    if (kind == "memory")
      gpu.failOn("cuMemAlloc", kErrorOutOfMemory);
    if (kind == "join")
      gpu.atCall(kJoin, [] { std::raise(SIGKILL); });
    if (kind == "absent")
      gpu.atCall(kJoin, [this] { sleepFor(3 * timeout); });
  }
  /// Before its second run.
  void go(FakeGpu &gpu) const {
    constexpr Result kErrorLaunchFailed = 719;
    constexpr const char *kSend = "ncclSend";
    if (kind == "kill")
      gpu.atCall(kSend, [] { std::raise(SIGKILL); });
    if (kind == "exit")
      gpu.atCall(kSend, [] { std::_Exit(0); });
    if (kind == "late")
      gpu.atCall(kSend, [] { sleepFor(1); });
    if (kind == "hang")
      gpu.atCall(kSend, [this] { sleepFor(3 * timeout); });
    if (kind == "launch")
      gpu.failOn("cuLaunchKernelEx", kErrorLaunchFailed);
    if (kind == "network")
      gpu.failOn("NCCL's network", 2);
    if (kind == "group")
      gpu.failOn("ncclGroupEnd", 3);
  }
};

std::uint64_t bitsOf(const std::vector<double> &values, std::uint64_t hash) {
  return layline::runtime::hashOf(values.data(),
                                  values.size() * sizeof values[0], hash);
}

/// Three runs; "ok", or the first that is wrong.
std::string runAll(GoldenRun &run, FakeGpu &gpu, const Fault &fault) {
  std::uint64_t bits = 0;
  for (int begin : {0, 3, 4}) {
    int tokens = begin == 0 ? 3 : 1;
    if (begin == 3)
      fault.go(gpu);
    run.run(begin, tokens);
    std::vector<double> logits = run.logits();
    if (error(logits, run.recorded("logits", begin, tokens)) > kTolerance)
      return "failed: wrong logits";
    bits = bitsOf(logits, bits);
    for (const std::string &name : run.tapNames())
      bits = bitsOf(run.tap(name), bits);
  }
  std::int64_t caches = 0;
  run.check(layline_plan_count(run.get(), LAYLINE_PLAN_CACHES, &caches));
  for (std::int64_t c = 0; c < caches; ++c) {
    layline_cache_info info;
    run.check(layline_plan_cache(run.get(), c, &info));
    constexpr std::int64_t kRows = 5;
    std::int64_t count = kRows;
    for (int d = 0; d < info.row_shape.rank; ++d)
      count *= info.row_shape.dims[d];
    if (!info.is_integer)
      bits = bitsOf(run.cache(info.id, count), bits);
  }
  std::size_t waiting = 0, fused = 0;
  for (const SeenLaunch &launch : gpu.launches()) {
    waiting += waitsForRanks(launch.kernel);
    fused += isFused(launch.kernel) && waitsForRanks(launch.kernel);
  }
  char text[160];
  std::snprintf(text, sizeof text,
                "ok: bits %016llx, by NCCL %td, for processes %td, waited %zu, "
                "fused %zu",
                static_cast<unsigned long long>(bits),
                usesWith(run.uses(), ": nccl+"),
                usesWith(run.uses(), "its ranks are in several processes"),
                waiting, fused);
  return text;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 10) {
    std::fprintf(stderr,
                 "usage: %s PLAN MODEL TRANSPORT TIMEOUT CARDS ISLAND MACHINES "
                 "FAULT PROCESS\n",
                 argv[0]);
    return 2;
  }
  const char *number = std::getenv("OMPI_COMM_WORLD_RANK");
  const int process = number ? std::atoi(number) : 0;
  const std::string transport = argv[3];
  const bool isBad = process == std::atoi(argv[9]);
  const Fault fault{isBad ? argv[8] : "none", std::atof(argv[4])};
  FakeCards cards;
  cards.count = std::atoi(argv[5]);
  cards.island = std::atoi(argv[6]);
  cards.machine = std::string(argv[7]) == "each" ? process : 0;
  cards.emulator.seed = 1;
  FakeGpu gpu(cards);
  std::string said, ranks;
  {
    std::unique_ptr<GoldenRun> run;
    try {
      fault.begin(gpu);
      run = std::make_unique<GoldenRun>(
          "cuda", argv[1], argv[2], LAYLINE_PRECISION_F32, /*taps=*/true,
          nullptr, GoldenRun::More{transport, fault.timeout});
      std::int64_t first = 0, count = 0;
      run->check(layline_plan_local_ranks(run->get(), &first, &count));
      ranks = "ranks " + std::to_string(first) + " to " +
              std::to_string(first + count - 1);
      said = runAll(*run, gpu, fault);
    } catch (const std::exception &error) {
      // What a caller reads after a failure must not look like a result.
      layline_shape shape;
      bool hasOutput = run && layline_output_shape(run->get(), "logits",
                                                   &shape) == LAYLINE_OK;
      said = std::string(hasOutput ? "failed with an output: " : "failed: ") +
             error.what();
      // It stays so: nothing is computed on what is left of a group.
      if (run && process != std::atoi(argv[9]))
        try {
          run->setPast(0);
          run->run(0, 3);
          said += "; and ran again";
        } catch (const std::exception &) {
        }
    }
  }
  if (gpu.liveCount() != 0)
    said = "failed: something is left on the cards; " + said;
  if (!gpu.emulatorError().empty())
    said = "failed: " + gpu.emulatorError() + "; " + said;
  std::string line =
      "process " + std::to_string(process) + ": " + ranks + ": " + said + "\n";
  // One write: lines of processes do not mix.
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0)
    return 2;
  return said.compare(0, 2, "ok") == 0 ? 0 : 1;
}
