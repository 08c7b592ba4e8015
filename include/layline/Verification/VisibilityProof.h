//===- VisibilityProof.h - the keys that a query needs are there *- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_VISIBILITYPROOF_H
#define LAYLINE_VERIFICATION_VISIBILITYPROOF_H

#include "layline/Verification/RowMap.h"

namespace layline {

/// Causal attention of T new tokens behind `past` cached ones. The query of
/// token t needs the keys of the last `window` positions up to its own, of all
/// if there is no window.
struct Attention {
  Links queries; ///< the new tokens whose queries a rank has
  Links keys;    ///< the new tokens whose keys it has; no links: all
  Links history; ///< the same for the cached ones, as tokens 0..past-1
  std::optional<int64_t> window;
};

/// Proves, for all T, past and ranks, that a rank has the keys that its queries
/// need: `with T = 2: query token 1 on rank 1 of "cp" needs key 0, which only
/// rank 0 holds`.
Proof proveVisible(const Attention &attention);

} // namespace layline

#endif // LAYLINE_VERIFICATION_VISIBILITYPROOF_H
