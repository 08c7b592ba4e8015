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
  FakeGpu gpu(cards(2));
  std::ostringstream table, notes;
  {
    BenchOptions few;
    few.repeats = few.rounds = few.warmUpRounds = 1;
    few.width = 64;
    few.mostRows = 4;
    bench(few, table, notes);
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
  std::istringstream lines(table.str());
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK_THAT(line, Catch::StartsWith("# layline-gpu-bench: 2 cards, card 0 "
                                     "(emulated), up to 1980 MHz, "));
  REQUIRE(std::getline(lines, line));
  CHECK(line ==
        "# rows of 64 in bf16; medians of 1 rounds of 1 calls, 1 rounds "
        "before them");
  REQUIRE(std::getline(lines, line));
  CHECK(line == "op,ranks,bytes,us,algorithm");
  std::map<std::string, std::set<std::string>> algorithms;
  int rows = 0;
  std::string last;
  while (std::getline(lines, line)) {
    last = line;
    if (line[0] == '#')
      break;
    ++rows;
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
  CHECK(last == "# end: " + std::to_string(rows) + " rows");
  CHECK_FALSE(std::getline(lines, line));
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
  // Beside what they replace: every family, and NCCL where there are links.
  INFO(notes.str());
  for (const char *form :
       {"rope  ", "pack_pages  ", "sort_by_expert, permute_rows, merge_experts",
        "reduce_scatter + norm + all_gather  ", "FP8 by row + all_gather  ",
        "reduce_scatter + norm + FP8 by group + all_gather",
        "one_shot all_reduce + norm + FP8 by row", "broadcast  ",
        "gather_rows  "})
    CHECK_THAT(notes.str(), Catch::Contains(std::string("\n") + form));
}
