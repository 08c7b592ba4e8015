//===- StepSyntax.h - the argument list of a step ---------------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_LAUNCH_STEPSYNTAX_H
#define LAYLINE_DIALECTS_LAUNCH_STEPSYNTAX_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace layline::launch {

mlir::ParseResult parseArguments(
    mlir::OpAsmParser &parser,
    llvm::SmallVectorImpl<mlir::OpAsmParser::UnresolvedOperand> &buffers,
    mlir::ArrayAttr &roles, mlir::ArrayAttr &targets);
void printArguments(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                    mlir::OperandRange buffers, mlir::ArrayAttr roles,
                    mlir::ArrayAttr targets);

} // namespace layline::launch

#endif // LAYLINE_DIALECTS_LAUNCH_STEPSYNTAX_H
