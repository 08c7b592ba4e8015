//===- EveryChoice.cpp - form graphs by exhaustive search -----------------===//
#include "EveryChoice.h"
#include <algorithm>
#include <cassert>

using namespace layline;
using namespace layline::test;

namespace {

class Search {
public:
  Search(const FormGraph &graph, const FormCosts &costs)
      : graph(graph), costs(costs), modes(graph.ops.size()),
        conversions(graph.values.size()) {
    for (const FormGraph::Op &op : graph.ops)
      for (size_t mode = 0; mode < op.modes.size(); ++mode)
        events.push_back(FormGraph::run(
            static_cast<int>(&op - graph.ops.data()), static_cast<int>(mode)));
    for (size_t value = 0; value < graph.values.size(); ++value)
      for (Conversion c : {Conversion::ReduceScatter, Conversion::AllReduce,
                           Conversion::AllGather})
        events.push_back(FormGraph::convert(static_cast<int>(value), c));
    for (const FormGraph::Event &event : events)
      price.push_back(event.isConversion
                          ? costs.conversions[event.subject][event.choice]
                          : costs.modes[event.subject][event.choice]);
    auto find = [&](const std::vector<FormGraph::Event> &list) {
      std::vector<size_t> members;
      for (const FormGraph::Event &event : list)
        members.push_back(static_cast<size_t>(
            std::find(events.begin(), events.end(), event) - events.begin()));
      return members;
    };
    for (const FormGraph::Piece &piece : graph.pieces) {
      pieces.push_back(find(piece.events));
      needs.push_back(find(piece.needs));
    }
  }

  double run() {
    chooseMode(0);
    return best;
  }

private:
  void chooseMode(size_t op) {
    if (op == graph.ops.size())
      return chooseConversions(0);
    for (size_t mode = 0; mode < graph.ops[op].modes.size(); ++mode) {
      modes[op] = static_cast<int>(mode);
      chooseMode(op + 1);
    }
  }

  Form getMade(size_t value) const {
    const FormGraph::Op &op = graph.ops[graph.values[value].producer];
    size_t result =
        static_cast<size_t>(std::find(op.results.begin(), op.results.end(),
                                      static_cast<int>(value)) -
                            op.results.begin());
    return op.modes[modes[graph.values[value].producer]].results[result];
  }

  /// Whether some reader takes the value in this form.
  bool isTaken(size_t value, Form form) const {
    for (int reader : graph.values[value].readers) {
      const FormGraph::Op &op = graph.ops[reader];
      for (size_t i = 0; i < op.operands.size(); ++i)
        if (op.operands[i] == static_cast<int>(value) &&
            op.modes[modes[reader]].operands[i] == form)
          return true;
    }
    return false;
  }

  /// Every set of conversions that makes sense for the form it was made in,
  /// and that gives nothing that nobody takes.
  void chooseConversions(size_t value) {
    if (value == graph.values.size())
      return check();
    constexpr uint8_t scatter = 1, reduce = 2, gather = 4;
    std::vector<uint8_t> sets = {0};
    Form made = getMade(value);
    if (made == Form::Owed)
      sets = {0, scatter, reduce, scatter | gather};
    else if (made == Form::Rows)
      sets = {0, gather};
    bool whole = isTaken(value, Form::Whole),
         any = whole || isTaken(value, Form::Rows);
    for (uint8_t set : sets) {
      conversions[value] = set;
      if ((set & gather && !whole) || (set && !any))
        continue;
      if (feeds(value))
        chooseConversions(value + 1);
    }
  }

  /// Every reader of the value finds the form it takes.
  bool feeds(size_t value) const {
    Form made = getMade(value);
    bool whole = made == Form::Whole || (conversions[value] & 6);
    bool rows = whole || made == Form::Rows || (conversions[value] & 1);
    for (int reader : graph.values[value].readers) {
      const FormGraph::Op &op = graph.ops[reader];
      const FormGraph::Mode &mode = op.modes[modes[reader]];
      for (size_t i = 0; i < op.operands.size(); ++i) {
        if (op.operands[i] != static_cast<int>(value))
          continue;
        bool isThere = mode.operands[i] == Form::Owed   ? made == Form::Owed
                       : mode.operands[i] == Form::Rows ? rows
                                                        : whole;
        if (!isThere)
          return false;
      }
    }
    return true;
  }

