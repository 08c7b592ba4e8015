// Routers, experts dealt out over ranks, and their biases.
#include "ProgramBuilder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

namespace {

constexpr int64_t kExperts = 16, kFeatures = 40, kTopK = 4;

struct MoE {
  enum Split { None, Experts, Features };
  Split split = None;
  Attributes router = routing();
  bool isGateOfUp = false;     ///< the biases of gate and up change places
  bool isBiasPartial = false;  ///< the bias of down is added before the sum
  bool isSharedWhole = false;  ///< the shared expert is not split
  bool isSharedReduced = true; ///< and added before the sum all the same
  double limit = 7;

  static Attributes routing() {
    Attributes attrs;
    attrs.function = "sigmoid";
    attrs.topK = kTopK;
    attrs.renormalize = true;
    attrs.factor = 2.5;
    attrs.groups = 4;
    attrs.chosenGroups = 2;
    attrs.groupScore = "top2_sum";
    return attrs;
  }
  Program build(int64_t ranks) const;
};

/// y = experts(x) + shared(x) and the chosen experts' biases, on `ranks` ranks.
Program MoE::build(int64_t ranks) const {
  Builder b(ranks);
  ValueId x = b.input("x", kIn);
  ValueId logits = b.op(OpKind::Linear, {x, b.weight("r", {kExperts, kIn})},
                        b.value({kTokens, kExperts}));
  Value ids;
  ids.shape = {kTokens, Expr(kTopK)};
  ids.elements = ElementClass::Integer;
  ValueId i = b.program.addValue(ids), w = b.value({kTokens, kTopK});
  b.program.addOp(OpKind::Router, {logits, b.weight("choice", {kExperts})},
                  {i, w}, router);
  DimLayout e = split == Experts ? b.split() : DimLayout();
  DimLayout f = split == Features ? b.split() : DimLayout();
  std::vector<int64_t> up = {kExperts, kFeatures, kIn};
  ValueId gateBias = b.weight("gb", {kExperts, kFeatures}, {e, f});
  ValueId upBias = b.weight("ub", {kExperts, kFeatures}, {e, f});
  if (isGateOfUp)
    std::swap(gateBias, upBias);
  Attributes attrs;
  attrs.function = "silu";
  attrs.limit = limit;
  attrs.alpha = 1.702;
  attrs.upOffset = 1;
  bool owes = split != None;
  ValueId y = b.op(OpKind::Experts,
                   {x, i, w, b.weight("g", up, {e, f, {}}),
                    b.weight("u", up, {e, f, {}}),
                    b.weight("d", {kExperts, kOut, kFeatures}, {e, {}, f}),
                    gateBias, upBias},
                   b.value({kTokens, kOut}, {}, owes), attrs);
  DimLayout s = owes && !isSharedWhole ? b.split() : DimLayout();
  ValueId h =
      b.op(OpKind::Linear, {x, b.weight("s", {kFeatures, kIn}, {s, {}})},
           b.value({kTokens, kFeatures}, {{}, s}));
  // As a program would that holds a whole value for a part of a sum.
  ValueId shared =
      b.op(OpKind::Linear, {h, b.weight("t", {kOut, kFeatures}, {{}, s})},
           b.value({kTokens, kOut}, {}, owes));
  ValueId bias = b.weight("db", {kExperts, kOut});
  auto addBias = [&](bool isOwed) {
    y = b.op(OpKind::AddExpertBias, {y, i, w, bias},
             b.value({kTokens, kOut}, {}, isOwed));
  };
  auto reduce = [&] {
    if (ranks > 1 && owes)
      y = b.move(OpKind::AllReduce, y, b.value({kTokens, kOut}));
  };
  if (isBiasPartial)
    addBias(owes);
  y = b.op(OpKind::Add, {y, shared}, b.value({kTokens, kOut}, {}, owes));
  reduce();
  if (!isSharedReduced)
    reduce();
  if (!isBiasPartial)
    addBias(false);
  return b.finish({y});
}

} // namespace

TEST_CASE("experts may be dealt out by number or by features") {
  for (int64_t ranks : {2, 3, 5})
    for (MoE::Split split : {MoE::Experts, MoE::Features}) {
      MoE planned;
      planned.split = split;
      requireEqual(MoE().build(1), planned.build(ranks));
    }
}

TEST_CASE("a wrong mixture differs") {
  auto differ = [](void (*change)(MoE &)) {
    MoE wrong;
    wrong.split = MoE::Experts;
    change(wrong);
    requireDifferent(MoE().build(1), wrong.build(3));
  };
  differ([](MoE &m) { m.isGateOfUp = true; });
  differ([](MoE &m) { m.limit = 6; });
  // Once per rank (sglang #35535, tpu-inference #3435).
  differ([](MoE &m) { m.isSharedWhole = true; });
  differ([](MoE &m) { m.isBiasPartial = true; });
  // Twice (sglang #20110).
  differ([](MoE &m) { m.isSharedReduced = false; });
  differ([](MoE &m) { m.router.factor = 1; });
  differ([](MoE &m) { m.router.function = "softmax"; });
  differ([](MoE &m) { m.router.renormalize = false; });
  differ([](MoE &m) { m.router.chosenGroups = 3; });
  differ([](MoE &m) { m.router.groupScore = "max"; });
  differ([](MoE &m) { m.router.groups = 0; });
}

TEST_CASE("groups choose before experts do") {
  // Whole: with 4 experts in 2 groups every one is run.
  auto build = [](int64_t chosen, bool hasBias) {
    Builder b;
    Attributes attrs;
    attrs.function = "sigmoid";
    attrs.topK = 2;
    attrs.groups = chosen ? 2 : 0;
    attrs.chosenGroups = chosen;
    attrs.groupScore = chosen ? "max" : "";
    ValueId logits = b.input("logits", 4);
    Value ids;
    ids.shape = {kTokens, Expr(2)};
    ids.elements = ElementClass::Integer;
    ValueId i = b.program.addValue(ids), w = b.value({kTokens, 2});
    std::vector<ValueId> operands = {logits};
    if (hasBias)
      operands.push_back(b.weight("bias", {4}));
    b.program.addOp(OpKind::Router, operands, {i, w}, attrs);
    return b.finish({i});
  };
  requireDifferent(build(0, false), build(1, false));
  requireDifferent(build(1, false), build(1, true));
  // All groups are no restriction of which.
  requireEqual(build(0, false), build(2, false));
}
