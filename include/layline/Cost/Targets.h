//===- Targets.h - the cards a plan is compiled for -------------*- C++ -*-===//
#ifndef LAYLINE_COST_TARGETS_H
#define LAYLINE_COST_TARGETS_H

#include <cstdint>
#include <string>
#include <vector>

namespace layline {

/// A node of equal cards.
struct Target {
  std::string name; ///< "h200x8"
  std::string card; ///< "H200"
  /// Cards of one node, that reach one another's memory. 0: any number.
  int64_t cards = 0;
  /// Largest message, in bytes, that the best fused one-shot all-reduce serves
  /// well, by ranks (ascending). Above it boundaries are split by rows.
  struct OneShotCap {
    int64_t ranks;
    int64_t bytes;
  };
  std::vector<OneShotCap> oneShotCaps;
  std::string capSource; ///< where the caps come from
};

/// Null if there is no target of that name.
const Target *findTarget(const std::string &name);
std::vector<std::string> knownTargets();

/// From how many tokens on boundaries are split by rows, and why: the simple
/// rule of `--boundaries=auto` until the cost model decides. `rowBytes` is the
/// width of the hidden state. `tokens` is empty if they never are.
struct RowsThreshold {
  bool never = false;
  int64_t tokens = 1;
  std::string reason;
};
RowsThreshold getRowsThreshold(const Target &target, int64_t ranks,
                               int64_t rowBytes);

} // namespace layline

#endif // LAYLINE_COST_TARGETS_H
