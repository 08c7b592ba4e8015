//===- NumberSyntax.h - numbers and segments in the text of ops -*- C++ -*-===//
//
// MLIR prints the elements of a DenseF64ArrayAttr with seven digits. The
// frequencies of a plan must come back from text as they were.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DIALECTS_LAUNCH_NUMBERSYNTAX_H
#define LAYLINE_DIALECTS_LAUNCH_NUMBERSYNTAX_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpImplementation.h"

namespace layline::launch {

mlir::ParseResult parseNumbers(mlir::OpAsmParser &parser,
                               mlir::DenseF64ArrayAttr &numbers);
void printNumbers(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                  mlir::DenseF64ArrayAttr numbers);

/// `begin E size E`, of a strided segment with `block I stride S`, one after
/// another.
mlir::ParseResult parseSegments(mlir::OpAsmParser &parser,
                                mlir::ArrayAttr &segments);
void printSegments(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                   mlir::ArrayAttr segments);

} // namespace layline::launch

#endif // LAYLINE_DIALECTS_LAUNCH_NUMBERSYNTAX_H