  void check() {
    std::vector<bool> isDone(events.size());
    for (size_t e = 0; e < events.size(); ++e) {
      const FormGraph::Event &event = events[e];
      isDone[e] = event.isConversion
                      ? conversions[event.subject] >> event.choice & 1
                      : modes[event.subject] == event.choice;
    }
    done = isDone;
    pack(0, isDone, 0);
  }

  /// Every set of pieces that do what is done and share nothing.
  void pack(size_t piece, std::vector<bool> &left, double us) {
    if (us >= best)
      return;
    if (piece == pieces.size()) {
      for (size_t e = 0; e < events.size(); ++e)
        if (left[e])
          us += price[e];
      best = std::min(best, us);
      return;
    }
    pack(piece + 1, left, us);
    if (!std::all_of(pieces[piece].begin(), pieces[piece].end(),
                     [&](size_t e) { return left[e]; }) ||
        !std::all_of(needs[piece].begin(), needs[piece].end(),
                     [&](size_t e) { return done[e]; }))
      return;
    for (size_t e : pieces[piece])
      left[e] = false;
    pack(piece + 1, left, us + costs.pieces[piece]);
    for (size_t e : pieces[piece])
      left[e] = true;
  }

  const FormGraph &graph;
  const FormCosts &costs;
  std::vector<FormGraph::Event> events;
  std::vector<double> price;
  std::vector<std::vector<size_t>> pieces, needs;
  std::vector<bool> done;
  std::vector<int> modes;
  std::vector<uint8_t> conversions;
  double best = kNever;
};

class Maker {
public:
  explicit Maker(std::mt19937 &random) : random(random) {}

  int number(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  }
  bool chance(int percent) { return number(1, 100) <= percent; }
  /// Quarters: sums of a few are exact in any order.
  double cost() { return chance(4) ? kNever : 0.25 * number(0, 80); }

  RandomProblem make(bool withPieces);

private:
  void addOp(FormGraph &graph);
  void addPiece(FormGraph &graph);

  std::mt19937 &random;
};

} // namespace

/// A product that owes, a row-wise op of one to three operands (linear or
/// not), or an op that needs whole values.
void Maker::addOp(FormGraph &graph) {
  FormGraph::Op op;
  int known = static_cast<int>(graph.values.size());
  int kind = known == 0 ? 0 : number(0, 5);
  if (known > 0) {
    int operands = number(1, std::min(3, known));
    for (int i = 0; i < operands; ++i)
      // Mostly recent values, so that chains and forks come about.
      op.operands.push_back(chance(70) ? std::max(0, known - number(1, 3))
                                       : number(0, known - 1));
  }
  int results = chance(15) ? 2 : 1;
  for (int i = 0; i < results; ++i)
    op.results.push_back(graph.addValue(0));
  auto all = [](size_t n, Form form) { return std::vector<Form>(n, form); };
  size_t in = op.operands.size(), out = op.results.size();
  if (kind == 0 || kind == 5) {
    op.modes.push_back(
        {all(in, Form::Whole), all(out, kind == 0 ? Form::Owed : Form::Whole)});
  } else {
    op.modes.push_back({all(in, Form::Whole), all(out, Form::Whole)});
    op.modes.push_back({all(in, Form::Rows), all(out, Form::Rows)});
    if (kind >= 3)
      op.modes.push_back({all(in, Form::Owed), all(out, Form::Owed)});
    if (kind == 4 && in > 1)
      op.modes.back().operands[in - 1] = Form::Whole;
  }
  graph.addOp(std::move(op));
}

