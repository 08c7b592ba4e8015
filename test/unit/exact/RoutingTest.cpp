// Rows that go to the ranks of their experts and come back.
#include "ProgramBuilder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

namespace {

constexpr int64_t kExperts = 16, kFeatures = 40, kTopK = 3;

struct Routed {
  bool isOneRank = false;
  int64_t experts = kExperts; ///< that rows are sent to
  bool otherIds = false;      ///< rows are sent by another router's choice
  bool otherIdsBack = false;  ///< ... and come back by it
  bool readsOtherIds = false; ///< experts read ids that were sent apart
  bool isReduced = false;     ///< in place of combined
  bool isShifted = false;     ///< a rank has its neighbour's experts
  bool readsHoles = false;    ///< a norm reads what experts made
  Program build(int64_t ranks) const;
};

struct Choice {
  ValueId ids, weights;
};

Choice route(Builder &b, ValueId x, const std::string &key, DimLayout rows) {
  Attributes attrs;
  attrs.function = "softmax";
  attrs.topK = kTopK;
  attrs.renormalize = true;
  ValueId logits = b.op(OpKind::Linear, {x, b.weight(key, {kExperts, kIn})},
                        b.value({kTokens, kExperts}, {rows}));
  Value ids;
  ids.shape = {kTokens, Expr(kTopK)};
  ids.dims = {rows};
  ids.elements = ElementClass::Integer;
  Choice choice{b.program.addValue(ids), b.value({kTokens, kTopK}, {rows})};
  b.program.addOp(OpKind::Router, {logits}, {choice.ids, choice.weights},
                  attrs);
  return choice;
}

Program Routed::build(int64_t ranks) const {
  Builder b(ranks);
  DimLayout rows = b.split(), routed = b.split(Partition::routed(experts)),
            e = b.split();
  ValueId x = b.input("x", kIn, {});
  if (ranks > 1)
    x = b.move(OpKind::Slice, x, b.value({kTokens, kIn}, {rows}));
  Choice own = route(b, x, "r", rows), other = route(b, x, "s", rows);
  Attributes moves;
  moves.axes = {0};
  moves.experts = experts;
  auto send = [&](ValueId ids) {
    Value placed = b.program.values[ids];
    placed.dims = {routed};
    ValueId sentIds = b.program.addValue(placed),
            sent = b.value({kTokens, kIn}, {routed}),
            weights = b.value({kTokens, kTopK}, {routed});
    b.program.addOp(OpKind::Dispatch, {x, ids, own.weights},
                    {sent, sentIds, weights}, moves);
    return std::vector<ValueId>{sent, sentIds, weights};
  };
  std::vector<ValueId> in = {x, own.ids, own.weights};
  if (ranks > 1) {
    in = send(otherIds ? other.ids : own.ids);
    if (readsOtherIds)
      in[1] = send(other.ids)[1];
  }
  auto stack = [&](const std::string &key, std::vector<int64_t> shape) {
    if (!isShifted || ranks == 1)
      return b.weight(key, shape, {e, {}, {}});
    // Data of one rank, taken for that of the one before.
    std::vector<int64_t> owners;
    for (int64_t i = 0; i < kExperts; ++i)
      owners.push_back((getBlockOwner(kExperts, ranks, i) + 1) % ranks);
    ValueId taken = b.value({shape.begin(), shape.end()}, {e, {}, {}});
    return b.op(
        OpKind::Relabel,
        {b.weight(key, shape, {b.split(Partition::owner(owners)), {}, {}})},
        taken);
  };
  Attributes attrs;
  attrs.function = "silu";
  ValueId y = b.op(OpKind::Experts,
                   {in[0], in[1], in[2], stack("g", {kExperts, kFeatures, kIn}),
                    stack("u", {kExperts, kFeatures, kIn}),
                    stack("d", {kExperts, kOut, kFeatures})},
                   b.value({kTokens, kOut}, {ranks > 1 ? routed : DimLayout()},
                           /*owes=*/true),
                   attrs);
  if (ranks == 1)
    return b.finish({y});
  if (readsHoles) {
    Value same = b.program.values[y];
    y = b.op(OpKind::Scale, {y}, b.program.addValue(same));
    ValueId all = b.value({kTokens, kOut});
    return b.finish({b.move(OpKind::AllReduce, y, all)});
  }
  if (isReduced)
    y = b.move(OpKind::ReduceScatter, y, b.value({kTokens, kOut}, {rows}));
  else
    y = b.op(OpKind::Combine, {y, otherIdsBack ? other.ids : own.ids},
             b.value({kTokens, kOut}, {rows}), moves);
  return b.finish({b.move(OpKind::AllGather, y, b.value({kTokens, kOut}))});
}

} // namespace

TEST_CASE("rows go to their experts and come back") {
  // 17 ranks: one of them has no expert.
  for (int64_t ranks : {2, 3, 5, 17})
    requireEqual(Routed().build(1), Routed().build(ranks));
}

TEST_CASE("rows that went to other experts differ") {
  auto differ = [](void (*change)(Routed &)) {
    Routed wrong;
    change(wrong);
    for (int64_t ranks : {2, 3})
      requireDifferent(Routed().build(1), wrong.build(ranks));
  };
  differ([](Routed &r) { r.otherIds = true; });
  differ([](Routed &r) { r.otherIdsBack = true; });
  differ([](Routed &r) { r.otherIds = r.otherIdsBack = true; });
  differ([](Routed &r) { r.readsOtherIds = true; });
  differ([](Routed &r) { r.isReduced = true; });
  differ([](Routed &r) { r.isShifted = true; });
  differ([](Routed &r) { r.readsHoles = true; });
  differ([](Routed &r) { r.experts = kExperts - 1; });
  differ([](Routed &r) { r.experts = 2 * kExperts; });
  differ([](Routed &r) { r.experts = 0; });
}
