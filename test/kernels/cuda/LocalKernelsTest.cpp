// Kernels of routed rows and latent attention by themselves, with data that no
// golden model has: more keys than a tile, equal scores, what is no number, ids
// of no expert.
#include "FakeGpu.h"
#include "kernels/local/LocalParams.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace layline;
using namespace layline::test;
using local::Fault;
using Rows = std::vector<float>;
using Integers = std::vector<std::int64_t>;

namespace {

/// One card, whose memory is the host's.
class Launches {
public:
  template <typename T> T *upload(const std::vector<T> &values) {
    T *at = machine_.allocate<T>(0, values.size(), "values");
    std::copy(values.begin(), values.end(), at);
    return at;
  }
  template <typename T> T *make(std::int64_t count) {
    return machine_.allocate<T>(0, static_cast<std::size_t>(count), "result");
  }
  local::Numbers numbers(const Rows &values) {
    return {upload(values), local::NumberType::F32};
  }
  local::FaultPlace faults() {
    fault_ = upload(std::vector<local::FaultRecord>(1));
    return {fault_, 0, 0};
  }
  template <typename P>
  void run(const char *symbol, const P &parameters, unsigned blocks) {
    const KernelBody &body = emulatedKernels().at(symbol);
    auto at = reinterpret_cast<Address>(upload(std::vector<P>{parameters}));
    machine_.launch(0, {symbol, {blocks}, {local::kThreads}},
                    [=] { body(at); });
    simt::Report report = machine_.run();
    INFO(report.text);
    REQUIRE(report.ok());
  }
  void checkFault(Fault fault, std::int64_t row, std::int64_t value) const {
    CHECK(fault_->fault == static_cast<std::uint32_t>(fault));
    CHECK(fault_->row == row);
    CHECK(fault_->value == value);
  }
  void checkNoFault() const { CHECK(fault_->fault == 0); }

private:
  static simt::Options options() {
    simt::Options options;
    options.raceCheck = true;
    return options;
  }
  simt::Machine machine_{1, options()};
  local::FaultRecord *fault_ = nullptr;
};

template <typename T> std::vector<T> read(const T *at, std::int64_t count) {
  return {at, at + count};
}
Rows read(const local::Numbers &numbers, std::int64_t count) {
  return read(static_cast<const float *>(numbers.data), count);
}

/// Rows one behind another, of one item.
local::Pages dense(const local::Numbers &rows, std::int64_t width) {
  local::Pages pages;
  pages.rows = rows;
  pages.rowStride = pages.itemStride = width;
  return pages;
}
local::Pages dense(std::int64_t *rows) {
  return dense({rows, local::NumberType::F32}, 1);
}

/// One feature, one head of weight 1: a key's score is max(0, itself).
struct Chosen {
  Integers keys;
  Rows scores;
};
Chosen choose(Launches &launches, const Rows &keys, std::int64_t topK,
              const Integers &positions, float weight = 1) {
  auto rows = static_cast<std::int64_t>(positions.size());
  Integers keyPositions(keys.size());
  std::iota(keyPositions.begin(), keyPositions.end(), 0);
  local::IndexerParams p;
  p.query = launches.numbers(Rows(positions.size(), 1));
  p.keys = dense(launches.numbers(keys), 1);
  p.weights = launches.numbers(Rows(positions.size(), weight));
  p.positions = launches.upload(positions);
  p.keyPositions = dense(launches.upload(keyPositions));
  p.selection = launches.make<std::int64_t>(rows * topK);
  p.scores = launches.numbers(Rows(static_cast<std::size_t>(rows * topK)));
  p.bestScores = launches.make<float>(2 * rows * topK);
  p.bestKeys = launches.make<std::int64_t>(2 * rows * topK);
  p.rows = rows;
  p.heads = p.width = 1;
  p.keyRows = static_cast<std::int64_t>(keys.size());
  p.topK = topK;
  p.fault = launches.faults();
  launches.run("layline_indexer", p, 2);
  return {read(p.selection, rows * topK), read(p.scores, rows * topK)};
}

/// Sorted all at once, of equal scores the lower key first.
Chosen sorted(const Rows &keys, std::int64_t topK, std::int64_t position) {
  Integers order(static_cast<std::size_t>(std::min<std::int64_t>(
      position + 1, static_cast<std::int64_t>(keys.size()))));
  std::iota(order.begin(), order.end(), 0);
  auto score = [&](std::int64_t s) {
    return std::max(0.0F, keys[static_cast<std::size_t>(s)]);
  };
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return score(a) != score(b) ? score(a) > score(b) : a < b;
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(topK)));
  Chosen result{order, {}};
  for (std::int64_t s : order)
    result.scores.push_back(score(s));
  result.keys.resize(static_cast<std::size_t>(topK), -1);
  result.scores.resize(static_cast<std::size_t>(topK), 0);
  return result;
}

