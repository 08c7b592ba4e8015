//===- ExprTools.cpp - values and substitutions in expressions ------------===//
#include "ExprTools.h"
#include <numeric>

using namespace layline;

Expr layline::substitute(const Expr &expr, const std::string &symbol,
                         const Expr &replacement) {
  if (expr.op() == Expr::Op::Symbol)
    return expr.name() == symbol ? replacement : expr;
  if (expr.operands().empty())
    return expr;
  return Expr::binary(expr.op(),
                      substitute(expr.operands()[0], symbol, replacement),
                      substitute(expr.operands()[1], symbol, replacement));
}

std::optional<int64_t> layline::evaluate(const Expr &expr,
                                         const Bindings &bindings) {
  return expr.evaluate([&](const Expr &leaf) -> std::optional<int64_t> {
    if (leaf.op() == Expr::Op::Symbol)
      for (const auto &[name, value] : bindings)
        if (name == leaf.name())
          return value;
    return std::nullopt;
  });
}

namespace {

/// Builds the tail of an expression from those of its operands.
struct TailBuilder {
  const std::string &symbol;
  int64_t limit;

  std::optional<Tail> checked(const Tail &tail) const {
    // Far from where sums and products of slopes would overflow.
    constexpr int64_t kMostSlope = int64_t(1) << 31;
    if (tail.from > limit || tail.period > limit || tail.slope > kMostSlope ||
        tail.slope < -kMostSlope)
      return std::nullopt;
    return tail;
  }

  /// The least difference hi - lo in the first period.
  std::optional<int64_t> getLeastDifference(const Expr &hi, const Expr &lo,
                                            const Tail &window) const {
    std::optional<int64_t> least;
    for (int64_t n = window.from; n < window.from + window.period; ++n) {
      std::optional<int64_t> a = evaluate(hi, {{symbol, n}});
      std::optional<int64_t> b = evaluate(lo, {{symbol, n}});
      if (!a || !b)
        return std::nullopt;
      least = least ? std::min(*least, *a - *b) : *a - *b;
    }
    return least;
  }

  /// min and max: from somewhere on the one with the right slope wins.
  std::optional<Tail> getWinner(const Expr &expr, Tail both, int64_t left,
                                int64_t right) const {
    bool leftIsLower = left <= right;
    bool leftWins = (expr.op() == Expr::Op::Min) == leftIsLower;
    both.slope = leftWins ? left : right;
    int64_t gain = leftIsLower ? right - left : left - right;
    if (gain == 0)
      return both;
    const Expr &low = expr.operands()[leftIsLower ? 0 : 1];
    const Expr &high = expr.operands()[leftIsLower ? 1 : 0];
    std::optional<int64_t> least = getLeastDifference(high, low, both);
    if (!least)
      return std::nullopt;
    if (*least < -limit * gain)
      return std::nullopt;
    if (*least < 0)
      both.from += (-*least + gain - 1) / gain * both.period;
    return checked(both);
  }

  std::optional<Tail> divide(const Expr &expr, Tail dividend) const {
    if (!expr.operands()[1].isConstant() || expr.operands()[1].constant() < 1)
      return std::nullopt;
    int64_t divisor = expr.operands()[1].constant();
    // As many periods as make the slope a multiple of the divisor.
    int64_t factor = divisor / std::gcd(divisor, dividend.slope);
    if (factor > limit)
      return std::nullopt;
    dividend.period *= factor;
    dividend.slope =
        expr.op() == Expr::Op::Mod ? 0 : dividend.slope * factor / divisor;
    return checked(dividend);
  }

  std::optional<Tail> build(const Expr &expr) const {
    if (expr.isConstant())
      return Tail{};
    if (expr.op() == Expr::Op::Symbol && expr.name() == symbol)
      return Tail{0, 1, 1};
    if (expr.operands().empty())
      return std::nullopt;
    std::optional<Tail> lhs = build(expr.operands()[0]);
    std::optional<Tail> rhs = build(expr.operands()[1]);
    if (!lhs || !rhs)
      return std::nullopt;
    Tail both{std::max(lhs->from, rhs->from),
              std::lcm(lhs->period, rhs->period), 0};
    if (!checked(both))
      return std::nullopt;
    int64_t left = lhs->slope * (both.period / lhs->period);
    int64_t right = rhs->slope * (both.period / rhs->period);
    switch (expr.op()) {
    case Expr::Op::Add:
      both.slope = left + right;
      return checked(both);
    case Expr::Op::Sub:
      both.slope = left - right;
      return checked(both);
    case Expr::Op::Mul: {
      bool leftIsScale = expr.operands()[0].isConstant();
      if (!leftIsScale && !expr.operands()[1].isConstant())
        return std::nullopt;
      int64_t scale = expr.operands()[leftIsScale ? 0 : 1].constant();
      if (__builtin_mul_overflow(scale, leftIsScale ? right : left,
                                 &both.slope))
        return std::nullopt;
      return checked(both);
    }
    case Expr::Op::FloorDiv:
    case Expr::Op::CeilDiv:
    case Expr::Op::Mod:
      return divide(expr, *lhs);
    case Expr::Op::Min:
    case Expr::Op::Max:
      return getWinner(expr, both, left, right);
    default:
      return std::nullopt;
    }
  }
};

} // namespace

std::optional<Tail> layline::getTail(const Expr &expr,
                                     const std::string &symbol, int64_t limit) {
  return TailBuilder{symbol, limit}.build(expr);
}

std::string layline::rankList(const std::vector<int64_t> &ranks) {
  constexpr size_t kMostNamed = 4;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  bool isLong = ranks.size() > kMostNamed;
  size_t named = isLong ? kMostNamed - 1 : ranks.size();
  for (size_t i = 0; i < named; ++i) {
    if (i > 0)
      text += i + 1 == named && !isLong ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  if (isLong)
    text += " and " + std::to_string(ranks.size() - named) + " more";
  return text;
}
