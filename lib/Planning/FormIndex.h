//===- FormIndex.h - facts of a form graph -------------------- -*- C++ -*-===//
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

  explicit FormIndex(const FormGraph &graph);
};

/// An open piece has a bit for each of its events, then for each of its needs.
inline size_t countBits(const FormGraph::Piece &piece) {
  return piece.events.size() + piece.needs.size();
}

/// The values that are live when each segment starts, in the order of their
/// ops.
std::vector<std::vector<int>> findLive(const FormGraph &graph,
                                       const FormIndex &index);

/// Appends a number as bytes.
void append(std::string &text, int number);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMINDEX_H
