// All ranks of a group as blocks of one cooperative launch on one card, as a
// single GPU can run them.
#include "harness/Rows.h"
#include "kernels/Instances.cuh"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::kernels;
using namespace layline::kernels::test;

namespace {

constexpr int kRanks = 3;

/// Memory of one card with a part for each rank.
struct Card {
  simt::Machine machine;
  explicit Card(const simt::Options &options) : machine(1, options) {}

  template <typename E>
  E *room(std::int64_t count, const char *name, unsigned char byte = 0xff) {
    E *memory = machine.allocate<E>(
        0, static_cast<std::size_t>(std::max<std::int64_t>(count, 16)), name);
    std::memset(static_cast<void *>(memory), byte,
                static_cast<std::size_t>(count) * sizeof(E));
    return memory;
  }
  template <typename E> E *upload(const std::vector<E> &values) {
    E *to = room<E>(static_cast<std::int64_t>(values.size()), "input");
    std::copy(values.begin(), values.end(), to);
    return to;
  }
};

RowCase caseOfFamily(Family family) {
  Variant variant;
  variant.family = family;
  variant.ranks = kRanks;
  variant.norm = NormKind::Rms;
  if (family == Family::RowCollective) {
    variant.input = Input::Owed;
    variant.output = Output::Everyone;
  }
  Problem problem;
  problem.tokens = 7;
  problem.width = 64;
  RowCase rowCase = caseOf(variant, problem, 2);
  rowCase.launches = 1;
  return rowCase;
}

RowOperands operandsOf(const RowCase &rowCase, const bf16 *weight) {
  RowOperands o{};
  o.weight = weight;
  o.innerScale = o.scale = 1;
  o.eps = rowCase.eps;
  return o;
}

void check(Card &card, const RowCase &rowCase, const RowInputs<bf16> &inputs,
           const std::vector<bf16 *> &values) {
  simt::Report report = card.machine.run();
  INFO(report.text);
  REQUIRE(report.ok());
  REQUIRE(report.races == 0);
  auto want = expectOrdered(rowCase, inputs);
  for (int rank = 0; rank < kRanks; ++rank)
    for (std::size_t i = 0; i < want.values[0][0].size(); ++i)
      REQUIRE(values[static_cast<std::size_t>(rank)][i].bits ==
              want.values[0][0][i].bits);
}

void runRowCollective(Mode mode, std::uint64_t seed) {
  RowCase rowCase = caseOfFamily(Family::RowCollective);
  auto inputs = makeInputs<bf16>(rowCase, static_cast<std::uint32_t>(seed));
  unsigned grid = rowCase.shape.grid;
  Card card(optionsOf(mode, seed, grid * kRanks));
  std::vector<bf16 *> values;
  std::vector<std::uint32_t *> flags;
  std::vector<const bf16 *> addends;
  for (int rank = 0; rank < kRanks; ++rank) {
    values.push_back(card.room<bf16>(7 * 64, "values"));
    flags.push_back(card.room<std::uint32_t>(2 * grid * kRanks, "flags", 0));
    addends.push_back(
        card.upload(inputs.rows[0][static_cast<std::size_t>(rank)]));
  }
  std::vector<RowParams<kRanks>> all;
  for (int rank = 0; rank < kRanks; ++rank) {
    RowParams<kRanks> p{};
    p.peers.epochs = card.room<std::uint32_t>(grid, "epochs", 0);
    p.peers.maxBlocks = grid;
    p.peers.rank = static_cast<std::uint32_t>(rank);
    p.peers.watch.error = card.room<SpinError>(1, "error", 0);
    for (std::size_t peer = 0; peer < kRanks; ++peer) {
      p.peers.flags[peer] = flags[peer];
      p.addends[peer] = addends[peer];
      p.out.values[peer] = values[peer];
    }
    p.tokens = rowCase.problem.tokens;
    p.width = 64;
    p.operands = operandsOf(rowCase, card.upload(inputs.weight));
    all.push_back(p);
  }
  simt::Launch launch{"virtual", {grid, kRanks}, {32}};
  launch.cooperative = true;
  const RowParams<kRanks> *of = all.data();
  card.machine.launch(0, launch, [=] {
    virtual_row_collective<bf16, kRanks, Input::Owed, Output::Everyone, Rms,
                           kMaxThreads, kVectorsPerThread<bf16>>(of);
  });
  check(card, rowCase, inputs, values);
}

void runOneShot(Mode mode, std::uint64_t seed) {
  RowCase rowCase = caseOfFamily(Family::OneShot);
  auto inputs = makeInputs<bf16>(rowCase, static_cast<std::uint32_t>(seed));
  unsigned grid = rowCase.shape.grid;
  Card card(optionsOf(mode, seed, grid * kRanks));
  constexpr std::int64_t kCapacity = 7 * 64 / 8;
  std::vector<bf16 *> values;
  std::vector<std::uint32_t *> boxes;
  for (int rank = 0; rank < kRanks; ++rank) {
    values.push_back(card.room<bf16>(7 * 64, "values"));
    boxes.push_back(
        card.room<std::uint32_t>(3 * kRanks * kCapacity * 4, "boxes"));
    std::fill_n(boxes.back(), 3 * kRanks * kCapacity * 4, kPoison16);
  }
  std::vector<OneShotParams<kRanks>> all;
  for (int rank = 0; rank < kRanks; ++rank) {
    OneShotParams<kRanks> p{};
    for (std::size_t peer = 0; peer < kRanks; ++peer)
      p.boxes[peer] = boxes[peer];
    p.capacity = kCapacity;
    p.state = card.room<OneShotState>(1, "state", 0);
    p.rank = static_cast<std::uint32_t>(rank);
    p.watch.error = card.room<SpinError>(1, "error", 0);
    p.addends = card.upload(inputs.rows[0][static_cast<std::size_t>(rank)]);
    p.tokens = rowCase.problem.tokens;
    p.width = 64;
    p.operands = operandsOf(rowCase, card.upload(inputs.weight));
    p.out.values[0] = values[static_cast<std::size_t>(rank)];
    all.push_back(p);
  }
  simt::Launch launch{"virtual", {grid, kRanks}, {32}};
  launch.cooperative = true;
  const OneShotParams<kRanks> *of = all.data();
  card.machine.launch(0, launch, [=] {
    virtual_one_shot<bf16, kRanks, Rms, kMaxThreads, kVectorsPerThread<bf16>>(
        of);
  });
  check(card, rowCase, inputs, values);
}

} // namespace

TEST_CASE("ranks as blocks of one launch on one card") {
  for (Mode mode : kModes)
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      INFO(nameOf(mode) << ", seed " << seed);
      runRowCollective(mode, seed);
      runOneShot(mode, seed);
    }
}
