// What `make gpu-bench` runs, on emulated cards: that it runs, and that its
// table is one that calibration reads. Times are the fake driver's.
#include "Bench.h"
#include "FakeGpu.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>
#include <sstream>

using namespace layline::test;

TEST_CASE("the bench prints a table of every form, on one card and on several",
          "[bench]") {
  FakeCards two;
  two.count = 2;
  FakeGpu gpu(two);
  std::ostringstream table, notes;
  {
    BenchOptions few;
    few.repeats = few.rounds = 1;
    few.width = 64;
    few.mostRows = 4;
    bench(few, table, notes);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
  std::istringstream lines(table.str());
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(line == "op,ranks,bytes,us,algorithm");
  std::map<std::string, std::set<std::string>> algorithms;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string op, ranks, bytes, us, algorithm;
    std::getline(cells, op, ',');
    std::getline(cells, ranks, ',');
    std::getline(cells, bytes, ',');
    std::getline(cells, us, ',');
    std::getline(cells, algorithm);
    INFO(line);
    CHECK(std::stoi(ranks) >= 1);
    CHECK(std::stoll(bytes) > 0);
    CHECK(std::stod(us) > 0);
    algorithms[op].insert(algorithm + " x" + ranks);
  }
  CHECK(algorithms["row_kernel"] ==
        std::set<std::string>{"layline_fused x1", "layline_norm x1"});
  for (const char *form : {"reduce_scatter_epilogue_all_gather",
                           "reduce_scatter_epilogue", "epilogue_all_gather"}) {
    CAPTURE(form);
    for (const char *how :
         {"layline_fused x2", "layline_fused:one_card x2",
          "layline_fused:one_card x4", "layline_fused:one_card x8"})
      CHECK(algorithms[form].count(how) == 1);
  }
  CHECK(algorithms["reduce_scatter_epilogue_all_gather"].count(
            "layline_three_kernels:one_card x4") == 1);
  CHECK(algorithms["all_reduce_epilogue"].count("layline_one_shot x2") == 1);
  CHECK(algorithms["all_reduce"].count("nccl x2") == 1);
}
