//===- RowMap.cpp - which token a local row is ----------------------------===//
#include "layline/Verification/RowMap.h"
#include "AffineCases.h"
#include "ExprTools.h"
#include "RowComparison.h"
#include "Runs.h"
#include "SymbolicParts.h"
#include <numeric>

using namespace layline;

using Answer = AffineCases::Answer;
using Relation = AffineCases::Relation;

std::optional<std::vector<int64_t>>
layline::getRows(const Links &links, int64_t tokens,
                 const std::map<std::string, int64_t> &coordinates) {
  std::vector<int64_t> rows(tokens);
  std::iota(rows.begin(), rows.end(), 0);
  for (const Link &link : links) {
    auto rank = coordinates.find(link.axis);
    if (rank == coordinates.end())
      return std::nullopt;
    int64_t items = static_cast<int64_t>(rows.size());
    std::optional<std::vector<int64_t>> held =
        getLinkItems(link, items, rank->second);
    if (!held)
      return std::nullopt;
    for (int64_t &item : *held) {
      if (item < 0 || item >= items)
        return std::nullopt;
      item = rows[item];
    }
    rows = std::move(*held);
  }
  return rows;
}

Links layline::getLocalRows(const Links &links) {
  Links local = links;
  for (Link &link : local)
    link.segments = {{0, getTotalSize(getLinkSegments(link, std::nullopt))}};
  return local;
}

namespace {

/// Splits over one rank that are no more than that are left out.
Links simplify(const Links &links) {
  Links simple;
  for (const Link &link : links)
    if (link.ranks > 1 || !link.segments.empty())
      simple.push_back(link);
  return simple;
}

/// Link by link: the same part of the same part.
bool proveLinksEqual(const Links &first, const Links &second, Proof &proof) {
  if (first.size() != second.size())
    return false;
  std::string method = "equal";
  for (size_t i = 0; i < first.size(); ++i) {
    LinkComparison comparison(first[i], second[i]);
    if (comparison.prove(proof.queries))
      continue;
    if (!comparison.proveByPeriods())
      return false;
    method = "periods";
  }
  proof.method = method;
  proof.proved = true;
  return true;
}

/// As they are, or without what splits nothing.
bool proveEqual(const Links &first, const Links &second, Proof &proof) {
  return proveLinksEqual(first, second, proof) ||
         proveLinksEqual(simplify(first), simplify(second), proof);
}

std::string countRows(size_t count) {
  return std::to_string(count) + (count == 1 ? " local row" : " local rows");
}

Proof openProof(int64_t last) {
  return Proof::bad("the rows are the same with T up to " +
                    std::to_string(last - 1) +
                    ", but no proof for more was found");
}

} // namespace

Proof layline::proveSameRows(const Links &first, const Links &second) {
  StopWatch watch;
  Proof proof;
  if (!proveEqual(first, second, proof)) {
    Comparison comparison(simplify(first), simplify(second));
    int64_t last = 0, queries = proof.queries;
    std::optional<Difference> found = comparison.findSmallest(last);
    proof = openProof(last);
    if (found) {
      std::string name = comparison.getPoints().rankName(found->coordinates);
      std::string text = comparison.introduce(found->tokens);
      proof.problem = found->first && found->second
                          ? text + "on " + name + ", local row " +
                                std::to_string(found->row) + " is token " +
                                std::to_string(*found->first) + ", not " +
                                std::to_string(*found->second)
                          : text + name + " has " +
                                countRows(found->firstSize) + ", not " +
                                std::to_string(found->secondSize);
    }
    proof.queries = queries;
  }
  proof.seconds = watch.seconds();
  return proof;
}

/// A concatenation that does not give row i at place i, with the fewest tokens.
static std::optional<std::string> findWrongPlace(const Link &link,
                                                 int64_t &last) {
  constexpr int64_t kMostRows = 1 << 20;
  int64_t seen = 0;
  for (last = 0; seen < kMostRows; ++last) {
    int64_t place = 0;
    for (int64_t rank = 0; rank < link.ranks; ++rank) {
      auto held = getLinkItems(link, last, rank);
      if (!held)
        return "the parts have no value";
      for (const int64_t &item : *held) {
        if (item != place)
          return introduce(link.axis, link.ranks, last) + "row " +
                 std::to_string(place) + " of the result is item " +
                 std::to_string(item) + ": local row " +
                 std::to_string(&item - held->data()) + " of rank " +
                 std::to_string(rank);
        ++place;
      }
    }
    seen += link.ranks + last;
  }
  return std::nullopt;
}

