#include "LlamaPlan.h"

#include <cmath>

namespace layline::test {
namespace {

// test/golden/llama/config.json
constexpr std::int64_t kLayers = 2, kHidden = 64, kInner = 32, kHeads = 8,
                       kKvHeads = 2, kWidth = 16, kVocabulary = 128,
                       kMaxTokens = 64;

/// Llama 3.1's RoPE scaling (transformers/modeling_rope_utils.py,
/// _compute_llama3_parameters) with the factors of the config.
std::vector<double> inverseFrequencies() {
  constexpr double kTheta = 10000, kFactor = 8, kLow = 1, kHigh = 4,
                   kOriginal = 64;
  std::vector<double> result;
  for (std::int64_t i = 0; i < kWidth / 2; ++i) {
    double f = std::pow(kTheta, -2.0 * static_cast<double>(i) / kWidth);
    double wavelength = 2 * std::acos(-1.0) / f;
    double smooth = (kOriginal / wavelength - kLow) / (kHigh - kLow);
    if (wavelength > kOriginal / kLow)
      f /= kFactor;
    else if (wavelength >= kOriginal / kHigh)
      f = (1 - smooth) * f / kFactor + smooth * f;
    result.push_back(f);
  }
  return result;
}

struct LayerWeights {
  std::string inputNorm, q, k, v, o, postNorm, gate, up, down;
};

class Llama {
public:
  Llama(std::int64_t ranks, const Context &context) : b(ranks, kMaxTokens) {
    if (context.ranks > 1) {
      b.addContextAxis(context.ranks);
      rows = context.kind == "zigzag"   ? b.zigzag("tokens")
             : context.kind == "cyclic" ? b.cyclic("tokens", context.interleave)
                                        : b.block("tokens", 1, "cp");
    }
    rowsOfTp = rows.is_null() ? b.block("tokens") : b.within(rows);
    b.table("rope", inverseFrequencies());
    embed = b.weight("model.embed_tokens.weight", {kVocabulary, kHidden},
                     {b.block(kVocabulary), nullptr});
    for (std::int64_t i = 0; i < kLayers; ++i)
      layers.push_back(layerWeights("model.layers." + std::to_string(i) + "."));
    finalNorm =
        b.weight("model.norm.weight", {kHidden}, Json::array({nullptr}));
    head = b.weight("lm_head.weight", {kVocabulary, kHidden},
                    {b.block(kVocabulary), nullptr});
    for (std::int64_t i = 0; i < kLayers; ++i)
      for (const char *plane : {"key", "value"})
        b.cache("layer." + std::to_string(i) + "." + plane, i, plane,
                {kKvHeads, kWidth},
                {nullptr, b.readers(kKvHeads, kHeads), nullptr});
    b.cache("positions", -1, "positions", {}, Json::array({nullptr}));
  }

  void variant(const std::string &id, std::int64_t min, std::int64_t max,
               Boundaries form);

  PlanBuilder b;

private:
  LayerWeights layerWeights(const std::string &prefix) {
    Json heads = b.block(kHeads, kWidth),
         kv = b.readers(kKvHeads, kHeads, kWidth), inner = b.block(kInner);
    std::string a = prefix + "self_attn.", m = prefix + "mlp.";
    LayerWeights w;
    w.inputNorm = b.weight(prefix + "input_layernorm.weight", {kHidden},
                           Json::array({nullptr}));
    w.q = b.weight(a + "q_proj.weight", {kHeads * kWidth, kHidden},
                   {heads, nullptr});
    w.k = b.weight(a + "k_proj.weight", {kKvHeads * kWidth, kHidden},
                   {kv, nullptr});
    w.v = b.weight(a + "v_proj.weight", {kKvHeads * kWidth, kHidden},
                   {kv, nullptr});
    w.o = b.weight(a + "o_proj.weight", {kHidden, kHeads * kWidth},
                   {nullptr, heads});
    w.postNorm = b.weight(prefix + "post_attention_layernorm.weight", {kHidden},
                          Json::array({nullptr}));
    w.gate =
        b.weight(m + "gate_proj.weight", {kInner, kHidden}, {inner, nullptr});
    w.up = b.weight(m + "up_proj.weight", {kInner, kHidden}, {inner, nullptr});
    w.down =
        b.weight(m + "down_proj.weight", {kHidden, kInner}, {nullptr, inner});
    return w;
  }

  std::string hidden(bool byRows, bool owes,
                     const std::string &kind = "activation") {
    return b.buffer({"tokens", kHidden}, {byRows ? rowsOfTp : rows, nullptr},
                    owes, "", kind);
  }
  Json normAttrs() const {
    return {{"norm", "rms"}, {"eps", 1e-5}, {"weight_offset", 0.0}};
  }

