// Runs a few launches of the two-shot collective on every rank, between a
// producer and a consumer of its stream, with other numbers each time.
#ifndef LAYLINE_TEST_KERNELS_EMULATOR_TWOSHOTBENCH_H
#define LAYLINE_TEST_KERNELS_EMULATOR_TWOSHOTBENCH_H

#include "TwoShot.cuh"
#include "devices/simt/Machine.h"

#include <string>
#include <vector>

namespace layline::test {

struct TwoShotShape {
  int rows = 8, vectors = 40, launches = 3;
  unsigned blocks = 2, threads = 32;
  bool cooperative = true;
};

struct TwoShotResult {
  simt::Report report;
  std::uint64_t wrongNumbers = 0;
  std::vector<SpinFailure> spins; ///< by rank
  /// Whether anything of the run shows a fault.
  bool isCaught() const { return !report.ok() || wrongNumbers != 0; }
};

template <int P, Fault fault>
TwoShotResult runTwoShot(const simt::Options &options,
                         const TwoShotShape &shape = {}) {
  simt::Machine machine(P, options);
  std::size_t numbers =
      static_cast<std::size_t>(shape.rows) * shape.vectors * 4;
  std::size_t flagCount = std::size_t(2) * shape.blocks * P;
  auto input = machine.allocateSymmetric<float>(numbers, "input");
  auto output = machine.allocateSymmetric<float>(numbers, "output");
  auto flags = machine.allocateSymmetric<std::uint32_t>(flagCount, "flags");
  std::vector<SpinFailure *> spins;
  for (int rank = 0; rank < P; ++rank) {
    std::fill_n(flags[rank], flagCount, 0U);
    spins.push_back(machine.allocate<SpinFailure>(rank, 1, "spin failure"));
    *spins.back() = {};
  }
  std::vector<float *> sources, results; // by launch, then rank
  for (int launch = 0; launch < shape.launches; ++launch)
    for (int rank = 0; rank < P; ++rank) {
      sources.push_back(machine.allocate<float>(rank, numbers, "source"));
      results.push_back(machine.allocate<float>(rank, numbers, "result"));
      for (std::size_t i = 0; i < numbers; ++i)
        sources.back()[i] = static_cast<float>(
            i % 97 + static_cast<std::size_t>(rank * 1000 + launch * 7));
    }
  for (int launch = 0; launch < shape.launches; ++launch)
    for (int rank = 0; rank < P; ++rank) {
      auto at = static_cast<std::size_t>(launch * P + rank);
      const float *source = sources[at];
      float *result = results[at], *in = input[rank], *out = output[rank];
      auto vectors = static_cast<int>(numbers / 4);
      machine.launch(rank, {"producer", {1}, {32}},
                     [=] { copyVectors(source, in, vectors); });
      TwoShotArguments<P> arguments{};
      for (int peer = 0; peer < P; ++peer) {
        arguments.input[peer] = input[peer];
        arguments.output[peer] = output[peer];
        arguments.flags[peer] = flags[peer];
      }
      arguments.bound = {spins[rank], std::uint64_t(1) << 40,
                         static_cast<std::uint32_t>(rank)};
      arguments.rank = rank;
      arguments.rows = shape.rows;
      arguments.vectors = shape.vectors;
      arguments.epoch = static_cast<std::uint32_t>(launch) + 1;
      simt::Launch twoShotLaunch{"two_shot", {shape.blocks}, {shape.threads}};
      twoShotLaunch.cooperative = shape.cooperative;
      machine.launch(rank, twoShotLaunch,
                     [arguments] { twoShot<P, fault>(arguments); });
      machine.launch(rank, {"consumer", {1}, {32}},
                     [=] { copyVectors(out, result, vectors); });
    }
  TwoShotResult result;
  result.report = machine.run();
  for (int launch = 0; launch < shape.launches; ++launch)
    for (std::size_t i = 0; i < numbers; ++i) {
      float expected = 0;
      for (int rank = 0; rank < P; ++rank)
        expected += sources[static_cast<std::size_t>(launch * P + rank)][i];
      for (int rank = 0; rank < P; ++rank)
        result.wrongNumbers +=
            results[static_cast<std::size_t>(launch * P + rank)][i] != expected;
    }
  for (const SpinFailure *spin : spins)
    result.spins.push_back(*spin);
  return result;
}

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_EMULATOR_TWOSHOTBENCH_H
