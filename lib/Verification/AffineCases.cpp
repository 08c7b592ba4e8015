//===- AffineCases.cpp - expressions as affine forms by cases -------------===//
#include "AffineCases.h"
#include "mlir/Analysis/Presburger/IntegerRelation.h"
#include "llvm/ADT/STLExtras.h"

using namespace layline;
using mlir::presburger::BoundType;
using mlir::presburger::IntegerPolyhedron;
using mlir::presburger::PresburgerSpace;

/// Beyond, there is no answer in reasonable time.
static constexpr size_t kMostCases = 256;

bool AffineCases::Affine::isConstant() const {
  return llvm::all_of(terms, [](int64_t term) { return term == 0; });
}

AffineCases::Affine AffineCases::combine(const Affine &a, int64_t scale,
                                         const Affine &b) {
  Affine sum;
  sum.terms.resize(std::max(a.terms.size(), b.terms.size()));
  for (size_t i = 0; i < sum.terms.size(); ++i)
    hasOverflow |= __builtin_add_overflow(a.term(i), scaled(scale, b.term(i)),
                                          &sum.terms[i]);
  hasOverflow |= __builtin_add_overflow(a.constant, scaled(scale, b.constant),
                                        &sum.constant);
  return sum;
}

int64_t AffineCases::scaled(int64_t scale, int64_t value) {
  int64_t product = 0;
  hasOverflow |= __builtin_mul_overflow(scale, value, &product);
  return product;
}

AffineCases::Affine AffineCases::getVariable(unsigned index) {
  Affine variable;
  variable.terms.assign(index + 1, 0);
  variable.terms[index] = 1;
  return variable;
}

AffineCases::Case AffineCases::getStart() const {
  Case start;
  for (auto [index, unknown] : llvm::enumerate(unknowns)) {
    Variable variable;
    variable.factors = {static_cast<unsigned>(index)};
    variable.isRank = unknown.isRank;
    variable.isAtLeastZero = unknown.least >= 0;
    start.variables.push_back(std::move(variable));
  }
  return start;
}

/// The quotient dividend / divisor rounded down, as a variable of its own.
AffineCases::Affine AffineCases::divide(Case &in, const Affine &dividend,
                                        int64_t divisor) {
  for (auto [index, known] : llvm::enumerate(in.variables)) {
    Affine difference = combine(known.dividend, -1, dividend);
    if (known.divisor == divisor && difference.isConstant() &&
        difference.constant == 0)
      return getVariable(index);
  }
  Variable quotient;
  quotient.dividend = dividend;
  quotient.divisor = divisor;
  quotient.factors = {static_cast<unsigned>(in.variables.size())};
  quotient.isRank = true;
  quotient.isAtLeastZero = dividend.constant >= 0;
  for (auto [index, variable] : llvm::enumerate(in.variables)) {
    int64_t term = dividend.term(index);
    quotient.isRank &= term == 0 || variable.isRank;
    quotient.isAtLeastZero &= term == 0 || (term > 0 && variable.isAtLeastZero);
  }
  in.variables.push_back(std::move(quotient));
  return getVariable(in.variables.size() - 1);
}

/// The product of two variables as one; nothing if it would not be affine for
/// known ranks.
std::optional<unsigned> AffineCases::multiply(Case &in, unsigned a,
                                              unsigned b) {
  Variable product;
  product.factors = in.variables[a].factors;
  product.factors.append(in.variables[b].factors);
  llvm::sort(product.factors);
  int64_t others = 0;
  product.isAtLeastZero = true;
  for (unsigned factor : product.factors) {
    others += !in.variables[factor].isRank;
    product.isAtLeastZero &= in.variables[factor].isAtLeastZero;
  }
  if (others > 1)
    return std::nullopt;
  product.isRank = others == 0;
  for (auto [index, known] : llvm::enumerate(in.variables))
    if (known.factors == product.factors)
      return index;
  in.variables.push_back(std::move(product));
  return in.variables.size() - 1;
}