Proof layline::proveGather(const Link &rows, GatherOrder order) {
  StopWatch watch;
  std::vector<SegmentExpr> segments = getLinkSegments(rows, std::nullopt);
  Proof proof;
  if (order == GatherOrder::Token || segments.empty()) {
    // A row goes where its item is, so all that matters is that each item comes
    // from one rank.
    proof = provePartition(segments, rows.axis, rows.ranks, std::nullopt);
  } else {
    SymbolicParts symbolic(segments, rows.axis, rows.ranks, std::nullopt);
    std::string method = symbolic.proveRankOrder();
    int64_t last = 0;
    if (!method.empty())
      proof = Proof::good(method);
    else
      proof = Proof::bad(findWrongPlace(rows, last)
                             .value_or("the parts are in the order of the "
                                       "ranks with up to " +
                                       std::to_string(last) +
                                       " items, but no proof for more was "
                                       "found"));
    proof.queries = symbolic.numQueries();
  }
  proof.seconds = watch.seconds();
  return proof;
}

Proof layline::proveGather(const Link &rows, const Link &places) {
  StopWatch watch;
  Proof proof = proveGather(rows, GatherOrder::Token);
  if (proof)
    proof.add(proveSameRows({rows}, {places}));
  proof.seconds = watch.seconds();
  return proof;
}

/// The first past for which the offset of a claim is not past.
static std::optional<int64_t> findWrongOffset(const Expr &offset,
                                              int64_t &queries) {
  AffineCases cases({{"past", 0, std::nullopt, false}});
  bool holds = cases.prove(offset, Relation::Equal, Expr::symbol("past")) ==
               Answer::Holds;
  queries += cases.numQueries();
  constexpr int64_t kMostPast = 1 << 16;
  for (int64_t past = 0; !holds && past < kMostPast; ++past)
    if (evaluate(offset, {{"past", past}}) != past)
      return past;
  if (holds)
    return std::nullopt;
  return -1;
}

Proof layline::provePositions(const Links &rows, const PositionClaim &claim) {
  StopWatch watch;
  Proof proof;
  std::optional<int64_t> wrongPast =
      findWrongOffset(claim.offset, proof.queries);
  if (wrongPast && *wrongPast < 0)
    return Proof::bad("the offset of the positions is not past, as far as can "
                      "be proved");
  bool isSame = proveEqual(rows, claim.rows, proof);
  if (wrongPast) {
    proof.proved = false;
    proof.method.clear();
  }
  // The smallest: a wrong row shows without a past, a wrong offset with it.
  int64_t last = 0;
  std::optional<Difference> found;
  Comparison comparison(rows, claim.rows);
  int64_t past = 0;
  if (!isSame)
    found = comparison.findSmallest(last);
  if (!isSame && !found)
    proof.problem = openProof(last).problem;
  if (wrongPast && (!found || *wrongPast == 0)) {
    // A single token: on the first rank that holds it.
    past = *wrongPast;
    comparison.getPoints().forEach([&](const auto &coordinates) {
      std::optional<std::vector<int64_t>> own = getRows(rows, 1, coordinates);
      if (!own || own->empty())
        return true;
      found = Difference{1, coordinates, 0, 0, 0, 1, 1};
      return false;
    });
  }
  if (found && found->first && found->second) {
    int64_t offset = evaluate(claim.offset, {{"past", past}}).value_or(0);
    proof.problem = "with past = " + std::to_string(past) +
                    comparison.introduce(found->tokens).replace(0, 4, " and") +
                    "on " +
                    comparison.getPoints().rankName(found->coordinates) +
                    ", local row " + std::to_string(found->row) + " is token " +
                    std::to_string(*found->first) + " at position " +
                    std::to_string(past + *found->first) + ", not " +
                    std::to_string(offset + *found->second);
  } else if (found) {
    proof.problem = comparison.introduce(found->tokens) +
                    comparison.getPoints().rankName(found->coordinates) +
                    " has " + countRows(found->firstSize) + " and " +
                    std::to_string(found->secondSize) + " positions";
  }
  proof.seconds = watch.seconds();
  return proof;
}
