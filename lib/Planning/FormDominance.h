//===- FormDominance.h - states that no optimum passes ----------*- C++ -*-===//
//
// Of two states at the same op, one may be so much dearer that the other can
// do whatever the first would still do, pay for what it lacks by itself, and
// still be no dearer at the end. Such a state is dropped: the least cost stays
// what it is, and far fewer states are followed.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_PLANNING_FORMDOMINANCE_H
#define LAYLINE_LIB_PLANNING_FORMDOMINANCE_H

#include "FormState.h"
#include <cmath>

namespace layline {

class FormDominance {
public:
  explicit FormDominance(const FormProblem &problem) : problem(problem) {}

  /// States are now compared in front of op `next`; `live` are their values.
  void moveTo(int next, const std::vector<int> &live);

  /// What `state` has still to pay exceeds what `other` has still to pay by at
  /// most `limit`, whatever the other does.
  bool isWithin(const FormState &state, const FormState &other,
                double limit) const;

  /// The places of the states to keep, ascending. `getState` and `getCost` give
  /// those of the i-th of `count` states.
  template <typename GetState, typename GetCost>
  const std::vector<int> &select(size_t count, const GetState &getState,
                                 const GetCost &getCost);

private:
  /// What it takes to catch up with another state in one value, and what being
  /// ahead can forfeit: pieces that would have done what is done already.
  struct Slot {
    int value;
    bool mayBeReadOwed;
    double scatter, reduce, gather;
    double lostScatter, lostReduce, lostGather;
  };
  double getLoss(int value, Conversion conversion, int next) const;
  double getBound(const Slot &slot, uint8_t forms, uint8_t others) const;
  bool isOwedByPiece(const FormState &state, int value) const;

  const FormProblem &problem;
  std::vector<Slot> slots;
  std::vector<int> order, kept;
};

template <typename GetState, typename GetCost>
const std::vector<int> &FormDominance::select(size_t count,
                                              const GetState &getState,
                                              const GetCost &getCost) {
  // A state is compared with the cheapest only: the work stays linear.
  constexpr size_t kMostRivals = 8;
  order.resize(count);
  for (size_t i = 0; i < count; ++i)
    order[i] = static_cast<int>(i);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(getCost(a), a) < std::pair(getCost(b), b);
  });
  kept.clear();
  for (int candidate : order) {
    bool isNeeded = true;
    for (size_t i = 0; isNeeded && i < kept.size() && i < kMostRivals; ++i) {
      double limit = getCost(candidate) - getCost(kept[i]);
      // Of two that end at the same cost the one found first stays: choices do
      // not depend on who is compared with whom.
      if (candidate < kept[i])
        limit = std::nextafter(limit, -kNever);
      isNeeded = !isWithin(getState(kept[i]), getState(candidate), limit);
    }
    if (isNeeded)
      kept.push_back(candidate);
  }
  std::sort(kept.begin(), kept.end());
  return kept;
}

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMDOMINANCE_H
