//===- MigrateVerifier.h - what goes from pool to pool is there -*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_KV_MIGRATEVERIFIER_H
#define LAYLINE_DIALECTS_KV_MIGRATEVERIFIER_H

#include "dialects/KV/KV.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

#include <map>

namespace layline::kv::ir {

/// One of the two pools of a migration.
struct End {
  llvm::StringRef name; ///< "source" or "target"
  PoolOp pool;
  Side side;

  int64_t countRanks() const { return static_cast<int64_t>(side.ranks.size()); }
  std::string nameRank(int64_t rank) const;
  /// Ranks that keep a layer of a plane, and heads of it.
  std::vector<int64_t> findHolders(int plane, int64_t layer) const;
};

class MigrateVerifier {
public:
  MigrateVerifier(MigrateOp op, PoolOp source, PoolOp target)
      : op(op), source{"source", source, getSide(source)},
        target{"target", target, getSide(target)}, planes(getPlanes(source)) {}

  llvm::LogicalResult run();

private:
  llvm::LogicalResult verifyPlanes();
  llvm::LogicalResult verifyPlane(PlaneAttr from, PlaneAttr to);
  llvm::LogicalResult verifyRank(mlir::Operation *at, const End &end,
                                 int64_t rank);
  llvm::LogicalResult verifySend(TransferOp transfer, SendOp send);
  llvm::LogicalResult verifyTokens(TransferOp transfer, SendOp send);
  llvm::LogicalResult verifyLayers(TransferOp transfer, SendOp send, int plane);
  llvm::LogicalResult verifyHeads(TransferOp transfer, SendOp send, int plane);
  llvm::LogicalResult verifyPages(TransferOp transfer, SendOp send, int plane);
  llvm::LogicalResult verifyResident(SendOp send, const End &end, int64_t rank,
                                     int plane, int64_t layer);
  llvm::LogicalResult verifyComplete();
  llvm::LogicalResult verifyReady();
  llvm::LogicalResult verifyCompletion();
  OwnerBroadcastOp findBroadcast(const Plane &plane, int64_t layer);
  int findPlane(llvm::StringRef name) const {
    for (auto [number, plane] : llvm::enumerate(planes))
      if (plane.name == name)
        return static_cast<int>(number);
    return -1;
  }

  MigrateOp op;
  End source, target;
  std::vector<Plane> planes;
  /// By target rank: planes that are sent to it.
  std::map<int64_t, llvm::SmallBitVector> sent;
};

/// "0, 1, 5".
std::string listRanks(llvm::ArrayRef<int64_t> ranks);

} // namespace layline::kv::ir

#endif // LAYLINE_DIALECTS_KV_MIGRATEVERIFIER_H
