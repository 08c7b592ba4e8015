// rope against float64 angles, alone and with a gather behind it.
#include "harness/Copy.cuh"
#include "harness/Counted.h"
#include "harness/RopeRows.h"
#include "harness/Rows.h"

#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

template <typename T, int P>
void run(const RopeCase &c, Mode mode, std::uint64_t seed) {
  INFO(c.variant.name() << ", " << c.tokens << " rows, heads of " << c.headWidth
                        << ", " << c.rotary << " rotated, " << nameOf(mode)
                        << ", seed " << seed);
  std::string error;
  const Kernel *kernel = findKernel(c.variant, error);
  INFO(error);
  REQUIRE(kernel);
  const RopeInputs<T> inputs =
      makeRopeInputs<T>(c, static_cast<std::uint32_t>(seed));
  const std::int64_t width = c.width();

  WorkspaceNeed need;
  need.ranks = P;
  need.maxBlocks = 2;
  Cluster cluster(P, optionsOf(mode, seed, 2), need);
  auto out = cluster.machine.template allocateSymmetric<T>(
      std::max<std::size_t>(inputs.rows.size(), 1), "rotated");
  std::vector<T *> read;
  for (int rank = 0; rank < P; ++rank) {
    RowBlock own = row_block(c.tokens, P, rank);
    auto part = [&](const auto &of, std::int64_t each) {
      return std::decay_t<decltype(of)>(of.begin() + own.begin * each,
                                        of.begin() +
                                            (own.begin + own.size) * each);
    };
    RopeParams<P> p{};
    p.peers = cluster.template peerFlags<P>(rank);
    p.rows = cluster.upload(rank, part(inputs.rows, width), "rows");
    p.positions = cluster.upload(rank, part(inputs.positions, 1), "positions");
    p.halfTurns = cluster.upload(rank, inputs.halfTurns, "half turns");
    p.attentionFactor = c.attentionFactor;
    p.tokens = c.tokens;
    p.heads = c.heads;
    p.headWidth = c.headWidth;
    p.rotary = c.rotary;
    for (int peer = 0; peer < P; ++peer)
      p.out[peer] = out[static_cast<std::size_t>(peer)];
    auto function =
        reinterpret_cast<void (*)(const RopeParams<P>)>(kernel->function);
    simt::Launch launch{"rope", {2}, {64}};
    launch.cooperative = P > 1;
    cluster.machine.launch(rank, launch, [=] { function(p); });
    // A reader on the same stream.
    T *to = cluster.machine.template allocate<T>(
        rank, std::max<std::size_t>(inputs.rows.size(), 1), "read");
    read.push_back(to);
    const T *from = out[static_cast<std::size_t>(rank)];
    std::int64_t bytes = c.tokens * width * std::int64_t(sizeof(T));
    cluster.machine.launch(rank, {"reader", {1}, {64}},
                           [=] { copy_words<T>(from, to, bytes); });
  }
  simt::Report report = cluster.machine.run();
  INFO(report.text);
  REQUIRE(report.ok());
  REQUIRE(report.races == 0);
  for (int rank = 0; rank < P; ++rank)
    REQUIRE(
        miscounted(cluster.machine.counters(rank, "rope"),
                   trafficOf(c.variant,
                             RopeRows{c.tokens, c.heads, c.headWidth, c.rotary},
                             {2, 64, P > 1}, rank),
                   1) == "");
  for (int rank = 0; rank < P; ++rank)
    REQUIRE(ropeOutsideOf(
                c, inputs,
                download(read[static_cast<std::size_t>(rank)],
                         static_cast<std::int64_t>(inputs.rows.size()))) == "");
}

template <typename T, int P> void runStyles(DType dtype) {
  for (RopeStyle style : {RopeStyle::Half, RopeStyle::Interleaved,
                          RopeStyle::InterleavedToHalf}) {
    // Whole heads, parts of them, and positions that floats do not hold.
    for (std::int64_t tokens : {0, 1, P - 1, P, P + 1, 33})
      run<T, P>({ropeOf(dtype, P, style, false), tokens, 3, 64, 64},
                Mode::Plain, 1);
    run<T, P>({ropeOf(dtype, P, style, false), 5, 2, 80, 32, 100000, 1.19F},
              Mode::Plain, 2);
  }
}

} // namespace

TEST_CASE("rope of own rows") {
  runStyles<bf16, 1>(DType::BF16);
  runStyles<f16, 1>(DType::F16);
  runStyles<float, 1>(DType::F32);
}

TEST_CASE("rope of heads whose pairs are no whole vectors") {
  // stablelm-3b: a quarter of 80.
  for (RopeStyle style : {RopeStyle::Half, RopeStyle::Interleaved,
                          RopeStyle::InterleavedToHalf}) {
    run<bf16, 1>({ropeOf(DType::BF16, 1, style, true), 5, 2, 80, 20},
                 Mode::Plain, 1);
    run<float, 1>({ropeOf(DType::F32, 1, style, true), 5, 2, 20, 6},
                  Mode::Plain, 1);
  }
}

TEST_CASE("rope and all_gather") {
  runStyles<bf16, 2>(DType::BF16);
  runStyles<bf16, 3>(DType::BF16);
  runStyles<float, 4>(DType::F32);
  runStyles<f16, 8>(DType::F16);
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
      run<bf16, 3>(
          {ropeOf(DType::BF16, 3, RopeStyle::Half, false), 5, 2, 64, 64}, mode,
          seed);
}
