//===- VerifyCoverage.cpp - each token x head once, its keys there --------===//
#include "GridLinks.h"
#include "dialects/Decoder/Decoder.h"
#include "layline/Verification/CoverageProof.h"
#include "layline/Verification/Passes.h"
#include "layline/Verification/VisibilityProof.h"
#include "llvm/ADT/SetVector.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYCOVERAGE
#include "lib/Verification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

struct VerifyCoverage : layline::impl::VerifyCoverageBase<VerifyCoverage> {
  using VerifyCoverageBase::VerifyCoverageBase;

  void runOnOperation() override {
    mesh = lookupMesh(getOperation());
    axes.clear();
    proved.clear();
    if (mesh)
      for (auto [name, size] : llvm::zip(
               mesh.getAxes().getAsValueRange<StringAttr>(), mesh.getSizes()))
        axes.push_back({name.str(), size});
    getOperation().walk([&](Operation *op) {
      bool holds = true;
      if (isa<LayoutOpInterface>(op) && op->getNumOperands())
        holds = succeeded(verifyGrid(op));
      if (auto attention = dyn_cast<decoder::AttentionOp>(op))
        holds = holds && succeeded(verifyHeads(attention)) &&
                succeeded(verifyVisible(attention));
      if (!holds)
        signalPassFailure();
    });
    markAllAnalysesPreserved();
  }

private:
  LogicalResult verifyGrid(Operation *op);
  LogicalResult verifyHeads(decoder::AttentionOp op);
  LogicalResult verifyVisible(decoder::AttentionOp op);

  MeshOp mesh;
  std::vector<MeshAxis> axes;
  /// Layers are alike: each grid is proved once.
  DenseSet<Attribute> proved;
};

} // namespace

static std::optional<int64_t> getItems(RankedTensorType type, unsigned dim,
                                       int64_t unit) {
  int64_t size = type.getDimSize(dim);
  if (ShapedType::isDynamic(size))
    return std::nullopt;
  return size / unit;
}

/// The results of an op are a grid of its factors that pass through: each point
/// is computed by one rank of every replica group.
LogicalResult VerifyCoverage::verifyGrid(Operation *op) {
  FactorModel model;
  cast<LayoutOpInterface>(op).getFactors(model);
  for (auto [value, dims] : llvm::zip(op->getResults(), model.results)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    LayoutAttr layout = getLayout(value.getType());
    if (!layout || layout.getDims().size() != dims.size())
      continue;
    std::vector<GridDim> grid;
    SmallVector<Attribute> key;
    for (auto [dim, bound] : llvm::enumerate(dims)) {
      SplitAttr split = layout.getDims()[dim];
      const Factor &factor = model.factors[bound.factor];
      std::string name = factor.name.str();
      // "tokens" in general, "token 3" in a counterexample.
      if (name.back() == 's')
        name.pop_back();
      int64_t unit = split ? split.getUnit() : bound.unit;
      std::optional<int64_t> items = getItems(type, dim, unit);
      grid.push_back({name, items, toLinks(split, mesh)});
      key.push_back(split ? Attribute(split) : UnitAttr::get(&getContext()));
      key.push_back(
          IntegerAttr::get(IndexType::get(&getContext()), items.value_or(-1)));
      key.push_back(StringAttr::get(&getContext(), name));
    }
    if (!proved.insert(ArrayAttr::get(&getContext(), key)).second)
      continue;
    Coverage coverage = proveCoverage(axes, grid);
    if (!coverage)
      return op->emitOpError("does not compute every ")
             << grid.front().name << " x " << grid[1 % grid.size()].name
             << " once: " << coverage.problem;
  }
  return success();
}

/// Each rank has the KV heads that its query heads read, keys and values.
LogicalResult VerifyCoverage::verifyHeads(decoder::AttentionOp op) {
  auto getSplit = [](Value value) {
    LayoutAttr layout = getLayout(value.getType());
    return layout && layout.getDims().size() > 1 ? layout.getDims()[1]
                                                 : SplitAttr();
  };
  auto query = cast<RankedTensorType>(op.getQuery().getType());
  std::vector<Link> queries = toLinks(getSplit(op.getQuery()), mesh);
  for (Value value : {op.getKeys(), op.getValues()}) {
    auto type = cast<RankedTensorType>(value.getType());
    std::vector<Link> held = toLinks(getSplit(value), mesh);
    if (held.empty() || query.getRank() != 3 || type.getRank() != 3)
      continue;
    int64_t heads = query.getDimSize(1), kvHeads = type.getDimSize(1);
    std::string problem;
    if (held.size() != 1 || queries.size() != 1 ||
        held[0].axis != queries[0].axis) {
      problem = "they are not split over one axis alike";
    } else {
      std::vector<SegmentExpr> segments = getLinkSegments(held[0], kvHeads);
      Proof proof = segments.size() != 1
                        ? Proof::bad("its KV heads are not one run")
                        : proveReaders(segments[0], kvHeads,
                                       getLinkSegments(queries[0], heads),
                                       heads, held[0].axis, held[0].ranks);
      problem = proof.problem;
    }
    if (!problem.empty())
      return op.emitOpError("reads KV heads that are not there: ") << problem;
  }
  return success();
}

/// Each rank has the rows of keys and values that the mask shows its queries.
LogicalResult VerifyCoverage::verifyVisible(decoder::AttentionOp op) {
  auto getRows = [](Value value) {
    LayoutAttr layout = getLayout(value.getType());
    return layout && !layout.getDims().empty() ? layout.getDims()[0]
                                               : SplitAttr();
  };
  SplitAttr queries = getRows(op.getQuery());
  for (Value value : {op.getKeys(), op.getValues()}) {
    SplitAttr keys = getRows(value);
    SmallVector<Attribute, 3> key;
    for (SplitAttr split : {queries, keys})
      key.push_back(split ? Attribute(split) : UnitAttr::get(&getContext()));
    if (!proved.insert(ArrayAttr::get(&getContext(), key)).second)
      continue;
    Links resident = toLinks(keys, mesh);
    std::optional<int64_t> window;
    if (op.getWindow())
      window = *op.getWindow();
    Proof proof =
        proveVisible({toLinks(queries, mesh), resident, resident, window});
    if (!proof)
      return op.emitOpError("does not see every key that its mask shows: ")
             << proof.problem;
  }
  return success();
}
