// What `make gpu-test` runs of the kernels, on emulated cards: a small choice,
// and that it fails where a kernel does something else than it is to. Its
// command line.
#include "CellWatchdog.h"
#include "FakeGpu.h"
#include "GpuTests.h"
#include "kernels/Broadcast.cuh"
#include "kernels/Experts.cuh"
#include "kernels/GatherRows.cuh"
#include "kernels/OneShot.cuh"
#include "kernels/PagedRows.cuh"
#include "kernels/Rope.cuh"
#include "kernels/RowCollective.cuh"
#include "kernels/local/Rows.cuh"

#include <catch2/catch.hpp>

#include <future>
#include <set>
#include <sstream>

using namespace layline;
using namespace layline::test;

namespace {

FakeCards matrixCards(int count) {
  FakeCards fake = cards(count);
  fake.multicast = count > 1;
  fake.emulator.expireSpins = true; // waits have an end
  return fake;
}

struct Ran {
  int status = 0;
  std::string out, error;
  bool says(const std::string &text) const {
    return out.find(text) != std::string::npos;
  }
};

Ran run(const std::vector<std::string> &arguments) {
  std::ostringstream out, error;
  GpuTestsOn on;
  on.isEmulated = true;
  Ran ran;
  ran.status = runGpuTests(arguments, on, out, error);
  ran.out = out.str();
  ran.error = error.str();
  return ran;
}

/// The same on new cards, which must not be left with anything.
Ran runOn(const FakeCards &fake, const std::vector<std::string> &arguments) {
  FakeGpu gpu(fake);
  Ran ran = run(arguments);
  CHECK(gpu.liveCount() == 0);
  return ran;
}

} // namespace

TEST_CASE("every kernel for cards, on one card", "[matrix]") {
  Ran ran = runOn(matrixCards(1), {});
  INFO(ran.out << ran.error);
  CHECK(ran.status == 0);
  CHECK(ran.error.empty());
  CHECK(ran.says(" 0 failed"));
  // All families, and each kernel of the list.
  std::size_t kernels = 0;
  for (const MatrixFamily &family : families()) {
    CAPTURE(family.name);
    CHECK(ran.says(std::string("\n") + family.name + " "));
    ++kernels;
  }
  CHECK(kernels == 13);
  CHECK(
      ran.says(": kernels by the switch need a card for each of their ranks"));
  MatrixScope scope;
  scope.isEmulated = true;
  std::string all;
  for (const MatrixFamily &family : families())
    for (const Cell &cell : family.cells(scope))
      all += cell.kernel + '\n';
  for (const kernels::FusedKernel &kernel : kernels::fusedKernels()) {
    CAPTURE(kernel.symbol);
    CHECK(all.find(kernel.symbol) != std::string::npos);
  }
}

TEST_CASE("every kernel for cards, on four cards with a switch", "[matrix]") {
  Ran ran = runOn(matrixCards(4), {});
  INFO(ran.out << ran.error);
  CHECK(ran.status == 0);
  CHECK(ran.says(" 0 failed"));
}

// ---- Planted faults
// ------------------------------------------------------------

