// Wrong plans are caught, and where they begin to be wrong.
#include "Decoder.h"
#include "layline/Exact/Checker.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

namespace {

struct Planted {
  std::string fault, kind, place;
};

const Mesh kWhole{2, 2, Partition::zigzag(), false};
const Mesh kByRows{3, 2, Partition::zigzag(), true};

Mismatch checkFault(const Model &model, const Mesh &mesh,
                    const std::string &fault) {
  INFO(fault);
  Decoder decoder(model, mesh, fault);
  Checker checker(buildReference(model));
  checker.addProgram(Decoder(model, mesh).build(), "legal");
  checker.addProgram(decoder.build(), "wrong");
  REQUIRE(decoder.isPlanted());
  std::vector<Mismatch> mismatches = checker.check();
  REQUIRE(mismatches.size() == 1);
  CHECK(mismatches[0].program == "wrong");
  return mismatches[0];
}

void requireCaught(const Model &model, const Mesh &mesh,
                   const std::vector<Planted> &faults) {
  for (const Planted &planted : faults) {
    Mismatch mismatch = checkFault(model, mesh, planted.fault);
    INFO(planted.fault << " -> " << mismatch.text);
    CHECK(mismatch.kind == planted.kind);
    CHECK(mismatch.place == planted.place);
  }
}

} // namespace

TEST_CASE("faults of sums") {
  requireCaught({}, kWhole,
                {{"embedding not reduced", "norm", "layer.0.norm1"},
                 {"reduce dropped", "add", "layer.0.attn_residual"},
                 {"reduced twice", "add", "layer.0.attn_residual"},
                 {"reduce over the wrong axis", "all_reduce", "layer.0.o_proj"},
                 {"cast before the reduce", "add", "layer.0.attn_residual"},
                 {"norm before the reduce", "add", "layer.0.attn_residual"},
                 {"residual on every rank", "add", "layer.0.attn_residual"},
                 {"residual added twice", "norm", "layer.0.norm2"},
                 {"bias on every rank", "linear", "layer.0.o_proj"},
                 {"rows of the root", "broadcast", "layer.0.o_proj"}});
}

TEST_CASE("faults of rows and positions") {
  requireCaught({}, kWhole,
                {{"rows of another rank", "embedding", "embed"},
                 {"local positions", "rope", "layer.0.q_rope"},
                 {"prefix offset lost", "rope", "layer.0.q_rope"},
                 {"mask by local positions", "attention", "layer.0.attention"},
                 {"gathered in rank order", "cache", "layer.0.key_cache"},
                 {"own rows cached only", "cache", "layer.0.key_cache"},
                 {"keys cached as values", "cache", "layer.0.value_cache"}});
}

TEST_CASE("faults of weights") {
  requireCaught(
      {}, kWhole,
      {{"KV heads by modulo", "split_heads", "layer.0.k_proj"},
       {"window of the values", "linear", "layer.0.k_proj"},
       {"weights of another layer", "linear", "layer.1.q_proj"},
       {"weight of the neighbour", "linear", "layer.0.o_proj"},
       {"vocabulary gathered in rank order", "all_gather", "lm_head"}});
}

TEST_CASE("faults of functions") {
  Model model;
  model.window = 4;
  requireCaught(model, kWhole,
                {{"eps changed", "norm", "layer.0.norm2"},
                 {"weight without its offset", "norm", "layer.0.norm2"},
                 {"layer norm", "norm", "layer.0.norm2"},
                 {"padding in the norm", "norm", "layer.0.norm2"},
                 {"frequency changed", "rope", "layer.0.q_rope"},
                 {"other style of rotation", "rope", "layer.0.q_rope"},
                 {"long table from another position", "rope", "layer.1.k_rope"},
                 {"scale changed", "attention", "layer.0.attention"},
                 {"mask not causal", "attention", "layer.0.attention"},
                 {"window changed", "attention", "layer.0.attention"},
                 {"other activation", "gated_activation", "layer.0.act"},
                 {"gate and up swapped", "gated_activation", "layer.0.act"}});
}

TEST_CASE("faults of experts and of quantised values") {
  Model model;
  model.experts = 9;
  model.topK = 4;
  model.isQuantized = true;
  requireCaught(
      model, kWhole,
      {{"weights not renormalised", "router", "layer.0.router"},
       {"expert weights of the neighbour", "experts", "layer.0.experts"},
       {"scales of other rows", "dequantize", "layer.0.attn_in"}});
  model.quantGroups = 4;
  requireCaught(model, kWhole,
                {{"scales of other rows", "dequantize", "layer.0.attn_in"},
                 {"scales of other groups", "dequantize", "layer.0.attn_in"}});
}

TEST_CASE("faults of plans by rows") {
  requireCaught({}, kByRows,
                {{"eps changed", "norm", "layer.0.norm2"},
                 {"padding in the norm", "norm", "layer.0.norm2"},
                 {"cast before the reduce", "add", "layer.0.attn_residual"},
                 {"norm before the reduce", "add", "layer.0.attn_residual"},
                 {"weight of the neighbour", "linear", "layer.0.o_proj"},
                 {"KV heads by modulo", "split_heads", "layer.0.k_proj"}});
}
