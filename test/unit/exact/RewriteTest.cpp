// Legal rewrites of a few ops, and their illegal neighbours.
#include "ProgramBuilder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

TEST_CASE("sums may be deferred past linear ops") {
  // y = scale(x w^T + r w^T), and the same with the sum taken last.
  auto build = [](int64_t ranks, bool isOnce) {
    Builder b(ranks);
    ValueId sums[2];
    for (int i = 0; i < 2; ++i) {
      std::string name = i == 0 ? "x" : "r";
      ValueId x = b.input(name, kIn, {{}, b.split()});
      ValueId w = b.weight("w" + name, {kOut, kIn}, {{}, b.split()});
      sums[i] =
          b.op(OpKind::Linear, {x, w}, b.value({kTokens, kOut}, {}, true));
    }
    ValueId y = b.op(OpKind::Add, {sums[0], sums[1]},
                     b.value({kTokens, kOut}, {}, true));
    Attributes attrs;
    attrs.factor = 0.22;
    y = b.op(OpKind::Scale, {y}, b.value({kTokens, kOut}, {}, true), attrs);
    if (ranks > 1)
      y = b.move(OpKind::AllReduce, y, b.value({kTokens, kOut}));
    if (ranks > 1 && !isOnce)
      y = b.move(OpKind::AllReduce, y, b.value({kTokens, kOut}));
    return b.finish({y});
  };
  for (int64_t ranks : {2, 3, 5}) {
    requireEqual(build(1, true), build(ranks, true));
    requireDifferent(build(1, true), build(ranks, false));
  }
}

TEST_CASE("a bias is added once") {
  auto build = [](int64_t ranks, bool isSplit) {
    Builder b(ranks);
    ValueId x = b.input("x", kIn, {{}, b.split()});
    ValueId w = b.weight("w", {kOut, kIn}, {{}, b.split()});
    ValueId bias = b.weight("b", {kOut});
    ValueId y = b.value({kTokens, kOut}, {}, true);
    b.op(OpKind::Linear,
         isSplit ? std::vector<ValueId>{x, w}
                 : std::vector<ValueId>{x, w, bias},
         y);
    if (ranks > 1)
      y = b.move(OpKind::AllReduce, y, b.value({kTokens, kOut}));
    if (isSplit)
      y = b.op(OpKind::AddBias, {y, bias}, b.value({kTokens, kOut}));
    return b.finish({y});
  };
  requireEqual(build(1, false), build(3, true));
  requireDifferent(build(1, false), build(3, false));
}

TEST_CASE("rows may be padded, gathered and unpadded") {
  auto build = [](int64_t ranks, bool isGatheredPadded) {
    Builder b(ranks);
    ValueId x = b.input("x", kIn);
    ValueId w = b.weight("w", {kIn});
    if (ranks == 1)
      return b.finish({b.norm(x, w)});
    ValueId rows = b.value({kTokens, kIn}, {b.split(), {}});
    ValueId y = b.move(OpKind::Slice, x, rows);
    y = b.move(OpKind::Pad, y, b.value({kTokens, kIn}, {b.padded(ranks), {}}));
    y = b.norm(y, w);
    if (!isGatheredPadded)
      y = b.move(OpKind::Unpad, y, b.value({kTokens, kIn}, {b.split(), {}}));
    y = b.move(OpKind::AllGather, y, b.value({kTokens, kIn}));
    return b.finish({y});
  };
  for (int64_t ranks : {2, 3, 7}) {
    requireEqual(build(1, false), build(ranks, false));
    requireEqual(build(1, false), build(ranks, true));
  }
}

TEST_CASE("axes of one size are two axes") {
  // Rows over "cp", then over "tp". With fewer than 4 rows on a rank of "cp",
  // blocks and turns over 3 ranks of "tp" are the same: only more than 3 x 3
  // tokens tell them apart.
  auto build = [](bool isMesh, bool isMixed) {
    Builder b;
    ValueId x = b.input("x", kIn);
    if (!isMesh)
      return b.finish({x});
    b.program.axes = {{"cp", 3}, {"tp", 3}};
    DimLayout outer, blocks, turns;
    outer.links = {makeLink(0, Partition::block())};
    blocks = turns = outer;
    blocks.links.push_back(makeLink(1, Partition::block()));
    turns.links.push_back(makeLink(1, Partition::cyclic(1)));
    auto move = [&](OpKind kind, ValueId from, DimLayout rows, unsigned axis) {
      Attributes attrs;
      attrs.axes = {axis};
      return b.op(kind, {from}, b.value({kTokens, kIn}, {rows, {}}), attrs);
    };
    ValueId y = move(OpKind::Slice, x, outer, 0);
    y = move(OpKind::Slice, y, blocks, 1);
    if (isMixed)
      y = b.op(OpKind::Relabel, {y}, b.value({kTokens, kIn}, {turns, {}}));
    y = move(OpKind::AllGather, y, outer, 1);
    return b.finish({move(OpKind::AllGather, y, {}, 0)});
  };
  requireEqual(build(false, false), build(true, false));
  requireDifferent(build(false, false), build(true, true));
}

