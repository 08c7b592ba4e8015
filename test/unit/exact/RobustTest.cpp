// Programs that make no sense are reported, not crashed upon.
#include "Decoder.h"
#include "layline/Exact/Checker.h"
#include <catch2/catch.hpp>
#include <random>

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

namespace {

/// Changes something at random.
class Mutator {
public:
  explicit Mutator(unsigned seed) : engine(seed) {}
  void mutate(Program &program);

private:
  int64_t below(int64_t bound) {
    return bound < 1 ? 0 : int64_t(engine() % uint64_t(bound));
  }
  void mutateOp(Program &program);
  void mutateValue(Program &program);
  DimLayout anyLayout();

  std::mt19937_64 engine;
};

DimLayout Mutator::anyLayout() {
  DimLayout layout;
  const Partition partitions[] = {Partition::block(), Partition::zigzag(),
                                  Partition::cyclic(1), Partition::readers(8)};
  for (int64_t i = 0, e = below(3); i < e; ++i)
    layout.links.push_back(makeLink(below(3), partitions[below(4)]));
  if (below(4) == 0)
    layout.links.push_back(makeLink(0, [](int64_t items, int64_t, int64_t) {
      return std::vector<Segment>{{items / 2, items}, {-1, 2}};
    }));
  layout.unit = below(5) == 0 ? below(40) - 1 : 1;
  if (below(4) == 0)
    layout.pad = Expr::symbol(below(3) ? "tokens" : "pages") + Expr(below(9));
  return layout;
}

void Mutator::mutateOp(Program &program) {
  Op &op = program.ops[below(program.ops.size())];
  ValueId any = below(program.values.size() + 1);
  switch (below(8)) {
  case 0:
    op.kind = OpKind(below(int64_t(OpKind::Relabel) + 1));
    break;
  case 1:
    if (!op.operands.empty())
      op.operands[below(op.operands.size())] = any;
    break;
  case 2:
    op.operands.push_back(any);
    break;
  case 3:
    op.results[0] = any;
    break;
  case 4:
    op.attrs.dim = below(4);
    op.attrs.root = below(5) - 1;
    op.attrs.axes = {unsigned(below(3)), unsigned(below(3))};
    break;
  case 5:
    op.attrs.topK = below(12);
    op.attrs.rope = nullptr;
    break;
  case 6:
    std::swap(op, program.ops[below(program.ops.size())]);
    break;
  default:
    program.ops.erase(program.ops.begin() + (&op - program.ops.data()));
  }
}

void Mutator::mutateValue(Program &program) {
  Value &value = program.values[below(program.values.size())];
  if (value.shape.empty())
    return;
  size_t dim = below(value.shape.size());
  switch (below(6)) {
  case 0:
  case 1:
    value.dims[dim] = anyLayout();
    break;
  case 2:
    value.shape[dim] = below(70) - 1;
    break;
  case 3:
    value.shape[dim] = Expr::symbol(below(2) ? "tokens" : "pages");
    break;
  case 4:
    value.owes = {unsigned(below(4))};
    break;
  default:
    value.shape.pop_back();
    value.dims.resize(below(4));
  }
}

void Mutator::mutate(Program &program) {
  for (int64_t i = 0, e = 1 + below(3); i < e; ++i)
    below(2) ? mutateOp(program) : mutateValue(program);
}

} // namespace

TEST_CASE("programs changed at random") {
  Model models[2];
  models[0].layers = models[1].layers = 1;
  models[1].experts = 9;
  models[1].isQuantized = true;
  size_t caught = 0, count = 0;
  for (const Model &model : models) {
    CheckerOptions options;
    options.threads = 1;
    options.runs = {{5, 3, 7}, {1, 0, 7}};
    Checker checker(buildReference(model), options);
    for (unsigned seed = 0; seed < 300; ++seed, ++count) {
      Mesh mesh{int64_t(1 + seed % 3), int64_t(1 + seed / 3 % 2)};
      mesh.isByRows = seed % 2 == 1;
      Program program = Decoder(model, mesh).build();
      Mutator(seed).mutate(program);
      Checker single(buildReference(model), options);
      single.addProgram(std::move(program), std::to_string(seed));
      caught += single.check().size();
    }
  }
  // Some changes change nothing.
  CHECK(caught > count / 2);
  CHECK(caught < count);
}

TEST_CASE("references changed at random") {
  Model model;
  model.layers = 1;
  CheckerOptions options;
  options.threads = 1;
  options.runs = {{5, 3, 7}};
  for (unsigned seed = 0; seed < 100; ++seed) {
    Program reference = buildReference(model);
    Mutator(seed).mutate(reference);
    Checker checker(std::move(reference), options);
    checker.addProgram(Decoder(model, {2, 2}).build(), "planned");
    checker.check();
  }
}

TEST_CASE("meshes that are none") {
  Model model;
  for (int64_t size : {int64_t(0), int64_t(-2), int64_t(1) << 40}) {
    Program program = Decoder(model, {2, 2}).build();
    program.axes[1].size = size;
    Checker checker(buildReference(model));
    checker.addProgram(std::move(program), "wrong");
    std::vector<Mismatch> mismatches = checker.check();
    REQUIRE(mismatches.size() == 1);
    CHECK(mismatches[0].text.find("no sensible size") != std::string::npos);
  }
}

TEST_CASE("what is missing is named") {
  Model model;
  auto check = [&](auto change) {
    Program program = Decoder(model, {2, 1}).build();
    change(program);
    Checker checker(buildReference(model));
    checker.addProgram(std::move(program), "wrong");
    std::vector<Mismatch> mismatches = checker.check();
    REQUIRE(mismatches.size() == 1);
    return mismatches[0].text;
  };
  CHECK(check([](Program &p) { p.outputs.clear(); }) ==
        "it returns 0 values instead of 1");
  CHECK(check([](Program &p) { p.caches.pop_back(); }) ==
        "the cache of plane value, layer 1, is not written");
  CHECK(check([](Program &p) {
          p.ops.pop_back();
        }).find("is to be compared but never computed") != std::string::npos);
}

TEST_CASE("both sizes are named where they do not fit") {
  Model model;
  Program program = Decoder(model, {2, 1}).build();
  for (Op &op : program.ops)
    if (op.kind == OpKind::Linear && op.place == "layer.0.o_proj")
      program.values[op.operands[1]].dims[1] = {};
  Checker checker(buildReference(model));
  checker.addProgram(std::move(program), "wrong");
  std::vector<Mismatch> mismatches = checker.check();
  REQUIRE(mismatches.size() == 1);
  CHECK(mismatches[0].text ==
        "with 2 tokens (past 0), rank 0: linear at layer.0.o_proj cannot run: "
        "operand 0, dimension 1 has 64 elements (from 0), operand 1, dimension "
        "1 has 128 elements (from 0)");
}
