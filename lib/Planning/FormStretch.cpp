//===- FormStretch.cpp - all ways through a stretch of ops ----------------===//
#include "FormStretch.h"
#include <cassert>

using namespace layline;

int FormStretch::slotOf(int value) const {
  auto at = std::find(live.begin(), live.end(), value);
  assert(at != live.end() && "reads a value that is not live");
  return static_cast<int>(at - live.begin());
}

/// An event happens. What needs it may be done before or after: pieces that are
/// open note it, others may begin with it.
template <typename Then>
void FormStretch::realise(const Partial &partial, const FormGraph::Event &event,
                          const Then &then) {
  note(partial, event,
       event.isConversion ? index.ofConversion[event.subject]
                          : index.ofRun[event.subject],
       0, then);
}

template <typename Then>
void FormStretch::note(const Partial &partial, const FormGraph::Event &event,
                       const std::vector<FormIndex::Member> &members,
                       size_t from, const Then &then) {
  while (from < members.size() &&
         !(members[from].isNeed && members[from].choice == event.choice))
    ++from;
  if (from == members.size())
    return pay(partial, event, members, then);
  const FormIndex::Member &member = members[from];
  const auto &open = partial.state.open;
  if (std::any_of(open.begin(), open.end(), [&](const OpenPiece &o) {
        return o.piece == member.piece;
      })) {
    Partial way = partial;
    settle(way.state, member);
    return note(way, event, members, from + 1, then);
  }
  note(partial, event, members, from + 1, then);
  if (mayStart(partial.state, member.piece)) {
    Partial way = partial;
    start(way, member);
    note(way, event, members, from + 1, then);
  }
}

/// An event of a piece that is open has happened.
void FormStretch::settle(FormState &state,
                         const FormIndex::Member &member) const {
  auto *open =
      std::find_if(state.open.begin(), state.open.end(),
                   [&](const OpenPiece &o) { return o.piece == member.piece; });
  assert(open != state.open.end());
  open->owed &= ~member.bit;
  if (open->owed == 0)
    state.open.erase(open);
}

/// What an open piece still owes is not left to another.
bool FormStretch::mayStart(const FormState &state, int piece) const {
  if (costs.pieces[piece] == kNever)
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
                      const std::vector<FormIndex::Member> &members,
                      const Then &then) {
  for (const FormIndex::Member &member : members)
    if (!member.isNeed && member.choice == event.choice)
      for (const OpenPiece &open : partial.state.open)
        if (open.piece == member.piece && (open.owed & member.bit)) {
          Partial way = partial;
          settle(way.state, member);
          return then(way);
        }
  double own = event.isConversion
                   ? costs.conversions[event.subject][event.choice]
                   : costs.modes[event.subject][event.choice];
  if (own != kNever) {
    Partial way = partial;
    way.us += own;
    then(way);
  }
  for (const FormIndex::Member &member : members)
    if (!member.isNeed && member.choice == event.choice &&
        mayStart(partial.state, member.piece)) {
      Partial way = partial;
      start(way, member);
      then(way);
    }
}

void FormStretch::start(Partial &partial, const FormIndex::Member &member) {
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
            done.state.forms[slot] |= gives;
            done.log = addLog(done.log, value, static_cast<int>(conversion));
            then(done);
          });
}

void FormStretch::takeOperands(const Partial &partial, int op, int mode,
                               size_t operand) {
  const FormGraph::Mode &forms = graph.ops[op].modes[mode];
  if (operand == forms.operands.size())
    return realise(partial, FormGraph::run(op, mode),
                   [&](const Partial &way) { finish(way, op, mode); });
  int value = graph.ops[op].operands[operand];
  int slot = slotOf(value);
  uint8_t there = partial.state.forms[slot];
  uint8_t wanted = forms.operands[operand] == Form::Owed   ? kOwed
                   : forms.operands[operand] == Form::Rows ? kRows
                                                           : kWhole;
  if (there & wanted)
    return takeOperands(partial, op, mode, operand + 1);
  if (wanted == kOwed)
    return;
  auto goOn = [&](const Partial &way) {
    takeOperands(way, op, mode, operand + 1);
  };
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

/// No piece waits for what can happen no more once `op` has run.
bool FormStretch::meetsDeadlines(const FormState &state, int op) const {
  for (const OpenPiece &open : state.open) {
    const std::vector<int> &deadlines = index.deadlines[open.piece];
    for (size_t i = 0; i < deadlines.size(); ++i)
      if ((open.owed >> i & 1) && deadlines[i] <= op)
        return false;
  }
  return true;
}

void FormStretch::finish(const Partial &partial, int op, int mode) {
  if (!meetsDeadlines(partial.state, op))
    return;
  Entry made;
  made.state.open = partial.state.open;
  made.us = partial.us;
  const FormGraph::Op &entry = graph.ops[op];
  for (int value : nextLive) {
    auto at = std::find(entry.results.begin(), entry.results.end(), value);
    made.state.forms.push_back(
        at != entry.results.end()
            ? getForms(entry.modes[mode].results[at - entry.results.begin()])
            : partial.state.forms[slotOf(value)]);
  }
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

FormSteps FormStretch::collect(int node) const {
  FormSteps steps;
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
  std::reverse(steps.modes.begin(), steps.modes.end());
  return steps;
}

std::vector<FormOutcome> FormStretch::run(const FormState &first) {
  entries.push_back({first, 0, -1});
  for (int op = begin; op < end; ++op) {
    nextLive.clear();
    for (int value : live)
      if (index.lastReader[value] > op)
        nextLive.push_back(value);
    for (int value : graph.ops[op].results)
      if (index.lastReader[value] > op)
        nextLive.push_back(value);
    next.clear();
    std::fill(table.begin(), table.end(), -1);
    for (const Entry &entry : entries) {
      parent = entry.node;
      for (size_t mode = 0; mode < graph.ops[op].modes.size(); ++mode)
        takeOperands({entry.state, entry.us, -1}, op, static_cast<int>(mode),
                     0);
    }
    std::swap(entries, next);
    live = nextLive;
  }
  std::vector<FormOutcome> outcomes;
  if (isTooWide)
    return outcomes;
  for (const Entry &entry : entries)
    outcomes.push_back({encode(entry.state, graph, index, end), entry.us,
                        collect(entry.node)});
  return outcomes;
}
