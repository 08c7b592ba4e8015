//===- FormGraphTest.cpp - the optimum against every choice ---------------===//
#include "EveryChoice.h"
#include "catch2/catch.hpp"

using namespace layline;
using namespace layline::test;

namespace {

/// Solves a random problem and compares with every choice. Returns whether a
/// piece ran. `pieceScale` makes pieces cheaper.
bool compare(unsigned seed, bool withPieces, double pieceScale = 1) {
  std::mt19937 random(seed);
  RandomProblem problem = makeRandomProblem(random, withPieces);
  for (double &us : problem.costs.pieces)
    us *= pieceScale;
  FormChoice choice = FormSolver(problem.graph).solve(problem.costs);
  INFO("seed " << seed << (withPieces ? " with" : " without") << " pieces");
  double expected = searchEveryChoice(problem.graph, problem.costs);
  REQUIRE(choice.us == expected);
  if (expected == kNever)
    return false;
  REQUIRE(isValid(problem.graph, choice));
  REQUIRE(getCost(problem.graph, problem.costs, choice) == expected);
  return !choice.pieces.empty();
}

} // namespace

TEST_CASE("the chosen forms cost what the best of all choices costs") {
  for (unsigned seed = 0; seed < 1000; ++seed)
    compare(seed, /*withPieces=*/false);
}

TEST_CASE("with fused pieces too") {
  int withPieces = 0;
  for (unsigned seed = 0; seed < 1000; ++seed)
    withPieces += compare(seed, /*withPieces=*/true);
  // The cases mean something only if pieces are chosen.
  CHECK(withPieces > 200);
}

TEST_CASE("what is done too early for a cheap piece is not thought free") {
  // A state that is ahead of another may have lost such a piece for good.
  int withPieces = 0;
  for (unsigned seed = 1000; seed < 4000; ++seed)
    withPieces += compare(seed, /*withPieces=*/true, 1.0 / 16);
  CHECK(withPieces > 1500);
}

namespace {

/// layers x (product that owes, add to the residual, norm, product): a decoder
/// whose layers repeat.
struct Stack {
  FormGraph graph;
  FormCosts costs;

  explicit Stack(int layers) {
    constexpr Form Owed = Form::Owed, Rows = Form::Rows, Whole = Form::Whole;
    int residual = graph.addValue(0), normed = graph.addValue(1);
    add({{}, {residual, normed}, {{{}, {Rows, Rows}}}, 0}, {0});
    for (int layer = 0; layer < layers; ++layer) {
      int begin = static_cast<int>(graph.ops.size());
      graph.segments.push_back(layer == 0 ? 0 : begin);
      int partial = graph.addValue(0), sum = graph.addValue(0),
          next = graph.addValue(1);
      add({{normed}, {partial}, {{{Whole}, {Owed}}}, 1}, {5});
      int adds = add({{residual, partial},
                      {sum},
                      {{{Whole, Whole}, {Whole}}, {{Rows, Rows}, {Rows}}},
                      2},
                     {4, 1});
      int norms = add(
          {{sum}, {next}, {{{Whole}, {Whole}}, {{Rows}, {Rows}}}, 3}, {4, 1});
      graph.pieces.push_back(
          {begin,
           {FormGraph::convert(partial, Conversion::ReduceScatter),
            FormGraph::run(adds, 1), FormGraph::run(norms, 1),
            FormGraph::convert(next, Conversion::AllGather)},
           {},
           0});
      costs.pieces.push_back(11);
      residual = sum;
      normed = next;
    }
    add({{normed}, {}, {{{Whole}, {}}}, 4}, {0});
    for (const FormGraph::Value &value : graph.values)
      costs.conversions.push_back(
          value.costClass == 0 ? std::array<double, 3>{8, 10, 8}
                               : std::array<double, 3>{kNever, kNever, 7});
  }

  int add(FormGraph::Op op, std::vector<double> us) {
    costs.modes.push_back(std::move(us));
    return graph.addOp(std::move(op));
  }
};

} // namespace

TEST_CASE("equal layers are solved once") {
  Stack stack(94);
  FormSolver solver(stack.graph);
  // The first (what it reads comes from elsewhere), those between, the last.
  CHECK(solver.countClasses() <= 4);
  FormChoice choice = solver.solve(stack.costs);
  // Fused by rows: 7 for the first gather, then 5 + 11 a layer.
  CHECK(choice.us == 7 + 94 * 16);
  CHECK(choice.pieces.size() == 94);
  CHECK(isValid(stack.graph, choice));
}

TEST_CASE("unfused, an all_reduce beats what the fused kernel would do") {
  Stack stack(6);
  for (double &us : stack.costs.pieces)
    us = kNever;
  FormChoice choice = FormSolver(stack.graph).solve(stack.costs);
  // 5 + all_reduce 10 + whole 4 + 4 = 23; by rows 5 + 8 + 1 + 1 + 7 = 22.
  CHECK(choice.us == 7 + 6 * 22);
  // By rows 24 a layer; 23 whole. The first layer pays for the change: its sum
  // is gathered, 5 + 10 + 1 + 8 + 4.
  for (auto &conversion : stack.costs.conversions)
    conversion[0] += 2;
  choice = FormSolver(stack.graph).solve(stack.costs);
  CHECK(choice.us == 7 + 28 + 5 * 23);
}

TEST_CASE("a stretch that is unlike the others is solved by itself") {
  Stack stack(8);
  int classes = FormSolver(stack.graph).countClasses();
  // Op 13 is the product of layer 4.
  std::vector<int> labels(stack.graph.ops.size());
  labels[13] = labels[14] = 1;
  CHECK(FormSolver(stack.graph, labels).countClasses() > classes);
  // One all_reduce that is almost free changes its own layer only.
  int partial = stack.graph.ops[13].results[0];
  stack.costs.conversions[partial][1] = 0.5;
  FormChoice choice = FormSolver(stack.graph, labels).solve(stack.costs);
  CHECK(choice.converts(partial, Conversion::AllReduce));
  CHECK(choice.pieces.size() == 7);
  CHECK(choice.us == getCost(stack.graph, stack.costs, choice));
}

TEST_CASE("what cannot be fed has no choice") {
  FormGraph graph;
  int value = graph.addValue(0);
  graph.addOp({{}, {value}, {{{}, {Form::Rows}}}, 0});
  graph.addOp({{value}, {}, {{{Form::Owed}, {}}}, 1});
  graph.segments = {0};
  FormCosts costs{{{0}, {0}}, {{1, 1, 1}}, {}};
  CHECK(FormSolver(graph).solve(costs).us == kNever);
}

TEST_CASE("a choice that is not consistent is no choice") {
  Stack stack(2);
  FormChoice good = FormSolver(stack.graph).solve(stack.costs);
  REQUIRE(isValid(stack.graph, good));
  FormChoice bad = good;
  bad.conversions[0] = 0; // harmless: nobody reads the residual whole
  bad.modes[2] = 0;       // ... but now the add does
  CHECK_FALSE(isValid(stack.graph, bad));
  bad = good;
  bad.pieces.push_back(bad.pieces[0]); // done twice
  CHECK_FALSE(isValid(stack.graph, bad));
  bad = good;
  bad.conversions[stack.graph.ops[1].results[0]] |= 2; // paid twice
  CHECK_FALSE(isValid(stack.graph, bad));
}