/// Two members with three of five experts and two; a row is one number.
local::DispatchParams dispatchTo(Launches &launches, std::int64_t member,
                                 const Integers &first,
                                 const Integers &second) {
  auto rows = [](const Integers &ids) {
    return static_cast<std::int64_t>(ids.size()) / 2;
  };
  std::int64_t all = rows(first) + rows(second);
  auto numbered = [](std::int64_t count, float from) {
    Rows values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), from);
    return values;
  };
  local::DispatchParams p;
  p.ids = launches.upload(std::vector<const std::int64_t *>{
      launches.upload(first), launches.upload(second)});
  p.inputs = launches.upload(
      std::vector<const void *>{launches.upload(numbered(rows(first), 10)),
                                launches.upload(numbered(rows(second), 20))});
  p.weights = launches.upload(std::vector<const void *>{
      launches.upload(numbered(2 * rows(first), 100)),
      launches.upload(numbered(2 * rows(second), 200))});
  p.output = launches.numbers(Rows(static_cast<std::size_t>(all)));
  p.outputWeights = launches.numbers(Rows(static_cast<std::size_t>(2 * all)));
  p.outputIds = launches.make<std::int64_t>(2 * all);
  // The second member's rows stand first.
  std::vector<local::MoveRun> runs(2);
  runs[0].source = 1;
  runs[0].count = runs[1].before = rows(second);
  runs[1].to = rows(second);
  runs[1].count = rows(first);
  p.runs = launches.upload(runs);
  p.runCount = 2;
  p.items = all;
  p.width = 1;
  p.slots = 2;
  p.experts = 5;
  p.members = 2;
  p.member = member;
  p.fault = launches.faults();
  return p;
}

} // namespace

TEST_CASE("an indexer merges tiles of keys, and tells equal ones by their row",
          "[local]") {
  // Few different values, so that most scores are equal to others of their
  // tile and of other ones; a third is below zero.
  Rows keys(300);
  for (std::size_t s = 0; s < keys.size(); ++s)
    keys[s] = static_cast<float>((s * 37) % 11) - 3;
  auto topK = GENERATE(1, 8, 130, 299, 310);
  CAPTURE(topK);
  Launches launches;
  Integers positions = {299, 0, 127, 128, 260};
  Chosen found = choose(launches, keys, topK, positions);
  launches.checkNoFault();
  Chosen expected;
  for (std::int64_t position : positions) {
    Chosen row = sorted(keys, topK, position);
    expected.keys.insert(expected.keys.end(), row.keys.begin(), row.keys.end());
    expected.scores.insert(expected.scores.end(), row.scores.begin(),
                           row.scores.end());
  }
  CHECK(found.keys == expected.keys);
  CHECK(found.scores == expected.scores);
}

TEST_CASE("an indexer's score that is no number is told", "[local]") {
  Launches launches;
  choose(launches, {1}, 2, {0}, NAN);
  launches.checkFault(Fault::IndexerScoreNotANumber, 0, 0);
}

