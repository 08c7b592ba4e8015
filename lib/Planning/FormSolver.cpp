//===- FormSolver.cpp - the dynamic program over the frontier -------------===//
//
// Ops are taken in program order. A state says which forms of each live value
// are there and which pieces have begun, with the events that they still owe.
// Of two ways to one state the cheaper stays: what follows depends on the state
// alone, so the least cost at the end is the least of all.
//
// A piece is paid for when its first event happens; its other events are then
// free, and must happen before they can no more (an op is passed, a value is
// dead), or the state is dropped. So no state is ever kept whose pieces are not
// done in full.
//
// The graph falls into segments (layers). A segment's outcome depends on the
// state at its start only, and on what kind of segment it is: both are written
// relative to its first op, and each pair is solved once.
//
//===----------------------------------------------------------------------===//
#include "layline/Planning/FormGraph.h"
#include <algorithm>
#include <cassert>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

using namespace layline;

namespace {

constexpr uint8_t kOwed = 1, kRows = 2, kWhole = 4;

// As many as a state can keep.
constexpr unsigned kMostLive = 63, kMostOpen = 15;

uint8_t getForms(Form made) {
  switch (made) {
  case Form::Owed:
    return kOwed;
  case Form::Rows:
    return kRows;
  case Form::Whole:
    return kRows | kWhole;
  }
  return 0;
}

/// A piece that has begun, and its events that are still to come.
struct OpenPiece {
  int piece;
  uint32_t owed;
};

/// A short list that is copied as bytes. Full: the graph is too wide for it.
template <typename T, unsigned N> class ShortList {
public:
  T *begin() { return items; }
  T *end() { return items + count; }
  const T *begin() const { return items; }
  const T *end() const { return items + count; }
  size_t size() const { return count; }
  bool isFull() const { return count == N; }
  T &operator[](size_t i) { return items[i]; }
  const T &operator[](size_t i) const { return items[i]; }
  void push_back(T item) { items[count++] = item; }
  void insert(T *at, T item) {
    std::copy_backward(at, end(), end() + 1);
    *at = item;
    ++count;
  }
  void erase(T *at) {
    std::copy(at + 1, end(), at);
    --count;
  }

private:
  T items[N];
  uint8_t count = 0;
};

/// Forms by live value (in the order of `live`), and open pieces by number.
struct State {
  ShortList<uint8_t, kMostLive> forms;
  ShortList<OpenPiece, kMostOpen> open;

  size_t hash() const {
    uint64_t h = 0xcbf29ce484222325;
    auto add = [&](uint64_t word) { h = (h ^ word) * 0x100000001b3; };
    for (uint8_t form : forms)
      add(form);
    for (const OpenPiece &piece : open)
      add(uint64_t(piece.piece) << 32 | piece.owed);
    return h ^ h >> 29;
  }
  friend bool operator==(const State &a, const State &b) {
    return a.forms.size() == b.forms.size() && a.open.size() == b.open.size() &&
           std::equal(a.forms.begin(), a.forms.end(), b.forms.begin()) &&
           std::equal(a.open.begin(), a.open.end(), b.open.begin(),
                      [](const OpenPiece &x, const OpenPiece &y) {
                        return x.piece == y.piece && x.owed == y.owed;
                      });
  }
};

/// What was done in a stretch; subjects count from its first op on.
struct Steps {
  struct Converted {
    int producer, result;
    Conversion conversion;
  };
  struct Begun {
    int anchor, index;
  };
  std::vector<int> modes;
  std::vector<Converted> conversions;
  std::vector<Begun> pieces;
};

/// Where a stretch can end.
struct Outcome {
  std::string state; ///< relative to the next stretch's first op
  double us;
  Steps steps;
};

/// Facts about a graph that do not depend on costs.
struct Index {
  struct Member {
    int piece;
    uint32_t bit;
    int choice;
    bool isNeed;
  };
  std::vector<std::vector<Member>> ofRun, ofConversion; ///< by op, by value
  /// The last op at which each event of each piece can happen.
  std::vector<std::vector<int>> deadlines;
  std::vector<int> lastReader; ///< of each value; its producer if none
  std::vector<std::vector<int>> anchored;
  std::vector<int> indexOfPiece; ///< among those of its anchor
  std::vector<int> resultOf;     ///< of each value: which result

  explicit Index(const FormGraph &graph);
};

} // namespace

