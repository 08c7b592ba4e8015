#include "Curve.h"
#include "CostTests.h"
#include "LatencyTables.h"

using namespace layline;
using namespace layline::test;
using Catch::Matchers::Contains;

TEST_CASE("rows are measured, between them a latency and a bandwidth") {
  Curve curve({{1000, 10.0}, {2000, 12.0}, {4000, 16.0}});
  CHECK(curve.at(1000).us == 10);
  CHECK(curve.at(1000).confidence == Confidence::Measured);
  CHECK(curve.at(1500).us == Approx(11));
  CHECK(curve.at(3000).us == Approx(14));
  CHECK(curve.at(3000).confidence == Confidence::Interpolated);
  // On log-log axes: the geometric mean halfway in the logarithm.
  CHECK(curve.at(2828, Curve::Axes::LogLog).us ==
        Approx(std::sqrt(12.0 * 16.0)).epsilon(1e-3));
}

TEST_CASE("outside the rows the line goes on, and is no measurement") {
  Curve curve({{1000, 10.0}, {2000, 12.0}, {4000, 16.0}});
  Curve::Value below = curve.at(500), above = curve.at(8000);
  CHECK(below.us == Approx(9));
  CHECK(below.confidence == Confidence::Formula);
  CHECK(below.note == "below 1000 B measured");
  CHECK(above.us == Approx(24));
  CHECK(above.confidence == Confidence::Formula);
  CHECK(above.note == "above 4000 B measured");
  // Anchored: it meets the row at the end.
  CHECK(curve.at(4001).us == Approx(16).epsilon(1e-3));
  // A line that would meet 0 stays above the bandwidth of the first row.
  CHECK(Curve({{1000, 1.0}, {2000, 4.0}}).at(100).us == Approx(0.1));
  // One row tells no slope.
  CHECK(Curve({{1000, 5.0}}).at(10).us == Approx(5));
  CHECK(Curve({{1000, 5.0}}).at(4000).us == Approx(20));
  CHECK(Curve({{1000, 5.0}}).at(4000).confidence == Confidence::Formula);
}

TEST_CASE("no message is slower than a larger one") {
  Curve curve({{512, 3.3}, {1024, 38.1}, {2048, 3.5}});
  CHECK(curve.at(1024).us == 3.5);
  CHECK(curve.at(1024).confidence == Confidence::Interpolated);
  CHECK(curve.at(700).us < 3.5);
  for (const LatencyRow &row : getLatencies()) {
    double before = 0;
    for (int64_t bytes = 64; bytes < int64_t(1) << 34; bytes += bytes / 3 + 1) {
      double us = row.curve.at(bytes).us;
      INFO(row.card << " " << row.op << " " << row.label() << " " << bytes);
      REQUIRE(us >= before * (1 - 1e-12));
      before = us;
    }
  }
}

TEST_CASE("missing rows take the shape of a version that agrees") {
  Curve twin({{1, 10.0}, {2, 19.0}, {4, 20.0}});
  Curve sparse({{1, 10.2}, {4, 20.4}});
  CHECK(sparse.at(2).us == Approx(13.6));
  sparse.refine({&twin});
  CHECK(sparse.at(2).us == Approx(19.38));
  CHECK(sparse.at(2).confidence == Confidence::Interpolated);
  CHECK(sparse.at(2).note == "shape of another version");
  CHECK(sparse.at(1).confidence == Confidence::Measured);
  // One that is 10 % off at an end is another algorithm.
  Curve other({{1, 11.2}, {4, 20.4}});
  other.refine({&twin});
  CHECK(other.at(2).us == Approx(11.2 + 9.2 / 3));
  // Of two the nearer.
  Curve near({{1, 10.2}, {2, 12.0}, {4, 20.4}});
  Curve both({{1, 10.2}, {4, 20.4}});
  both.refine({&twin, &near});
  CHECK(both.at(2).us == Approx(12));
}

