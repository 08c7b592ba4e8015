//===- GridLinks.h - splits as the links of proofs --------------*- C++ -*-===//
#ifndef LAYLINE_LIB_VERIFICATION_GRIDLINKS_H
#define LAYLINE_LIB_VERIFICATION_GRIDLINKS_H

#include "dialects/Grid/Grid.h"
#include "layline/Verification/PartitionProof.h"

namespace layline {

/// The links of a split (null: none), outermost first. An axis that the mesh
/// does not have gets one rank: verify-partitions refuses it. Routed rows have
/// a place on every rank, as if they were held whole: which are filled is no
/// question of numbers.
inline std::vector<Link> toLinks(grid::SplitAttr split, grid::MeshOp mesh) {
  std::vector<Link> links;
  if (!split)
    return links;
  for (grid::SplitAttr link : split.getChain()) {
    if (link.getKind() == grid::PartitionKind::Routed)
      continue;
    std::optional<int64_t> ranks =
        mesh ? mesh.getAxisSize(link.getAxis()) : std::nullopt;
    links.push_back(
        {grid::toPartition(link), link.getAxis().str(), ranks.value_or(1), {}});
  }
  return links;
}

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_GRIDLINKS_H
