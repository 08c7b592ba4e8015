//===- ExprTools.h - values and substitutions in expressions ----*- C++ -*-===//
#ifndef LAYLINE_LIB_VERIFICATION_EXPRTOOLS_H
#define LAYLINE_LIB_VERIFICATION_EXPRTOOLS_H

#include "layline/Support/Expr.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace layline {

/// The expression with another in the place of a symbol.
Expr substitute(const Expr &expr, const std::string &symbol,
                const Expr &replacement);

/// Values of symbols; few, so a list.
using Bindings = std::vector<std::pair<std::string, int64_t>>;

/// None where a symbol has no value, and as Expr::evaluate.
std::optional<int64_t> evaluate(const Expr &expr, const Bindings &bindings);

/// How an expression in one symbol behaves from some value of it on:
/// f(n + period) = f(n) + slope for all n >= from.
struct Tail {
  int64_t from = 0;
  int64_t period = 1;
  int64_t slope = 0;
};

/// None for an expression that has no such form, or one with `from` or `period`
/// above `limit`.
std::optional<Tail> getTail(const Expr &expr, const std::string &symbol,
                            int64_t limit);

/// "ranks 1 and 2", "rank 1", "ranks 0, 1, 2 and 61 more".
std::string rankList(const std::vector<int64_t> &ranks);

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_EXPRTOOLS_H
