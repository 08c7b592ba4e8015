// That a plan does not contradict itself: every number of it points at
// something, nothing of a page lies outside of it or on something else, moves
// pair equal layers and heads, and no product leaves 64 bits when it is bound.
//
// That every byte arrives once is not asked here: the compiler proves it.
#ifndef LAYLINE_RUNTIME_KV_CHECKPLAN_H
#define LAYLINE_RUNTIME_KV_CHECKPLAN_H

#include "kv/Plan.h"

namespace layline::kv {

/// Throws runtime::Error (LAYLINE_INVALID_PLAN) with a path into kv.json.
void checkPlan(const Plan &plan);

/// Its parts: planes and both sides; of a plan whose sides are good, transfers
/// and responders; of one in which these are, all that completes it.
void checkSides(const Plan &plan);
void checkMoves(const Plan &plan);
void checkCompletion(const Plan &plan);

/// Throws unless the part is one of its parts, in units that can be added up.
void checkTokenPart(const std::string &where, const TokenPart &part);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_CHECKPLAN_H
