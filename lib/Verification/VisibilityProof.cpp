//===- VisibilityProof.cpp - the keys that a query needs are there --------===//
#include "layline/Verification/VisibilityProof.h"
#include "AffineCases.h"
#include "ExprTools.h"
#include "MeshPoints.h"
#include "llvm/ADT/STLExtras.h"
#include <tuple>

using namespace layline;

using Answer = AffineCases::Answer;
using Relation = AffineCases::Relation;

namespace {

bool isWhole(const Links &links) {
  return llvm::all_of(links, [](const Link &link) {
    return link.ranks == 1 && link.segments.empty();
  });
}

/// Queries and keys by one link over the same axis: around each segment of
/// queries there is one of the keys.
bool proveAround(const Attention &attention, int64_t &queries) {
  if (attention.queries.size() != 1 || attention.keys.size() != 1)
    return false;
  const Link &query = attention.queries[0], &key = attention.keys[0];
  if (query.axis != key.axis || query.ranks != key.ranks)
    return false;
  AffineCases cases({{"tokens", 0, std::nullopt, false},
                     {"rank." + query.axis, 0, query.ranks - 1, true}});
  bool good = true;
  for (const SegmentExpr &own : getLinkSegments(query, std::nullopt)) {
    if (own.stride > 0)
      return false;
    Expr first = attention.window
                     ? max(0, own.begin - Expr(*attention.window - 1))
                     : Expr(0);
    auto holds = [&](const Expr &lhs, const Expr &rhs) {
      return cases.prove(lhs, Relation::AtLeast, rhs, {own.size - 1}) ==
             Answer::Holds;
    };
    auto isAround = [&](const SegmentExpr &held) {
      return held.stride == 0 && holds(first, held.begin) &&
             holds(held.begin + held.size, own.begin + own.size);
    };
    good &= llvm::any_of(getLinkSegments(key, std::nullopt), isAround);
  }
  queries += cases.numQueries();
  return good;
}

/// A query that lacks a key; ordered by query, key.
struct Missing {
  int64_t query = 0, key = 0;
  MeshPoints::Coordinates coordinates;
};

class Search {
public:
  explicit Search(const Attention &attention) : attention(attention) {
    points.add(attention.queries);
    points.add(attention.keys);
    points.add(attention.history);
  }

  /// Of all ranks, with so many tokens.
  std::optional<Missing> find(int64_t past, int64_t tokens) const {
    std::optional<Missing> first;
    points.forEach([&](const MeshPoints::Coordinates &coordinates) {
      auto queries = getRows(attention.queries, tokens, coordinates);
      auto missing = getMissing(past, tokens, coordinates);
      if (!queries)
        return true;
      for (int64_t query : *queries) {
        int64_t position = past + query;
        int64_t lowest =
            attention.window
                ? std::max<int64_t>(0, position - *attention.window + 1)
                : 0;
        auto key = llvm::lower_bound(missing, lowest);
        if (key == missing.end() || *key > position)
          continue;
        if (!first ||
            std::tie(query, *key) < std::tie(first->query, first->key))
          first = Missing{query, *key, coordinates};
      }
      return true;
    });
    return first;
  }

  std::string describe(const Missing &found, int64_t past,
                       int64_t tokens) const {
    bool isCached = found.key < past;
    int64_t row = isCached ? found.key : found.key - past;
    std::string text = "with T = " + std::to_string(tokens);
    if (past > 0)
      text = "with past = " + std::to_string(past) +
             " and T = " + std::to_string(tokens);
    text += ": query token " + std::to_string(found.query) + " on " +
            points.fullRankName(found.coordinates) + " needs " +
            (isCached ? "cached key " : "key ") + std::to_string(row) +
            ", which ";
    std::vector<std::string> holders;
    const Links &links = isCached ? attention.history : attention.keys;
    MeshPoints own;
    own.add(links);
    own.forEach([&](const MeshPoints::Coordinates &coordinates) {
      auto rows = getRows(links, isCached ? past : tokens, coordinates);
      if (rows && llvm::is_contained(*rows, row))
        holders.push_back(own.rankName(coordinates));
      return true;
    });
    if (holders.empty())
      return text + "nobody holds";
    if (holders.size() == 1)
      return text + "only " + holders.front() + " holds";
    return text + "only " + std::to_string(holders.size()) +
           " other ranks hold";
  }

  int64_t numRanks() const { return points.numRanks(); }

private:
  /// The positions whose keys a rank does not hold, ascending.
  std::vector<int64_t>
  getMissing(int64_t past, int64_t tokens,
             const MeshPoints::Coordinates &coordinates) const {
    std::vector<bool> isHeld(past + tokens, false);
    auto mark = [&](const Links &links, int64_t first, int64_t count) {
      if (auto rows = getRows(links, count, coordinates))
        for (int64_t row : *rows)
          isHeld[first + row] = true;
    };
    mark(attention.history, 0, past);
    mark(attention.keys, past, tokens);
    std::vector<int64_t> missing;
    for (int64_t i = 0; i < past + tokens; ++i)
      if (!isHeld[i])
        missing.push_back(i);
    return missing;
  }

  const Attention &attention;
  MeshPoints points;
};

/// Why it cannot be seen, or what was looked at.
std::string findProblem(const Attention &attention, bool isHistoryGood) {
  Search search(attention);
  constexpr int64_t kMostRows = 1 << 21;
  int64_t seen = 0, size = 1;
  // By past + T; a whole history never lacks a key.
  for (; seen < kMostRows; ++size)
    for (int64_t past = 0; past < size; ++past) {
      if (past > 0 && isHistoryGood)
        break;
      if (std::optional<Missing> found = search.find(past, size - past))
        return search.describe(*found, past, size - past);
      seen += search.numRanks() * size;
    }
  return "no query lacks a key with past + T up to " +
         std::to_string(size - 1) + ", but no proof for more was found";
}

} // namespace

Proof layline::proveVisible(const Attention &attention) {
  StopWatch watch;
  Proof proof = Proof::good("resident");
  bool isHistoryGood = isWhole(attention.history) || attention.window == 1;
  bool areKeysGood =
      isWhole(attention.keys) || proveAround(attention, proof.queries);
  if (!areKeysGood && attention.window == 1)
    // A query needs its own key only.
    areKeysGood = proveSameRows(attention.keys, attention.queries).proved;
  if (!areKeysGood || !isHistoryGood) {
    int64_t queries = proof.queries;
    proof = Proof::bad(findProblem(attention, isHistoryGood));
    proof.queries = queries;
  }
  proof.seconds = watch.seconds();
  return proof;
}