std::optional<AffineCases::Affine>
AffineCases::multiply(Case &in, const Affine &a, const Affine &b) {
  Affine product;
  product.constant = scaled(a.constant, b.constant);
  auto add = [&](int64_t scale, unsigned variable) {
    product = combine(product, scale, getVariable(variable));
  };
  for (size_t i = 0; i < a.terms.size(); ++i) {
    if (a.terms[i] == 0)
      continue;
    add(scaled(a.terms[i], b.constant), i);
    for (size_t j = 0; j < b.terms.size(); ++j) {
      if (b.terms[j] == 0)
        continue;
      std::optional<unsigned> variable = multiply(in, i, j);
      if (!variable)
        return std::nullopt;
      add(scaled(a.terms[i], b.terms[j]), *variable);
    }
  }
  for (size_t j = 0; j < b.terms.size(); ++j)
    if (b.terms[j] != 0)
      add(scaled(a.constant, b.terms[j]), j);
  return product;
}

bool AffineCases::expandLeaf(const Expr &expr, Case base,
                             llvm::SmallVectorImpl<Case> &cases) const {
  if (expr.isConstant()) {
    base.value = {{}, expr.constant()};
  } else {
    auto entry = llvm::find_if(unknowns, [&](const Unknown &unknown) {
      return expr.op() == Expr::Op::Symbol && unknown.name == expr.name();
    });
    if (entry == unknowns.end())
      return false;
    base.value = getVariable(entry - unknowns.begin());
  }
  cases.push_back(std::move(base));
  return true;
}

/// Whether the form is at least 0 by one of the conditions, as it is where the
/// same choice comes up again.
bool AffineCases::isKnown(const Case &in, const Affine &form) {
  auto implies = [&](const Affine &condition) {
    Affine rest = combine(form, -1, condition);
    return rest.isConstant() && rest.constant >= 0;
  };
  return implies({}) || llvm::any_of(in.conditions, implies);
}

/// lhs (op) right.value, where `right` has the variables of both.
bool AffineCases::combineSides(Expr::Op op, const Affine &lhs, Case &right,
                               llvm::SmallVectorImpl<Case> &next) {
  Affine rhs = right.value;
  switch (op) {
  case Expr::Op::Add:
  case Expr::Op::Sub:
    right.value = combine(lhs, op == Expr::Op::Add ? 1 : -1, rhs);
    break;
  case Expr::Op::Mul: {
    std::optional<Affine> product = multiply(right, lhs, rhs);
    if (!product)
      return false;
    right.value = std::move(*product);
    break;
  }
  case Expr::Op::FloorDiv:
  case Expr::Op::CeilDiv:
  case Expr::Op::Mod: {
    if (!rhs.isConstant() || rhs.constant < 1)
      return false;
    Affine dividend = lhs;
    if (op == Expr::Op::CeilDiv)
      dividend = combine(lhs, 1, {{}, rhs.constant - 1});
    Affine quotient = divide(right, dividend, rhs.constant);
    right.value =
        op == Expr::Op::Mod ? combine(lhs, -rhs.constant, quotient) : quotient;
    break;
  }
  case Expr::Op::Min:
  case Expr::Op::Max: {
    // Left side taken if lhs <= rhs (min), lhs >= rhs (max).
    bool isMin = op == Expr::Op::Min;
    Affine leftWins = isMin ? combine(rhs, -1, lhs) : combine(lhs, -1, rhs);
    Affine rightWins = combine({}, -1, leftWins);
    rightWins.constant -= 1;
    if (isKnown(right, leftWins) || isKnown(right, rightWins)) {
      right.value = isKnown(right, leftWins) ? lhs : rhs;
      break;
    }
    Case other = right;
    right.conditions.push_back(leftWins);
    right.value = lhs;
    other.conditions.push_back(rightWins);
    other.value = rhs;
    next.push_back(std::move(other));
    break;
  }
  default:
    return false;
  }
  next.push_back(std::move(right));
  return true;
}

