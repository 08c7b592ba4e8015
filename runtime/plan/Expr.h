// Closed integer expressions of a plan: sizes that depend on the run.
#ifndef LAYLINE_RUNTIME_PLAN_EXPR_H
#define LAYLINE_RUNTIME_PLAN_EXPR_H

#include <cstdint>
#include <string>
#include <vector>

namespace layline::runtime {

/// Consecutive items: [begin, begin + size).
struct Part {
  std::int64_t begin = 0;
  std::int64_t size = 0;
  std::int64_t end() const { return begin + size; }
  bool operator==(const Part &other) const {
    return begin == other.begin && size == other.size;
  }
  bool operator<(const Part &other) const {
    return begin != other.begin ? begin < other.begin : size < other.size;
  }
};

/// What an expression may ask for. `coordinates` holds one entry per mesh axis,
/// `parts` one per range (Plan::parts); an expression that was checked not to
/// use them may be evaluated without.
struct Environment {
  std::int64_t tokens = 0;
  std::int64_t past = 0;
  const std::int64_t *coordinates = nullptr;
  const Part *parts = nullptr;
};

struct Expr {
  enum class Op : std::uint8_t {
    Constant,
    Tokens,
    Past,
    Coordinate, ///< of the executing rank on axis `value`
    Begin,      ///< of the executing rank's part of range `value`
    Size,
    Add,
    Sub,
    Mul,
    FloorDiv,
    CeilDiv,
    Mod,
    Min,
    Max
  };

  Op op = Op::Constant;
  std::int64_t value = 0;
  std::vector<Expr> operands;

  static Expr constant(std::int64_t value) { return {Op::Constant, value, {}}; }
  bool isConstant() const { return op == Op::Constant; }
  bool isConstant(std::int64_t wanted) const {
    return isConstant() && value == wanted;
  }
  bool operator==(const Expr &other) const {
    return op == other.op && value == other.value && operands == other.operands;
  }
  bool operator!=(const Expr &other) const { return !(*this == other); }
};

/// Throws Error on overflow and on division by zero or a negative number.
std::int64_t evaluate(const Expr &expr, const Environment &environment);

/// Replaces every constant subexpression by its value. Throws like evaluate.
void foldConstants(Expr &expr);

/// Whether any of `ops` occurs.
bool uses(const Expr &expr, std::initializer_list<Expr::Op> ops);

/// Sum and product without overflow, or an Error naming `what`.
std::int64_t checkedAdd(std::int64_t a, std::int64_t b, const char *what);
std::int64_t checkedMul(std::int64_t a, std::int64_t b, const char *what);

/// For messages: ["mul", "tokens", 4]; axes and ranges by number.
std::string print(const Expr &expr);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_EXPR_H
