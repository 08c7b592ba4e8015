//===- FormStretch.cpp - all ways through a stretch of ops ----------------===//
#include "FormStretch.h"
#include <cassert>

using namespace layline;

int FormStretch::slotOf(int value) const {
  auto at = std::find(live.begin(), live.end(), value);
  assert(at != live.end() && "reads a value that is not live");
  return static_cast<int>(at - live.begin());
}

/// Looks up what all states have in common while one op runs.
void FormStretch::moveTo(int number) {
  op = number;
  const FormGraph::Op &entry = graph.ops[op];
  operandSlots.clear();
  for (int value : entry.operands)
    operandSlots.push_back(slotOf(value));
  nextLive.clear();
  sources.clear();
  for (size_t slot = 0; slot < live.size(); ++slot)
    if (index.lastReader[live[slot]] > op) {
      nextLive.push_back(live[slot]);
      sources.push_back(static_cast<int>(slot));
    }
  for (size_t result = 0; result < entry.results.size(); ++result)
    if (index.lastReader[entry.results[result]] > op) {
      nextLive.push_back(entry.results[result]);
      sources.push_back(-1 - static_cast<int>(result));
    }
}

/// An event happens. What needs it may be done before or after: pieces that are
/// open note it, others may begin with it.
template <typename Then>
void FormStretch::realise(const Partial &partial, const FormGraph::Event &event,
                          const Then &then) {
  FormProblem::Members needers = problem.getNeeders(event);
  note(partial, event, needers.begin(), needers.end(), then);
}

template <typename Then>
void FormStretch::note(const Partial &partial, const FormGraph::Event &event,
                       const FormProblem::Member *from,
                       const FormProblem::Member *to, const Then &then) {
  if (from == to)
    return pay(partial, event, then);
  const auto &open = partial.state.open;
  if (std::any_of(open.begin(), open.end(),
                  [&](const OpenPiece &o) { return o.piece == from->piece; })) {
    Partial way = partial;
    settle(way.state, *from);
    return note(way, event, from + 1, to, then);
  }
  note(partial, event, from + 1, to, then);
  if (mayStart(partial.state, from->piece)) {
    Partial way = partial;
    start(way, *from);
    note(way, event, from + 1, to, then);
  }
}

/// An event of a piece that is open has happened.
void FormStretch::settle(FormState &state,
                         const FormProblem::Member &member) const {
  auto *open =
      std::find_if(state.open.begin(), state.open.end(),
                   [&](const OpenPiece &o) { return o.piece == member.piece; });
  assert(open != state.open.end());
  open->owed &= ~member.bit;
  if (open->owed == 0)
    state.open.erase(open);
}

/// What an open piece still owes is not left to another, and no op that the
/// piece runs is passed.
bool FormStretch::mayStart(const FormState &state, int piece) const {
  if (index.firstRun[piece] < op)
    return false;
  const auto &events = graph.pieces[piece].events;
  return std::none_of(
      state.open.begin(), state.open.end(), [&](const OpenPiece &open) {
        const auto &others = graph.pieces[open.piece].events;
        for (size_t i = 0; i < others.size(); ++i)
          if ((open.owed >> i & 1) && std::find(events.begin(), events.end(),
                                                others[i]) != events.end())
            return true;
        return false;
      });
}

/// As its open piece owes it, at its own price, or as the first of a piece.
template <typename Then>
void FormStretch::pay(const Partial &partial, const FormGraph::Event &event,
                      const Then &then) {
  FormProblem::Members doers = problem.getDoers(event);
  for (const OpenPiece &open : partial.state.open)
    for (const FormProblem::Member &member : doers)
      if (open.piece == member.piece && (open.owed & member.bit)) {
        Partial way = partial;
        settle(way.state, member);
        return then(way);
      }
  if (double own = getOwnCost(costs, event); own != kNever) {
    Partial way = partial;
    way.us += own;
    then(way);
  }
  for (const FormProblem::Member &member : doers)
    if (mayStart(partial.state, member.piece)) {
      Partial way = partial;
      start(way, member);
      then(way);
    }
}

void FormStretch::start(Partial &partial, const FormProblem::Member &member) {
  partial.us += costs.pieces[member.piece];
  partial.log = addLog(partial.log, member.piece, -1);
  uint32_t all = static_cast<uint32_t>(
      (uint64_t(1) << countBits(graph.pieces[member.piece])) - 1);
  if (uint32_t owed = all & ~member.bit) {
    auto &open = partial.state.open;
    if (open.isFull()) {
      isTooWide = true;
      return;
    }
    auto *at = std::find_if(open.begin(), open.end(), [&](const OpenPiece &o) {
      return o.piece > member.piece;
    });
    open.insert(at, {member.piece, owed});
  }
}

template <typename Then>
void FormStretch::convert(const Partial &partial, int value, int slot,
                          Conversion conversion, uint8_t gives,
                          const Then &then) {
  realise(partial, FormGraph::convert(value, conversion),
          [&](const Partial &way) {
            Partial done = way;
            done.state.addForms(slot, gives);
            done.log = addLog(done.log, value, static_cast<int>(conversion));
            then(done);
          });
}

