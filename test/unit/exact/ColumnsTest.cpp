// Windows of columns, columns side by side, and rows times a scale.
#include "ProgramBuilder.h"

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

namespace {

constexpr int64_t kLatent = 512, kRope = 64, kBoth = kLatent + kRope;

ValueId window(Builder &b, ValueId x, int64_t begin, int64_t size) {
  Value value = b.program.values[x];
  value.shape.back() = Expr(size);
  Attributes attrs;
  attrs.begin = begin;
  return b.op(OpKind::SliceColumns, {x}, b.program.addValue(value), attrs);
}

/// The latent of an MLA layer, normed, and its rope key.
Program latent(int64_t ranks, int64_t ropeBegin, bool isCutFirst) {
  Builder b(ranks);
  ValueId x = b.input("x", kIn), w = b.weight("kv_a", {kBoth, kIn});
  ValueId gamma = b.weight("gamma", {kLatent});
  ValueId rows = x;
  if (ranks > 1)
    rows = b.move(OpKind::Slice, x, b.value({kTokens, kIn}, {b.split(), {}}));
  DimLayout split = ranks > 1 ? b.split() : DimLayout();
  ValueId both =
      b.op(OpKind::Linear, {rows, w}, b.value({kTokens, kBoth}, {split, {}}));
  auto gather = [&](ValueId value) {
    Value whole = b.program.values[value];
    whole.dims.assign(2, {});
    return ranks > 1
               ? b.move(OpKind::AllGather, value, b.program.addValue(whole))
               : value;
  };
  if (!isCutFirst)
    both = gather(both);
  ValueId l = window(b, both, 0, kLatent);
  ValueId k = window(b, both, ropeBegin, kRope);
  l = b.norm(l, gamma);
  if (isCutFirst) {
    l = gather(l);
    k = gather(k);
  }
  return b.finish({l, k});
}

} // namespace

TEST_CASE("columns may be cut before their rows are gathered and behind it") {
  for (int64_t ranks : {2, 3, 8})
    for (bool isCutFirst : {false, true}) {
      requireEqual(latent(1, kLatent, false),
                   latent(ranks, kLatent, isCutFirst));
      requireDifferent(latent(1, kLatent, false),
                       latent(ranks, kLatent - 1, isCutFirst));
    }
}

TEST_CASE("a window that leaves the operand is a fault") {
  std::vector<Mismatch> found =
      check(latent(1, kLatent, false), latent(2, kLatent + 1, true));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].text, Catch::Matchers::Contains("are not within 576"));
}

TEST_CASE("what is cut and joined in order is what it was") {
  auto build = [](std::vector<int64_t> begins) {
    Builder b;
    ValueId x = b.input("x", 100);
    if (begins.empty())
      return b.finish({b.norm(x, b.weight("w", {100}))});
    std::vector<ValueId> parts;
    for (int64_t begin : begins)
      parts.push_back(window(b, x, begin, 25));
    x = b.op(OpKind::ConcatColumns, parts, b.value({kTokens, 100}));
    return b.finish({b.norm(x, b.weight("w", {100}))});
  };
  requireEqual(build({}), build({0, 25, 50, 75}));
  requireDifferent(build({}), build({0, 50, 25, 75}));
  requireDifferent(build({}), build({0, 25, 50, 50}));
}

TEST_CASE("joined columns that do not fill the result are a fault") {
  auto build = [](int64_t columns) {
    Builder b;
    ValueId x = b.input("x", 100);
    b.op(OpKind::ConcatColumns, {x, x}, b.value({kTokens, columns}));
    return b.finish({x});
  };
  requireEqual(build(200), build(200));
  std::vector<Mismatch> found = check(build(200), build(199));
  REQUIRE(found.size() == 1);
  CHECK_THAT(found[0].text,
             Catch::Matchers::Contains("have 200 columns together"));
}

TEST_CASE("a gate of each row may scale what is still owed") {
  // y = sigmoid(x g) * (x w^T), the product split over its features.
  auto build = [](int64_t ranks, bool isScaledFirst, bool isGatePartial) {
    Builder b(ranks);
    ValueId x = b.input("x", kIn, {{}, b.split()});
    ValueId w = b.weight("w", {kOut, kIn}, {{}, b.split()});
    DimLayout part = isGatePartial ? b.split() : DimLayout();
    ValueId gateInput = b.input("x", kIn, {{}, part});
    ValueId g =
        b.op(OpKind::Linear, {gateInput, b.weight("g", {1, kIn}, {{}, part})},
             b.value({kTokens, 1}, {}, isGatePartial));
    Attributes attrs;
    attrs.function = "sigmoid";
    g = b.op(OpKind::Activation, {g}, b.value({kTokens, 1}), attrs);
    ValueId y =
        b.op(OpKind::Linear, {x, w}, b.value({kTokens, kOut}, {}, true));
    auto reduce = [&] {
      if (ranks > 1)
        y = b.move(OpKind::AllReduce, y, b.value({kTokens, kOut}));
    };
    if (!isScaledFirst)
      reduce();
    y = b.op(OpKind::RowScale, {y, g},
             b.value({kTokens, kOut}, {}, isScaledFirst));
    if (isScaledFirst)
      reduce();
    return b.finish({y});
  };
  for (int64_t ranks : {2, 3, 5}) {
    requireEqual(build(1, false, false), build(ranks, false, false));
    requireEqual(build(1, false, false), build(ranks, true, false));
    // The gate of a part of the row is no part of the gate.
    requireDifferent(build(1, false, false), build(ranks, true, true));
  }
}
