#include "StepPlans.h"

#include <cmath>

namespace layline::test {

void addBroadcasts(Bench &bench, std::int64_t root, std::int64_t width) {
  std::string table = bench.table("x", randomValue({64, width}, 1));
  bench.begin();
  std::string x = bench.source(table, width),
              sent = bench.buffer({"tokens", width}, {nullptr, nullptr}),
              ids = bench.b.typed("i64", Json::array({"tokens"}),
                                  Json::array({nullptr}));
  Json attrs = {{"group", "tp"},
                {"root", root < 0 ? bench.b.ranks() + root : root}};
  bench.b.step("broadcast", {{"input", x}, {"output", sent}}, attrs);
  bench.b.step("broadcast", {{"input", bench.ids}, {"output", ids}}, attrs);
  bench.b.output("sent", sent);
  bench.b.output("ids", ids);
}

std::string addGather(Bench &bench, const std::string &x,
                      const std::string &dtype, const Json &shape,
                      const Json &block, const std::string &group) {
  Json split(std::vector<Json>(shape.size(), nullptr)), whole = split;
  split[0] = block;
  std::string part = bench.b.typed(dtype, shape, split),
              all = bench.b.typed(dtype, shape, whole);
  bench.b.step("slice", {{"input", x}, {"output", part}},
               {{"dim", 0}, {"range", block["range"]}});
  bench.b.step("all_gather", {{"input", part}, {"output", all}},
               {{"group", group}, {"dim", 0}, {"range", block["range"]}});
  return all;
}

void addRope(Bench &bench, const std::string &style, int rotary,
             bool isInPlace) {
  constexpr std::int64_t kHeads = 2, kHeadWidth = 24;
  if (style == "interleaved_to_half")
    bench.b.require("latent_attention");
  std::vector<double> near, far;
  for (int i = 0; i < rotary / 2; ++i) {
    near.push_back(std::pow(1e4, -2.0 * i / rotary));
    far.push_back(near.back() / 2);
  }
  bench.b.table(
      "rope", near,
      {{"long",
        {{"above", 100}, {"attention_factor", 1.5}, {"inv_freq", far}}}});
  std::string table =
      bench.table("x", randomValue({64, kHeads * kHeadWidth}, 1));
  bench.begin();
  std::string mine =
      bench.rows(bench.source(table, kHeads * kHeadWidth), kHeads * kHeadWidth);
  Json rows = bench.b.block("tokens"), shape = {"tokens", kHeads, kHeadWidth};
  std::string positions = bench.b.typed("i64", Json::array({"tokens"}),
                                        Json::array({rows})),
              y = isInPlace ? mine
                            : bench.buffer(shape, {rows, nullptr, nullptr});
  const Json heads = {{"buffer", mine}, {"shape", shape}};
  bench.b.step("slice", {{"input", bench.positions}, {"output", positions}},
               {{"dim", 0}, {"range", "tokens/tp"}});
  bench.b.step("rope",
               {{"input", heads},
                {"positions", positions},
                {"table", "rope"},
                {"output", isInPlace ? heads : Json(y)}},
               {{"style", style}, {"rotary", rotary}});
  bench.b.output("y", y);
}

Choice addRouter(Bench &bench, const std::string &logits, int top,
                 const Json &block) {
  Choice choice{bench.b.typed("i32", {"tokens", top}, {block, nullptr}),
                bench.buffer({"tokens", top}, {block, nullptr})};
  bench.b.step(
      "router",
      {{"logits", logits}, {"ids", choice.ids}, {"weights", choice.weights}},
      {{"top_k", top}, {"scoring", "softmax"}, {"renormalize", true}});
  return choice;
}

Experts::Experts(Bench &bench, int count, int inner, int width)
    : bench_(bench) {
  auto stack = [&](const char *key, std::int64_t rows, std::int64_t columns,
                   std::uint64_t seed) {
    bench.weight(key, randomValue({count, rows, columns}, seed));
    return bench.b.weight(key, {count, rows, columns},
                          {bench.b.block(count), nullptr, nullptr});
  };
  gate_ = stack("gate", inner, width, 3);
  up_ = stack("up", inner, width, 4);
  down_ = stack("down", width, inner, 5);
}

void Experts::add(const std::string &x, const Json &ids,
                  const std::string &weights, const std::string &output) const {
  bench_.b.step("experts",
                {{"input", x},
                 {"ids", ids},
                 {"weights", weights},
                 {"gate", gate_},
                 {"up", up_},
                 {"down", down_},
                 {"output", output}},
                {{"function", "silu"}});
}

void shiftValues(Json &plan, const std::string &dtype, std::int64_t bytes) {
  auto add = [bytes](Json &place) {
    place = place.get<std::int64_t>() + bytes;
  };
  for (Json &variant : plan["variants"]) {
    for (Json &buffer : variant["buffers"])
      if (buffer["dtype"] == dtype)
        add(buffer["offset"]);
    for (Json &arena : variant["arenas"])
      add(arena["bytes"]);
  }
}

} // namespace layline::test
