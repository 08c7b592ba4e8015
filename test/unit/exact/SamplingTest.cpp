// Which coordinates are run.
#include "layline/Exact/Sampling.h"
#include "Decoder.h"
#include "layline/Exact/Checker.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

static const Op &findOp(const Program &program, OpKind kind,
                        const std::string &place) {
  for (const Op &op : program.ops)
    if (op.kind == kind && op.place == place)
      return op;
  FAIL("no " << kindName(kind) << " at " << place);
  return program.ops.front();
}

static bool holds(const Items &items, int64_t item) {
  return std::binary_search(items.begin(), items.end(), item);
}

namespace {

struct Sampled {
  Sampled(const Model &model, const Mesh &mesh)
      : reference(buildReference(model)), planned(Decoder(model, mesh).build()),
        sampling({&reference, &planned}) {}

  const Items &items(size_t program, OpKind kind, const std::string &place,
                     int operand, unsigned dim) const {
    const Op &op = findOp(*sampling[program].program, kind, place);
    ValueId value =
        operand < 0 ? op.results[-1 - operand] : op.operands[operand];
    const Items *items = sampling[program].items[value][dim];
    REQUIRE(items);
    return *items;
  }

  Program reference, planned;
  Sampling sampling;
};

Model largeModel() {
  Model model;
  model.hidden = 4096;
  model.heads = 64;
  model.kvHeads = 8;
  model.width = 128;
  model.rotary = 128;
  model.features = 14336;
  model.vocabulary = 128256;
  return model;
}

} // namespace

TEST_CASE("programs that are compared share their samples") {
  Sampled sampled(largeModel(), {8, 2});
  for (unsigned dim : {1U, 2U})
    CHECK(sampled.items(0, OpKind::Attention, "layer.1.attention", 0, dim) ==
          sampled.items(1, OpKind::Attention, "layer.1.attention", 0, dim));
  CHECK(sampled.items(0, OpKind::Linear, "layer.0.o_proj", 1, 0) ==
        sampled.items(1, OpKind::Linear, "layer.0.o_proj", 1, 0));
  for (const std::string &fault : sampled.sampling[1].faults)
    CHECK(fault.empty());
}

TEST_CASE("tokens are not sampled, small dimensions are whole") {
  Model model;
  model.layers = 1;
  model.kvHeads = 4;
  Sampled sampled(model, {2, 2});
  const Op &op =
      findOp(sampled.planned, OpKind::Attention, "layer.0.attention");
  CHECK(sampled.sampling[1].items[op.operands[0]][0] == nullptr);
  CHECK(sampled.sampling[1].items[op.operands[1]][0] == nullptr);
  CHECK(sampled.items(1, OpKind::Attention, "layer.0.attention", 1, 1) ==
        Items{0, 1, 2, 3});
}

TEST_CASE("first and last elements of every part are in") {
  Sampled sampled(largeModel(), {8, 1});
  const Items &heads =
      sampled.items(1, OpKind::Attention, "layer.0.attention", 0, 1);
  const Items &features =
      sampled.items(1, OpKind::Linear, "layer.0.up_proj", 1, 0);
  const Items &vocabulary = sampled.items(1, OpKind::Linear, "lm_head", 1, 0);
  for (int64_t rank = 0; rank < 8; ++rank) {
    CHECK(holds(heads, rank * 8));
    CHECK(holds(heads, rank * 8 + 7));
    CHECK(holds(features, rank * 1792));
    CHECK(holds(features, rank * 1792 + 1791));
    CHECK(holds(vocabulary, rank * 16032));
  }
  CHECK(features.size() < 24);
  CHECK(sampled.items(1, OpKind::Linear, "lm_head", 1, 1) == Items{0, 1, 4095});
}

TEST_CASE("flat dimensions are heads times width, rotated pairs closed") {
  Sampled sampled(largeModel(), {8, 1});
  const Items &heads =
      sampled.items(1, OpKind::Attention, "layer.0.attention", 0, 1);
  const Items &width =
      sampled.items(1, OpKind::Attention, "layer.0.attention", 0, 2);
  const Items &flat = sampled.items(1, OpKind::Linear, "layer.0.q_proj", 1, 0);
  CHECK(width == Items{0, 63, 64, 127});
  Items product;
  for (int64_t head : heads)
    for (int64_t feature : width)
      product.push_back(head * 128 + feature);
  CHECK(flat == product);
}

TEST_CASE("KV heads that sampled query heads read are in") {
  Model model = largeModel();
  for (int64_t tp : {2, 6, 32}) {
    Sampled sampled(model, {tp, 1});
    const Items &heads =
        sampled.items(1, OpKind::Attention, "layer.0.attention", 0, 1);
    const Items &kvHeads =
        sampled.items(1, OpKind::Attention, "layer.0.attention", 1, 1);
    for (int64_t head : heads)
      CHECK(holds(kvHeads, head / 8));
  }
}

TEST_CASE("fewer experts are taken of fewer experts") {
  Model model;
  model.experts = 128;
  model.topK = 8;
  Sampled sampled(model, {4, 1});
  CHECK(sampled.items(1, OpKind::Router, "layer.0.router", 0, 1) ==
        Items{0, 1, 127});
  CHECK(sampled.items(1, OpKind::Router, "layer.0.router", -1, 1) ==
        Items{0, 1});
}

TEST_CASE("runs are at the edges of splits, with and without a history") {
  for (const std::vector<int64_t> &axes :
       {std::vector<int64_t>{}, {1}, {2}, {8}, {8, 2}, {3, 5}, {64}, {64, 4}})
    for (size_t most : {4, 6}) {
      std::vector<Run> runs = chooseRuns(axes, most);
      CHECK(runs.size() <= most);
      CHECK(runs.size() >= 3);
      CHECK(std::any_of(runs.begin(), runs.end(),
                        [](Run run) { return run.past == 0; }));
      CHECK(std::any_of(runs.begin(), runs.end(),
                        [](Run run) { return run.past > 0; }));
      CHECK(std::any_of(runs.begin(), runs.end(),
                        [](Run run) { return run.tokens == 1; }));
      for (const Run &run : runs) {
        CHECK(run.base > 0);
        CHECK(run.tokens >= 1);
        CHECK(run.tokens <= 41);
      }
    }
  std::vector<Run> runs = chooseRuns({4}, 4, 4096);
  CHECK(std::count_if(runs.begin(), runs.end(), [](Run run) {
          return run.base + run.past + run.tokens - 1 == 4096;
        }) == 1);
}
