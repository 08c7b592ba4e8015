//===- FormStretch.h - all ways through a stretch of ops --------*- C++ -*-===//
#ifndef LAYLINE_LIB_PLANNING_FORMSTRETCH_H
#define LAYLINE_LIB_PLANNING_FORMSTRETCH_H

#include "FormDominance.h"

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

/// Where a stretch can begin.
struct FormStart {
  FormState state;
  double us;
};

/// Where a stretch can end.
struct FormOutcome {
  std::string state; ///< relative to the next stretch's first op
  double us;
  int from; ///< the start
  FormSteps steps;
};

/// All ways through one stretch of ops from some starts. Where two meet the
/// cheaper goes on.
class FormStretch {
public:
  FormStretch(const FormProblem &problem, int begin, int end,
              std::vector<int> live)
      : problem(problem), graph(problem.graph), index(problem.index),
        costs(problem.costs), begin(begin), end(end), live(std::move(live)),
        dominance(problem) {}

  /// Nothing if some state is too wide to be kept.
  std::vector<FormOutcome> run(const std::vector<FormStart> &starts);

private:
  /// A conversion done or a piece begun at an op, and the one before it.
  struct Log {
    int before;
    int subject;    ///< value, or piece
    int conversion; ///< -1: a piece
  };
  /// `parent` < 0: the start of that number, from -1 downwards.
  struct Node {
    int parent, mode, log;
  };
  /// A state being changed while one op runs.
  struct Partial {
    FormState state;
    double us;
    int log;
  };

  void moveTo(int next);
  void takeOperands(const Partial &partial, int mode, size_t operand);
  /// Calls `then` with every way in which the event can happen.
  template <typename Then>
  void realise(const Partial &partial, const FormGraph::Event &event,
               const Then &then);
  template <typename Then>
  void note(const Partial &partial, const FormGraph::Event &event,
            const FormProblem::Member *from, const FormProblem::Member *to,
            const Then &then);
  template <typename Then>
  void pay(const Partial &partial, const FormGraph::Event &event,
           const Then &then);
  template <typename Then>
  void convert(const Partial &partial, int value, int slot,
               Conversion conversion, uint8_t gives, const Then &then);
  void settle(FormState &state, const FormProblem::Member &member) const;
  bool mayStart(const FormState &state, int piece) const;
  void start(Partial &partial, const FormProblem::Member &member);
  void finish(const Partial &partial, int mode);
  bool meetsDeadlines(const FormState &state) const;
  int slotOf(int value) const;
  void dropDominated();
  FormOutcome collect(const FormState &state, double us, int node) const;
  int addLog(int before, int subject, int conversion) {
    logs.push_back({before, subject, conversion});
    return static_cast<int>(logs.size()) - 1;
  }

  const FormProblem &problem;
  const FormGraph &graph;
  const FormIndex &index;
  const FormCosts &costs;
  int begin, end;
  std::vector<int> live, nextLive;
  int op = 0; ///< that runs now
  std::vector<int> operandSlots;
  /// Of each value that is live behind the op: its slot now, or of which result
  /// it is, from -1 downwards.
  std::vector<int> sources;
  /// States of the current and of the next op, in the order they were found.
  struct Entry {
    FormState state;
    double us;
    int node;
  };
  std::vector<Entry> entries, next;
  FormDominance dominance;
  /// Places in `next` by hash; -1: free.
  std::vector<int> table;
  std::vector<Node> nodes;
  std::vector<Log> logs;
  int parent = -1;
  bool isTooWide = false;
};

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMSTRETCH_H
