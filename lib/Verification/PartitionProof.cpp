//===- PartitionProof.cpp - disjoint and complete, for every count --------===//
#include "layline/Verification/PartitionProof.h"
#include "AffineCases.h"

using namespace layline;

static std::string words(std::initializer_list<std::string> parts) {
  std::string text;
  for (const std::string &part : parts)
    text += part;
  return text;
}

/// The expression with a value for one symbol.
static Expr substitute(const Expr &expr, const std::string &symbol,
                       const Expr &value) {
  switch (expr.op()) {
  case Expr::Op::Symbol:
    return expr.name() == symbol ? value : expr;
  case Expr::Op::Constant:
  case Expr::Op::Size:
  case Expr::Op::Begin:
    return expr;
  default:
    break;
  }
  Expr result = substitute(expr.operands().front(), symbol, value);
  for (size_t i = 1; i < expr.operands().size(); ++i)
    result = Expr::binary(expr.op(), result,
                          substitute(expr.operands()[i], symbol, value));
  return result;
}

std::string layline::provePartition(const PartExprs &part,
                                    const std::string &axis, int64_t ranks,
                                    std::optional<int64_t> items) {
  // A known count is one more known symbol; there is then no unknown left.
  const std::string unknown = items ? "" : "tokens";
  const Expr count = items ? Expr(*items) : Expr::symbol("tokens");
  // Of all that is wrong, what shows with the fewest items; the first rank of
  // those.
  std::string problem;
  std::optional<int64_t> smallest;
  bool isAffine = true;
  auto check = [&](int64_t rank, const Expr &lhs,
                   AffineCases::Relation relation, const Expr &rhs,
                   const std::string &what) {
    AffineCases::Answer answer =
        AffineCases(unknown, {}).prove(lhs, relation, rhs);
    if (answer.holds)
      return;
    if (answer.hasNoAffineForm) {
      if (isAffine)
        problem = words({"the part of rank ", std::to_string(rank),
                         " is not affine in the number of items"});
      isAffine = false;
      return;
    }
    int64_t shown = items ? *items : answer.counterexample.value_or(0);
    if (!isAffine || (smallest && *smallest <= shown))
      return;
    smallest = shown;
    problem =
        words({"with ", std::to_string(shown), " items over ",
               std::to_string(ranks), " ranks of \"", axis, "\", ", what});
  };

  using Relation = AffineCases::Relation;
  auto substituteRank = [&](const Expr &expr, int64_t rank) {
    return substitute(expr, "rank." + axis, Expr(rank));
  };
  for (int64_t rank = 0; rank < ranks; ++rank) {
    std::string name = "rank " + std::to_string(rank);
    Expr begin = substituteRank(part.begin, rank);
    Expr size = substituteRank(part.size, rank);
    check(rank, size, Relation::AtLeast, Expr(0),
          name + " has a negative size");
    if (rank == 0)
      check(rank, begin, Relation::Equal, Expr(0),
            "the first items are held by nobody: rank 0 does not begin at "
            "item 0");
    bool last = rank + 1 == ranks;
    Expr next = last ? count : substituteRank(part.begin, rank + 1);
    std::string what = last ? name + " does not end at the last item"
                            : name + " does not end where rank " +
                                  std::to_string(rank + 1) +
                                  " begins: items are held twice or by nobody";
    check(rank, begin + size, Relation::Equal, next, what);
  }
  return problem;
}