/// An open piece has a bit for each of its events, then for each of its needs.
static size_t countBits(const FormGraph::Piece &piece) {
  return piece.events.size() + piece.needs.size();
}

Index::Index(const FormGraph &graph)
    : ofRun(graph.ops.size()), ofConversion(graph.values.size()),
      anchored(graph.ops.size()), resultOf(graph.values.size()) {
  for (const FormGraph::Value &value : graph.values)
    lastReader.push_back(value.readers.empty() ? value.producer
                                               : value.readers.back());
  for (const FormGraph::Op &op : graph.ops)
    for (size_t i = 0; i < op.results.size(); ++i)
      resultOf[op.results[i]] = static_cast<int>(i);
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    const FormGraph::Piece &entry = graph.pieces[piece];
    assert(countBits(entry) <= 32 && "more events than bits");
    std::vector<int> last;
    auto add = [&](const FormGraph::Event &event, bool isNeed) {
      auto &list = event.isConversion ? ofConversion[event.subject]
                                      : ofRun[event.subject];
      list.push_back({static_cast<int>(piece), uint32_t(1) << last.size(),
                      event.choice, isNeed});
      last.push_back(event.isConversion ? lastReader[event.subject]
                                        : event.subject);
    };
    for (const FormGraph::Event &event : entry.events)
      add(event, /*isNeed=*/false);
    for (const FormGraph::Event &need : entry.needs)
      add(need, /*isNeed=*/true);
    deadlines.push_back(std::move(last));
    indexOfPiece.push_back(static_cast<int>(anchored[entry.anchor].size()));
    anchored[entry.anchor].push_back(static_cast<int>(piece));
  }
}

namespace {

/// All ways through one stretch of ops from one state.
class Stretch {
public:
  Stretch(const FormGraph &graph, const Index &index, const FormCosts &costs,
          int begin, int end, std::vector<int> live)
      : graph(graph), index(index), costs(costs), begin(begin), end(end),
        live(std::move(live)) {}

  /// Nothing if some state is too wide to be kept.
  std::vector<Outcome> run(const State &start);

private:
  /// A conversion done or a piece begun at an op, and the one before it.
  struct Log {
    int before;
    int subject;    ///< value, or piece
    int conversion; ///< -1: a piece
  };
  struct Node {
    int parent, mode, log;
  };
  /// A state being changed while one op runs.
  struct Partial {
    State state;
    double us;
    int log;
  };

  void takeOperands(const Partial &partial, int op, int mode, size_t operand);
  /// Calls `then` with every way in which the event can happen.
  template <typename Then>
  void realise(const Partial &partial, const FormGraph::Event &event,
               const Then &then);
  template <typename Then>
  void note(const Partial &partial, const FormGraph::Event &event,
            const std::vector<Index::Member> &members, size_t from,
            const Then &then);
  template <typename Then>
  void pay(const Partial &partial, const FormGraph::Event &event,
           const std::vector<Index::Member> &members, const Then &then);
  template <typename Then>
  void convert(const Partial &partial, int value, int slot,
               Conversion conversion, uint8_t gives, const Then &then);
  void settle(State &state, const Index::Member &member) const;
  bool mayStart(const State &state, int piece) const;
  void start(Partial &partial, const Index::Member &member);
  void finish(const Partial &partial, int op, int mode);
  bool meetsDeadlines(const State &state, int op) const;
  int slotOf(int value) const;
  Steps collect(int node) const;
  int addLog(int before, int subject, int conversion) {
    logs.push_back({before, subject, conversion});
    return static_cast<int>(logs.size()) - 1;
  }

  const FormGraph &graph;
  const Index &index;
  const FormCosts &costs;
  int begin, end;
  std::vector<int> live, nextLive;
  /// States of the current and of the next op, in the order they were found.
  struct Entry {
    State state;
    double us;
    int node;
  };
  std::vector<Entry> entries, next;
  /// Places in `next` by hash; -1: free.
  std::vector<int> table;
  std::vector<Node> nodes;
  std::vector<Log> logs;
  int parent = -1;
  bool isTooWide = false;
};

} // namespace

static void append(std::string &text, int number) {
  text.append(reinterpret_cast<const char *>(&number), sizeof number);
}

static int take(const std::string &text, size_t &at) {
  int number;
  std::copy_n(text.data() + at, sizeof number,
              reinterpret_cast<char *>(&number));
  at += sizeof number;
  return number;
}

