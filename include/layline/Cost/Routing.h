//===- Routing.h - how many ranks the experts of a row are on ---*- C++ -*-===//
//
// Which rows go where is only known at run time; what a dispatch costs is
// expected under uniform routing: each set of chosen experts is as likely as
// any other (with groups: first each set of chosen groups, then each set of
// experts in these). Skew, by which some ranks get more than others, is not in
// it.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_COST_ROUTING_H
#define LAYLINE_COST_ROUTING_H

#include <cstdint>

namespace layline {

struct RoutingShape {
  int64_t experts = 0; ///< in balanced blocks on the ranks
  int64_t chosen = 0;  ///< of them by each row
  /// Equal groups of neighbours, of which a row's experts are in few; 0: none.
  int64_t groups = 0, chosenGroups = 0;
};

/// The probability that a row has chosen one of the experts of `rank`:
/// 1 - C(E - n, k) / C(E, k) with n experts there (hypergeometric).
double getHitProbability(const RoutingShape &shape, int64_t ranks,
                         int64_t rank);

/// On how many ranks the experts of one row are, expected.
double getExpectedHits(const RoutingShape &shape, int64_t ranks);

} // namespace layline

#endif // LAYLINE_COST_ROUTING_H