bool AffineCases::expand(const Expr &expr, Case base,
                         llvm::SmallVectorImpl<Case> &cases) {
  if (expr.operands().empty())
    return expandLeaf(expr, std::move(base), cases);
  llvm::SmallVector<Case, 4> lefts;
  if (!expand(expr.operands()[0], std::move(base), lefts))
    return false;
  for (Case &left : lefts) {
    Affine lhs = left.value;
    llvm::SmallVector<Case, 4> rights;
    if (!expand(expr.operands()[1], std::move(left), rights))
      return false;
    for (Case &right : rights)
      if (!combineSides(expr.op(), lhs, right, cases))
        return false;
    hasTooManyCases |= cases.size() > kMostCases;
    if (hasTooManyCases)
      return false;
  }
  return true;
}

bool AffineCases::isEmpty(const Case &in, const Affine &affine) {
  unsigned numVars = in.variables.size();
  IntegerPolyhedron set(PresburgerSpace::getSetSpace(numVars));
  auto addAtLeastZero = [&](const Affine &form) {
    llvm::SmallVector<int64_t, 8> row(numVars + 1, 0);
    for (unsigned i = 0; i < numVars; ++i)
      row[i] = form.term(i);
    row.back() = form.constant;
    set.addInequality(row);
  };
  for (auto [index, unknown] : llvm::enumerate(unknowns)) {
    set.addBound(BoundType::LB, index, unknown.least);
    if (unknown.most)
      set.addBound(BoundType::UB, index, *unknown.most);
  }
  for (unsigned index = unknowns.size(); index < numVars; ++index) {
    const Variable &variable = in.variables[index];
    if (variable.divisor > 0) {
      // 0 <= dividend - divisor * q <= divisor - 1
      Affine remainder =
          combine(variable.dividend, -variable.divisor, getVariable(index));
      addAtLeastZero(remainder);
      addAtLeastZero(combine({{}, variable.divisor - 1}, -1, remainder));
    } else if (variable.isAtLeastZero) {
      set.addBound(BoundType::LB, index, 0);
    }
  }
  for (const Affine &condition : in.conditions)
    addAtLeastZero(condition);
  addAtLeastZero(affine);
  ++queries;
  return set.isIntegerEmpty();
}

bool AffineCases::hasAffineForm(const Expr &expr) {
  llvm::SmallVector<Case, 8> cases;
  hasTooManyCases = hasOverflow = false;
  return expand(expr, getStart(), cases) || hasTooManyCases;
}

AffineCases::Answer AffineCases::prove(const Expr &lhs, Relation relation,
                                       const Expr &rhs,
                                       const std::vector<Expr> &given) {
  llvm::SmallVector<Case, 8> cases = {getStart()};
  hasTooManyCases = hasOverflow = false;
  auto expandAll = [&](const Expr &expr) {
    llvm::SmallVector<Case, 8> next;
    for (Case &in : cases)
      if (!expand(expr, std::move(in), next) || next.size() > kMostCases)
        return false;
    cases = std::move(next);
    return true;
  };
  for (const Expr &condition : given) {
    if (!expandAll(condition))
      return Answer::Open;
    for (Case &in : cases)
      in.conditions.push_back(in.value);
  }
  if (!expandAll(lhs - rhs))
    return Answer::Open;
  for (const Case &in : cases) {
    const Affine &value = in.value;
    if (value.isConstant() &&
        (value.constant == 0 ||
         (value.constant > 0 && relation == Relation::AtLeast)))
      continue;
    if (in.variables.empty())
      return Answer::Open;
    // lhs - rhs <= -1
    if (!isEmpty(in, combine({{}, -1}, -1, value)))
      return Answer::Open;
    // lhs - rhs >= 1
    if (relation == Relation::Equal &&
        !isEmpty(in, combine(value, 1, {{}, -1})))
      return Answer::Open;
  }
  return hasOverflow ? Answer::Open : Answer::Holds;
}
