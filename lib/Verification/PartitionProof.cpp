//===- PartitionProof.cpp - disjoint and complete, for every count --------===//
#include "layline/Verification/PartitionProof.h"
#include "ExprTools.h"
#include "PeriodSearch.h"
#include "Runs.h"
#include "SymbolicParts.h"
#include "llvm/ADT/STLExtras.h"

using namespace layline;

void Proof::add(const Proof &part) {
  if (!part.proved && problem.empty())
    problem = part.problem;
  proved &= part.proved;
  queries += part.queries;
  if (method.find(part.method) == std::string::npos)
    method += (method.empty() ? "" : " + ") + part.method;
}

namespace {

/// What is wrong with so many items.
std::string findFaultAt(const std::vector<SegmentExpr> &segments,
                        const std::string &axis, int64_t ranks, int64_t items) {
  std::optional<std::vector<Run>> runs =
      getAllRuns(segments, axis, ranks, items);
  std::string fault =
      runs ? findFault(*runs, items) : "a part has no begin or size";
  return fault.empty() ? "" : introduce(axis, ranks, items) + fault;
}

/// Where the unknown rank proves nothing: rank by rank.
Proof proveByRanks(const std::vector<SegmentExpr> &segments,
                   const std::string &axis, int64_t ranks,
                   SymbolicParts &symbolic) {
  using Outcome = SearchResult::Outcome;
  SearchResult found = searchCounts(segments, axis, ranks);
  switch (found.outcome) {
  case Outcome::Proved:
    return Proof::good("periods");
  case Outcome::Refuted:
    return Proof::bad(introduce(axis, ranks, found.count) + found.fault);
  case Outcome::NoValue:
    return Proof::bad(introduce(axis, ranks, found.count) +
                      "a part has no begin or size");
  case Outcome::Open:
    break;
  }
  // A fault that only many items show.
  constexpr int64_t kMostRanks = 64;
  if (ranks <= kMostRanks && segments.front().stride == 0)
    if (std::optional<int64_t> count = symbolic.findLeastGap()) {
      std::string fault = findFaultAt(segments, axis, ranks, *count);
      if (!fault.empty())
        return Proof::bad(fault);
    }
  return Proof::bad("over " + std::to_string(ranks) + " ranks of \"" + axis +
                    "\", every item is held once with up to " +
                    std::to_string(found.count - 1) +
                    " items, but no proof for more was found");
}

Proof notShared(int64_t queryHeads, int64_t items) {
  return Proof::bad("found " + std::to_string(queryHeads) +
                    " query heads, expected a multiple of the " +
                    std::to_string(items) + " KV heads");
}

Proof proveOwner(const std::vector<int64_t> &owners, const std::string &axis,
                 int64_t ranks, std::optional<int64_t> items) {
  std::string found = std::to_string(owners.size()) + " owners";
  if (!items)
    return Proof::bad("found " + found + ", expected a known number of items");
  if (*items != static_cast<int64_t>(owners.size()))
    return Proof::bad("found " + found + ", expected one for each of " +
                      std::to_string(*items) + " items");
  for (size_t item = 0; item < owners.size(); ++item)
    if (owners[item] < 0 || owners[item] >= ranks)
      return Proof::bad(introduce(axis, ranks, *items) + "item " +
                        std::to_string(item) + " is held by nobody: rank " +
                        std::to_string(owners[item]) + " is not there");
  return Proof::good("owner");
}

} // namespace

Proof layline::provePartition(const std::vector<SegmentExpr> &segments,
                              const std::string &axis, int64_t ranks,
                              std::optional<int64_t> items) {
  StopWatch watch;
  Proof proof;
  SymbolicParts symbolic(segments, axis, ranks, items);
  if (segments.empty())
    proof = Proof::bad("there are no expressions for its parts");
  else if (!symbolic.isAffine())
    proof = Proof::bad("the parts are not affine in the number of items");
  else if (std::string method = symbolic.prove(); !method.empty())
    proof = Proof::good(method);
  else if (!items)
    proof = proveByRanks(segments, axis, ranks, symbolic);
  else if (std::string fault = findFaultAt(segments, axis, ranks, *items);
           fault.empty())
    proof = Proof::good("counted");
  else
    proof = Proof::bad(fault);
  proof.queries = symbolic.numQueries();
  proof.seconds = watch.seconds();
  return proof;
}

Proof layline::provePartition(const Partition &partition,
                              const std::string &axis, int64_t ranks,
                              std::optional<int64_t> items) {
  Expr count = items ? Expr(*items) : Expr::symbol("tokens");
  Expr rank = Expr::rank(axis);
  switch (partition.kind) {
  case Partition::Kind::Owner:
    return proveOwner(partition.owners, axis, ranks, items);
  case Partition::Kind::Readers:
    if (!items)
      return Proof::bad("found readers of an unknown number of items, expected "
                        "a known one");
    return proveReaders(getReadersExpr(*items, partition.argument, ranks, rank),
                        *items, {getBlockExpr(partition.argument, ranks, rank)},
                        partition.argument, axis, ranks);
  case Partition::Kind::FirstReaders:
    if (!items)
      return Proof::bad("found first readers of an unknown number of items, "
                        "expected a known one");
    if (*items > 0 && partition.argument % *items != 0)
      return notShared(partition.argument, *items);
    return proveFirstReaders(
        getFirstReadersExpr(*items, partition.argument, ranks, rank),
        getReadersExpr(*items, partition.argument, ranks, rank), *items, axis,
        ranks);
  default:
    return provePartition(getSegmentExprs(partition, count, ranks, rank), axis,
                          ranks, items);
  }
}

