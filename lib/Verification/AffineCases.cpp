//===- AffineCases.cpp - expressions as affine forms by cases -------------===//
#include "AffineCases.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "llvm/ADT/STLExtras.h"

using namespace layline;
using mlir::presburger::BoundType;
using mlir::presburger::IntegerPolyhedron;
using mlir::presburger::PresburgerSpace;

bool AffineCases::Affine::isConstant() const {
  return llvm::all_of(terms, [](int64_t term) { return term == 0; });
}

AffineCases::Affine AffineCases::combine(const Affine &a, int64_t scale,
                                         const Affine &b) {
  Affine sum;
  sum.terms.resize(std::max(a.terms.size(), b.terms.size()));
  for (size_t i = 0; i < sum.terms.size(); ++i)
    sum.terms[i] = a.term(i) + scale * b.term(i);
  sum.constant = a.constant + scale * b.constant;
  return sum;
}

/// The quotient dividend / divisor rounded down, as a variable of its own.
AffineCases::Affine AffineCases::divide(Case &in, const Affine &dividend,
                                        int64_t divisor) {
  size_t index = 0;
  for (; index < in.quotients.size(); ++index) {
    const Quotient &known = in.quotients[index];
    Affine difference = combine(known.dividend, -1, dividend);
    if (known.divisor == divisor && difference.isConstant() &&
        difference.constant == 0)
      break;
  }
  if (index == in.quotients.size())
    in.quotients.push_back({dividend, divisor});
  Affine quotient;
  quotient.terms.assign(index + 2, 0);
  quotient.terms[index + 1] = 1;
  return quotient;
}

bool AffineCases::expand(const Expr &expr, Case base,
                         llvm::SmallVectorImpl<Case> &cases) const {
  switch (expr.op()) {
  case Expr::Op::Constant:
    base.value = {{}, expr.constant()};
    cases.push_back(std::move(base));
    return true;
  case Expr::Op::Symbol: {
    if (expr.name() == unknown) {
      base.value = {{1}, 0};
    } else {
      auto entry = known.find(expr.name());
      if (entry == known.end())
        return false;
      base.value = {{}, entry->second};
    }
    cases.push_back(std::move(base));
    return true;
  }
  case Expr::Op::Size:
  case Expr::Op::Begin:
    return false;
  default:
    break;
  }

  // Fold the operands from the left, case by case.
  llvm::SmallVector<Case, 4> done;
  if (!expand(expr.operands().front(), std::move(base), done))
    return false;
  for (const Expr &operand : llvm::drop_begin(expr.operands())) {
    llvm::SmallVector<Case, 4> next;
    for (Case &left : done) {
      Affine lhs = left.value;
      llvm::SmallVector<Case, 4> rights;
      if (!expand(operand, left, rights))
        return false;
      for (Case &right : rights) {
        Affine rhs = right.value;
        switch (expr.op()) {
        case Expr::Op::Add:
          right.value = combine(lhs, 1, rhs);
          break;
        case Expr::Op::Sub:
          right.value = combine(lhs, -1, rhs);
          break;
        case Expr::Op::Mul:
          if (!lhs.isConstant() && !rhs.isConstant())
            return false;
          right.value = lhs.isConstant() ? combine({}, lhs.constant, rhs)
                                         : combine({}, rhs.constant, lhs);
          break;
        case Expr::Op::FloorDiv:
        case Expr::Op::CeilDiv:
        case Expr::Op::Mod: {
          if (!rhs.isConstant() || rhs.constant < 1)
            return false;
          Affine dividend = lhs;
          if (expr.op() == Expr::Op::CeilDiv)
            dividend.constant += rhs.constant - 1;
          Affine quotient = divide(right, dividend, rhs.constant);
          right.value = expr.op() == Expr::Op::Mod
                            ? combine(lhs, -rhs.constant, quotient)
                            : quotient;
          break;
        }
        case Expr::Op::Min:
        case Expr::Op::Max: {
          // Left side taken if lhs <= rhs (min), lhs >= rhs (max).
          bool isMin = expr.op() == Expr::Op::Min;
          Affine leftWins =
              isMin ? combine(rhs, -1, lhs) : combine(lhs, -1, rhs);
          Case other = right;
          right.conditions.push_back(leftWins);
          right.value = lhs;
          Affine rightWins = combine({}, -1, leftWins);
          rightWins.constant -= 1;
          other.conditions.push_back(rightWins);
          other.value = rhs;
          next.push_back(std::move(other));
          break;
        }
        default:
          return false;
        }
        next.push_back(std::move(right));
      }
    }
    done = std::move(next);
  }
  cases.append(done.begin(), done.end());
  return true;
}

std::optional<int64_t> AffineCases::findPoint(const Case &in,
                                              const Affine &affine) {
  unsigned numVars = 1 + in.quotients.size();
  IntegerPolyhedron set(PresburgerSpace::getSetSpace(numVars));
  auto addAtLeastZero = [&](const Affine &form) {
    llvm::SmallVector<int64_t, 6> row(numVars + 1, 0);
    for (unsigned i = 0; i < numVars; ++i)
      row[i] = form.term(i);
    row.back() = form.constant;
    set.addInequality(row);
  };
  set.addBound(BoundType::LB, 0, 0);
  for (auto [index, quotient] : llvm::enumerate(in.quotients)) {
    // 0 <= dividend - divisor * q <= divisor - 1
    Affine variable;
    variable.terms.assign(index + 2, 0);
    variable.terms[index + 1] = 1;
    Affine remainder = combine(quotient.dividend, -quotient.divisor, variable);
    addAtLeastZero(remainder);
    Affine rest = combine({{}, quotient.divisor - 1}, -1, remainder);
    addAtLeastZero(rest);
  }
  for (const Affine &condition : in.conditions)
    addAtLeastZero(condition);
  addAtLeastZero(affine);
  if (set.isIntegerEmpty())
    return std::nullopt;
  // A small counterexample is easier to check by hand: the least n that is not
  // cut off, by halving.
  auto isEmptyUpTo = [&](int64_t bound) {
    IntegerPolyhedron bounded = set;
    bounded.addBound(BoundType::UB, 0, bound);
    return bounded.isIntegerEmpty();
  };
  int64_t high = 1;
  while (high < (int64_t(1) << 40) && isEmptyUpTo(high))
    high *= 2;
  int64_t low = -1; // empty up to here
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    (isEmptyUpTo(middle) ? low : high) = middle;
  }
  return high;
}

AffineCases::Answer AffineCases::prove(const Expr &lhs, Relation relation,
                                       const Expr &rhs) const {
  llvm::SmallVector<Case, 8> cases;
  if (!expand(lhs - rhs, Case(), cases))
    return {false, std::nullopt, true};
  Answer answer{true, std::nullopt, false};
  auto refute = [&](const Case &in, Affine negation) {
    std::optional<int64_t> point = findPoint(in, negation);
    if (!point)
      return;
    answer.holds = false;
    if (!answer.counterexample || *point < *answer.counterexample)
      answer.counterexample = point;
  };
  for (const Case &in : cases) {
    // lhs - rhs <= -1
    Affine below = combine({{}, -1}, -1, in.value);
    refute(in, below);
    if (relation == Relation::Equal) {
      Affine above = in.value;
      above.constant -= 1;
      refute(in, above);
    }
  }
  return answer;
}
