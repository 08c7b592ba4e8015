//===- FormPieces.h - the fused kernels that a program could use -*- C++
//-*-===//
#ifndef LAYLINE_LIB_PLANNING_FORMPIECES_H
#define LAYLINE_LIB_PLANNING_FORMPIECES_H

#include "FormProgram.h"
#include "llvm/ADT/SetVector.h"

namespace layline {

/// Finds every piece that some fused kernel of the target does:
///
/// * a sum and row-wise ops behind it, of all rows or of own rows, with or
///   without gathers of what they give;
/// * row-wise ops behind a product of own rows, and the gather of what they
///   give;
/// * several gathers in one launch;
/// * row-wise ops of one rank, one behind another.
class PieceFinder {
public:
  PieceFinder(FormProgram &program, const Capabilities &capabilities)
      : program(program), graph(program.getGraph()),
        capabilities(capabilities) {}

  void find();

private:
  /// Row-wise ops that follow a value, in program order.
  struct Region {
    int root; ///< the value
    bool byRows;
    llvm::SmallVector<int, 6> ops;
  };

  Region grow(int root, bool byRows) const;
  bool mayJoin(int op, const Region &region) const;
  void addRegions(int root, bool isSum, bool byRows);
  void addLocal(const Region &region);
  void addFused(const Region &region, FusedForm form,
                llvm::ArrayRef<int> gathered);
  void addGroups(int root);
  void addGroup(llvm::ArrayRef<int> values);
  void addResults(int op);
  PieceShape describe(const Region &region, bool readsRoot) const;
  /// Values of the region that someone behind it reads.
  llvm::SmallVector<int, 4> getOutputs(const Region &region) const;
  bool emitsNormAndQuantized(llvm::ArrayRef<int> outputs) const;
  llvm::SmallVector<llvm::SmallVector<int, 4>>
  getGathered(llvm::ArrayRef<int> outputs) const;
  int getMode(int op, bool byRows) const;
  void add(FormGraph::Piece piece, PieceShape shape);

  FormProgram &program;
  const FormGraph &graph;
  const Capabilities &capabilities;
  struct Found {
    FormGraph::Piece piece;
    PieceShape shape;
  };
  std::vector<Found> found;
};

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMPIECES_H
