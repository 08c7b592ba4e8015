//===- MeshPoints.h - the ranks of a few axes, one by one -------*- C++ -*-===//
#ifndef LAYLINE_LIB_VERIFICATION_MESHPOINTS_H
#define LAYLINE_LIB_VERIFICATION_MESHPOINTS_H

#include "layline/Verification/RowMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace layline {

/// The axes of some links, each once, in order of their appearance.
class MeshPoints {
public:
  using Coordinates = std::map<std::string, int64_t>;

  void add(const Links &links);
  int64_t numRanks() const;
  /// visit(coordinates), the last axis first, until it returns false.
  void forEach(llvm::function_ref<bool(const Coordinates &)> visit) const;
  /// ` over 2 ranks of "cp" and 4 ranks of "tp"`; without axes, nothing.
  std::string overRanks() const;
  /// `rank 1`; of several axes, `rank 1 of "cp", 0 of "tp"`.
  std::string rankName(const Coordinates &coordinates) const;
  /// As rankName, with the axis also if there is only one.
  std::string fullRankName(const Coordinates &coordinates) const;

private:
  std::vector<std::pair<std::string, int64_t>> axes;
};

/// The items that a link gives a rank, in the order of its segments; also of
/// owners. None if an expression has no value.
std::optional<std::vector<int64_t>> getLinkItems(const Link &link,
                                                 int64_t items, int64_t rank);

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_MESHPOINTS_H
