#include "plan/Expr.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime {
namespace {

using Op = Expr::Op;

const char *nameOf(Op op) {
  switch (op) {
  case Op::Constant:
    return "constant";
  case Op::Tokens:
    return "tokens";
  case Op::Past:
    return "past";
  case Op::Coordinate:
    return "rank";
  case Op::Begin:
    return "begin";
  case Op::Size:
    return "size";
  case Op::Add:
    return "add";
  case Op::Sub:
    return "sub";
  case Op::Mul:
    return "mul";
  case Op::FloorDiv:
    return "floordiv";
  case Op::CeilDiv:
    return "ceildiv";
  case Op::Mod:
    return "mod";
  case Op::Min:
    return "min";
  case Op::Max:
    return "max";
  }
  return "?";
}

std::int64_t floorDiv(std::int64_t a, std::int64_t b) {
  std::int64_t quotient = a / b;
  return a % b != 0 && a < 0 ? quotient - 1 : quotient;
}

std::int64_t apply(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  bool overflow = false;
  switch (op) {
  case Op::Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case Op::Sub:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case Op::Mul:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case Op::Min:
    return std::min(a, b);
  case Op::Max:
    return std::max(a, b);
  default:
    if (b <= 0)
      invalid("expression ", nameOf(op), "(", a, ", ", b,
              ") divides by a number that is not positive");
    result = floorDiv(a, b);
    if (op == Op::CeilDiv)
      return result + (result * b == a ? 0 : 1);
    return op == Op::Mod ? a - result * b : result;
  }
  if (overflow)
    invalid("expression ", nameOf(op), "(", a, ", ", b,
            ") overflows 64-bit integers");
  return result;
}

} // namespace

std::int64_t evaluate(const Expr &expr, const Environment &environment) {
  auto index = static_cast<std::size_t>(expr.value);
  switch (expr.op) {
  case Op::Constant:
    return expr.value;
  case Op::Tokens:
    return environment.tokens;
  case Op::Past:
    return environment.past;
  case Op::Coordinate:
    return environment.coordinates[index];
  case Op::Begin:
    return environment.parts[index].begin;
  case Op::Size:
    return environment.parts[index].size;
  default:
    break;
  }
  std::int64_t result = evaluate(expr.operands.front(), environment);
  for (std::size_t i = 1; i < expr.operands.size(); ++i)
    result = apply(expr.op, result, evaluate(expr.operands[i], environment));
  return result;
}

void foldConstants(Expr &expr) {
  bool constant = !expr.operands.empty();
  for (Expr &operand : expr.operands) {
    foldConstants(operand);
    constant = constant && operand.isConstant();
  }
  if (constant)
    expr = Expr::constant(evaluate(expr, {}));
}

bool uses(const Expr &expr, std::initializer_list<Op> ops) {
  return std::find(ops.begin(), ops.end(), expr.op) != ops.end() ||
         std::any_of(expr.operands.begin(), expr.operands.end(),
                     [&](const Expr &operand) { return uses(operand, ops); });
}

std::int64_t checkedAdd(std::int64_t a, std::int64_t b, const char *what) {
  std::int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    invalid(what, " overflows: ", a, " + ", b);
  return result;
}

std::int64_t checkedMul(std::int64_t a, std::int64_t b, const char *what) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    invalid(what, " overflows: ", a, " * ", b);
  return result;
}

std::string print(const Expr &expr) {
  switch (expr.op) {
  case Op::Constant:
    return std::to_string(expr.value);
  case Op::Tokens:
  case Op::Past:
    return concat('"', nameOf(expr.op), '"');
  case Op::Coordinate:
  case Op::Begin:
  case Op::Size:
    return concat("[\"", nameOf(expr.op), "\", ", expr.value, "]");
  default:
    break;
  }
  std::string text = concat("[\"", nameOf(expr.op), '"');
  for (const Expr &operand : expr.operands)
    text += ", " + print(operand);
  return text + "]";
}

} // namespace layline::runtime
