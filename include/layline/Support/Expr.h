//===- Expr.h - closed integer expressions of a launch plan -----*- C++ -*-===//
//
// The expressions of docs/plan-format.md: 64-bit integers, the symbols
// "tokens", "past" and "rank.<axis>", and the executing rank's part of a range.
// Building an expression folds constants, so that a plan for one model shows
// numbers and not their history.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_SUPPORT_EXPR_H
#define LAYLINE_SUPPORT_EXPR_H

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// An immutable expression; copies share their nodes.
class Expr {
public:
  enum class Op {
    Constant,
    Symbol,
    Size,  ///< items of a range that the executing rank holds
    Begin, ///< the first of them
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max
  };

  Expr(int64_t constant);
  static Expr symbol(std::string name);
  /// "rank.<axis>": the coordinate of the executing rank.
  static Expr rank(const std::string &axis) { return symbol("rank." + axis); }
  static Expr size(std::string range);
  static Expr begin(std::string range);
  /// Two operands; divisors must be positive (checked when it is evaluated).
  static Expr binary(Op op, const Expr &lhs, const Expr &rhs);

  Op op() const { return node->op; }
  bool isConstant() const { return op() == Op::Constant; }
  bool isConstant(int64_t value) const {
    return isConstant() && constant() == value;
  }
  int64_t constant() const { return node->constant; }
  /// Of a symbol its name, of `size` and `begin` the range.
  const std::string &name() const { return node->name; }
  const std::vector<Expr> &operands() const { return node->operands; }

  /// The value, where `leaf` gives those of symbols, sizes and begins. None if
  /// a leaf has none, on overflow, or for a divisor that is not positive.
  std::optional<int64_t> evaluate(
      const std::function<std::optional<int64_t>(const Expr &)> &leaf) const;

private:
  struct Node {
    Op op;
    int64_t constant = 0;
    std::string name;
    std::vector<Expr> operands;
  };
  explicit Expr(Node contents);

  std::shared_ptr<const Node> node;
};

/// "add", "floordiv", ... as in the plan; of constants and symbols "".
const char *opName(Expr::Op op);

Expr operator+(const Expr &lhs, const Expr &rhs);
Expr operator-(const Expr &lhs, const Expr &rhs);
Expr operator*(const Expr &lhs, const Expr &rhs);
Expr floorDiv(const Expr &lhs, const Expr &rhs);
Expr ceilDiv(const Expr &lhs, const Expr &rhs);
Expr mod(const Expr &lhs, const Expr &rhs);
Expr min(const Expr &lhs, const Expr &rhs);
Expr max(const Expr &lhs, const Expr &rhs);

} // namespace layline

#endif // LAYLINE_SUPPORT_EXPR_H
