//===- Expressions.h - the plan's expressions as attributes -----*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_LAUNCH_EXPRESSIONS_H
#define LAYLINE_DIALECTS_LAUNCH_EXPRESSIONS_H

#include "layline/Support/Expr.h"
#include "mlir/IR/BuiltinAttributes.h"

namespace layline::launch {

/// An integer, a string (symbol), or an array: an operator and its operands.
mlir::Attribute toAttribute(mlir::MLIRContext *context, const Expr &expr);

/// Whether an attribute is a closed expression of the plan's grammar.
bool isExpression(mlir::Attribute attr);

} // namespace layline::launch

#endif // LAYLINE_DIALECTS_LAUNCH_EXPRESSIONS_H
