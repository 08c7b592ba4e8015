//===- FormProgram.h - a placed program as a form graph ---------*- C++ -*-===//
//
// Which op may run in which mode follows from its interfaces alone (the same
// that license the rewrites): row-wise ops run by rows, ops that are linear in
// what they read run on values that owe. Every other op needs what it reads
// whole.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_PLANNING_FORMPROGRAM_H
#define LAYLINE_LIB_PLANNING_FORMPROGRAM_H

#include "dialects/Grid/Grid.h"
#include "layline/Cost/CostModel.h"
#include "layline/Planning/FormGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace layline {

/// Bytes that a kernel moves for one row and once, and the products in it.
struct Traffic {
  int64_t readPerRow = 0, writePerRow = 0, once = 0;
  /// Products of rows with a weight [n, k].
  struct Gemm {
    int64_t n, k;
    int weightBytes, activationBytes;
    /// Of so many weights one above another each row meets `chosen`.
    int64_t stacked = 1, chosen = 1;
    /// With those of other ranks: a row meets that many of them in all.
    int64_t total = 1;

    /// Equal for products of equal cost.
    std::string getKey() const;
  };
  llvm::SmallVector<Gemm, 1> gemms;
  bool isFree = false; ///< a view: nothing runs
};

/// What a piece of the graph is, for its price and its name.
struct PieceShape {
  /// None: row-wise ops of one rank in one kernel.
  std::optional<FusedForm> form;
  bool byRows = false; ///< of its ops
  int64_t reducePerRow = 0, gatherPerRow = 0;
  Traffic local;
  FusedNeed need;
  std::string kernel; ///< "reduce_scatter+add+norm+all_gather"
};

/// Rows that are sent to the ranks of their experts and back.
struct RoutedRows {
  int64_t rowBytes = 0;      ///< of a row, its ids and its weights
  int64_t returnedBytes = 0; ///< of what the experts make of it
  double hits = 0;           ///< ranks that a row goes to, expected
};

/// How experts whose stack is shared out over the axis get their rows.
enum class ExpertRows {
  Auto,      ///< as it costs least
  Gathered,  ///< every rank has all rows
  Dispatched ///< each row is sent to the ranks of its experts
};
/// "auto", "gathered", "dispatched".
std::optional<ExpertRows> findExpertRows(llvm::StringRef name);

/// What the op reads, writes and multiplies, as one rank does it.
Traffic getTraffic(grid::MeshOp mesh, mlir::Operation *op);
/// What a kernel takes on so many rows.
Estimate getRunEstimate(const CostModel &model, const Traffic &traffic,
                        int64_t rows);
/// Bytes of a weight on the rank that holds most of it.
int64_t getWeightBytes(grid::MeshOp mesh, mlir::RankedTensorType type);
/// The layer that the importer has named an op for, or -1.
int64_t getLayer(mlir::Operation *op);
/// "bf16", "fp8", as lists of kernels name element types.
std::string getElementTypeName(mlir::Type type);

class FormProgram {
public:
  /// The axis over which sums are owed and rows can be split further.
  /// `capabilities` says which fused kernels there are; without it the graph
  /// has no pieces.
  FormProgram(mlir::func::FuncOp function, mlir::StringAttr axis,
              const Capabilities *capabilities);

  const FormGraph &getGraph() const { return graph; }
  const PieceShape &getPiece(int piece) const { return pieces[piece]; }
  /// The op of a graph op, the value of a graph value.
  mlir::Operation *getOp(int op) const { return ops[op]; }
  mlir::Value getValue(int value) const { return values[value]; }
  int findOp(mlir::Operation *op) const;
  /// The graph value that `value` is (an all_reduce stands for what it reads),
  /// or -1.
  int findValue(mlir::Value value) const;
  /// The sites whose sums a value owes when it is made owed.
  llvm::ArrayRef<mlir::StringAttr> getSites(int value) const {
    return sites[value];
  }
  /// What one row of the value has on the wire.
  int64_t getRowBytes(int value) const { return rowBytes[value]; }
  int64_t getRowBytes(mlir::Value value) const;
  const Traffic &getTraffic(int op) const { return traffic[op]; }
  /// Set for ops with a mode in which their rows are dispatched: the second.
  const std::optional<RoutedRows> &getRouting(int op) const {
    return routing[op];
  }
  bool hasRouting() const {
    return llvm::any_of(routing, [](const auto &r) { return r.has_value(); });
  }
  bool isDispatched(int op, int mode) const {
    return routing[op].has_value() && mode == 1;
  }
  int addPiece(FormGraph::Piece piece, PieceShape shape);
  /// A piece that no kernel of the target does, and why.
  struct Missing {
    int anchor;
    std::string kernel, reason;
  };
  void addMissing(const FormGraph::Piece &piece, const PieceShape &shape,
                  const std::string &reason) {
    missing.push_back({piece.anchor, shape.kernel, reason});
  }
  llvm::ArrayRef<Missing> getMissing() const { return missing; }
  int64_t getRanks() const { return ranks; }

  /// Costs at `tokens` rows of the ranks along the axis together.
  FormCosts getCosts(const CostModel &model, int64_t tokens) const;
  Estimate getEstimate(const CostModel &model, const FormGraph::Event &event,
                       int64_t tokens) const;
  Estimate getPieceEstimate(const CostModel &model, int piece,
                            int64_t tokens) const;
  /// Products that no choice is about.
  Estimate getFixedEstimate(const CostModel &model, int64_t tokens) const;
  /// Row-wise ops that no choice is about: on features that ranks share out.
  Estimate getFixedRowwiseEstimate(const CostModel &model,
                                   int64_t tokens) const;
  /// Without pieces that hold a collective: today's separate kernels.
  FormCosts withoutFusedCollectives(FormCosts costs) const;
  /// Every op by rows where that is possible, at no price but the number and
  /// the width of the collectives: what `--boundaries rows` asks for.
  FormCosts getCostsByRows() const;

private:
  class Builder;

  FormGraph graph;
  std::vector<PieceShape> pieces;
  std::vector<Missing> missing;
  grid::MeshOp mesh;
  std::vector<mlir::Operation *> ops;
  std::vector<mlir::Value> values;
  std::vector<llvm::SmallVector<mlir::StringAttr, 1>> sites;
  std::vector<int64_t> rowBytes;
  std::vector<Traffic> traffic; ///< of each op
  std::vector<std::optional<RoutedRows>> routing;
  /// Of ops that no choice is about, and how many are like it.
  using Counted = std::vector<std::pair<Traffic, int64_t>>;
  Counted fixed, fixedRowwise;
  llvm::DenseMap<mlir::Operation *, int> opNumbers;
  llvm::DenseMap<mlir::Value, int> valueNumbers;
  int64_t ranks = 1;
};

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMPROGRAM_H