/// Pieces are written by their place relative to `origin`.
static std::string encode(const State &state, const FormGraph &graph,
                          const Index &index, int origin) {
  std::string text(state.forms.begin(), state.forms.end());
  for (const OpenPiece &open : state.open) {
    append(text, graph.pieces[open.piece].anchor - origin);
    append(text, index.indexOfPiece[open.piece]);
    append(text, static_cast<int>(open.owed));
  }
  return text;
}

static State decode(const std::string &text, size_t live, const Index &index,
                    int origin) {
  State state;
  for (size_t i = 0; i < live; ++i)
    state.forms.push_back(static_cast<uint8_t>(text[i]));
  for (size_t at = live; at < text.size();) {
    int anchor = take(text, at) + origin, number = take(text, at);
    auto owed = static_cast<uint32_t>(take(text, at));
    state.open.push_back({index.anchored[anchor][number], owed});
  }
  return state;
}

int Stretch::slotOf(int value) const {
  auto at = std::find(live.begin(), live.end(), value);
  assert(at != live.end() && "reads a value that is not live");
  return static_cast<int>(at - live.begin());
}

/// An event happens. What needs it may be done before or after: pieces that are
/// open note it, others may begin with it.
template <typename Then>
void Stretch::realise(const Partial &partial, const FormGraph::Event &event,
                      const Then &then) {
  note(partial, event,
       event.isConversion ? index.ofConversion[event.subject]
                          : index.ofRun[event.subject],
       0, then);
}

