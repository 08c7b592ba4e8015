// Legal plans of a decoder are equal to it, element by element.
#include "Decoder.h"
#include "layline/Exact/Checker.h"
#include <catch2/catch.hpp>

using namespace layline;
using namespace layline::exact;
using namespace layline::exact::test;

static void requireEqual(const Model &model, const std::vector<Mesh> &meshes,
                         const CheckerOptions &options = {}) {
  Checker checker(buildReference(model), options);
  for (const Mesh &mesh : meshes)
    checker.addProgram(Decoder(model, mesh).build(),
                       "tp " + std::to_string(mesh.tp) + ", cp " +
                           std::to_string(mesh.cp) +
                           (mesh.isByRows ? ", by rows" : ""));
  for (const Mismatch &mismatch : checker.check())
    FAIL_CHECK(mismatch.program << ": " << mismatch.text);
  CHECK(checker.getStatistics().operations > 0);
}

static std::vector<Mesh> allMeshes(const Partition &tokens) {
  std::vector<Mesh> meshes;
  for (int64_t tp : {1, 2, 3, 4, 8})
    for (int64_t cp : {1, 2, 3})
      for (bool isByRows : {false, true})
        meshes.push_back({tp, cp, tokens, isByRows});
  return meshes;
}

TEST_CASE("plans of a decoder with grouped queries") {
  for (const Partition &tokens : {Partition::block(), Partition::zigzag(),
                                  Partition::cyclic(1), Partition::cyclic(3)})
    requireEqual({}, allMeshes(tokens));
}

TEST_CASE("plans of a decoder with experts") {
  Model model;
  model.experts = 9;
  model.topK = 4;
  requireEqual(model, allMeshes(Partition::zigzag()));
}

TEST_CASE("plans where ranks share KV heads") {
  Model model;
  model.heads = 6;
  model.kvHeads = 2;
  model.window = 4;
  requireEqual(model, allMeshes(Partition::zigzag()));
  model.kvHeads = 1;
  model.isQuantized = true;
  requireEqual(model, allMeshes(Partition::zigzag()));
  model.quantGroups = 4;
  requireEqual(model, allMeshes(Partition::zigzag()));
}

TEST_CASE("plans with more ranks than items") {
  Model model;
  model.layers = 1;
  model.heads = 3;
  model.kvHeads = 3;
  model.vocabulary = 7;
  requireEqual(model, allMeshes(Partition::cyclic(3)));
}

TEST_CASE("a result that stays split by rows") {
  requireEqual({}, {{2, 3, Partition::zigzag(), false, true},
                    {1, 3, Partition::cyclic(1), true, true}});
}

TEST_CASE("results that were dropped are computed again") {
  CheckerOptions options;
  options.memoBytes = 1 << 16;
  options.threads = 3;
  requireEqual({}, {{2, 2}, {4, 1, Partition::block(), true}, {2, 2}}, options);
}
