//===- FormStretch.h - all ways through a stretch of ops ------ -*- C++ -*-===//
#ifndef LAYLINE_LIB_PLANNING_FORMSTRETCH_H
#define LAYLINE_LIB_PLANNING_FORMSTRETCH_H

#include "FormState.h"

namespace layline {

/// What was done in a stretch; subjects count from its first op on.
struct FormSteps {
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
struct FormOutcome {
  std::string state; ///< relative to the next stretch's first op
  double us;
  FormSteps steps;
};

/// All ways through one stretch of ops from one state.
class FormStretch {
public:
  FormStretch(const FormGraph &graph, const FormIndex &index,
              const FormCosts &costs, int begin, int end, std::vector<int> live)
      : graph(graph), index(index), costs(costs), begin(begin), end(end),
        live(std::move(live)) {}

  /// Nothing if some state is too wide to be kept.
  std::vector<FormOutcome> run(const FormState &start);

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
    FormState state;
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
            const std::vector<FormIndex::Member> &members, size_t from,
            const Then &then);
  template <typename Then>
  void pay(const Partial &partial, const FormGraph::Event &event,
           const std::vector<FormIndex::Member> &members, const Then &then);
  template <typename Then>
  void convert(const Partial &partial, int value, int slot,
               Conversion conversion, uint8_t gives, const Then &then);
  void settle(FormState &state, const FormIndex::Member &member) const;
  bool mayStart(const FormState &state, int piece) const;
  void start(Partial &partial, const FormIndex::Member &member);
  void finish(const Partial &partial, int op, int mode);
  bool meetsDeadlines(const FormState &state, int op) const;
  int slotOf(int value) const;
  FormSteps collect(int node) const;
  int addLog(int before, int subject, int conversion) {
    logs.push_back({before, subject, conversion});
    return static_cast<int>(logs.size()) - 1;
  }

  const FormGraph &graph;
  const FormIndex &index;
  const FormCosts &costs;
  int begin, end;
  std::vector<int> live, nextLive;
  /// States of the current and of the next op, in the order they were found.
  struct Entry {
    FormState state;
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

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMSTRETCH_H