/// A conversion of some value, ops that read on from it by rows or whole, and
/// perhaps a gather; or a few gathers; or any few events at all.
void Maker::addPiece(FormGraph &graph) {
  FormGraph::Piece piece;
  auto add = [&](FormGraph::Event event) {
    if (std::find(piece.events.begin(), piece.events.end(), event) ==
        piece.events.end())
      piece.events.push_back(event);
  };
  int value = number(0, static_cast<int>(graph.values.size()) - 1);
  if (chance(60)) {
    bool byRows = chance(70);
    add(FormGraph::convert(value, byRows ? Conversion::ReduceScatter
                                         : Conversion::AllReduce));
    for (int length = number(0, 3); length > 0; --length) {
      const auto &readers = graph.values[value].readers;
      if (readers.empty())
        break;
      int op = readers[number(0, static_cast<int>(readers.size()) - 1)];
      if (graph.ops[op].modes.size() < 2)
        break;
      add(FormGraph::run(op, byRows ? 1 : 0));
      value = graph.ops[op].results[0];
    }
    if (byRows && chance(60))
      add(FormGraph::convert(value, Conversion::AllGather));
  } else {
    for (int count = number(1, 3); count > 0; --count) {
      int other = number(0, static_cast<int>(graph.values.size()) - 1);
      if (chance(50)) {
        add(FormGraph::convert(other, static_cast<Conversion>(number(0, 2))));
      } else {
        int op = graph.values[other].producer;
        add(FormGraph::run(
            op, number(0, static_cast<int>(graph.ops[op].modes.size()) - 1)));
      }
    }
  }
  if (chance(30)) {
    int op = number(0, static_cast<int>(graph.ops.size()) - 1);
    FormGraph::Event need = FormGraph::run(
        op, number(0, static_cast<int>(graph.ops[op].modes.size()) - 1));
    if (std::find(piece.events.begin(), piece.events.end(), need) ==
        piece.events.end())
      piece.needs.push_back(need);
  }
  piece.anchor = number(0, static_cast<int>(graph.ops.size()) - 1);
  graph.pieces.push_back(std::move(piece));
}

RandomProblem Maker::make(bool withPieces) {
  RandomProblem problem;
  FormGraph &graph = problem.graph;
  int values = number(3, 14);
  while (static_cast<int>(graph.values.size()) + 1 < values)
    addOp(graph);
  // Someone needs a value or two whole at the end.
  FormGraph::Op last;
  for (int i = number(1, 2); i > 0; --i)
    last.operands.push_back(
        number(0, static_cast<int>(graph.values.size()) - 1));
  last.modes.push_back(
      {std::vector<Form>(last.operands.size(), Form::Whole), {}});
  graph.addOp(std::move(last));
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    graph.ops[op].costClass = static_cast<int>(op);
    if (op == 0 || chance(30))
      graph.segments.push_back(static_cast<int>(op));
  }
  for (size_t value = 0; value < graph.values.size(); ++value)
    graph.values[value].costClass = static_cast<int>(value);
  if (withPieces)
    for (int count = number(1, 8); count > 0; --count)
      addPiece(graph);
  // By insertion: equal anchors keep their order.
  for (size_t i = 1; i < graph.pieces.size(); ++i)
    for (size_t k = i;
         k > 0 && graph.pieces[k].anchor < graph.pieces[k - 1].anchor; --k)
      std::swap(graph.pieces[k], graph.pieces[k - 1]);
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece)
    graph.pieces[piece].costClass = static_cast<int>(piece);

  for (const FormGraph::Op &op : graph.ops) {
    problem.costs.modes.emplace_back();
    for (size_t mode = 0; mode < op.modes.size(); ++mode)
      problem.costs.modes.back().push_back(cost());
  }
  for (size_t value = 0; value < graph.values.size(); ++value)
    problem.costs.conversions.push_back({cost(), cost(), cost()});
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece)
    problem.costs.pieces.push_back(cost());
  return problem;
}

double test::searchEveryChoice(const FormGraph &graph, const FormCosts &costs) {
  return Search(graph, costs).run();
}

RandomProblem test::makeRandomProblem(std::mt19937 &random, bool withPieces) {
  return Maker(random).make(withPieces);
}