TEST_CASE("the built-in tables are those of the sources") {
  const std::vector<LatencyRow> &rows = getLatencies();
  CHECK(rows.size() > 400);
  auto find = [&](const char *card, const char *op, int64_t ranks,
                  const char *label) -> const LatencyRow & {
    for (const LatencyRow &row : rows)
      if (row.card == card && row.op == op && row.ranks == ranks &&
          row.label() == label)
        return row;
    FAIL(card << " " << op << " " << label);
    return rows.front();
  };
  // aic_comm_latency.csv, and figures 4 and 5 of TokenWeave's artifact.
  CHECK(find("h200_sxm", "all_reduce", 8, "vllm 0.24.0 vllm_custom")
            .curve.measured()
            .at(16 * kMiB) == Approx(87.2).epsilon(1e-3));
  const LatencyRow &fused =
      find("h100_sxm", "reduce_scatter_epilogue_all_gather", 8,
           "best CTA count tokenweave");
  CHECK(fused.curve.measured().at(64 * kMiB) == Approx(258.2).epsilon(1e-3));
  CHECK_THAT(fused.source, Contains("f483d1c431f5"));
  CHECK(fused.date == "2026-01-29");
  // One newest version of every algorithm is deployed.
  std::map<std::tuple<std::string, std::string, int64_t, std::string>, int>
      deployed;
  for (const LatencyRow &row : rows)
    deployed[{row.card, row.op, row.ranks, row.algorithm}] +=
        row.isDeployed() ? 1 : 0;
  for (const auto &[key, count] : deployed) {
    INFO(std::get<0>(key) << " " << std::get<1>(key) << " "
                          << std::get<3>(key));
    CHECK(count == (std::get<0>(key) == "none" ? 0 : 1));
  }
}

TEST_CASE("a broken table is refused where it is broken") {
  const std::string header =
      "card,op,ranks,algorithm,version,use,source,date,points\n";
  const std::string good = "h9,all_reduce,8,nccl,nccl 3,deployed,me,,1:2 2:3\n";
  std::string error;
  auto refused = [&](const std::string &text, const std::string &message) {
    CHECK_FALSE(parseLatencies(text, "t.csv", error));
    CHECK(error == message);
  };
  CHECK(parseLatencies(header + good, "t.csv", error));
  CHECK(parseLatencies(header, "t.csv", error)->empty());
  refused("card\n" + good, "t.csv:1: found 'card', expected "
                           "card,op,ranks,algorithm,version,use,source,date,"
                           "points");
  refused("", "t.csv:1: found '', expected "
              "card,op,ranks,algorithm,version,use,source,date,points");
  refused(header + good + "h9,all_reduce,8\n",
          "t.csv:3: found 3 cells, expected 9");
  refused(header + "h9,reduce,8,nccl,,deployed,me,,1:2\n",
          "t.csv:2: op: found 'reduce', expected a collective, a fused form or "
          "row_kernel");
  refused(header + "h9,all_reduce,0,nccl,,deployed,me,,1:2\n",
          "t.csv:2: ranks: found '0', expected a whole number above 0");
  refused(header + "h9,all_reduce,8,nccl,,newest,me,,1:2\n",
          "t.csv:2: use: found 'newest', expected deployed, older, inferred or "
          "reference");
  refused(header + "h9,all_reduce,8,nccl,,deployed,me,,\n",
          "t.csv:2: points: found none, expected BYTES:MICROSECONDS");
  for (const char *bad : {"1", "1:", ":2", "1:0", "0:2", "1:-2", "1:2us",
                          "-1:2", "1:nan", "1:1e999"})
    refused(header + "h9,all_reduce,8,nccl,,deployed,me,," + bad + "\n",
            "t.csv:2: points: found '" + std::string(bad) +
                "', expected BYTES:MICROSECONDS, both above 0");
  refused(header + "h9,all_reduce,8,nccl,,deployed,me,,2:2 1:3\n",
          "t.csv:2: points: found 1 bytes after 2, expected rising bytes");
}