TEST_CASE("attention may be called with more heads than there are") {
  constexpr int64_t kHeads = 8, kKVHeads = 4, kWidth = 6, kAsked = 16;
  auto build = [](int64_t ranks, bool isPadded) {
    Builder b(ranks);
    auto heads = [&](const std::string &name, int64_t count, DimLayout split) {
      return b.op(
          OpKind::SplitHeads,
          {b.op(OpKind::Linear,
                {b.input("x", kIn), b.weight(name, {count * kWidth, kIn},
                                             {[&] {
                                                DimLayout flat = split;
                                                flat.unit = kWidth;
                                                return flat;
                                              }(),
                                              {}})},
                b.value({kTokens, count * kWidth}, {{},
                                                    [&] {
                                                      DimLayout flat = split;
                                                      flat.unit = kWidth;
                                                      return flat;
                                                    }()}))},
          b.value({kTokens, count, kWidth}, {{}, split, {}}));
    };
    DimLayout split = b.split(), padded = split;
    padded.pad = Expr(kAsked);
    DimLayout kvSplit = b.split(Partition::readers(kHeads));
    ValueId q = heads("q", kHeads, split);
    Expr context = Expr::symbol("past") + kTokens;
    auto cached = [&](ValueId rows, const std::string &plane, int64_t layer,
                      ValueId result) {
      Attributes attrs;
      attrs.plane = plane;
      attrs.layer = layer;
      return b.op(OpKind::Cache, {rows}, result, attrs);
    };
    Attributes attrs;
    attrs.role = InputRole::Positions;
    attrs.input = "positions";
    auto integers = [&](Expr rows) {
      ValueId value = b.value({rows});
      b.program.values[value].elements = ElementClass::Integer;
      return value;
    };
    ValueId positions = b.op(OpKind::Input, {}, integers(kTokens), attrs);
    ValueId keyPositions =
        cached(positions, "positions", -1, integers(context));
    ValueId keys =
        cached(heads("k", kKVHeads, kvSplit), "key", 0,
               b.value({context, kKVHeads, kWidth}, {{}, kvSplit, {}}));
    ValueId values =
        cached(heads("v", kKVHeads, kvSplit), "value", 0,
               b.value({context, kKVHeads, kWidth}, {{}, kvSplit, {}}));
    if (isPadded)
      q = b.move(OpKind::Pad, q,
                 b.value({kTokens, kHeads, kWidth}, {{}, padded, {}}), 1);
    ValueId o =
        b.op(OpKind::Attention, {q, keys, values, positions, keyPositions},
             b.value({kTokens, kHeads, kWidth},
                     {{}, isPadded ? padded : split, {}}));
    if (isPadded)
      o = b.move(OpKind::Unpad, o,
                 b.value({kTokens, kHeads, kWidth}, {{}, split, {}}), 1);
    if (ranks > 1)
      o = b.move(OpKind::AllGather, o, b.value({kTokens, kHeads, kWidth}), 1);
    return b.finish({o});
  };
  for (int64_t ranks : {2, 4, 8}) {
    requireEqual(build(1, false), build(ranks, false));
    requireEqual(build(1, false), build(ranks, true));
  }
}

TEST_CASE("a gather may sink past row-wise ops") {
  auto build = [](int64_t ranks, Partition partition) {
    Builder b(ranks);
    ValueId x = b.input("x", kIn, {b.split(partition), {}});
    ValueId y = b.norm(x, b.weight("n", {kIn}));
    ValueId w = b.weight("w", {kOut, kIn});
    y = b.op(OpKind::Linear, {y, w},
             b.value({kTokens, kOut}, {b.split(partition), {}}));
    if (ranks > 1)
      y = b.move(OpKind::AllGather, y, b.value({kTokens, kOut}));
    return b.finish({y});
  };
  for (int64_t ranks : {2, 3, 4, 8})
    for (const Partition &partition :
         {Partition::block(), Partition::zigzag(), Partition::cyclic(2)})
      requireEqual(build(1, partition), build(ranks, partition));
}