TEST_CASE("latent attention sees the keys that a selection names, each once",
          "[local]") {
  // Latents of two features, values are the first of them; equal scores.
  constexpr std::int64_t kKeys = 200;
  Rows latent(2 * kKeys, 0.0F);
  for (std::size_t s = 0; s < kKeys; ++s)
    latent[2 * s] = static_cast<float>(s);
  Integers keyPositions(kKeys);
  std::iota(keyPositions.begin(), keyPositions.end(), 0);
  Launches launches;
  local::LatentAttentionParams p;
  p.nope = launches.numbers({0});
  p.rope = launches.numbers({0});
  p.latent = dense(launches.numbers(latent), 2);
  p.ropeKey = dense(launches.numbers(Rows(kKeys)), 1);
  p.keyUp = launches.numbers({1, 1});
  p.valueUp = launches.numbers({1, 0});
  p.output = launches.numbers({0});
  p.positions = launches.upload(Integers{190});
  p.keyPositions = dense(launches.upload(keyPositions));
  p.rows = p.heads = p.width = p.rotary = p.valueWidth = 1;
  p.latentWidth = 2;
  p.keyRows = kKeys;
  p.selected = 5;
  p.fault = launches.faults();
  SECTION("of two tiles, one twice, one that is hidden") {
    p.selection = launches.upload(Integers{150, 6, 150, 195, -1});
    launches.run("layline_latent_attention", p, 1);
    launches.checkNoFault();
    CHECK(read(p.output, 1)[0] == Approx(78)); // (150 + 6) / 2
  }
  SECTION("all of them") {
    launches.run("layline_latent_attention", p, 1);
    launches.checkNoFault();
    CHECK(read(p.output, 1)[0] == Approx(95)); // mean of 0 to 190
  }
  SECTION("one that is not there") {
    p.selection = launches.upload(Integers{150, 6, kKeys, -1, -1});
    launches.run("layline_latent_attention", p, 1);
    launches.checkFault(Fault::SelectedNoKey, 0, kKeys);
  }
  SECTION("none that may be seen") {
    p.selection = launches.upload(Integers{195, -1, -1, -1, -1});
    launches.run("layline_latent_attention", p, 1);
    launches.checkFault(Fault::QuerySeesNoKey, 0, 190);
  }
}

TEST_CASE("a member gets the rows of its experts, other places are holes",
          "[local]") {
  Launches launches;
  // Rows of the first member: for it, for both, for the second.
  local::DispatchParams p =
      dispatchTo(launches, 1, {0, 2, 1, 3, 4, 3}, {2, 1, 4, 0});
  launches.run("layline_dispatch", p, 2);
  launches.checkNoFault();
  CHECK(read(p.outputIds, 10) == Integers{-1, -1, 4, 0, -1, -1, 1, 3, 4, 3});
  Rows rows = read(p.output, 5), weights = read(p.outputWeights, 10);
  for (std::size_t place : {0U, 2U}) {
    CHECK(std::isnan(rows[place]));
    CHECK(std::isnan(weights[2 * place]));
    CHECK(std::isnan(weights[2 * place + 1]));
  }
  CHECK(Rows{rows[1], rows[3], rows[4]} == Rows{21, 11, 12});
  CHECK(Rows(weights.begin() + 6, weights.end()) == Rows{102, 103, 104, 105});
}

TEST_CASE("an id of no expert is told by the member whose row has it",
          "[local]") {
  auto wrong = GENERATE(-1, 5);
  for (std::int64_t member : {0, 1}) {
    CAPTURE(wrong, member);
    Launches launches;
    local::DispatchParams p =
        dispatchTo(launches, member, {0, 2}, {2, 1, 4, wrong});
    launches.run("layline_dispatch", p, 1);
    if (member == 1)
      launches.checkFault(Fault::ExpertOutsideCount, 1, wrong);
    else
      launches.checkNoFault();
  }
}

TEST_CASE("rows come back as sums in the order of the members", "[local]") {
  Launches launches;
  // Nothing but the order makes 1 of these; the last member is not asked.
  Rows first = {1e8F, NAN}, second = {-1e8F, 3}, third = {1, 4},
       fourth = {NAN, NAN};
  local::CombineParams p;
  p.inputs = launches.upload(std::vector<const void *>{
      launches.upload(first), launches.upload(second), launches.upload(third),
      launches.upload(fourth)});
  // Of seven experts the members have two, two, two, one.
  p.ids = launches.upload(Integers{5, 0, 3, 2, 4, 5});
  p.output = launches.numbers({0, 0});
  local::MoveRun run;
  run.count = 2;
  p.runs = launches.upload(std::vector<local::MoveRun>{run});
  p.runCount = 1;
  p.items = 2;
  p.width = 1;
  p.slots = 3;
  p.experts = 7;
  p.members = 4;
  launches.run("layline_combine", p, 1);
  CHECK(read(p.output, 2) == Rows{1, 7});
}