  std::string attention(const LayerWeights &w, std::int64_t layer,
                        const std::string &x, const std::string &positions);
  /// All rows of the keys or values; the rank's if it has them all.
  std::string allRows(const std::string &part, const Json &heads);
  std::string mlp(const LayerWeights &w, const std::string &x);
  /// Sum what `partial` owes, add the residual, norm: the normed value held
  /// whole. The residual stays in the form of the boundaries.
  std::string boundary(Boundaries form, const std::string &partial,
                       std::string &residual, const std::string &weight,
                       const std::string &branchName,
                       const std::string &sumName, const std::string &normName);

  Json rows;     ///< layout of the rows over cp, null: held whole
  Json rowsOfTp; ///< of a boundary by rows
  std::string embed, finalNorm, head;
  std::vector<LayerWeights> layers;
};

std::string Llama::allRows(const std::string &part, const Json &heads) {
  if (rows.is_null())
    return part;
  std::string all =
      b.buffer({"tokens", kKvHeads * kWidth}, {nullptr, heads}, false);
  b.step("all_gather", {{"input", part}, {"output", all}},
         {{"group", "cp"}, {"dim", 0}, {"range", rows["range"]}});
  return all;
}

std::string Llama::attention(const LayerWeights &w, std::int64_t layer,
                             const std::string &x,
                             const std::string &positions) {
  Json heads = b.block(kHeads, kWidth),
       kv = b.readers(kKvHeads, kHeads, kWidth);
  auto viewed = [](const std::string &buffer, std::int64_t count) {
    return Json{{"buffer", buffer}, {"shape", {"tokens", count, kWidth}}};
  };
  std::string q = b.buffer({"tokens", kHeads * kWidth}, {rows, heads});
  std::string k = b.buffer({"tokens", kKvHeads * kWidth}, {rows, kv});
  std::string v = b.buffer({"tokens", kKvHeads * kWidth}, {rows, kv});
  b.step("linear", {{"input", x}, {"weight", w.q}, {"output", q}});
  b.step("linear", {{"input", x}, {"weight", w.k}, {"output", k}});
  b.step("linear", {{"input", x}, {"weight", w.v}, {"output", v}});
  Json rope = {{"style", "half"}, {"rotary", kWidth}};
  // In place for the keys, into another buffer for the queries.
  std::string rotated =
      b.buffer({"tokens", kHeads, kWidth}, {rows, b.block(kHeads), nullptr});
  std::string prefix = "layer." + std::to_string(layer) + ".";
  b.step("rope",
         {{"input", viewed(q, kHeads)},
          {"positions", positions},
          {"table", "rope"},
          {"output", rotated}},
         rope,
         layer == 0 ? std::vector<std::string>{prefix + "q_rope"}
                    : std::vector<std::string>{});
  b.step("rope",
         {{"input", viewed(k, kKvHeads)},
          {"positions", positions},
          {"table", "rope"},
          {"output", viewed(k, kKvHeads)}},
         rope,
         layer == 0 ? std::vector<std::string>{prefix + "k_rope"}
                    : std::vector<std::string>{});
  std::string keys = allRows(k, kv), values = allRows(v, kv);
  b.step("cache_append",
         {{"input", viewed(keys, kKvHeads)}, {"cache", prefix + "key"}});
  b.step("cache_append",
         {{"input", viewed(values, kKvHeads)}, {"cache", prefix + "value"}});
  std::string mixed = b.buffer({"tokens", kHeads * kWidth}, {rows, heads});
  b.step("attention",
         {{"query", rotated},
          {"keys", prefix + "key"},
          {"values", prefix + "value"},
          {"positions", positions},
          {"key_positions", "positions"},
          {"output", viewed(mixed, kHeads)}},
         {{"scale", 0.25},
          {"causal", true},
          {"heads", kHeads},
          {"kv_heads", kKvHeads}});
  std::string partial = hidden(false, true);
  b.step("linear", {{"input", mixed}, {"weight", w.o}, {"output", partial}});
  return partial;
}

std::string Llama::mlp(const LayerWeights &w, const std::string &x) {
  Json inner = b.block(kInner);
  std::string gate = b.buffer({"tokens", kInner}, {rows, inner});
  std::string up = b.buffer({"tokens", kInner}, {rows, inner});
  std::string partial = hidden(false, true);
  b.step("linear", {{"input", x}, {"weight", w.gate}, {"output", gate}});
  b.step("linear", {{"input", x}, {"weight", w.up}, {"output", up}});
  b.step("gated_activation", {{"gate", gate}, {"up", up}, {"output", gate}},
         {{"function", "silu"}});
  b.step("linear", {{"input", gate}, {"weight", w.down}, {"output", partial}});
  return partial;
}

std::string Llama::boundary(Boundaries form, const std::string &partial,
                            std::string &residual, const std::string &weight,
                            const std::string &branchName,
                            const std::string &sumName,
                            const std::string &normName) {
  std::vector<std::string> branch, sum = {sumName}, normed = {normName};
  if (!branchName.empty())
    branch = {branchName};
  bool byRows = form != Boundaries::Whole;
  bool isFused = form == Boundaries::Fused;
  std::string reduced =
      hidden(byRows, false, isFused ? "register" : "activation");
  std::string next = hidden(byRows, false);
  std::string y = hidden(byRows, false, isFused ? "register" : "activation");
  Json reduceAttrs = {{"group", "tp"}};
  Json rowAttrs = {{"group", "tp"}, {"dim", 0}, {"range", rowsOfTp["range"]}};
  Json reduceArgs = {{"input", partial}, {"output", reduced}},
       addArgs = {{"inputs", {residual, reduced}}, {"output", next}},
       normArgs = {{"input", next}, {"weight", weight}, {"output", y}};
  std::string result = y;
  if (byRows)
    result = hidden(false, false, "symmetric");
  Json gatherArgs = {{"input", y}, {"output", result}};
  if (isFused) {
    b.fused({partial, residual}, {next, result},
            {b.bodyStep("reduce_scatter", reduceArgs, rowAttrs, branch),
             b.bodyStep("add", addArgs, Json::object(), sum),
             b.bodyStep("norm", normArgs, normAttrs(), normed),
             b.bodyStep("all_gather", gatherArgs, rowAttrs)});
  } else {
    b.step(byRows ? "reduce_scatter" : "all_reduce", reduceArgs,
           byRows ? rowAttrs : reduceAttrs, branch);
    b.step("add", addArgs, Json::object(), sum);
    b.step("norm", normArgs, normAttrs(), normed);
    if (byRows)
      b.step("all_gather", gatherArgs, rowAttrs);
  }
  residual = next;
  return result;
}

void Llama::variant(const std::string &id, std::int64_t min, std::int64_t max,
                    Boundaries form) {
  b.variant(id, min, max);
  // A rank's ids come as they are split; of the positions all are cached.
  std::string ids = b.input("input_ids", rows),
              positions = b.input("positions");
  b.step("cache_append", {{"input", positions}, {"cache", "positions"}});
  if (!rows.is_null()) {
    std::string part =
        b.buffer(Json::array({"tokens"}), Json::array({rows}), false, "i64");
    b.step("slice", {{"input", positions}, {"output", part}},
           {{"dim", 0}, {"range", rows["range"]}});
    positions = part;
  }
  std::string partial = hidden(false, true), residual = hidden(false, false);
  b.step("embedding", {{"ids", ids}, {"weight", embed}, {"output", partial}});
  b.step("all_reduce", {{"input", partial}, {"output", residual}},
         {{"group", "tp"}}, {"layer.0.input"});
  std::string x = hidden(false, false);
  b.step("norm",
         {{"input", residual}, {"weight", layers[0].inputNorm}, {"output", x}},
         normAttrs(), {"layer.0.input_norm"});
  if (form != Boundaries::Whole) {
    std::string part = hidden(true, false);
    b.step("slice", {{"input", residual}, {"output", part}},
           {{"dim", 0}, {"range", rowsOfTp["range"]}});
    residual = part;
  }
  for (std::int64_t i = 0; i < kLayers; ++i) {
    std::string prefix = "layer." + std::to_string(i) + ".";
    x = boundary(form, attention(layers[i], i, x, positions), residual,
                 layers[i].postNorm, prefix + "attn_out", "mid." + prefix,
                 prefix + "post_attn_norm");
    bool isLast = i + 1 == kLayers;
    std::string weight = isLast ? finalNorm : layers[i + 1].inputNorm;
    x = boundary(form, mlp(layers[i], x), residual, weight, prefix + "mlp_out",
                 prefix + "output",
                 isLast ? "final_norm"
                        : "layer." + std::to_string(i + 1) + ".input_norm");
  }
  std::string parts =
      b.buffer({"tokens", kVocabulary}, {rows, b.block(kVocabulary)});
  std::string logits = b.buffer({"tokens", kVocabulary}, {rows, nullptr});
  b.step("linear", {{"input", x}, {"weight", head}, {"output", parts}});
  b.step("all_gather", {{"input", parts}, {"output", logits}},
         {{"group", "tp"}, {"dim", 1}, {"range", "n128/tp"}}, {"logits"});
  b.output("logits", logits);
}

} // namespace

Json llamaPlan(std::int64_t ranks, Boundaries boundaries,
               std::int64_t wholeBelow, const Context &context) {
  Llama llama(ranks, context);
  if (wholeBelow > 1)
    llama.variant("small", 1, wholeBelow - 1, Boundaries::Whole);
  llama.variant("large", wholeBelow, kMaxTokens, boundaries);
  return llama.b.finish();
}

} // namespace layline::test
