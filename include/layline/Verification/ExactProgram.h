//===- ExactProgram.h - placed and imported programs, to be run -*- C++ -*-===//
#ifndef LAYLINE_VERIFICATION_EXACTPROGRAM_H
#define LAYLINE_VERIFICATION_EXACTPROGRAM_H

#include "dialects/Grid/Grid.h"
#include "layline/Exact/Program.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace layline {

/// The function as the exact check takes it: over `mesh`, or, without one, on
/// one device. Layouts are those of the types and need not be right. Fails,
/// with a diagnostic, for an op that has no meaning there.
mlir::FailureOr<exact::Program> buildExactProgram(mlir::func::FuncOp function,
                                                  grid::MeshOp mesh);

} // namespace layline

#endif // LAYLINE_VERIFICATION_EXACTPROGRAM_H
