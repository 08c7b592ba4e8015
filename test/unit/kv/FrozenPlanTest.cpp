//===- FrozenPlanTest.cpp - plans of earlier versions are read for ever ---===//
#include "kv/ParsePlan.h"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace layline::kv;

TEST_CASE("frozen plans: every one of every version is read") {
  for (const char *version : {"kv-v1.0", "kv-v1.1"}) {
    int found = 0;
    for (const auto &entry : std::filesystem::directory_iterator(
             std::string(LAYLINE_SOURCE_DIR "/test/plans/") + version)) {
      if (entry.path().extension() != ".json")
        continue;
      INFO(entry.path());
      Plan plan = readPlan(entry.path().string());
      CHECK_FALSE(plan.transfers.empty());
      CHECK_FALSE(plan.readiness.keys.empty());
      ++found;
    }
    CHECK(found >= 4);
  }
}
