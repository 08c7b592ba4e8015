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
};

/// Null if there is no target of that name.
const Target *findTarget(const std::string &name);
std::vector<std::string> knownTargets();

} // namespace layline

#endif // LAYLINE_COST_TARGETS_H