namespace {

using namespace layline::kernels;

/// A kernel of one family that breaks one rule, in the place of a sound one.
struct Planted {
  std::string family, symbol, what;
  KernelBody body;
  /// What the matrix must say of it.
  std::string found;
  int cards = 1;
};

struct SumTwice : Sound {
  static int addend(int place, int, int ranks) {
    return place == ranks - 1 ? 0 : place;
  }
};
struct RowsOfTheFirst : Sound {
  static RowBlock own_rows(std::int64_t rows, std::int64_t ranks,
                           std::int64_t) {
    return row_block(rows, ranks, ranks - 1);
  }
};
struct NothingEmptied : Sound {
  static std::int64_t to_empty(std::uint64_t, std::int64_t) { return 0; }
};
struct NoEntry : Sound {
  static constexpr bool kEntryBarrier = false;
};
struct NoWaits : NoEntry {
  static constexpr bool kExitBarrier = false;
};

/// Calls `run` with a rank's parameters, of which it may change its copy.
template <typename Params, typename Run> KernelBody faulty(const Run &run) {
  return [run](Address parameters) {
    Params p = reinterpret_cast<const Params *>(parameters)[blockIdx.y];
    run(p);
  };
}

using Plain = Chain<NormKind::None, kernels::Function::None, ScaleKind::None>;
using Rms = Chain<NormKind::Rms, kernels::Function::None, ScaleKind::None>;
using Layer = Chain<NormKind::Layer, kernels::Function::None, ScaleKind::None>;
using PlainRowFP8 =
    Chain<NormKind::None, kernels::Function::None, ScaleKind::Row>;
constexpr int kVectors = vectorsPerThread(DType::BF16);

template <int P, Input kInput, Output kOutput, typename Work, typename Protocol>
KernelBody faultyRows() {
  return faulty<RowParams<P>>([](RowParams<P> &p) {
    run_row_collective<bf16, P, kInput, kOutput, Work, kVectors, Protocol>(p);
  });
}

std::vector<Planted> plantedFaults() {
  std::vector<Planted> all;
  all.push_back({"row_chain",
                 "layline_fused_rows_BF16_x1_Own_Own_Rms_None_None",
                 "the mean is taken off",
                 faultyRows<1, Input::Own, Output::Own, Layer, Sound>(),
                 "values of launch 0 on rank 0, row 0, element 0: found "});
  all.push_back({"local", "layline_norm", "of squares about the mean",
                 faulty<local::NormParams>([](local::NormParams &p) {
                   p.isRms = !p.isRms;
                   local::norm(p);
                 }),
                 "of the ranks in the launch number 0, values of launch 0"});
  all.push_back(
      {"rope", "layline_fused_rope_BF16_x1_Own_Half_by8",
       "other pairs are turned", faulty<RopeParams<1>>([](RopeParams<1> &p) {
         run_rope<bf16, 1, RopeStyle::Interleaved, Output::Own, 8, Sound>(p);
       }),
       "launch 0 on rank 0, row 0, head 0, feature "});
  all.push_back({"experts", "layline_fused_merge_experts_BF16",
                 "the sum is not scaled",
                 faulty<ExpertParams>([](ExpertParams &p) {
                   p.scale = 1;
                   run_merge_experts<bf16, Sound>(p);
                 }),
                 "launch 0 on rank 0, merged rows, element 0: found "});
  all.push_back({"gather_rows", "layline_fused_gather_rows_x3_by_vector",
                 "all ranks write to the last one's place",
                 faulty<GatherParams<3>>([](GatherParams<3> &p) {
                   run_gather_rows<3, Output::Everyone, false, RowsOfTheFirst>(
                       p);
                 }),
                 "launch 0 on rank 0, element 0: found 255, expected 0"});
  all.push_back(
      {"collective", "layline_fused_rows_BF16_x3_Owed_Everyone_None_None_None",
       "the first addend is summed in place of the last",
       faultyRows<3, Input::Owed, Output::Everyone, Plain, SumTwice>(),
       "values of launch 0 on rank 0, row 0, element 0: found "});
  all.push_back({"fused_rows",
                 "layline_fused_rows_BF16_x2_Owed_Everyone_Rms_None_None",
                 "peers' rows are read before they are there",
                 faultyRows<2, Input::Owed, Output::Everyone, Rms, NoEntry>(),
                 "values of launch ", 2});
  all.push_back({"one_shot", "layline_fused_one_shot_BF16_x2_None_None",
                 "mailboxes are not emptied",
                 faulty<OneShotParams<2>>([](OneShotParams<2> &p) {
                   run_one_shot<bf16, 2, Plain, kVectors, NothingEmptied>(p);
                 }),
                 "ranks disagree: values of launch 3 on rank 1"});
  all.push_back({"quantize", "layline_fused_rows_BF16_x1_Own_Own_None_None_Row",
                 "scales are twice as large",
                 faulty<RowParams<1>>([](RowParams<1> &p) {
                   p.operands.scale = 2;
                   run_row_collective<bf16, 1, Input::Own, Output::Own,
                                      PlainRowFP8, kVectors, Sound>(p);
                 }),
                 "values of launch 0 on rank 0, row 0, element 0: found "});
  all.push_back(
      {"multimem",
       "layline_fused_rows_BF16_x4_Own_EveryoneMulticast_None_None_None",
       "all ranks write to the last one's place",
       faultyRows<4, Input::Own, Output::EveryoneMulticast, Plain,
                  RowsOfTheFirst>(),
       "values of launch 0 on rank 0, row 0, element 0: found ", 4});
  all.push_back({"broadcast", "layline_fused_broadcast_x3",
                 "the last vector is not sent",
                 faulty<BroadcastParams<3>>([](BroadcastParams<3> &p) {
                   p.bytes -= p.bytes > 0 ? 16 : 0;
                   run_broadcast<3, Sound>(p);
                 }),
                 "launch 0 on rank 0, element 156: found "});
  all.push_back({"pages", "layline_fused_pages_Scatter",
                 "all planes go into the first one's pages",
                 faulty<PagedRowsParams>([](PagedRowsParams &p) {
                   run_paged_rows<PagedCopy::Scatter, Sound>(p, 0);
                 }),
                 "launch 0 on rank 0, plane 1, pages by byte, element "});
  all.push_back({"waits", "layline_fused_gather_rows_x2_by_vector",
                 "peers are not waited for",
                 faulty<GatherParams<2>>([](GatherParams<2> &p) {
                   run_gather_rows<2, Output::Everyone, false, NoWaits>(p);
                 }),
                 "found '', expected 'rank 0, block 0 waited 0.2 s for the "
                 "entry flag of peer 1 to come to epoch 1, found 0'"});
  return all;
}

} // namespace

