//===- DecoderAttention.cpp - the attention block of the test decoder -----===//
#include "Decoder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

/// The query, key or value heads of this rank, normalised and rotated.
ValueId Decoder::headsOf(ValueId x, const std::string &name, bool isQuery) {
  int64_t d = model.width, count = isQuery ? model.heads : model.kvHeads;
  int64_t begin = (name == "q"   ? 0
                   : name == "k" ? model.heads
                                 : model.heads + model.kvHeads) *
                  d;
  int64_t all = (model.heads + 2 * model.kvHeads) * d;
  DimLayout flat = isQuery ? tensorParallel(d) : kvHeads(d);
  DimLayout cube = isQuery ? tensorParallel() : kvHeads();
  std::string place = prefix + name + "_proj";
  if (place == "layer.0.k_proj" && is("window of the values"))
    begin += model.kvHeads * d;
  if (place == "layer.1.q_proj" && is("weights of another layer"))
    place = "layer.0.q_proj";
  std::string key = prefix + "qkv";
  if (place != prefix + name + "_proj")
    key = "layer.0.qkv";
  if (place == "layer.0.k_proj" && is("KV heads by modulo"))
    flat = split(kTp, Partition::cyclic(1), d);
  ValueId w =
      weight(key, {all, model.hidden}, {flat, {}}, Segment{begin, count * d});
  place = prefix + name + "_proj";
  ValueId y = op(OpKind::Linear, {x, w},
                 value({tokens(), count * d}, {rows(), flat}), place);
  if (place == "layer.0.k_proj" && is("KV heads by modulo"))
    y = relabel(y, value({tokens(), count * d}, {rows(), kvHeads(d)}));
  y = op(OpKind::SplitHeads, {y},
         value({tokens(), count, d}, {rows(), cube, {}}), place);
  if (name == "v")
    return y;
  Attributes attrs;
  attrs.function = "rms";
  attrs.eps = 1e-6;
  ValueId scale = weight(prefix + name + "_norm", {d}, {{}});
  y = op(OpKind::Norm, {y, scale}, like(y), prefix + name + "_norm", attrs);
  RopeTable table;
  for (int64_t i = 0; i < model.rotary / 2; ++i)
    table.numbers.inverseFrequencies.push_back(1.0 / double(1 + i * i));
  table.longNumbers = table.numbers;
  table.longNumbers->factor = 1.25;
  table.longAbove = 64;
  place = prefix + name + "_rope";
  if (place == "layer.0.q_rope" && is("frequency changed"))
    table.numbers.inverseFrequencies.back() *= 0.5;
  if (place == "layer.0.q_rope" && is("other style of rotation"))
    table.isInterleaved = true;
  if (place == "layer.1.k_rope" && is("long table from another position"))
    table.longAbove = 65;
  attrs = {};
  attrs.rope = std::make_shared<const RopeTable>(table);
  return op(OpKind::Rope, {y, positions}, like(y), place, attrs);
}

ValueId Decoder::cached(ValueId x, const std::string &plane) {
  Attributes attrs;
  std::string place = prefix + plane + "_cache";
  std::vector<Expr> shape = {tokens(), model.kvHeads, model.width};
  if (mesh.hasAxes() && mesh.cp > 1) {
    attrs.axes = {kCp};
    if (place == "layer.0.key_cache" && is("gathered in rank order"))
      x = relabel(
          x, value(shape, {split(kCp, Partition::block()), kvHeads(), {}}));
    if (place == "layer.0.key_cache" && is("own rows cached only"))
      x = relabel(x, value(shape, {rows(), kvHeads(), {}}));
    else
      x = op(OpKind::AllGather, {x}, value(shape, {{}, kvHeads(), {}}), place,
             attrs);
  }
  attrs = {};
  attrs.layer = layer;
  attrs.plane = plane;
  shape[0] = context();
  ValueId result =
      op(OpKind::Cache, {x}, value(shape, {{}, kvHeads(), {}}), place, attrs);
  program.caches.push_back({layer, plane, result});
  return result;
}

ValueId Decoder::attention(ValueId x) {
  x = quantize(x, prefix + "attn_in");
  ValueId q = headsOf(x, "q", true), k = headsOf(x, "k", false);
  ValueId v = headsOf(x, "v", false);
  ValueId keys = cached(k, "key");
  ValueId values = cached(
      prefix == "layer.0." && is("keys cached as values") ? k : v, "value");
  Attributes attrs;
  attrs.factor = 0.25;
  attrs.window = model.window;
  bool isFirst = layer == 0;
  if (isFirst && is("scale changed"))
    attrs.factor = 0.125;
  if (isFirst && is("mask not causal"))
    attrs.isCausal = false;
  if (isFirst && is("window changed"))
    attrs.window = *model.window + 1;
  ValueId own = positions;
  if (isFirst && is("mask by local positions"))
    own = relabel(allPositions, integers({tokens()}, {rows()}));
  return op(OpKind::Attention, {q, keys, values, own, keyPositions}, like(q),
            prefix + "attention", attrs);
}

ValueId Decoder::output(ValueId a) {
  int64_t d = model.width, flat = model.heads * d;
  DimLayout heads = tensorParallel(d);
  ValueId x = op(OpKind::MergeHeads, {a},
                 value({tokens(), flat}, {rows(), heads}), prefix + "o_proj");
  bool isFirst = layer == 0;
  if (isFirst && is("weight of the neighbour"))
    heads = neighbour(d);
  ValueId w = weight(prefix + "o_proj", {model.hidden, flat}, {{}, heads});
  std::vector<ValueId> operands = {x, w};
  if (isFirst && is("bias on every rank"))
    operands.push_back(weight("layer.0.norm2", {model.hidden}, {{}}));
  ValueId y = op(OpKind::Linear, operands,
                 value({tokens(), model.hidden}, {rows(), {}}, {kTp}),
                 prefix + "o_proj");
  program.ops.back().names = {prefix + "attn_out"};
  return y;
}
