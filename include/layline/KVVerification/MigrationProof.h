//===- MigrationProof.h - every byte once, for every request ----*- C++ -*-===//
//
// What a migration plan says, proved for all numbers of tokens, chunks,
// prefixes, rooms and page tables at once. A page number is a name: only equal
// slots meet, so what is shown is that every item (plane, layer, head, token)
// that a target keeps is written by one sender, from the same item, and that no
// two items share bytes.
//
// Tokens are dealt out by rules (kv/Plan.h: TokenPart). Each rule is a function
// from tokens to parts, for every count (Presburger). What is left is finite:
// the parts of all rules of a target's senders, taken together. A combination
// that leaves a token to nobody, or to two, must have no token at all
// (Presburger); else it has a counterexample.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_KVVERIFICATION_MIGRATIONPROOF_H
#define LAYLINE_KVVERIFICATION_MIGRATIONPROOF_H

#include "kv/Plan.h"
#include "kv/Tokens.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline::kv {

/// A request, and an item that does not arrive as it must. Found by evaluating
/// the plan's own rules, not taken from a formula.
struct MigrationFault {
  std::int64_t tokens = 0; ///< of the request
  Interval chunk;          ///< the one that the token is in
  std::int64_t room = 0;
  /// A number that the token's page has, of sides that divide pages by it.
  std::int64_t sourcePart = 0, targetPart = 0;
  int target = 0, plane = 0;
  std::int64_t layer = 0, head = 0, token = 0;
  std::vector<int> writers; ///< source ranks that write it; none: never written
};

struct MigrationProof {
  enum class Verdict {
    Proved,
    Refuted, ///< `problem` says what is wrong, and where
    Open     ///< neither; `problem` says why
  };
  Verdict verdict = Verdict::Open;
  /// Every byte is written once. Of profile sglang-compat, where several ranks
  /// may send the same bytes, at least once is enough.
  bool isExactlyOnce = false;
  std::string problem;
  /// Of a plan that is refuted by what a request would show.
  std::optional<MigrationFault> fault;
  std::vector<std::string> lines; ///< one for each thing that was proved
  std::int64_t queries = 0;       ///< questions to the Presburger library
  double seconds = 0;

  bool isProved() const { return verdict == Verdict::Proved; }
};

/// Proves, for every request that the plan can be bound to:
///   - ranks, layers and heads of every send are resident at the sender, and
///     are the same item at the target;
///   - planes do not overlap inside a page, nor tokens in their slots;
///   - every item that a target keeps is written once (profile sglang-compat:
///     at least once, always with the same bytes);
///   - whoever sends is among the ranks that the target waits for.
/// Throws nothing: a plan that makes no sense is refuted.
MigrationProof proveMigration(const Plan &plan);

} // namespace layline::kv

#endif // LAYLINE_KVVERIFICATION_MIGRATIONPROOF_H
