// Faults that were reported for public kernels, one test each; docs/kernels.md
// maps them. Names begin with the report.
#include "fused/Check.h"
#include "kernels/Instances.cuh"

#include <limits>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

Variant oneShot(int ranks, NormKind norm, DType dtype = DType::BF16) {
  Variant variant;
  variant.family = Family::OneShot;
  variant.ranks = ranks;
  variant.norm = norm;
  variant.dtype = dtype;
  return variant;
}
Variant twoShot(int ranks, NormKind norm, DType dtype = DType::BF16) {
  Variant variant;
  variant.ranks = ranks;
  variant.input = Input::Owed;
  variant.output = Output::Everyone;
  variant.norm = norm;
  variant.dtype = dtype;
  return variant;
}

template <typename T>
RowResults<T> resultsOf(const RowCase &rowCase, const RowInputs<T> &inputs,
                        std::uint64_t seed = 1) {
  RowResults<T> got;
  simt::Report report = runCatalogue<T>(
      rowCase, inputs, optionsOf(Mode::Plain, seed, rowCase.shape.grid), got);
  INFO(report.text);
  REQUIRE(report.ok());
  return got;
}

/// Launches of one_shot and two-shot kernels in turn in one workspace, each
/// with the grid of its own size.
void runInTurn(Mode mode, std::uint64_t seed,
               const std::vector<std::pair<Variant, std::int64_t>> &launches) {
  constexpr int kRanks = 3;
  std::vector<SequenceStep<bf16>> steps;
  std::vector<RowResults<bf16>> want;
  WorkspaceNeed need;
  need.ranks = kRanks;
  need.maxBlocks = 4;
  for (const auto &launch : launches) {
    RowCase rowCase =
        caseOf(launch.first, problemOf(launch.first, launch.second, 64), 4);
    rowCase.problem.hasResidual = rowCase.problem.keepsResidual = false;
    rowCase.launches = 1;
    auto inputs = makeInputs<bf16>(
        rowCase, static_cast<std::uint32_t>(seed * 100 + steps.size()));
    want.push_back(expectOrdered(rowCase, inputs));
    std::string error;
    const Kernel *kernel = findKernel(launch.first, error);
    INFO(error);
    REQUIRE(kernel);
    if (rowCase.isOneShot())
      need.maxOneShotBytes =
          std::max(need.maxOneShotBytes, launch.second * 64 * 2);
    steps.push_back({rowCase, inputs, kernel->function});
  }
  INFO(nameOf(mode) << ", seed " << seed);
  Cluster cluster(kRanks, optionsOf(mode, seed, 4), need);
  std::vector<RowResults<bf16>> got;
  simt::Report report = runSequence<bf16, kRanks>(cluster, steps, got);
  INFO(report.text);
  REQUIRE(report.ok());
  REQUIRE(report.races == 0);
  for (std::size_t i = 0; i < got.size(); ++i)
    REQUIRE(differenceOf(got[i], want[i]) == "");
}

} // namespace

TEST_CASE("flashinfer 3053: payloads of -0.0 and NaN and subnormals arrive") {
  // As halves of a word and as whole ones.
  auto fill = [](auto &rows, auto bits) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      rows[i].bits = static_cast<std::uint16_t>(bits[i % 8]);
  };
  const unsigned patterns[] = {0x8000, 0x8000, 0x8001, 0x7fc1,
                               0x0001, 0x8000, 0x0000, 0x807f};
  for (auto norm : {NormKind::None, NormKind::Rms}) {
    RowCase rowCase = caseOf(oneShot(4, norm), {3, 64});
    auto inputs = makeInputs<bf16>(rowCase, 1);
    for (auto &launch : inputs.rows)
      for (auto &rows : launch)
        fill(rows, patterns);
    auto got = resultsOf(rowCase, inputs),
         want = expectOrdered(rowCase, inputs);
    // A sum of negative zeros is +0.0 here; as numbers they are equal.
    for (std::size_t i = 0; i < want.values[0][0].size(); ++i) {
      float a = to_float(got.values[0][0][i]),
            b = to_float(want.values[0][0][i]);
      REQUIRE((a == b || (std::isnan(a) && std::isnan(b))));
    }
    REQUIRE(disagreementOf(rowCase, got) == "");
  }
  RowCase wide = caseOf(oneShot(2, NormKind::None, DType::F32), {3, 64});
  auto inputs = makeInputs<float>(wide, 1);
  for (auto &launch : inputs.rows)
    for (auto &rows : launch)
      for (std::size_t i = 0; i < rows.size(); i += 2) {
        rows[i] = -0.0F;
        rows[i + 1] = device::float_of_bits(0x80000001U);
      }
  auto got = resultsOf(wide, inputs);
  REQUIRE(got.values[1][0][0] == 0.0F);
  REQUIRE(got.values[1][1][1] == device::float_of_bits(0x80000002U));
}