TEST_CASE("experts may be split over ranks") {
  auto build = [](int64_t ranks, bool isOwed) {
    Builder b(ranks);
    constexpr int64_t kExperts = 12, kChosen = 3, kFeatures = 10;
    ValueId x = b.input("x", kIn);
    ValueId logits =
        b.op(OpKind::Linear, {x, b.weight("router", {kExperts, kIn})},
             b.value({kTokens, kExperts}));
    Attributes attrs;
    attrs.topK = kChosen;
    attrs.function = "sigmoid";
    attrs.factor = 2.5;
    ValueId ids = b.value({kTokens, kChosen});
    b.program.values[ids].elements = ElementClass::Integer;
    ValueId weights = b.value({kTokens, kChosen});
    b.program.addOp(OpKind::Router, {logits}, {ids, weights}, attrs);
    auto stack = [&](const std::string &key, int64_t out, int64_t in) {
      Attributes stored;
      stored.weight = {key, {out, in}, std::nullopt, true};
      return b.op(OpKind::Weight, {},
                  b.value({kExperts, out, in}, {b.split(), {}, {}}), stored);
    };
    attrs = {};
    attrs.function = "silu";
    ValueId y =
        b.op(OpKind::Experts,
             {x, ids, weights, stack("gate", kFeatures, kIn),
              stack("up", kFeatures, kIn), stack("down", kOut, kFeatures)},
             b.value({kTokens, kOut}, {}, isOwed), attrs);
    return b.finish({y});
  };
  for (int64_t ranks : {2, 5, 12}) {
    requireEqual(build(1, true), build(ranks, true));
    requireDifferent(build(1, true), build(ranks, false));
  }
}

TEST_CASE("casts that keep every value are free, others are not") {
  auto build = [](std::vector<std::string> types) {
    Builder b;
    ValueId x = b.input("x", kIn);
    for (size_t i = 1; i < types.size(); ++i) {
      Attributes attrs;
      attrs.from = types[i - 1];
      attrs.to = types[i];
      x = b.op(OpKind::Cast, {x}, b.value({kTokens, kIn}), attrs);
    }
    return b.finish({x});
  };
  requireEqual(build({}), build({"bf16", "f32", "f64"}));
  requireEqual(build({}), build({"f8E4M3FN", "f16"}));
  requireDifferent(build({}), build({"f32", "bf16"}));
  requireDifferent(build({}), build({"bf16", "f16"}));
  requireDifferent(build({"f32", "bf16"}), build({"f32", "f16"}));
}

TEST_CASE("copies have to be copies on every rank") {
  auto build = [](int64_t ranks, bool isBroadcast) {
    Builder b(ranks);
    ValueId x = b.input("x", kIn);
    if (ranks == 1)
      return b.finish({x});
    // The last rank holds garbage in place of rows that it does not have.
    DimLayout short_;
    short_.links = {makeLink(0, [](int64_t items, int64_t n, int64_t rank) {
      return std::vector<Segment>{{0, rank + 1 == n ? 0 : items}};
    })};
    x = b.move(OpKind::Slice, x, b.value({kTokens, kIn}, {short_, {}}));
    x = b.op(OpKind::Relabel, {x}, b.value({kTokens, kIn}));
    if (isBroadcast)
      x = b.move(OpKind::Broadcast, x, b.value({kTokens, kIn}));
    return b.finish({x});
  };
  requireEqual(build(1, true), build(3, true));
  requireDifferent(build(1, true), build(3, false));
}

TEST_CASE("a part that no rank holds is missed") {
  Builder b(2);
  DimLayout hole;
  hole.links = {makeLink(0, [](int64_t items, int64_t, int64_t rank) {
    return std::vector<Segment>{{rank, items > 1 ? 1 : 0}};
  })};
  ValueId x = b.input("x", kIn, {hole, {}});
  Builder whole;
  ValueId y = whole.input("x", kIn);
  std::vector<Mismatch> mismatches = check(whole.finish({y}), b.finish({x}));
  REQUIRE(mismatches.size() == 1);
  CHECK(mismatches[0].text.find("is held by no rank") != std::string::npos);
}
