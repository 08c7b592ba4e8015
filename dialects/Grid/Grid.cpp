//===- Grid.cpp - the grid dialect ----------------------------------------===//
#include "dialects/Grid/Grid.h"

using namespace mlir;
using namespace layline::grid;

#include "dialects/Grid/GridDialect.cpp.inc"
#include "dialects/Grid/GridInterfaces.cpp.inc"

void GridDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Grid/GridOps.cpp.inc"
      >();
}

StringRef layline::grid::stringifyCollectiveKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::Broadcast:
    return "broadcast";
  case CollectiveKind::Dispatch:
    return "dispatch";
  case CollectiveKind::Combine:
    return "combine";
  }
  return "";
}

StringAttr layline::grid::getPlace(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringAttr place = getPlace(part))
        return place;
  return {};
}

MeshOp layline::grid::lookupMesh(Operation *op) {
  auto module =
      isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (!module)
    return {};
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshOp() : *meshes.begin();
}
