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

/// A split of so many items (kDynamic: the tokens), and where it was met.
using SplitUse = std::pair<SplitAttr, int64_t>;

/// The KV heads of each rank are those that its query heads read.
std::string checkReaders(int64_t kvHeads, int64_t queryHeads,
                         const std::string &axis, int64_t ranks) {
  Expr rank = Expr::rank(axis);
  SegmentExpr held = getReadersExpr(kvHeads, queryHeads, ranks, rank);
  SegmentExpr queries = getBlockExpr(Expr(queryHeads), ranks, rank);
  for (int64_t k = 0; k < ranks; ++k) {
    auto value = [&](const Expr &expr) {
      return expr
          .evaluate([&](const Expr &leaf) -> std::optional<int64_t> {
            if (leaf.op() == Expr::Op::Symbol && leaf.name() == "rank." + axis)
              return k;
            return std::nullopt;
          })
          .value_or(-1);
    };
    std::vector<bool> read(kvHeads, false);
    int64_t first = value(queries.begin), count = value(queries.size);
    for (int64_t head = first; head < first + count; ++head)
      read[head / (queryHeads / kvHeads)] = true;
    int64_t begin = value(held.begin), size = value(held.size);
    for (int64_t head = 0; head < kvHeads; ++head) {
      bool isHeld = begin <= head && head < begin + size;
      if (isHeld != read[head])
        return "rank " + std::to_string(k) + " of \"" + axis + "\" " +
               (isHeld ? "holds" : "lacks") + " KV head " +
               std::to_string(head) + ", which its query heads " +
               std::to_string(first) + ".." +
               std::to_string(first + count - 1) + " " +
               (isHeld ? "do not read" : "read");
    }
  }
  return {};
}

struct VerifyPartitions
    : layline::impl::VerifyPartitionsBase<VerifyPartitions> {
  using VerifyPartitionsBase::VerifyPartitionsBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    MeshOp mesh = lookupMesh(module);
    llvm::MapVector<SplitUse, Location> uses;
    llvm::DenseSet<Type> seen;
    llvm::MapVector<StringAttr, Location> owed;
    auto collect = [&](Type type, Location loc) {
      LayoutAttr layout = getLayout(type);
      if (!layout || !seen.insert(type).second)
        return;
      auto tensor = cast<RankedTensorType>(type);
      for (auto [dim, split] : llvm::enumerate(layout.getDims())) {
        if (!split)
          continue;
        int64_t size = tensor.getDimSize(dim);
        int64_t items =
            ShapedType::isDynamic(size) ? size : size / split.getUnit();
        for (SplitAttr link : split.withUnit(1).getChain()) {
          uses.insert({{link, items}, loc});
          // What follows deals out any number of items.
          items = ShapedType::kDynamic;
        }
      }
      for (StringAttr axis : layout.getOwes())
        owed.insert({axis, loc});
    };
    module.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        collect(type, op->getLoc());
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            collect(argument.getType(), argument.getLoc());
    });
    for (auto &[axis, loc] : owed)
      if (!mesh || !mesh.getAxisSize(axis)) {
        emitError(loc) << "a sum is owed over " << axis
                       << ", which is no axis of the mesh";
        return signalPassFailure();
      }
    for (auto &[use, loc] : uses) {
      auto [split, items] = use;
      std::string axis = split.getAxis().str();
      std::optional<int64_t> ranks =
          mesh ? mesh.getAxisSize(axis) : std::nullopt;
      if (!ranks) {
        emitError(loc) << "a dimension is split over \"" << axis
                       << "\", which is no axis of the mesh";
        return signalPassFailure();
      }
      std::string problem;
      switch (split.getKind()) {
      case PartitionKind::Block: {
        bool known = !ShapedType::isDynamic(items);
        SegmentExpr part =
            getBlockExpr(known ? Expr(items) : Expr::symbol("tokens"), *ranks,
                         Expr::rank(axis));
        problem = provePartition({part.begin, part.size}, axis, *ranks,
                                 known ? std::optional<int64_t>(items)
                                       : std::nullopt);
        break;
      }
      case PartitionKind::Readers:
        problem = checkReaders(items, split.getArgument(), axis, *ranks);
        break;
      default:
        problem = ("'" + stringifyPartitionKind(split.getKind()) +
                   "' has no proof and no lowering yet")
                      .str();
      }
      if (!problem.empty()) {
        emitError(loc) << split
                       << " does not deal out every item once: " << problem;
        return signalPassFailure();
      }
    }
    markAllAnalysesPreserved();
  }
};

} // namespace
