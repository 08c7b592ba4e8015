// What the catalogue says of kernels, held against what they do.
#include "kernels/FusedKernels.h"
#include "kernels/Traffic.h"
#include "layline/Cost/WireBytes.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

using namespace layline;
using namespace layline::kernels;

TEST_CASE("bytes that cross the wire are the planner's") {
  // The planner counts what a rank sends; a kernel that pulls, what a rank
  // fetches. Over all ranks they are the same bytes.
  auto ofAll = [](Variant variant, const Problem &problem,
                  std::int64_t Traffic::*what) {
    std::int64_t bytes = 0;
    LaunchShape shape = shapeOf(variant, problem, 64);
    for (int rank = 0; rank < variant.ranks; ++rank)
      bytes += trafficOf(variant, problem, shape, rank).*what;
    return bytes;
  };
  for (int ranks : {2, 3, 4, 8})
    for (std::int64_t tokens : {0, 1, ranks + 1, 64, 1001}) {
      Problem problem{tokens, 7168};
      std::int64_t rowBytes = 7168 * 2, total = tokens * rowBytes;
      auto planned = [&](WireCollective collective, bool bySwitch) {
        std::int64_t bytes = 0;
        for (int rank = 0; rank < ranks; ++rank) {
          WireBytes wire = getWireBytes(
              collective, total, row_block(tokens, ranks, rank).size * rowBytes,
              ranks);
          bytes += (bySwitch ? wire.viaSwitch : wire.ring).constant();
        }
        return bytes;
      };
      Variant scatter, gather;
      scatter.ranks = gather.ranks = ranks;
      scatter.input = Input::Owed;
      gather.output = Output::Everyone;
      std::int64_t pulled = ofAll(scatter, problem, &Traffic::peerRead),
                   pushed = ofAll(gather, problem, &Traffic::peerWrite);
      REQUIRE(pulled == planned(WireCollective::ReduceScatter, false));
      REQUIRE(pushed == planned(WireCollective::AllGather, false));
      Variant both = scatter;
      both.output = Output::Everyone;
      REQUIRE(ofAll(both, problem, &Traffic::peerRead) +
                  ofAll(both, problem, &Traffic::peerWrite) ==
              planned(WireCollective::AllReduce, false));
      // The switch fetches every rank's addends of what one rank asks for.
      scatter.input = Input::OwedMulticast;
      gather.output = Output::EveryoneMulticast;
      REQUIRE(ofAll(scatter, problem, &Traffic::multicastRead) * ranks ==
              planned(WireCollective::ReduceScatter, true));
      REQUIRE(ofAll(gather, problem, &Traffic::multicastWrite) ==
              planned(WireCollective::AllGather, true));
      // A mailbox on every peer: the all_gather of as many parts of all rows.
      Variant one;
      one.family = Family::OneShot;
      one.ranks = ranks;
      REQUIRE(ofAll(one, problem, &Traffic::peerWrite) ==
              ranks * (ranks - 1) * total);
    }
}

TEST_CASE("bytes of row-wise work are the planner's") {
  // FormProgram.cpp, getTraffic: all row operands and results of a step once,
  // and vectors once, whatever the rows.
  for (std::int64_t tokens : {0, 1, 64, 1001}) {
    Variant variant;
    variant.norm = NormKind::Layer;
    Problem problem{tokens, 7168};
    problem.hasBias = problem.hasNormBias = true;
    problem.hasResidual = problem.keepsResidual = problem.hasGate = true;
    std::int64_t row = 7168 * 2, vectors = tokens ? 3 * row : 0;
    Traffic traffic =
        trafficOf(variant, problem, shapeOf(variant, problem, 64), 0);
    REQUIRE(traffic.localRead - rereadBytes(variant, problem, tokens) ==
            tokens * 3 * row + vectors);             // rows, residual, gate
    REQUIRE(traffic.localWrite == tokens * 2 * row); // values, residual
    // Activations, and a quantize whose scales are the payload's.
    Variant silu;
    silu.function = Function::Silu;
    Problem plain{tokens, 7168};
    traffic = trafficOf(silu, plain, shapeOf(silu, plain, 64), 0);
    REQUIRE(traffic.localRead == tokens * row);
    REQUIRE(traffic.localWrite == tokens * row);
    Variant quantized;
    quantized.scales = ScaleKind::Group;
    plain.groupSize = 128;
    plain.wantsValues = false;
    traffic = trafficOf(quantized, plain, shapeOf(quantized, plain, 64), 0);
    REQUIRE(traffic.localRead == tokens * row);
    REQUIRE(traffic.localWrite == tokens * (7168 + 7168 / 128 * 4));
  }
}

