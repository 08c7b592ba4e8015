//===- Decoder.cpp - a decoder stack, dense or on a mesh ------------------===//
#include "Decoder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

ValueId Decoder::value(std::vector<Expr> shape, Dims dims,
                       std::vector<unsigned> owes) {
  Value result;
  result.shape = std::move(shape);
  result.dims = std::move(dims);
  if (mesh.hasAxes())
    result.owes = std::move(owes);
  return program.addValue(std::move(result));
}

ValueId Decoder::integers(std::vector<Expr> shape, Dims dims) {
  ValueId id = value(std::move(shape), std::move(dims));
  program.values[id].elements = ElementClass::Integer;
  return id;
}

ValueId Decoder::like(ValueId other, std::vector<unsigned> owes) {
  Value copy = program.values[other];
  copy.owes = std::move(owes);
  return program.addValue(std::move(copy));
}

ValueId Decoder::op(OpKind kind, std::vector<ValueId> operands, ValueId result,
                    const std::string &place, Attributes attrs) {
  program.addOp(kind, std::move(operands), {result}, std::move(attrs)).place =
      place;
  return result;
}

ValueId Decoder::relabel(ValueId from, ValueId to) {
  return op(OpKind::Relabel, {from}, to, "");
}

ValueId Decoder::weight(const std::string &key, std::vector<int64_t> shape,
                        Dims dims, std::optional<Segment> window,
                        bool isStacked) {
  Attributes attrs;
  attrs.weight = {key, shape, window, isStacked};
  if (window)
    shape[0] = window->size;
  if (isStacked)
    shape.insert(shape.begin(), model.experts);
  ValueId id =
      value(std::vector<Expr>(shape.begin(), shape.end()), std::move(dims));
  return op(OpKind::Weight, {}, id, key, attrs);
}

DimLayout Decoder::split(unsigned axis, Partition partition,
                         int64_t unit) const {
  DimLayout layout;
  if (mesh.hasAxes() && (axis == kTp ? mesh.tp : mesh.cp) > 1) {
    layout.links.push_back(makeLink(axis, partition));
    layout.unit = unit;
  }
  return layout;
}

DimLayout Decoder::neighbour(int64_t unit) const {
  DimLayout layout;
  layout.links.push_back(makeLink(kTp, [](int64_t items, int64_t ranks,
                                          int64_t rank) {
    return getSegments(Partition::block(), items, ranks, (rank + 1) % ranks);
  }));
  layout.unit = unit;
  return layout;
}

DimLayout Decoder::rows() const { return split(kCp, mesh.tokens); }

DimLayout Decoder::rowsOfNorm() const {
  DimLayout layout = rows();
  if (mesh.isByRows)
    for (const Link &link : tensorParallel().links)
      layout.links.push_back(link);
  return layout;
}

void Decoder::inputs() {
  Attributes attrs;
  attrs.role = InputRole::Ids;
  attrs.input = "input_ids";
  allIds = op(OpKind::Input, {}, integers({tokens()}, {{}}), "inputs", attrs);
  attrs.role = InputRole::Positions;
  attrs.input = "positions";
  allPositions =
      op(OpKind::Input, {}, integers({tokens()}, {{}}), "inputs", attrs);
  attrs = {};
  attrs.layer = -1;
  attrs.plane = "positions";
  keyPositions = op(OpKind::Cache, {allPositions}, integers({context()}, {{}}),
                    "positions", attrs);
  program.caches.push_back({-1, "positions", keyPositions});
  ids = allIds;
  positions = allPositions;
  if (!mesh.hasAxes() || mesh.cp == 1)
    return;
  attrs = {};
  attrs.axes = {kCp};
  DimLayout own = rows();
  if (is("rows of another rank")) {
    own.links = {makeLink(kCp, [](int64_t items, int64_t ranks, int64_t rank) {
      return getSegments(Partition::zigzag(), items, ranks, (rank + 1) % ranks);
    })};
    ids = op(OpKind::Slice, {allIds}, integers({tokens()}, {own}), "", attrs);
    ids = relabel(ids, integers({tokens()}, {rows()}));
  } else {
    ids = op(OpKind::Slice, {allIds}, integers({tokens()}, {own}), "", attrs);
  }
  ValueId result = integers({tokens()}, {rows()});
  if (is("local positions"))
    positions = relabel(allPositions, result);
  else if (is("prefix offset lost"))
    positions = relabel(keyPositions, result);
  else
    positions = op(OpKind::Slice, {allPositions}, result, "", attrs);
}

ValueId Decoder::embed() {
  ValueId table =
      weight("embed", {model.vocabulary, model.hidden}, {tensorParallel(), {}});
  ValueId x = op(OpKind::Embedding, {ids, table},
                 value({tokens(), model.hidden}, {rows(), {}}, {kTp}), "embed");
  return reduce(x, "embed");
}