template <typename Then>
void Stretch::note(const Partial &partial, const FormGraph::Event &event,
                   const std::vector<Index::Member> &members, size_t from,
                   const Then &then) {
  while (from < members.size() &&
         !(members[from].isNeed && members[from].choice == event.choice))
    ++from;
  if (from == members.size())
    return pay(partial, event, members, then);
  const Index::Member &member = members[from];
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
void Stretch::settle(State &state, const Index::Member &member) const {
  auto *open =
      std::find_if(state.open.begin(), state.open.end(),
                   [&](const OpenPiece &o) { return o.piece == member.piece; });
  assert(open != state.open.end());
  open->owed &= ~member.bit;
  if (open->owed == 0)
    state.open.erase(open);
}

/// What an open piece still owes is not left to another.
bool Stretch::mayStart(const State &state, int piece) const {
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
void Stretch::pay(const Partial &partial, const FormGraph::Event &event,
                  const std::vector<Index::Member> &members, const Then &then) {
  for (const Index::Member &member : members)
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
  for (const Index::Member &member : members)
    if (!member.isNeed && member.choice == event.choice &&
        mayStart(partial.state, member.piece)) {
      Partial way = partial;
      start(way, member);
      then(way);
    }
}

void Stretch::start(Partial &partial, const Index::Member &member) {
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
void Stretch::convert(const Partial &partial, int value, int slot,
                      Conversion conversion, uint8_t gives, const Then &then) {
  realise(partial, FormGraph::convert(value, conversion),
          [&](const Partial &way) {
            Partial done = way;
            done.state.forms[slot] |= gives;
            done.log = addLog(done.log, value, static_cast<int>(conversion));
            then(done);
          });
}

void Stretch::takeOperands(const Partial &partial, int op, int mode,
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
bool Stretch::meetsDeadlines(const State &state, int op) const {
  for (const OpenPiece &open : state.open) {
    const std::vector<int> &deadlines = index.deadlines[open.piece];
    for (size_t i = 0; i < deadlines.size(); ++i)
      if ((open.owed >> i & 1) && deadlines[i] <= op)
        return false;
  }
  return true;
}

void Stretch::finish(const Partial &partial, int op, int mode) {
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

Steps Stretch::collect(int node) const {
  Steps steps;
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

std::vector<Outcome> Stretch::run(const State &first) {
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
  std::vector<Outcome> outcomes;
  if (isTooWide)
    return outcomes;
  for (const Entry &entry : entries)
    outcomes.push_back({encode(entry.state, graph, index, end), entry.us,
                        collect(entry.node)});
  return outcomes;
}

//===----------------------------------------------------------------------===//
// Segments
//===----------------------------------------------------------------------===//

namespace {

/// The values that are live when each segment starts.
std::vector<std::vector<int>> findLive(const FormGraph &graph,
                                       const Index &index) {
  std::vector<std::vector<int>> live;
  for (int begin : graph.segments) {
    std::vector<int> values;
    for (size_t value = 0; value < graph.values.size(); ++value)
      if (graph.values[value].producer < begin &&
          index.lastReader[value] >= begin)
        values.push_back(static_cast<int>(value));
    // In the order of their ops, as a stretch keeps them.
    std::sort(values.begin(), values.end(), [&](int a, int b) {
      return std::pair(graph.values[a].producer, index.resultOf[a]) <
             std::pair(graph.values[b].producer, index.resultOf[b]);
    });
    live.push_back(std::move(values));
  }
  return live;
}

/// All that decides the outcome of a segment, relative to its first op.
class Signature {
public:
  Signature(const FormGraph &graph, const Index &index, int begin)
      : graph(graph), index(index), begin(begin) {}

  void add(int number) { append(text, number); }
  void addValue(int value) {
    add(graph.values[value].producer - begin);
    add(index.resultOf[value]);
  }
  void addLabels(const std::vector<int> &labels, int op) {
    add(labels.empty() ? 0 : labels[op]);
  }
  void addReaders(int value) {
    add(graph.values[value].costClass);
    add(static_cast<int>(graph.values[value].readers.size()));
    for (int reader : graph.values[value].readers)
      add(reader - begin);
  }
  void addOp(int op);
  void addPiece(int piece);
  std::string take() { return std::move(text); }

private:
  const FormGraph &graph;
  const Index &index;
  int begin;
  std::string text;
};

} // namespace

void Signature::addOp(int number) {
  const FormGraph::Op &op = graph.ops[number];
  add(op.costClass);
  add(static_cast<int>(op.operands.size()));
  for (int value : op.operands)
    addValue(value);
  add(static_cast<int>(op.results.size()));
  for (int value : op.results)
    addReaders(value);
  add(static_cast<int>(op.modes.size()));
  for (const FormGraph::Mode &mode : op.modes) {
    for (Form form : mode.operands)
      add(static_cast<int>(form));
    for (Form form : mode.results)
      add(static_cast<int>(form));
  }
}

void Signature::addPiece(int number) {
  const FormGraph::Piece &piece = graph.pieces[number];
  add(piece.anchor - begin);
  add(index.indexOfPiece[number]);
  add(piece.costClass);
  for (const auto *events : {&piece.events, &piece.needs}) {
    add(static_cast<int>(events->size()));
    for (const FormGraph::Event &event : *events) {
      add(event.isConversion);
      if (event.isConversion)
        addValue(event.subject);
      else
        add(event.subject - begin);
      add(event.choice);
    }
  }
}

struct FormSolver::Facts {
  explicit Facts(const FormGraph &graph)
      : index(graph), live(findLive(graph, index)) {}

  Index index;
  std::vector<std::vector<int>> live; ///< at the start of each segment
};

FormSolver::FormSolver(const FormGraph &graph, const std::vector<int> &labels)
    : graph(graph), facts(std::make_shared<Facts>(graph)) {
  const Index &index = facts->index;
  const auto &live = facts->live;
  for (const std::vector<int> &values : live)
    isTooWide |= values.size() > kMostLive;
  // The most values live at once inside a segment.
  size_t most = 0, now = 0;
  std::vector<std::vector<int>> dying(graph.ops.size());
  for (size_t value = 0; value < graph.values.size(); ++value)
    dying[index.lastReader[value]].push_back(static_cast<int>(value));
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    now += graph.ops[op].results.size();
    most = std::max(most, now);
    now -= dying[op].size();
  }
  isTooWide |= most > kMostLive;
  // The ops between which each piece can happen.
  std::vector<std::pair<int, int>> spans;
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    int first = static_cast<int>(graph.ops.size()), last = 0;
    for (const auto *events :
         {&graph.pieces[piece].events, &graph.pieces[piece].needs})
      for (const FormGraph::Event &event : *events) {
        const auto *readers =
            event.isConversion ? &graph.values[event.subject].readers : nullptr;
        first = std::min(first, !readers           ? event.subject
                                : readers->empty() ? first
                                                   : readers->front());
      }
    for (int deadline : index.deadlines[piece])
      last = std::max(last, deadline);
    spans.emplace_back(first, last);
  }
  std::map<std::string, int> known;
  for (size_t s = 0; s < graph.segments.size(); ++s) {
    int begin = graph.segments[s];
    int end = s + 1 < graph.segments.size()
                  ? graph.segments[s + 1]
                  : static_cast<int>(graph.ops.size());
    Signature signature(graph, index, begin);
    signature.add(end - begin);
    for (int value : live[s]) {
      signature.addValue(value);
      signature.addReaders(value);
      signature.addLabels(labels, graph.values[value].producer);
    }
    for (int op = begin; op < end; ++op) {
      signature.addOp(op);
      signature.addLabels(labels, op);
    }
    for (size_t piece = 0; piece < graph.pieces.size(); ++piece)
      if (spans[piece].first < end && spans[piece].second >= begin)
        signature.addPiece(static_cast<int>(piece));
    classOf.push_back(
        known.try_emplace(signature.take(), static_cast<int>(known.size()))
            .first->second);
  }
  classes = static_cast<int>(known.size());
}

/// A kernel that costs no less than what it does by itself is never needed: a
/// choice with it stays a choice without it, at no more.
static FormCosts dropUselessPieces(const FormGraph &graph, FormCosts costs) {
  for (size_t piece = 0; piece < graph.pieces.size(); ++piece) {
    double alone = 0;
    for (const FormGraph::Event &event : graph.pieces[piece].events)
      alone += event.isConversion
                   ? costs.conversions[event.subject][event.choice]
                   : costs.modes[event.subject][event.choice];
    if (costs.pieces[piece] >= alone)
      costs.pieces[piece] = kNever;
  }
  return costs;
}

FormChoice FormSolver::solve(const FormCosts &given) const {
  const FormCosts costs = dropUselessPieces(graph, given);
  const Index &index = facts->index;
  const auto &live = facts->live;
  struct Way {
    std::string state;
    double us;
    int from;               ///< the way of the segment before
    const Outcome *outcome; ///< how this segment was passed
  };
  std::map<std::pair<int, std::string>, std::unique_ptr<std::vector<Outcome>>>
      solved;
  std::vector<std::vector<Way>> ways;
  ways.push_back({{"", 0, -1, nullptr}});
  for (size_t s = 0; s < graph.segments.size(); ++s) {
    int begin = graph.segments[s];
    int end = s + 1 < graph.segments.size()
                  ? graph.segments[s + 1]
                  : static_cast<int>(graph.ops.size());
    std::vector<Way> reached;
    std::unordered_map<std::string, size_t> found;
    for (size_t w = 0; w < ways.back().size(); ++w) {
      const Way &way = ways.back()[w];
      auto &outcomes = solved[{classOf[s], way.state}];
      if (!outcomes) {
        Stretch stretch(graph, index, costs, begin, end, live[s]);
        outcomes = std::make_unique<std::vector<Outcome>>(
            stretch.run(decode(way.state, live[s].size(), index, begin)));
      }
      for (const Outcome &outcome : *outcomes) {
        double us = way.us + outcome.us;
        auto [place, isNew] = found.try_emplace(outcome.state, reached.size());
        Way made{outcome.state, us, static_cast<int>(w), &outcome};
        if (isNew)
          reached.push_back(std::move(made));
        else if (us < reached[place->second].us)
          reached[place->second] = std::move(made);
      }
    }
    ways.push_back(std::move(reached));
  }

  FormChoice choice;
  choice.modes.assign(graph.ops.size(), 0);
  choice.conversions.assign(graph.values.size(), 0);
  if (isTooWide)
    return choice;
  int best = -1;
  for (size_t w = 0; w < ways.back().size(); ++w)
    if (best < 0 || ways.back()[w].us < ways.back()[best].us)
      best = static_cast<int>(w);
  if (best < 0)
    return choice;
  choice.us = ways.back()[best].us;
  for (size_t s = graph.segments.size(); s-- > 0;) {
    const Way &way = ways[s + 1][best];
    int begin = graph.segments[s];
    const Steps &steps = way.outcome->steps;
    for (size_t i = 0; i < steps.modes.size(); ++i)
      choice.modes[begin + i] = steps.modes[i];
    for (const Steps::Converted &converted : steps.conversions)
      choice.conversions[graph.ops[begin + converted.producer]
                             .results[converted.result]] |=
          1u << static_cast<unsigned>(converted.conversion);
    for (const Steps::Begun &begun : steps.pieces)
      choice.pieces.push_back(
          index.anchored[begin + begun.anchor][begun.index]);
    best = way.from;
  }
  std::sort(choice.pieces.begin(), choice.pieces.end());
  return choice;
}
