//===- RowMap.h - which token a local row is --------------------*- C++ -*-===//
//
// The rows of a value are tokens 0..T-1, dealt out by a chain of links, none if
// every rank has all. Local row j of a rank is the j-th of the items that the
// last link gives it, in the order of the link's segments; these are counted
// within the part of the link before. The statements are about all T >= 0 and
// all ranks.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_VERIFICATION_ROWMAP_H
#define LAYLINE_VERIFICATION_ROWMAP_H

#include "layline/Verification/PartitionProof.h"
#include <map>

namespace layline {

using Links = std::vector<Link>;

/// The tokens that are the local rows of a rank, by its coordinates on the
/// axes of the links. None if an expression has no value.
std::optional<std::vector<int64_t>>
getRows(const Links &links, int64_t tokens,
        const std::map<std::string, int64_t> &coordinates);

/// As many local rows, numbered from 0: what the rows are taken for where
/// someone forgets that they are split.
Links getLocalRows(const Links &links);

/// Proves that local row j is the same token in both, on each rank: `with T = 3
/// over 2 ranks of "cp": on rank 1, local row 0 is token 2, not 1` (of the
/// first, not of the second).
Proof proveSameRows(const Links &first, const Links &second);

/// How a gather places what the ranks give it.
enum class GatherOrder {
  Token, ///< each segment at the place of its items
  Rank   ///< the parts behind one another, in the order of the ranks
};

/// Proves that row i of the result of a gather over one link is item i.
Proof proveGather(const Link &rows, GatherOrder order);

/// The same for a gather that places local row j at item j of `places`.
Proof proveGather(const Link &rows, const Link &places);

/// What someone takes for the positions of a value's rows: offset + the token
/// that `rows` says, where `offset` may use the symbol "past".
struct PositionClaim {
  Links rows;
  Expr offset = Expr::symbol("past");
};

/// Proves that the position of local row j is past + the token that it is.
Proof provePositions(const Links &rows, const PositionClaim &claim);

} // namespace layline

#endif // LAYLINE_VERIFICATION_ROWMAP_H
