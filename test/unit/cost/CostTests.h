//===- CostTests.h - what the tests of costs share --------------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_COST_COSTTESTS_H
#define LAYLINE_TEST_UNIT_COST_COSTTESTS_H

#include "layline/Cost/CostModel.h"
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace layline::test {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

inline CostModel makeModel(const CostModelOptions &options) {
  std::string error;
  std::optional<CostModel> model = CostModel::create(options, error);
  INFO(error);
  REQUIRE(model);
  return *model;
}

inline CostModel makeModel(const std::string &target,
                           LaunchMode launch = LaunchMode::Graph) {
  return makeModel(CostModelOptions{target, "", "", launch});
}

/// A file in the folder of the test's run that goes when the test ends.
class TemporaryFile {
public:
  explicit TemporaryFile(const std::string &text) {
    static int count = 0;
    path = "cost-test-" + std::to_string(::getpid()) + "-" +
           std::to_string(count++) + ".json";
    std::ofstream(path) << text;
  }
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string path;
};

inline std::string readSource(const std::string &relative) {
  std::ifstream in(std::string(LAYLINE_SOURCE_DIR) + "/" + relative);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace layline::test

#endif // LAYLINE_TEST_UNIT_COST_COSTTESTS_H
