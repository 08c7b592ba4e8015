//===- Expr.cpp - closed integer expressions of a launch plan -------------===//
#include "layline/Support/Expr.h"
#include <algorithm>

using namespace layline;

using Op = Expr::Op;

Expr::Expr(Node contents)
    : node(std::make_shared<const Node>(std::move(contents))) {}
Expr::Expr(int64_t constant) : Expr(Node{Op::Constant, constant, {}, {}}) {}

Expr Expr::symbol(std::string name) {
  return Expr(Node{Op::Symbol, 0, std::move(name), {}});
}
Expr Expr::size(std::string range) {
  return Expr(Node{Op::Size, 0, std::move(range), {}});
}
Expr Expr::begin(std::string range) {
  return Expr(Node{Op::Begin, 0, std::move(range), {}});
}

static std::optional<int64_t> compute(Op op, int64_t lhs, int64_t rhs) {
  int64_t result = 0;
  switch (op) {
  case Op::Add:
    if (__builtin_add_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case Op::Sub:
    if (__builtin_sub_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case Op::Mul:
    if (__builtin_mul_overflow(lhs, rhs, &result))
      return std::nullopt;
    return result;
  case Op::Min:
    return std::min(lhs, rhs);
  case Op::Max:
    return std::max(lhs, rhs);
  default:
    break;
  }
  if (rhs <= 0)
    return std::nullopt;
  int64_t quotient = lhs / rhs, remainder = lhs % rhs;
  switch (op) {
  case Op::FloorDiv:
    return quotient - (remainder < 0);
  case Op::CeilDiv:
    return quotient + (remainder > 0);
  case Op::Mod:
    return remainder < 0 ? remainder + rhs : remainder;
  default:
    return std::nullopt;
  }
}

Expr Expr::binary(Op op, const Expr &lhs, const Expr &rhs) {
  if (lhs.isConstant() && rhs.isConstant())
    if (std::optional<int64_t> value =
            compute(op, lhs.constant(), rhs.constant()))
      return Expr(*value);
  switch (op) {
  case Op::Add:
    if (lhs.isConstant(0))
      return rhs;
    [[fallthrough]];
  case Op::Sub:
    if (rhs.isConstant(0))
      return lhs;
    break;
  case Op::Mul:
    if (lhs.isConstant(0) || rhs.isConstant(0))
      return Expr(0);
    if (lhs.isConstant(1))
      return rhs;
    [[fallthrough]];
  case Op::FloorDiv:
  case Op::CeilDiv:
    if (rhs.isConstant(1))
      return lhs;
    break;
  case Op::Mod:
    if (rhs.isConstant(1))
      return Expr(0);
    break;
  default:
    break;
  }
  return Expr(Node{op, 0, {}, {lhs, rhs}});
}

std::optional<int64_t> Expr::evaluate(
    const std::function<std::optional<int64_t>(const Expr &)> &leaf) const {
  if (isConstant())
    return constant();
  if (operands().empty())
    return leaf(*this);
  std::optional<int64_t> lhs = operands()[0].evaluate(leaf);
  std::optional<int64_t> rhs = operands()[1].evaluate(leaf);
  if (!lhs || !rhs)
    return std::nullopt;
  return compute(op(), *lhs, *rhs);
}

const char *layline::opName(Op op) {
  switch (op) {
  case Op::Constant:
  case Op::Symbol:
    return "";
  case Op::Size:
    return "size";
  case Op::Begin:
    return "begin";
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
  return "";
}

Expr layline::operator+(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::Add, lhs, rhs);
}
Expr layline::operator-(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::Sub, lhs, rhs);
}
Expr layline::operator*(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::Mul, lhs, rhs);
}
Expr layline::floorDiv(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::FloorDiv, lhs, rhs);
}
Expr layline::ceilDiv(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::CeilDiv, lhs, rhs);
}
Expr layline::mod(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::Mod, lhs, rhs);
}
Expr layline::min(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::Min, lhs, rhs);
}
Expr layline::max(const Expr &lhs, const Expr &rhs) {
  return Expr::binary(Op::Max, lhs, rhs);
}
