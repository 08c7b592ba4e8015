// The grid of tokens, heads and layers: which splits compute every point once.
#include "layline/Verification/CoverageProof.h"
#include "Parts.h"
#include "layline/Verification/RowMap.h"
#include <iostream>

using namespace layline;

namespace {

GridDim tokensOver(std::vector<Link> links) {
  return {"token", std::nullopt, std::move(links)};
}
GridDim heads(const std::string &axis, int64_t items = 64) {
  return {"head", items, {{Partition::block(), axis}}};
}
GridDim readers(const std::string &axis) {
  return {"KV head", 4, {{Partition::readers(64), axis}}};
}
const GridDim layers = {"layer", 94, {}};

std::vector<MeshAxis> mesh(int64_t tp, int64_t cp) {
  return {{"tp", tp}, {"cp", cp}};
}

/// How many points of tokens x heads are not computed by exactly one rank of
/// the mesh, by enumeration.
int64_t countWrong(const std::vector<MeshAxis> &mesh, const GridDim &rows,
                   const GridDim &columns, int64_t numRows) {
  std::vector<int64_t> times(numRows * *columns.items, 0);
  auto with = [&](std::vector<Link> links) {
    for (Link &link : links)
      for (const MeshAxis &axis : mesh)
        if (axis.name == link.axis)
          link.ranks = axis.size;
    return links;
  };
  for (int64_t a = 0; a < mesh[0].size; ++a)
    for (int64_t b = 0; b < mesh[1].size; ++b) {
      std::map<std::string, int64_t> at = {{mesh[0].name, a},
                                           {mesh[1].name, b}};
      std::vector<int64_t> own = *getRows(with(rows.links), numRows, at);
      std::vector<int64_t> others =
          *getRows(with(columns.links), *columns.items, at);
      for (int64_t row : own)
        for (int64_t column : others)
          ++times[row * *columns.items + column];
    }
  return std::count_if(times.begin(), times.end(),
                       [](int64_t count) { return count != 1; });
}

} // namespace

TEST_CASE("splits over different axes cover the grid") {
  for (const Partition &kind : {Partition::block(), Partition::zigzag(),
                                Partition::cyclic(1), Partition::cyclic(64)})
    for (int64_t tp : {1, 2, 3, 8, 64})
      for (int64_t cp : {1, 2, 5, 8, 64}) {
        Coverage coverage =
            proveCoverage(mesh(tp, cp), {tokensOver({{kind, "cp"}}),
                                         heads("tp"), readers("tp"), layers});
        CHECK(coverage.problem == "");
        CHECK(coverage.covered.size() == 4);
        CHECK(coverage.numReplicas == 1);
        if (tp <= 3 && cp <= 5)
          for (int64_t n : {0, 1, 7, 20})
            CHECK(countWrong(mesh(tp, cp), tokensOver({{kind, "cp"}}),
                             heads("tp"), n) == 0);
      }
}

TEST_CASE("a split of a split covers it too, and other axes are replicas") {
  std::vector<MeshAxis> axes = {{"cp", 4}, {"tp", 8}, {"dp", 2}, {"ep", 1}};
  Coverage coverage = proveCoverage(
      axes,
      {tokensOver({{Partition::zigzag(), "cp"}, {Partition::block(), "tp"}}),
       layers});
  CHECK(coverage.proved);
  CHECK(coverage.covered ==
        std::vector<std::string>{
            "token: zigzag over \"cp\" then block over \"tp\", every number",
            "layer: whole, 94"});
  CHECK(coverage.replicas == std::vector<std::string>{"dp"});
  CHECK(coverage.numReplicas == 2);
}

TEST_CASE("P diagonal blocks are no cover") {
  GridDim rows = tokensOver({{Partition::block(), "tp"}});
  Coverage coverage =
      proveCoverage(mesh(8, 1), {rows, heads("tp"), readers("tp"), layers});
  CHECK(coverage.problem ==
        "with T = 1: token 0, head 8 is computed by nobody: token 0 is on rank "
        "0 of \"tp\", head 8 on rank 1 of \"tp\"; the 8 diagonal blocks are no "
        "cover, they are 8 of the 64 blocks of token x head");
  CHECK(!coverage.proved);
  // Of 16 tokens x 64 heads, 8 blocks of 2 x 8 are computed.
  CHECK(countWrong(mesh(8, 1), rows, heads("tp"), 16) == 16 * 64 - 8 * 2 * 8);
  // With one head, token 0 is still computed.
  CHECK(
      proveCoverage(mesh(8, 1), {rows, heads("tp", 1)}).problem.substr(0, 41) ==
      "with T = 2: token 1, head 0 is computed b");
  // A single rank is no split.
  CHECK(proveCoverage(mesh(1, 8), {rows, heads("tp")}).proved);
  // KV heads follow the query heads; without these they are a dimension.
  CHECK(proveCoverage(mesh(8, 1), {heads("tp"), readers("tp")}).proved);
  CHECK(!proveCoverage(mesh(8, 1), {rows, readers("tp")}).proved);
}

TEST_CASE("one axis cannot split a dimension twice") {
  CHECK(proveCoverage(mesh(8, 8), {tokensOver({{Partition::zigzag(), "cp"},
                                               {Partition::block(), "cp"}})})
            .problem == "with T = 2: token 1 is computed by nobody: one split "
                        "puts it on rank 1 of \"cp\", another on rank 0 of "
                        "\"cp\"");
}

TEST_CASE("what a link loses, the grid loses") {
  Expr quotient = floorDiv(Expr::symbol("tokens"), 4);
  Link lost{
      Partition::block(), "cp", 4, {{Expr::rank("cp") * quotient, quotient}}};
  CHECK(proveCoverage(mesh(8, 4), {tokensOver({lost}), heads("tp")}).problem ==
        "tokens: with 1 item over 4 ranks of \"cp\", item 0 is held by nobody");
  CHECK(proveCoverage(mesh(8, 4),
                      {{"layer", 3, {{Partition::owner({0, 4, 1}), "cp"}}}})
            .problem ==
        "layers: with 3 items over 4 ranks of \"cp\", item 1 is "
        "held by nobody: rank 4 is not there");
  CHECK(proveCoverage(mesh(8, 4), {heads("ep")}).problem ==
        "heads are split over \"ep\", which is no axis of the mesh, expected "
        "one of \"tp\", \"cp\"");
}

TEST_CASE("coverage, rows and positions of big meshes take no time") {
  for (int64_t ranks : {8, 64})
    for (const Partition &kind :
         {Partition::zigzag(), Partition::block(), Partition::cyclic(64)}) {
      StopWatch watch;
      Links rows = {{kind, "cp", ranks}};
      Coverage coverage = proveCoverage(
          mesh(ranks, ranks),
          {tokensOver({{kind, "cp"}}), heads("tp"), readers("tp"), layers});
      Proof gather = proveGather(rows[0], GatherOrder::Token);
      Proof positions = provePositions(rows, {rows});
      CHECK((coverage.proved && gather.proved && positions.proved));
      std::cout << "TP " << ranks << " x CP " << ranks << ", tokens "
                << kindName(kind) << ": " << watch.seconds() * 1e3 << " ms, "
                << coverage.queries + gather.queries + positions.queries
                << " queries\n";
    }
}
