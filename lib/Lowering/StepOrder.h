//===- StepOrder.h - which steps are certain to have finished ---*- C++ -*-===//
#ifndef LAYLINE_LIB_LOWERING_STEPORDER_H
#define LAYLINE_LIB_LOWERING_STEPORDER_H

#include "dialects/Launch/Launch.h"
#include <vector>

namespace layline {

/// Which steps have finished when another begins: those before it on its
/// stream, and what an event says.
class StepOrder {
public:
  mlir::LogicalResult build(llvm::ArrayRef<launch::StepOp> steps);

  bool isDone(int step, int when) const {
    return step < when &&
           clocks[when * streams.size() + streamOf[step]] >= step;
  }

private:
  llvm::SmallVector<mlir::FlatSymbolRefAttr> streams;
  std::vector<int> streamOf, clocks;
};

} // namespace layline

#endif // LAYLINE_LIB_LOWERING_STEPORDER_H
