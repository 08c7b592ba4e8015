//===- AffineCases.h - expressions as affine forms by cases -----*- C++ -*-===//
//
// A closed expression in one unknown n >= 0 is affine in n and in the quotients
// of divisions by constants, once it is known which side each min and max
// takes. `AffineCases` splits several expressions into common cases and asks
// MLIR's Presburger library about them.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_VERIFICATION_AFFINECASES_H
#define LAYLINE_LIB_VERIFICATION_AFFINECASES_H

#include "layline/Support/Expr.h"
#include "llvm/ADT/SmallVector.h"
#include <map>
#include <optional>
#include <string>

namespace layline {

class AffineCases {
public:
  /// `unknown` is the symbol that stands for n; `known` gives the others.
  AffineCases(std::string unknown, std::map<std::string, int64_t> known)
      : unknown(std::move(unknown)), known(std::move(known)) {}

  enum class Relation { Equal, AtLeast };

  /// Whether lhs (==, >=) rhs for all n >= 0. A counterexample is a value of n.
  /// `failed` is set if an expression has no affine form.
  struct Answer {
    bool holds = false;
    std::optional<int64_t> counterexample;
    bool hasNoAffineForm = false;
  };
  Answer prove(const Expr &lhs, Relation relation, const Expr &rhs) const;

private:
  /// coefficients over [n, quotients..., 1]; quotients are added at the end, so
  /// shorter vectors are read with zeros before the constant.
  struct Affine {
    llvm::SmallVector<int64_t, 4> terms; ///< of n and the quotients
    int64_t constant = 0;
    int64_t term(size_t i) const { return i < terms.size() ? terms[i] : 0; }
    bool isConstant() const;
  };
  struct Quotient {
    Affine dividend;
    int64_t divisor;
  };
  /// One choice of sides: affine >= 0 for each condition.
  struct Case {
    llvm::SmallVector<Quotient, 2> quotients;
    llvm::SmallVector<Affine, 4> conditions;
    Affine value;
  };

  bool expand(const Expr &expr, Case base,
              llvm::SmallVectorImpl<Case> &cases) const;
  static Affine combine(const Affine &a, int64_t scale, const Affine &b);
  static Affine divide(Case &in, const Affine &dividend, int64_t divisor);
  /// A point of the case at which `affine` >= 0, if there is one.
  static std::optional<int64_t> findPoint(const Case &in, const Affine &affine);

  std::string unknown;
  std::map<std::string, int64_t> known;
};

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_AFFINECASES_H
