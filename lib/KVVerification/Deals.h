//===- Deals.h - rules that give tokens to parts ----------------*- C++ -*-===//
//
// A deal is a TokenPart without its index: a function from the tokens of every
// request to the numbers of parts. An atom fixes its value.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_KVVERIFICATION_DEALS_H
#define LAYLINE_LIB_KVVERIFICATION_DEALS_H

#include "kv/Tokens.h"

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace layline::kv {

/// Whose page table a deal by page number is about.
enum class DealTable { None, Source, Target };

struct Deal {
  TokenPart::Kind kind = TokenPart::Kind::Whole;
  std::int64_t parts = 1, unit = 1;
  TokenPart::Of of = TokenPart::Of::Request;
  DealTable table = DealTable::None; ///< of PageNumber only

  bool operator<(const Deal &other) const { return key() < other.key(); }
  bool operator==(const Deal &other) const { return key() == other.key(); }

private:
  std::tuple<int, std::int64_t, std::int64_t, int, int> key() const {
    return {static_cast<int>(kind), parts, unit, static_cast<int>(of),
            static_cast<int>(table)};
  }
};

/// deal(token) = part.
struct Atom {
  Deal deal;
  std::int64_t part = 0;
  bool operator<(const Atom &other) const {
    return std::tie(deal, part) < std::tie(other.deal, other.part);
  }
  bool operator==(const Atom &other) const {
    return deal == other.deal && part == other.part;
  }
};

/// Nothing for a part that holds every token. Of a part by page number: in this
/// table.
std::optional<Atom> getAtom(const TokenPart &part, DealTable table);

/// Which requests and tokens a statement is about.
struct TokenDomain {
  std::int64_t pageTokens = 1; ///< of the target
  /// Chunks and prefixes end with pages, or with the request.
  bool isPaged = false;
  /// Deals are over all slots of the request's pages.
  bool isRounded = false;
  std::int64_t window = 0; ///< the last tokens only; 0: all
  bool isState = false;    ///< one item, which is token 0 of 1
};

/// A token of a request that was found.
struct TokenPoint {
  std::int64_t tokens = 0, token = 0, room = 0;
  Interval chunk;
  /// The number of the token's page modulo the parts of a side that divides
  /// pages by their numbers.
  std::int64_t sourcePart = 0, targetPart = 0;
};

/// Statements about deals, for every request. Each is asked once.
class DealProver {
public:
  /// A token of the domain for which every atom holds; nothing if there is
  /// none, which is then proved.
  std::optional<TokenPoint> findToken(const TokenDomain &domain,
                                      const std::vector<Atom> &atoms);

  /// Every item of every count is in one part. Empty if proved, else why not.
  std::string provePartition(const Deal &deal);
  /// No two tokens of a part have the same slot.
  bool proveSlots(const Deal &deal);
  /// Tokens of a page stay together, in their order, in pages of a part.
  bool proveKeepsPages(const Deal &deal, std::int64_t pageTokens);
  /// All tokens of a page are in one part; with chunks that begin with pages.
  bool proveDealsPages(const Deal &deal, std::int64_t pageTokens);

  std::int64_t numQueries() const { return queries; }

private:
  std::map<std::pair<Deal, std::int64_t>, bool> keeps, deals;
  std::map<Deal, bool> slots;
  std::map<Deal, std::string> partitions;
  std::int64_t queries = 0;
};

} // namespace layline::kv

#endif // LAYLINE_LIB_KVVERIFICATION_DEALS_H