/// Pays the sum over tp; by rows each rank keeps its own.
ValueId Decoder::reduce(ValueId partial, const std::string &place) {
  if (!mesh.hasAxes() || mesh.tp == 1)
    return partial;
  Attributes attrs;
  attrs.axes = {kTp};
  ValueId whole = value({tokens(), model.hidden}, {rows(), {}});
  std::string here = place + "/" + std::to_string(layer);
  if (here == "embed/0" && is("embedding not reduced"))
    return relabel(partial, whole);
  if (place == "layer.0.o_proj") {
    if (is("reduce dropped"))
      return relabel(partial, whole);
    if (is("cast before the reduce")) {
      Attributes cast;
      cast.from = "f32";
      cast.to = "bf16";
      partial = op(OpKind::Cast, {partial}, like(partial, {kTp}), "", cast);
    }
    if (is("norm before the reduce")) {
      Attributes rms;
      rms.function = "rms";
      ValueId w = weight("layer.0.norm2", {model.hidden}, {{}});
      partial = op(OpKind::Norm, {partial, w}, like(partial, {kTp}), "", rms);
    }
    if (is("reduce over the wrong axis"))
      attrs.axes = {kCp};
  }
  if (mesh.isByRows)
    return op(OpKind::ReduceScatter, {partial},
              value({tokens(), model.hidden}, {rowsOfNorm(), {}}), place,
              attrs);
  ValueId x = op(OpKind::AllReduce, {partial}, whole, place, attrs);
  if (place == "layer.0.o_proj" && is("reduced twice"))
    x = op(OpKind::AllReduce, {x}, like(x), place, attrs);
  if (place == "layer.0.o_proj" && is("rows of the root")) {
    attrs.axes = {kCp};
    x = op(OpKind::Broadcast, {x}, like(x), place, attrs);
  }
  return x;
}

ValueId Decoder::normPadded(ValueId x, ValueId w, const std::string &place,
                            Attributes attrs) {
  auto pad = [&](ValueId from, unsigned dim) {
    ValueId to = like(from);
    program.values[to].dims[dim].pad = model.hidden + 3;
    Attributes padding;
    padding.dim = dim;
    return op(OpKind::Pad, {from}, to, "", padding);
  };
  ValueId wide = pad(x, 1);
  ValueId y = op(OpKind::Norm, {wide, pad(w, 0)}, like(wide), place, attrs);
  attrs.dim = 1;
  return op(OpKind::Unpad, {y}, like(x), "", attrs);
}

ValueId Decoder::norm(ValueId x, const std::string &place) {
  Attributes attrs;
  attrs.function = "rms";
  attrs.eps = 1e-6;
  attrs.weightOffset = 1;
  bool isFirst = place == "layer.0.norm2";
  if (isFirst && is("eps changed"))
    attrs.eps = 1e-5;
  if (isFirst && is("weight without its offset"))
    attrs.weightOffset = 0;
  if (isFirst && is("layer norm"))
    attrs.function = "layer";
  ValueId w = weight(place, {model.hidden}, {{}});
  if (isFirst && is("padding in the norm"))
    return gatherRows(normPadded(x, w, place, attrs), place);
  return gatherRows(op(OpKind::Norm, {x, w}, like(x), place, attrs), place);
}

ValueId Decoder::gatherRows(ValueId x, const std::string &place) {
  if (!mesh.isByRows || mesh.tp == 1)
    return x;
  Attributes attrs;
  attrs.axes = {kTp};
  return op(OpKind::AllGather, {x},
            value({tokens(), model.hidden}, {rows(), {}}), place, attrs);
}

ValueId Decoder::quantize(ValueId x, const std::string &place) {
  if (!model.isQuantized)
    return x;
  Attributes attrs;
  attrs.format = "f8E4M3FN";
  int64_t groups = model.quantGroups;
  ValueId values = like(x), scales = value({tokens(), groups}, {rows(), {}});
  program.addOp(OpKind::Quantize, {x}, {values, scales}, attrs).place = place;
  if (place == "layer.0.attn_in" && is("scales of other rows")) {
    // Gathered in the order of the ranks.
    attrs.axes = {kCp};
    DimLayout block = split(kCp, Partition::block());
    ValueId wrong = relabel(scales, value({tokens(), groups}, {block, {}}));
    ValueId whole = op(OpKind::AllGather, {wrong},
                       value({tokens(), groups}, {{}, {}}), "", attrs);
    scales = op(OpKind::Slice, {whole}, like(scales), "", attrs);
  }
  if (place == "layer.0.attn_in" && is("scales of other groups")) {
    // The first column stands last.
    auto columns = [&](int64_t begin, int64_t size) {
      Attributes window;
      window.begin = begin;
      return op(OpKind::SliceColumns, {scales},
                value({tokens(), size}, {rows(), {}}), "", window);
    };
    ValueId rest = columns(1, groups - 1), first = columns(0, 1);
    scales = op(OpKind::ConcatColumns, {rest, first}, like(scales), "");
  }
  return op(OpKind::Dequantize, {values, scales}, like(x), place);
}