TEST_CASE("kernels of the catalogue are different ones") {
  std::set<std::string> names;
  for (const Kernel &kernel : getKernels())
    REQUIRE(names.insert(kernel.variant.name()).second);
  std::string error;
  Variant unknown;
  unknown.ranks = 5;
  unknown.input = Input::Owed;
  REQUIRE_FALSE(findKernel(unknown, error));
  REQUIRE(error.find("no kernel is row_collective bf16 x5 owed->own") == 0);
}

TEST_CASE("kernels of cards are kernels of the catalogue by other names") {
  std::set<std::string> symbols;
  std::string error;
  for (const FusedKernel &kernel : fusedKernels()) {
    INFO(kernel.symbol);
    REQUIRE(symbols.insert(kernel.symbol).second);
    // The first of equal ones is found, so that there are none.
    REQUIRE(findFusedKernel(kernel.variant, error) == &kernel);
    REQUIRE(findKernel(kernel.variant, error));
    REQUIRE(kernel.variant.dtype != DType::F16);
  }
  CHECK(symbols.size() > 90);
  // What there is none of is said so.
  Variant variant;
  variant.dtype = DType::F16;
  variant.ranks = 4;
  variant.input = Input::Owed;
  REQUIRE(findKernel(variant, error));
  REQUIRE_FALSE(findFusedKernel(variant, error));
  REQUIRE(error == "row_collective f16 x4 owed->own is not compiled for cards");
}

TEST_CASE("rows that a kernel does not take are refused") {
  Variant variant;
  variant.scales = ScaleKind::Group;
  std::string error;
  auto refuse = [&](Problem problem, const std::string &what) {
    REQUIRE_FALSE(checkProblem(variant, problem, error));
    INFO(error);
    REQUIRE(error.find(what) != std::string::npos);
  };
  Problem problem;
  problem.tokens = 3;
  problem.width = 20;
  refuse(problem, "width 20, expected a multiple of 8");
  problem.width = 16392;
  refuse(problem, "width 16392, expected at most 16384");
  problem.width = 96;
  problem.groupSize = 24;
  refuse(problem, "group size 24, expected 8 times a power of two");
  problem.groupSize = 512;
  refuse(problem, "group size 512, expected 8 times a power of two, at most");
  problem.groupSize = 64;
  refuse(problem, "width 96, expected whole groups of 64");
  problem.groupSize = 32;
  REQUIRE(checkProblem(variant, problem, error));
  problem.tokens = -1;
  refuse(problem, "tokens -1");
  problem.tokens = std::int64_t(1) << 60;
  refuse(problem, "63 bits");
}

TEST_CASE("grids are equal on all ranks and no larger than what is resident") {
  Variant variant;
  variant.ranks = 8;
  variant.input = Input::Owed;
  for (std::int64_t tokens : {0, 1, 7, 8, 9, 1000}) {
    Problem problem{tokens, 7168};
    LaunchShape shape = shapeOf(variant, problem, 100);
    REQUIRE(shape.grid ==
            std::max<std::int64_t>(
                1, std::min<std::int64_t>((tokens + 7) / 8, 100)));
    REQUIRE(shape.block == 512);
    REQUIRE(shape.cooperative);
  }
}

TEST_CASE("what ranks must agree on is in the digest") {
  Variant variant;
  variant.ranks = 4;
  variant.input = Input::Owed;
  const Problem problem{5, 64};
  const LaunchShape shape = shapeOf(variant, problem, 8);
  std::set<std::uint64_t> digests{digestOf(variant, problem, shape)};
  REQUIRE(digests.count(digestOf(variant, problem, shape)));
  auto differs = [&](const Variant &v, const Problem &p, const LaunchShape &s) {
    REQUIRE(digests.insert(digestOf(v, p, s)).second);
  };
  Variant normed = variant;
  normed.norm = NormKind::Rms;
  differs(normed, problem, shape);
  Problem more = problem, wide = problem, kept = problem;
  more.tokens = 6;
  wide.width = 72;
  kept.keepsResidual = true;
  differs(variant, more, shape);
  differs(variant, wide, shape);
  differs(variant, kept, shape);
  LaunchShape grid = shape, block = shape;
  ++grid.grid;
  block.block += 32;
  differs(variant, problem, grid);
  differs(variant, problem, block);
}
