// Latent attention, its indexer, sinks, and RoPE that reorders.
#include "ProgramBuilder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

namespace {

constexpr int64_t kHeads = 16, kNope = 24, kRope = 8, kValue = 10, kRank = 32,
                  kIndexHeads = 6, kIndexWidth = 20, kSelected = 4;
const Expr kContext = Expr::symbol("past") + kTokens;

ValueId integers(Builder &b, std::vector<Expr> shape,
                 std::vector<DimLayout> dims = {}) {
  Value value;
  value.shape = std::move(shape);
  value.dims = std::move(dims);
  value.elements = ElementClass::Integer;
  return b.program.addValue(value);
}

struct Latent {
  bool isByRows = false; ///< latents of own rows are made, then gathered
  bool isSelective = true;
  std::string fault;

  Program build(int64_t ranks) const;
};

Program Latent::build(int64_t ranks) const {
  Builder b(ranks);
  auto is = [&](const char *name) { return fault == name; };
  bool byRows = isByRows && ranks > 1;
  DimLayout rows = byRows ? b.split() : DimLayout();
  auto gather = [&](ValueId value) {
    Value whole = b.program.values[value];
    whole.dims.assign(whole.shape.size(), {});
    return byRows ? b.move(OpKind::AllGather, value, b.program.addValue(whole))
                  : value;
  };
  auto slice = [&](ValueId value) {
    Value part = b.program.values[value];
    part.dims.assign(part.shape.size(), {});
    part.dims[0] = rows;
    return byRows ? b.move(OpKind::Slice, value, b.program.addValue(part))
                  : value;
  };
  Attributes role;
  role.role = InputRole::Positions;
  ValueId positions = b.op(OpKind::Input, {}, integers(b, {kTokens}), role);
  Attributes cache;
  cache.layer = -1;
  cache.plane = "positions";
  ValueId keyPositions =
      b.op(OpKind::Cache, {positions}, integers(b, {kContext}), cache);
  ValueId x = slice(b.input("x", kIn));
  auto product = [&](ValueId of, const char *name, int64_t out) {
    Value value;
    value.shape = {kTokens, Expr(out)};
    value.dims = {rows, {}};
    return b.op(
        OpKind::Linear,
        {of, b.weight(name, {out, b.program.values[of].shape[1].constant()})},
        b.program.addValue(value));
  };
  auto cached = [&](ValueId value, int64_t width, const char *plane) {
    Attributes attrs;
    attrs.plane = plane;
    return b.op(OpKind::Cache, {gather(value)}, b.value({kContext, width}),
                attrs);
  };
  auto window = [&](ValueId of, int64_t begin, int64_t width) {
    Value value = b.program.values[of];
    value.shape.back() = Expr(width);
    Attributes attrs;
    attrs.begin = begin;
    return b.op(OpKind::SliceColumns, {of}, b.program.addValue(value), attrs);
  };
  ValueId kv = product(x, "kv_a", kRank + kRope);
  ValueId latent =
      cached(b.norm(window(kv, 0, kRank), b.weight("gamma", {kRank})), kRank,
             "latent");
  auto table = std::make_shared<RopeTable>();
  table->numbers.inverseFrequencies = {1, 0.5, 0.25, 0.125};
  table->isInterleaved = true;
  table->isReordered = !is("rope style");
  auto rotate = [&](ValueId value, ValueId at) {
    Attributes attrs;
    attrs.rope = table;
    return b.op(OpKind::Rope, {value, at},
                b.program.addValue(b.program.values[value]), attrs);
  };
  ValueId own = positions;
  if (byRows && !is("positions"))
    own = b.move(OpKind::Slice, positions, integers(b, {kTokens}, {rows}));
  ValueId rope = window(kv, kRank, kRope);
  Value cube;
  cube.shape = {kTokens, Expr(1), Expr(kRope)};
  cube.dims = {rows, {}, {}};
  rope = b.op(OpKind::SplitHeads, {rope}, b.program.addValue(cube));
  rope = rotate(rope, own);
  Value flat;
  flat.shape = {kTokens, Expr(kRope)};
  flat.dims = {rows, {}};
  rope = b.op(OpKind::MergeHeads, {rope}, b.program.addValue(flat));
  ValueId ropeKey = cached(rope, kRope, "rope_key");

  // Queries by heads, of all rows.
  ValueId q = gather(product(x, "q_a", kRank));
  DimLayout heads = b.split();
  auto ofHeads = [&](int64_t width) {
    return b.split(Partition::block(), width);
  };
  int64_t width = kNope + kRope;
  ValueId all =
      b.op(OpKind::Linear,
           {q, b.weight("q_b", {kHeads * width, kRank}, {ofHeads(width), {}})},
           b.value({kTokens, kHeads * width}, {{}, ofHeads(width)}));
  all = b.op(OpKind::SplitHeads, {all},
             b.value({kTokens, kHeads, width}, {{}, heads, {}}));
  ValueId nope = window(all, 0, kNope);
  ValueId qRope = rotate(window(all, kNope, kRope), positions);

  std::vector<ValueId> operands = {
      nope,
      qRope,
      latent,
      ropeKey,
      b.weight("k_up", {kHeads * kNope, kRank}, {ofHeads(kNope), {}}),
      b.weight("v_up", {kHeads * kValue, kRank}, {ofHeads(kValue), {}}),
      positions,
      keyPositions};
  if (isSelective) {
    ValueId ik =
        cached(product(x, "wk", kIndexWidth), kIndexWidth, "index_key");
    ValueId iq = b.op(OpKind::Linear,
                      {q, b.weight("wq", {kIndexHeads * kIndexWidth, kRank})},
                      b.value({kTokens, kIndexHeads * kIndexWidth}));
    iq = b.op(OpKind::SplitHeads, {iq},
              b.value({kTokens, kIndexHeads, kIndexWidth}));
    ValueId weights = gather(product(x, "w_head", kIndexHeads));
    Attributes attrs;
    attrs.topK = kSelected;
    attrs.factor = is("index scale") ? 0.5 : 0.125;
    ValueId rowsChosen = integers(b, {kTokens, kSelected});
    ValueId scores = b.value({kTokens, kSelected});
    b.program.addOp(OpKind::Indexer, {iq, ik, weights, positions, keyPositions},
                    {rowsChosen, scores}, attrs);
    operands.push_back(rowsChosen);
  }
  if (is("keys as values"))
    operands[4] = b.weight("k", {kHeads * kNope, kRank}, {ofHeads(kNope), {}});
  Attributes attrs;
  attrs.factor = 0.25;
  attrs.isCausal = !is("not causal");
  ValueId y = b.op(OpKind::LatentAttention, operands,
                   b.value({kTokens, kHeads, kValue}, {{}, heads, {}}), attrs);
  y = b.op(OpKind::MergeHeads, {y},
           b.value({kTokens, kHeads * kValue}, {{}, ofHeads(kValue)}));
  y = b.op(OpKind::Linear,
           {y, b.weight("o", {kOut, kHeads * kValue}, {{}, ofHeads(kValue)})},
           b.value({kTokens, kOut}, {}, true));
  if (ranks > 1)
    y = b.move(OpKind::AllReduce, y, b.value({kTokens, kOut}));
  return b.finish({y});
}

} // namespace