TEST_CASE("tokenspeed 351: one_shot and two-shot in turn keep their epochs") {
  Variant one = oneShot(3, NormKind::Rms), two = twoShot(3, NormKind::Rms);
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      runInTurn(mode, seed,
                {{one, 2}, {two, 9}, {one, 4}, {one, 1}, {two, 3}, {two, 12}});
}

TEST_CASE("flashinfer FIXME: sizes that change between one_shot launches") {
  // Also launches of no rows, which meet nobody.
  Variant one = oneShot(3, NormKind::None);
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 10; ++seed)
      runInTurn(mode, seed,
                {{one, 6}, {one, 1}, {one, 0}, {one, 0}, {one, 5}, {one, 6}});
}

TEST_CASE("TRT-LLM 4594: all_reduce without a norm behind it") {
  for (Mode mode : kModes)
    runInTurn(mode, 7,
              {{twoShot(3, NormKind::None), 5},
               {twoShot(3, NormKind::None), 2},
               {oneShot(3, NormKind::None), 3},
               {twoShot(3, NormKind::None), 7}});
}

TEST_CASE("TRT-LLM 16111: rows of less than a warp's vectors") {
  // 64 elements are 8 vectors: the block is a whole warp all the same.
  for (DType dtype : {DType::BF16, DType::F16, DType::F32})
    for (std::int64_t width : {8, 16, 64}) {
      Problem problem{5, width};
      REQUIRE(shapeOf(twoShot(4, NormKind::Rms, dtype), problem, 132).block ==
              32);
      check(caseOf(twoShot(4, NormKind::Rms, dtype), problem), Mode::Plain, 1);
      check(caseOf(oneShot(4, NormKind::Rms, dtype), problem), Mode::Plain, 1);
    }
}

TEST_CASE("Megatron: width 12288 and rows that ranks do not divide") {
  for (std::int64_t tokens : {1, 3, 5, 7})
    check(caseOf(twoShot(4, NormKind::Rms), {tokens, 12288}), Mode::Plain, 1);
}

TEST_CASE("vllm 51290: the same row gives the same bits in every batch") {
  // Row 0 alone, and first of 9; of a collective and of a mailbox.
  for (const Variant &variant :
       {twoShot(4, NormKind::Rms), oneShot(4, NormKind::Rms)}) {
    RowCase many = caseOf(variant, {9, 576}), one = caseOf(variant, {1, 576});
    many.launches = one.launches = 1;
    auto inputs = makeInputs<bf16>(many, 5);
    auto first = inputs;
    for (auto &rows : first.rows[0])
      rows.resize(576);
    first.residual.resize(576);
    auto of9 = resultsOf(many, inputs, 1), of1 = resultsOf(one, first, 2);
    for (std::size_t i = 0; i < 576; ++i)
      REQUIRE(of9.values[0][0][i].bits == of1.values[0][0][i].bits);
    REQUIRE(differenceOf(of9, resultsOf(many, inputs, 3)) == "");
  }
}

TEST_CASE("flashinfer 1223: sizes of mailboxes are counted in 64 bits") {
  WorkspaceNeed need;
  need.ranks = 8;
  need.maxBlocks = 132;
  need.maxOneShotBytes = std::int64_t(131072) * 8192 * 2;
  Workspace workspace;
  std::string error;
  REQUIRE(planWorkspace(need, workspace, error));
  REQUIRE(workspace.symmetricBytes >= 3 * 8 * need.maxOneShotBytes);
  need.maxOneShotBytes = std::numeric_limits<std::int64_t>::max() / 8;
  REQUIRE_FALSE(planWorkspace(need, workspace, error));
  REQUIRE(error.find("63 bits") != std::string::npos);
}