ValueId Decoder::residual(ValueId x, ValueId partial,
                          const std::string &place) {
  if (place == "layer.0.attn_residual" && is("residual on every rank")) {
    ValueId copies = relabel(x, like(x, {kTp}));
    ValueId sum = op(OpKind::Add, {copies, partial}, like(x, {kTp}), place);
    return reduce(sum, place);
  }
  std::string from = place == prefix + "attn_residual" ? "o_proj" : "down_proj";
  ValueId y = reduce(partial, prefix + from);
  ValueId sum = op(OpKind::Add, {x, y}, like(x), place);
  if (place == "layer.0.attn_residual" && is("residual added twice"))
    sum = op(OpKind::Add, {x, sum}, like(x), place);
  return sum;
}

ValueId Decoder::mlp(ValueId x) {
  if (model.experts > 0)
    return moe(x);
  int64_t f = model.features, h = model.hidden;
  auto project = [&](const std::string &name) {
    ValueId w = weight(prefix + name, {f, h}, {tensorParallel(), {}});
    return op(OpKind::Linear, {x, w},
              value({tokens(), f}, {rows(), tensorParallel()}), prefix + name);
  };
  ValueId gate = project("gate_proj"), up = project("up_proj");
  Attributes attrs;
  attrs.function = layer == 0 && is("other activation") ? "gelu" : "silu";
  ValueId y = op(OpKind::GatedActivation,
                 layer == 0 && is("gate and up swapped")
                     ? std::vector<ValueId>{up, gate}
                     : std::vector<ValueId>{gate, up},
                 like(gate), prefix + "act", attrs);
  ValueId w = weight(prefix + "down_proj", {h, f}, {{}, tensorParallel()});
  return op(OpKind::Linear, {y, w}, value({tokens(), h}, {rows(), {}}, {kTp}),
            prefix + "down_proj");
}

ValueId Decoder::moe(ValueId x) {
  int64_t f = model.features, h = model.hidden, k = model.topK;
  ValueId w = weight(prefix + "router", {model.experts, h}, {{}, {}});
  ValueId scores =
      op(OpKind::Linear, {x, w}, value({tokens(), model.experts}, {rows(), {}}),
         prefix + "router");
  Attributes attrs;
  attrs.topK = k;
  attrs.function = "softmax";
  attrs.renormalize = !(layer == 0 && is("weights not renormalised"));
  ValueId chosen = integers({tokens(), k}, {rows(), {}});
  ValueId weights = value({tokens(), k}, {rows(), {}});
  program.addOp(OpKind::Router, {scores}, {chosen, weights}, attrs).place =
      prefix + "router";
  DimLayout part = tensorParallel();
  ValueId gate =
      weight(prefix + "gate.{expert}", {f, h}, {{}, part, {}}, {}, true);
  ValueId up = weight(prefix + "up.{expert}", {f, h}, {{}, part, {}}, {}, true);
  if (layer == 0 && is("expert weights of the neighbour"))
    part = neighbour();
  ValueId down =
      weight(prefix + "down.{expert}", {h, f}, {{}, {}, part}, {}, true);
  attrs = {};
  attrs.function = "silu";
  return op(OpKind::Experts, {x, chosen, weights, gate, up, down},
            value({tokens(), h}, {rows(), {}}, {kTp}), prefix + "experts",
            attrs);
}

ValueId Decoder::logits(ValueId x) {
  std::vector<Expr> shape = {tokens(), model.vocabulary};
  DimLayout part = tensorParallel();
  if (is("vocabulary gathered in rank order"))
    part = split(kTp, Partition::cyclic(1));
  ValueId w = weight("lm_head", {model.vocabulary, model.hidden}, {part, {}});
  ValueId y =
      op(OpKind::Linear, {x, w}, value(shape, {rows(), part}), "lm_head");
  if (is("vocabulary gathered in rank order"))
    y = relabel(y, value(shape, {rows(), tensorParallel()}));
  Attributes attrs;
  attrs.dim = 1;
  attrs.axes = {kTp};
  if (mesh.hasAxes() && mesh.tp > 1)
    y = op(OpKind::AllGather, {y}, value(shape, {rows(), {}}), "lm_head",
           attrs);
  attrs.dim = 0;
  attrs.axes = {kCp};
  if (mesh.hasAxes() && mesh.cp > 1 && !mesh.leavesRowsSplit)
    y = op(OpKind::AllGather, {y}, value(shape, {{}, {}}), "lm_head", attrs);
  return y;
}

Program Decoder::build() {
  if (mesh.hasAxes())
    program.axes = {{"tp", mesh.tp}, {"cp", mesh.cp}};
  inputs();
  ValueId x = embed();
  for (layer = 0; layer < model.layers; ++layer) {
    prefix = "layer." + std::to_string(layer) + ".";
    ValueId y = output(attention(norm(x, prefix + "norm1")));
    x = residual(x, y, prefix + "attn_residual");
    x = residual(x, mlp(norm(x, prefix + "norm2")), prefix + "mlp_residual");
  }
  prefix = "";
  program.outputs = {logits(norm(x, "final_norm"))};
  return std::move(program);
}
