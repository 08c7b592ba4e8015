//===- VerifyPartitions.cpp - every item is held by exactly one rank ------===//
#include "dialects/Grid/Grid.h"
#include "layline/Support/Partition.h"
#include "layline/Verification/PartitionProof.h"
#include "layline/Verification/Passes.h"
#include "llvm/ADT/SetVector.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYPARTITIONS
#include "lib/Verification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

struct VerifyPartitions
    : layline::impl::VerifyPartitionsBase<VerifyPartitions> {
  using VerifyPartitionsBase::VerifyPartitionsBase;

  void runOnOperation() override;

private:
  void collect(Type type, Location loc);
  LogicalResult verifyOwed();
  LogicalResult verifySplits();

  /// A link that deals out so many items (kDynamic: any number), and where it
  /// was met first.
  llvm::MapVector<std::pair<SplitAttr, int64_t>, Location> uses;
  llvm::MapVector<StringAttr, Location> owed;
  DenseSet<Type> seen;
};

} // namespace

void VerifyPartitions::collect(Type type, Location loc) {
  LayoutAttr layout = getLayout(type);
  if (!layout || !seen.insert(type).second)
    return;
  auto tensor = cast<RankedTensorType>(type);
  for (auto [dim, split] : llvm::enumerate(layout.getDims())) {
    if (!split)
      continue;
    int64_t size = tensor.getDimSize(dim);
    int64_t items = ShapedType::isDynamic(size) ? size : size / split.getUnit();
    for (SplitAttr link : split.withUnit(1).getChain()) {
      uses.insert({{link, items}, loc});
      // What follows deals out whatever it is given.
      items = ShapedType::kDynamic;
    }
  }
  for (StringAttr axis : layout.getOwes())
    owed.insert({axis, loc});
}

LogicalResult VerifyPartitions::verifyOwed() {
  MeshOp mesh = lookupMesh(getOperation());
  for (auto &[axis, loc] : owed)
    if (!mesh || !mesh.getAxisSize(axis))
      return emitError(loc) << "a sum is owed over " << axis
                            << ", which is no axis of the mesh";
  return success();
}

LogicalResult VerifyPartitions::verifySplits() {
  MeshOp mesh = lookupMesh(getOperation());
  for (auto &[use, loc] : uses) {
    auto [split, items] = use;
    std::string axis = split.getAxis().str();
    std::optional<int64_t> ranks = mesh ? mesh.getAxisSize(axis) : std::nullopt;
    if (!ranks)
      return emitError(loc) << "a dimension is split over \"" << axis
                            << "\", which is no axis of the mesh";
    // Rows are routed as the data say: no question of numbers.
    if (split.isRouted())
      continue;
    bool isKnown = !ShapedType::isDynamic(items);
    Proof proof =
        provePartition(toPartition(split), axis, *ranks,
                       isKnown ? std::optional<int64_t>(items) : std::nullopt);
    if (!proof)
      return emitError(loc)
             << split
             << " does not deal out every item once: " << proof.problem;
  }
  return success();
}

void VerifyPartitions::runOnOperation() {
  getOperation().walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      collect(type, op->getLoc());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          collect(argument.getType(), argument.getLoc());
  });
  if (failed(verifyOwed()) || failed(verifySplits()))
    signalPassFailure();
  markAllAnalysesPreserved();
}
