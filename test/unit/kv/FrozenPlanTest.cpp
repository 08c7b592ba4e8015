//===- FrozenPlanTest.cpp - plans of earlier versions are read for ever ---===//
#include "kv/ParsePlan.h"

#include <catch2/catch.hpp>

#include <filesystem>

using namespace layline::kv;

TEST_CASE("frozen plans: every one is read") {
  int found = 0;
  for (const auto &entry : std::filesystem::directory_iterator(
           LAYLINE_SOURCE_DIR "/test/plans/kv-v1.0")) {
    INFO(entry.path());
    CHECK_FALSE(readPlan(entry.path().string()).transfers.empty());
    ++found;
  }
  CHECK(found >= 4);
}
