//===- VectorsTest.cpp - what public engines expect of each other ---------===//
//
// data/vectors.json holds inputs and results of unit tests of public engines,
// and of their rules. Where an executed engine is wrong the right value stands
// as `expected` and what it gave as `wheel_result`. Every vector must be taken
// by the check of its group.
//
//===----------------------------------------------------------------------===//
#include "VectorChecks.h"

#include <fstream>

using namespace layline::kv::vectors;

TEST_CASE("vectors of public engines") {
  std::ifstream file(LAYLINE_SOURCE_DIR "/test/unit/kv/data/vectors.json");
  Json document = Json::parse(file);
  REQUIRE(document["vectors"].size() == 102);
  Checks checks;
  for (Checks group : {getPageChecks(), getHeadChecks(), getDcpChecks(),
                       getLayerChecks(), getComputeChecks()})
    checks.merge(group);
  for (const Json &vector : document["vectors"]) {
    std::string id = vector["id"], group = vector["group"];
    INFO(vector.dump());
    auto check = checks.find(group);
    REQUIRE(check != checks.end());
    DYNAMIC_SECTION(id) { check->second(vector["input"], vector["expected"]); }
  }
}