TEST_CASE("latents may be made by rows, and heads attend to all of them") {
  for (bool isSelective : {false, true})
    for (int64_t ranks : {2, 3, 8})
      for (bool isByRows : {false, true}) {
        Latent reference, planned;
        reference.isSelective = planned.isSelective = isSelective;
        planned.isByRows = isByRows;
        requireEqual(reference.build(1), planned.build(ranks));
      }
}

TEST_CASE("wrong latent attention differs") {
  for (const char *fault :
       {"rope style", "positions", "keys as values", "not causal"}) {
    Latent wrong;
    wrong.isByRows = true;
    wrong.fault = fault;
    INFO(fault);
    requireDifferent(Latent().build(1), wrong.build(3));
  }
  Latent all;
  all.isSelective = false;
  requireDifferent(Latent().build(1), all.build(3));
}

TEST_CASE("a positive scale of an indexer changes no choice but its scores") {
  Latent scaled;
  scaled.fault = "index scale";
  // Elements have no sign: another scale is another order.
  requireDifferent(Latent().build(1), scaled.build(3));
}

TEST_CASE("every head has its own sink") {
  auto build = [](int64_t ranks, bool hasSinks, int64_t shift) {
    Builder b(ranks);
    Attributes role;
    role.role = InputRole::Positions;
    ValueId p = b.op(OpKind::Input, {}, integers(b, {kTokens}), role);
    ValueId x = b.input("x", kIn);
    auto cube = [&](const char *name) {
      DimLayout flat = b.split(Partition::block(), kNope);
      ValueId y = b.op(OpKind::Linear,
                       {x, b.weight(name, {kHeads * kNope, kIn}, {flat, {}})},
                       b.value({kTokens, kHeads * kNope}, {{}, flat}));
      return b.op(OpKind::SplitHeads, {y},
                  b.value({kTokens, kHeads, kNope}, {{}, b.split(), {}}));
    };
    std::vector<ValueId> operands = {cube("q"), cube("k"), cube("v"), p, p};
    if (hasSinks) {
      DimLayout part = b.split();
      if (shift) // the next rank's
        part.links = {makeLink(0, [](int64_t n, int64_t r, int64_t c) {
          return getSegments(Partition::block(), n, r, (c + 1) % r);
        })};
      operands.push_back(b.weight("sinks", {kHeads}, {part}));
    }
    Attributes attrs;
    attrs.factor = 0.25;
    ValueId y =
        b.op(OpKind::Attention, operands,
             b.value({kTokens, kHeads, kNope}, {{}, b.split(), {}}), attrs);
    if (ranks > 1)
      y = b.move(OpKind::AllGather, y, b.value({kTokens, kHeads, kNope}), 1);
    return b.finish({y});
  };
  for (int64_t ranks : {2, 4}) {
    requireEqual(build(1, true, 0), build(ranks, true, 0));
    requireDifferent(build(1, true, 0), build(ranks, true, 1));
    requireDifferent(build(1, true, 0), build(ranks, false, 0));
  }
}
