//===- TokenProof.h - each token of a class of items, once ------*- C++ -*-===//
#ifndef LAYLINE_LIB_KVVERIFICATION_TOKENPROOF_H
#define LAYLINE_LIB_KVVERIFICATION_TOKENPROOF_H

#include "Deals.h"

namespace layline::kv {

/// One sender of the tokens of one (target, plane, layer, head).
struct Piece {
  TokenPart source; ///< what resides at the sender
  TokenPart share;  ///< what of that it sends
  bool isPage = false;
  bool isWithLastChunk = false;
};

/// Items with the same problem are proved once.
struct TokenProblem {
  TokenDomain domain;
  TokenPart target; ///< what the target keeps
  std::vector<Piece> pieces;
  /// Writing a token twice is a fault: else the same bytes may come again.
  bool isStrict = true;

  /// Equal for equal problems.
  std::vector<std::int64_t> getKey() const;
};

struct TokenVerdict {
  bool isProved = false;
  bool isExactlyOnce = false;
  std::optional<TokenPoint> point; ///< of a counterexample
  std::vector<int> writers;        ///< pieces that write it
  std::string problem;             ///< why there is no proof, if no point
};

TokenVerdict proveTokens(const TokenProblem &problem, DealProver &prover);

/// The pieces that write a token of a request, by the rules of the plan itself
/// (kv/Tokens.h).
std::vector<int> findWriters(const TokenProblem &problem,
                             const TokenPoint &point);

} // namespace layline::kv

#endif // LAYLINE_LIB_KVVERIFICATION_TOKENPROOF_H
