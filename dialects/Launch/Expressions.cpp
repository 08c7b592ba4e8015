//===- Expressions.cpp - the plan's expressions as attributes -------------===//
#include "dialects/Launch/Expressions.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using layline::Expr;

Attribute layline::launch::toAttribute(MLIRContext *context, const Expr &expr) {
  Builder builder(context);
  switch (expr.op()) {
  case Expr::Op::Constant:
    return builder.getI64IntegerAttr(expr.constant());
  case Expr::Op::Symbol:
    return builder.getStringAttr(expr.name());
  default:
    break;
  }
  SmallVector<Attribute> parts = {builder.getStringAttr(opName(expr.op()))};
  if (expr.operands().empty())
    parts.push_back(builder.getStringAttr(expr.name()));
  for (const Expr &operand : expr.operands())
    parts.push_back(toAttribute(context, operand));
  return builder.getArrayAttr(parts);
}

bool layline::launch::isExpression(Attribute attr) {
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getType().isSignlessInteger(64);
  if (auto symbol = dyn_cast<StringAttr>(attr)) {
    StringRef name = symbol.getValue();
    return name == "tokens" || name == "past" ||
           (name.consume_front("rank.") && !name.empty());
  }
  auto parts = dyn_cast<ArrayAttr>(attr);
  if (!parts || parts.empty() || !isa<StringAttr>(parts[0]))
    return false;
  // Operands that each operator takes; 0: two or more.
  int operands = llvm::StringSwitch<int>(cast<StringAttr>(parts[0]).getValue())
                     .Cases({"size", "begin"}, 1)
                     .Cases({"sub", "floordiv", "ceildiv", "mod"}, 2)
                     .Cases({"add", "mul", "min", "max"}, 0)
                     .Default(-1);
  if (operands == 1)
    return parts.size() == 2 && isa<StringAttr>(parts[1]);
  int given = static_cast<int>(parts.size()) - 1;
  if (operands < 0 || (operands ? given != operands : given < 2))
    return false;
  return llvm::all_of(parts.getValue().drop_front(), isExpression);
}