void FormStretch::takeOperands(const Partial &partial, int mode,
                               size_t operand) {
  const FormGraph::Mode &forms = graph.ops[op].modes[mode];
  if (operand == forms.operands.size())
    return realise(partial, FormGraph::run(op, mode),
                   [&](const Partial &way) { finish(way, mode); });
  int value = graph.ops[op].operands[operand];
  int slot = operandSlots[operand];
  uint8_t there = partial.state.getForms(slot);
  uint8_t wanted = forms.operands[operand] == Form::Owed   ? kOwed
                   : forms.operands[operand] == Form::Rows ? kRows
                                                           : kWhole;
  if (there & wanted)
    return takeOperands(partial, mode, operand + 1);
  if (wanted == kOwed)
    return;
  auto goOn = [&](const Partial &way) { takeOperands(way, mode, operand + 1); };
  bool hasRows = there & kRows;
  // A sum is paid once: never an all_reduce behind a reduce_scatter.
  if (!hasRows)
    convert(partial, value, slot, Conversion::AllReduce, kRows | kWhole, goOn);
  if (wanted == kRows)
    return convert(partial, value, slot, Conversion::ReduceScatter, kRows,
                   goOn);
  auto gather = [&](const Partial &way) {
    convert(way, value, slot, Conversion::AllGather, kWhole, goOn);
  };
  if (hasRows)
    gather(partial);
  else
    convert(partial, value, slot, Conversion::ReduceScatter, kRows, gather);
}

/// No piece waits for what can happen no more once the op has run.
bool FormStretch::meetsDeadlines(const FormState &state) const {
  for (const OpenPiece &open : state.open) {
    const std::vector<int> &deadlines = index.deadlines[open.piece];
    for (size_t i = 0; i < deadlines.size(); ++i)
      if ((open.owed >> i & 1) && deadlines[i] <= op)
        return false;
  }
  return true;
}

void FormStretch::finish(const Partial &partial, int mode) {
  if (!meetsDeadlines(partial.state))
    return;
  Entry made;
  made.state.open = partial.state.open;
  made.us = partial.us;
  const FormGraph::Mode &forms = graph.ops[op].modes[mode];
  for (size_t slot = 0; slot < sources.size(); ++slot)
    made.state.addForms(
        slot, sources[slot] >= 0 ? partial.state.getForms(sources[slot])
                                 : getForms(forms.results[-1 - sources[slot]]));
  if (next.size() * 2 >= table.size()) {
    table.assign(std::max<size_t>(64, table.size() * 2), -1);
    for (size_t i = 0; i < next.size(); ++i) {
      size_t place = next[i].state.hash() & (table.size() - 1);
      while (table[place] >= 0)
        place = (place + 1) & (table.size() - 1);
      table[place] = static_cast<int>(i);
    }
  }
  size_t place = made.state.hash() & (table.size() - 1);
  while (table[place] >= 0 && !(next[table[place]].state == made.state))
    place = (place + 1) & (table.size() - 1);
  if (table[place] >= 0 && next[table[place]].us <= partial.us)
    return;
  made.node = static_cast<int>(nodes.size());
  nodes.push_back({parent, mode, partial.log});
  if (table[place] >= 0) {
    next[table[place]] = made;
  } else {
    table[place] = static_cast<int>(next.size());
    next.push_back(made);
  }
}

/// The states found behind an op become those to go on from.
void FormStretch::dropDominated() {
  if (next.size() < 2)
    return std::swap(entries, next);
  dominance.moveTo(op + 1, live);
  entries.clear();
  for (int kept : dominance.select(
           next.size(),
           [&](int i) -> const FormState & { return next[i].state; },
           [&](int i) { return next[i].us; }))
    entries.push_back(next[kept]);
}

FormOutcome FormStretch::collect(const FormState &state, double us,
                                 int node) const {
  FormOutcome outcome{
      encode(state, live.size(), graph, index, end), us, -1, {}};
  FormSteps &steps = outcome.steps;
  for (; node >= 0; node = nodes[node].parent) {
    const Node &entry = nodes[node];
    steps.modes.push_back(entry.mode);
    for (int log = entry.log; log >= 0; log = logs[log].before) {
      int subject = logs[log].subject;
      if (logs[log].conversion < 0)
        steps.pieces.push_back({graph.pieces[subject].anchor - begin,
                                index.indexOfPiece[subject]});
      else
        steps.conversions.push_back(
            {graph.values[subject].producer - begin, index.resultOf[subject],
             static_cast<Conversion>(logs[log].conversion)});
    }
  }
  outcome.from = -1 - node;
  std::reverse(steps.modes.begin(), steps.modes.end());
  return outcome;
}

std::vector<FormOutcome>
FormStretch::run(const std::vector<FormStart> &starts) {
  for (size_t i = 0; i < starts.size(); ++i)
    entries.push_back(
        {starts[i].state, starts[i].us, -1 - static_cast<int>(i)});
  for (int number = begin; number < end; ++number) {
    moveTo(number);
    next.clear();
    std::fill(table.begin(), table.end(), -1);
    for (const Entry &entry : entries) {
      parent = entry.node;
      for (size_t mode = 0; mode < graph.ops[op].modes.size(); ++mode)
        takeOperands({entry.state, entry.us, -1}, static_cast<int>(mode), 0);
    }
    live = nextLive;
    dropDominated();
  }
  std::vector<FormOutcome> outcomes;
  if (isTooWide)
    return outcomes;
  for (const Entry &entry : entries)
    outcomes.push_back(collect(entry.state, entry.us, entry.node));
  return outcomes;
}