TEST_CASE("the matrix finds a fault of each family", "[matrix]") {
  std::set<std::string> met;
  for (const Planted &planted : plantedFaults()) {
    CAPTURE(planted.family, planted.what);
    met.insert(planted.family);
    std::vector<std::string> arguments = {"--filter", planted.symbol};
    FakeCards fake = matrixCards(planted.cards);
    // Threads in an order that is not always the same.
    fake.emulator.seed = 7;
    fake.emulator.yieldPercent = 20;
    Ran sound = runOn(fake, arguments);
    INFO(sound.out << sound.error);
    CHECK(sound.status == 0);
    fake.replaced[planted.symbol] = planted.body;
    Ran broken = runOn(fake, arguments);
    INFO(broken.out << broken.error);
    CHECK(broken.status == 1);
    CHECK(broken.says("\n  " + planted.family));
    CHECK(broken.says("\n    " + planted.found));
  }
  CHECK(met.size() == families().size());
}

TEST_CASE("a rank that does not come ends the others, and is told",
          "[matrix]") {
  const std::string symbol =
      "layline_fused_rows_BF16_x3_Owed_Everyone_Rms_None_None";
  FakeCards fake = matrixCards(1);
  KernelBody sound = emulatedKernels().at(symbol);
  fake.replaced[symbol] = [sound](Address parameters) {
    if (blockIdx.y != 1)
      sound(parameters);
  };
  Ran ran = runOn(fake, {"--filter", symbol, "--timeout", "3"});
  INFO(ran.out << ran.error);
  CHECK(ran.status == 1);
  CHECK(ran.says("3 ranks on 1 card, 4 rows of 64\n    rank 0, block 0 waited "
                 "3 s for the entry flag of peer 1 to come to epoch 1, found "
                 "0\n"));
}

TEST_CASE("a cell that does not end is told", "[matrix]") {
  std::promise<std::string> told;
  CellWatchdog watchdog(std::chrono::milliseconds(1),
                        [&](const std::string &cell) { told.set_value(cell); });
  watchdog.begin("", 0);
  watchdog.begin("the cell before it", 1000000000000000);
  watchdog.begin("the cell", 1000);
  CHECK(told.get_future().get() == "the cell");
}

TEST_CASE("after a kernel that the card refuses nothing more is run",
          "[matrix]") {
  const std::string symbol =
      "layline_fused_rows_BF16_x2_Own_Everyone_None_None_None";
  FakeCards fake = matrixCards(1);
  fake.replaced[symbol] = [](Address) {
    device::ld(reinterpret_cast<const float *>(16));
  };
  Ran ran = runOn(fake, {"--filter", "layline_fused_rows_BF16_x2_Own"});
  INFO(ran.out << ran.error);
  CHECK(ran.status == 1);
  CHECK(ran.says("1 cells, 0 passed, 1 failed, 0 skipped; the rest was not "
                 "run: a card no longer answers\n"));
}

TEST_CASE("the command line of gpu-test", "[matrix]") {
  for (const char *option : {"--help", "-h"}) {
    Ran ran = run({option});
    CHECK(ran.status == 0);
    CHECK(ran.says("usage: layline-gpu-tests [OPTIONS]"));
  }
  // Without a card.
  Ran list = run({"--list"});
  CHECK(list.status == 0);
  for (const MatrixFamily &family : families())
    CHECK(list.out.find(std::string(family.name) + ": " + family.what) !=
          std::string::npos);
  CHECK(list.says("\n  layline_fused_broadcast_x8, "));
  CHECK(list.says("\ngolden: "));
  Ran part = run({"--list", "--filter", "broadcast_x3"});
  CHECK(part.out == "broadcast: from one rank, chunk by chunk; kernels: 1, "
                    "cells: 1\n  layline_fused_broadcast_x3, 1\n");
  auto refused = [](const std::vector<std::string> &arguments,
                    const std::string &message) {
    Ran ran = run(arguments);
    CAPTURE(message);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK(ran.error == "gpu-test: " + message + "\n");
  };
  refused({"--fast"}, "--fast: no such option; --help lists them");
  refused({"rope"}, "rope: no such option; --help lists them");
  refused({"--filter"},
          "--filter: found nothing behind it, expected a part of a name");
  refused({"--filter", "ropes"},
          "--filter: found 'ropes', expected a part of a family's or a "
          "kernel's name; --list has them");
  for (const char *option : {"--cards", "--timeout"})
    for (const char *value : {"0", "-1", "2s", "x"})
      refused({option, value}, std::string(option) + ": found '" + value +
                                   "', expected a whole number from 1 on");
}
