//===- FormIndex.h - facts of a form graph ----------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_PLANNING_FORMINDEX_H
#define LAYLINE_LIB_PLANNING_FORMINDEX_H

#include "layline/Planning/FormGraph.h"
#include <string>

namespace layline {

/// Facts about a graph that do not depend on costs.
struct FormIndex {
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
  /// The last op before which each piece must have begun: the first that it
  /// runs or needs; past the end if it runs none.
  std::vector<int> firstRun;
  /// The last op that may read each value owed, or -1.
  std::vector<int> lastOwedReader;
  /// Of each piece, those that do a part of it and need nothing else.
  std::vector<std::vector<int>> parts;

  explicit FormIndex(const FormGraph &graph);

  /// The pieces that do or need an event of this subject; look at `choice`.
  const std::vector<Member> &getMembers(const FormGraph::Event &event) const {
    return event.isConversion ? ofConversion[event.subject]
                              : ofRun[event.subject];
  }

private:
  void findParts(const FormGraph &graph);
};

/// An open piece has a bit for each of its events, then for each of its needs.
inline size_t countBits(const FormGraph::Piece &piece) {
  return piece.events.size() + piece.needs.size();
}

/// What an event costs by itself.
inline double getOwnCost(const FormCosts &costs,
                         const FormGraph::Event &event) {
  return event.isConversion ? costs.conversions[event.subject][event.choice]
                            : costs.modes[event.subject][event.choice];
}

/// One problem to solve: a graph, its costs, and for each event the pieces that
/// can be had.
class FormProblem {
public:
  FormProblem(const FormGraph &graph, const FormIndex &index, FormCosts costs);

  struct Member {
    int piece;
    uint32_t bit;
  };
  struct Members {
    const Member *first, *last;
    const Member *begin() const { return first; }
    const Member *end() const { return last; }
  };
  /// Pieces that do the event.
  Members getDoers(const FormGraph::Event &event) const {
    const size_t list = getList(event);
    return {members.data() + starts[list], members.data() + starts[list + 1]};
  }
  /// Pieces that need it besides.
  Members getNeeders(const FormGraph::Event &event) const {
    const size_t list = getList(event) + 1;
    return {members.data() + starts[list], members.data() + starts[list + 1]};
  }

  const FormGraph &graph;
  const FormIndex &index;
  const FormCosts costs;

private:
  /// Two lists an event.
  size_t getList(const FormGraph::Event &event) const {
    return 2 * (event.isConversion
                    ? static_cast<size_t>(event.subject) * kConversions +
                          static_cast<size_t>(event.choice)
                    : firstOfRun[event.subject] +
                          static_cast<size_t>(event.choice));
  }

  std::vector<size_t> firstOfRun; ///< of each op
  std::vector<Member> members;
  std::vector<size_t> starts; ///< of each list
};

/// The values that are live when each segment starts, in the order of their
/// ops.
std::vector<std::vector<int>> findLive(const FormGraph &graph,
                                       const FormIndex &index);

/// Appends a number as bytes.
void append(std::string &text, int number);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMINDEX_H
