//===- CoverageProof.h - each grid point computed once ----------*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_COVERAGEPROOF_H
#define LAYLINE_VERIFICATION_COVERAGEPROOF_H

#include "layline/Verification/PartitionProof.h"

namespace layline {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

/// A dimension of the grid of all that is to be computed.
struct GridDim {
  std::string name; ///< of one item: "token", "head"
  /// How many; not given: any number T, the same for all such dimensions.
  std::optional<int64_t> items;
  /// Who computes which, outermost first; none: every rank all of them. The
  /// number of ranks is that of the mesh, whatever the link says.
  std::vector<Link> links;
};

/// Readers are no dimension of the grid of their own: they follow the dimension
/// of the query heads, of which each has the KV heads it reads.
struct Coverage : Proof {
  /// What each dimension comes to: "token: zigzag over cp, every number",
  /// "kv head: readers over tp, 4: those that the query heads read".
  std::vector<std::string> covered;
  /// Axes of more than one rank that split nothing: their ranks do the same.
  std::vector<std::string> replicas;
  int64_t numReplicas = 1;
};

/// Proves that each point of the grid is computed by exactly one rank of each
/// replica group: every link deals out every item once, and every axis splits
/// at most one dimension, so that the parts of different dimensions meet in all
/// combinations. The cost is that of the links, whatever the number of ranks.
/// An axis that splits two dimensions gives the diagonal only: `with T = 1:
/// token 0, head 8 is computed by nobody: token 0 is on rank 0 of "tp", head 8
/// on rank 1 of "tp"` (smallest T, then token, then head).
Coverage proveCoverage(const std::vector<MeshAxis> &mesh,
                       const std::vector<GridDim> &dims);

/// "zigzag", "cyclic(64)", "owner", "readers", "block".
std::string kindName(const Partition &partition);

} // namespace layline

#endif // LAYLINE_VERIFICATION_COVERAGEPROOF_H