/// The first head that a rank holds and does not read, or the other way round.
static std::string compareHeads(const std::vector<Run> &held,
                                const std::vector<Run> &queries, int64_t items,
                                int64_t group) {
  std::vector<int64_t> isRead(items, 0), isHeld(items, 0);
  for (const Run &run : queries)
    for (int64_t head = run.begin; head < run.begin + run.size; ++head)
      isRead[head / group] = 1;
  for (const Run &run : held) {
    if (run.size < 0)
      return "has a negative size";
    for (int64_t head = run.begin; head < run.begin + run.size; ++head) {
      if (head < 0 || head >= items)
        return "holds KV head " + std::to_string(head) + " of " +
               std::to_string(items);
      isHeld[head] = 1;
    }
  }
  std::string heads;
  for (const Run &run : queries)
    heads += (heads.empty() ? "" : ", ") + std::to_string(run.begin) + ".." +
             std::to_string(run.begin + run.size - 1);
  if (heads.empty())
    heads = "(none)";
  for (int64_t head = 0; head < items; ++head)
    if (isHeld[head] != isRead[head])
      return std::string(isHeld[head] ? "holds" : "lacks") + " KV head " +
             std::to_string(head) + ", which its query heads " + heads +
             (isHeld[head] ? " do not read" : " read");
  return {};
}

Proof layline::proveReaders(const SegmentExpr &held, int64_t items,
                            const std::vector<SegmentExpr> &queries,
                            int64_t queryHeads, const std::string &axis,
                            int64_t ranks) {
  StopWatch watch;
  if (items > 0 && queryHeads % items != 0)
    return notShared(queryHeads, items);
  Proof proof = provePartition(queries, axis, ranks, queryHeads);
  if (!proof)
    return proof;
  // All counts are known and there are no more ranks with heads than heads.
  for (int64_t rank = 0; items > 0 && rank < ranks; ++rank) {
    auto own = getRuns({held}, axis, rank, items);
    auto reads = getRuns(queries, axis, rank, queryHeads);
    std::string fault =
        own && reads ? compareHeads(*own, *reads, items, queryHeads / items)
                     : "has no begin or size";
    if (!fault.empty())
      return Proof::bad("rank " + std::to_string(rank) + " of \"" + axis +
                        "\" " + fault);
  }
  proof.method = "readers";
  proof.seconds = watch.seconds();
  return proof;
}

Proof layline::proveFirstReaders(const SegmentExpr &kept,
                                 const SegmentExpr &held, int64_t items,
                                 const std::string &axis, int64_t ranks) {
  StopWatch watch;
  Proof proof = provePartition({kept}, axis, ranks, items);
  for (int64_t rank = 0; proof && rank < ranks; ++rank) {
    auto own = getRuns({kept}, axis, rank, items);
    auto all = getRuns({held}, axis, rank, items);
    auto isHeld = [&](const Run &run) {
      return llvm::any_of(*all, [&](const Run &of) {
        return of.begin <= run.begin &&
               run.begin + run.size <= of.begin + of.size;
      });
    };
    if (!own || !all)
      return Proof::bad("rank " + std::to_string(rank) + " of \"" + axis +
                        "\" has no begin or size");
    if (!llvm::all_of(*own, isHeld))
      return Proof::bad("rank " + std::to_string(rank) + " of \"" + axis +
                        "\" keeps KV head " +
                        std::to_string(own->front().begin) +
                        ", which its query heads do not read");
  }
  if (proof)
    proof.method += " + readers";
  proof.seconds = watch.seconds();
  return proof;
}

std::vector<SegmentExpr>
layline::getLinkSegments(const Link &link, std::optional<int64_t> items) {
  if (!link.segments.empty())
    return link.segments;
  return getSegmentExprs(link.partition,
                         items ? Expr(*items) : Expr::symbol("tokens"),
                         link.ranks, Expr::rank(link.axis));
}

Proof layline::proveChain(const std::vector<Link> &links,
                          std::optional<int64_t> items) {
  StopWatch watch;
  Proof proof = Proof::good("");
  for (size_t i = 0; i < links.size() && proof; ++i) {
    const Link &link = links[i];
    // Only the first deals out a known number of items.
    std::optional<int64_t> count = i == 0 ? items : std::nullopt;
    for (size_t j = 0; j < i; ++j)
      if (links[j].axis == link.axis && link.ranks > 1)
        return Proof::bad("axis \"" + link.axis + "\" splits the items twice");
    proof.add(
        link.segments.empty()
            ? provePartition(link.partition, link.axis, link.ranks, count)
            : provePartition(link.segments, link.axis, link.ranks, count));
  }
  proof.seconds = watch.seconds();
  return proof;
}