TEST_CASE("vllm 52023: a launch that its mailboxes are too small for") {
  // Made for a model of width 4096; a draft's rows are wider.
  WorkspaceNeed need;
  Variant variant = oneShot(4, NormKind::Rms);
  Problem model{16, 4096}, draft{16, 5120};
  auto shape = [&](const Problem &problem) {
    return shapeOf(variant, problem, 64);
  };
  addNeed(need, variant, model, shape(model));
  std::string error;
  REQUIRE(checkWorkspace(need, variant, model, shape(model), error));
  REQUIRE_FALSE(checkWorkspace(need, variant, draft, shape(draft), error));
  REQUIRE(error == "one_shot bf16 x4 rms: bytes of rows 163840, expected at "
                   "most the 131072 bytes of a mailbox of the workspace");
  Problem longer{64, 4096};
  REQUIRE_FALSE(checkWorkspace(need, variant, longer, shape(longer), error));
  REQUIRE(error.find("blocks 64, expected at most the 16") !=
          std::string::npos);
  addNeed(need, variant, draft, shape(draft));
  addNeed(need, variant, longer, shape(longer));
  for (const Problem &problem : {model, draft, longer})
    REQUIRE(checkWorkspace(need, variant, problem, shape(problem), error));
}

TEST_CASE("TRT-LLM 5698: no array of a workspace reaches into the next") {
  WorkspaceNeed need;
  need.ranks = 3;
  need.maxBlocks = 7;
  need.maxChunks = 5;
  need.maxOneShotBytes = 1000;
  Workspace w;
  std::string error;
  REQUIRE(planWorkspace(need, w, error));
  REQUIRE(w.flags + 2 * 7 * 3 * 4 <= w.readyFlags);
  REQUIRE(w.readyFlags + 7 * 3 * 4 <= w.chunkFlags);
  REQUIRE(w.chunkFlags + 5 * 4 <= w.boxes);
  REQUIRE(w.boxCapacity == 63); // 1000 bytes are no whole vectors
  REQUIRE(w.boxes + 3 * 3 * 63 * 16 <= w.symmetricBytes);
  REQUIRE(w.epochs + 7 * 4 <= w.readyEpochs);
  REQUIRE(w.uses + 5 * 4 <= w.state);
  REQUIRE(w.state + std::int64_t(sizeof(OneShotState)) <= w.error);
  REQUIRE(w.error + std::int64_t(sizeof(SpinError)) <= w.ownBytes);
}

TEST_CASE("llama-cpp 6: a wait that is in vain ends and says for whom") {
  // Rank 2 never launches.
  constexpr int kRanks = 3;
  RowCase rowCase = caseOf(twoShot(kRanks, NormKind::Rms), {7, 64}, 2);
  simt::Options options = optionsOf(Mode::Plain, 1, 2);
  options.expireSpins = true;
  Cluster cluster(kRanks, options, needOf(rowCase));
  cluster.spinLimit = 1000;
  std::string error;
  const Kernel *kernel = findKernel(rowCase.variant, error);
  REQUIRE(kernel);
  auto function =
      reinterpret_cast<void (*)(const RowParams<kRanks>)>(kernel->function);
  auto rows = cluster.machine.allocateSymmetric<bf16>(7 * 64, "rows");
  auto out = cluster.machine.allocateSymmetric<bf16>(7 * 64, "out");
  for (int rank = 0; rank < 2; ++rank)
    // The second launch finds the error and does not wait again.
    for (int launch = 0; launch < 2; ++launch) {
      RowParams<kRanks> p{};
      p.peers = cluster.peerFlags<kRanks>(rank);
      for (int peer = 0; peer < kRanks; ++peer) {
        p.addends[peer] = rows[static_cast<std::size_t>(peer)];
        p.out.values[peer] = out[static_cast<std::size_t>(peer)];
      }
      p.tokens = 7;
      p.width = 64;
      p.operands.innerScale = p.operands.scale = 1;
      cluster.machine.launch(rank, {"main", {2}, {32}}, [=] { function(p); });
    }
  simt::Report report = cluster.machine.run();
  INFO(report.text);
  REQUIRE(report.ok());
  for (int rank = 0; rank < 2; ++rank) {
    const SpinError &found = cluster.error(rank);
    REQUIRE(found.kind == static_cast<std::uint32_t>(FlagKind::Entry));
    REQUIRE(found.rank == static_cast<std::uint32_t>(rank));
    REQUIRE(found.block < 2);
    REQUIRE(found.flag == 2); // the peer that did not come
    REQUIRE(found.epoch == 1);
    REQUIRE(found.seen == 0);
    // Nothing was stored.
    REQUIRE(out[static_cast<std::size_t>(rank)][0].bits == 0xffff);
  }
}
