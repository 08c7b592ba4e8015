//===- AffineCases.h - expressions as affine forms by cases -----*- C++ -*-===//
//
// A closed expression is a polynomial in its unknowns and in the quotients of
// divisions by constants, once it is known which side each min and max takes.
// `AffineCases` splits into these cases, takes each product of unknowns as one
// more variable (equal products as the same), and asks MLIR's Presburger
// library. A variable that knows less of its value allows more counterexamples:
// what is proved is true, what is not proved is open.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_VERIFICATION_AFFINECASES_H
#define LAYLINE_LIB_VERIFICATION_AFFINECASES_H

#include "layline/Support/Expr.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace layline {

class AffineCases {
public:
  /// An integer of which only bounds are known. For each value of all ranks an
  /// expression has to be affine in the others.
  struct Unknown {
    std::string name;
    int64_t least = 0;
    std::optional<int64_t> most;
    bool isRank = false;
  };
  explicit AffineCases(std::vector<Unknown> unknowns)
      : unknowns(std::move(unknowns)) {}

  enum class Relation { Equal, AtLeast };
  enum class Answer { Holds, Open };

  /// Whether lhs (==, >=) rhs for all values of the unknowns for which each of
  /// `given` is at least 0.
  Answer prove(const Expr &lhs, Relation relation, const Expr &rhs,
               const std::vector<Expr> &given = {});

  /// Whether the expression is of the form that `prove` takes; of others it
  /// proves nothing.
  bool hasAffineForm(const Expr &expr);

  /// How often Presburger was asked.
  int64_t numQueries() const { return queries; }

private:
  /// A sum over variables and a constant. Variables are added at the end, so
  /// shorter vectors are read with zeros before the constant.
  struct Affine {
    llvm::SmallVector<int64_t, 8> terms;
    int64_t constant = 0;
    int64_t term(size_t i) const { return i < terms.size() ? terms[i] : 0; }
    bool isConstant() const;
  };
  /// Behind the unknowns: quotients rounded down, and products.
  struct Variable {
    Affine dividend;
    int64_t divisor = 0;                    ///< 0: a product
    llvm::SmallVector<unsigned, 3> factors; ///< no products, ascending
    bool isRank = false;                    ///< a function of ranks alone
    bool isAtLeastZero = false;
  };
  /// One choice of sides: affine >= 0 for each condition.
  struct Case {
    llvm::SmallVector<Variable, 8> variables;
    llvm::SmallVector<Affine, 6> conditions;
    Affine value;
  };

  Case getStart() const;
  bool expand(const Expr &expr, Case base, llvm::SmallVectorImpl<Case> &cases);
  bool expandLeaf(const Expr &expr, Case base,
                  llvm::SmallVectorImpl<Case> &cases) const;
  /// a + scale * b
  Affine combine(const Affine &a, int64_t scale, const Affine &b);
  int64_t scaled(int64_t scale, int64_t value);
  static Affine getVariable(unsigned index);
  Affine divide(Case &in, const Affine &dividend, int64_t divisor);
  std::optional<unsigned> multiply(Case &in, unsigned a, unsigned b);
  std::optional<Affine> multiply(Case &in, const Affine &a, const Affine &b);
  bool isKnown(const Case &in, const Affine &form);
  bool combineSides(Expr::Op op, const Affine &lhs, Case &right,
                    llvm::SmallVectorImpl<Case> &next);
  /// Whether the case has no point at which `affine` >= 0.
  bool isEmpty(const Case &in, const Affine &affine);

  std::vector<Unknown> unknowns;
  int64_t queries = 0;
  // Both end a proof as open.
  bool hasTooManyCases = false;
  bool hasOverflow = false;
};

} // namespace layline

#endif // LAYLINE_LIB_VERIFICATION_AFFINECASES_H
