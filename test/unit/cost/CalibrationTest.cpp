#include "layline/Cost/Calibration.h"
#include "CostTests.h"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

using namespace layline;
using namespace layline::test;
using Catch::Matchers::Contains;

namespace {

const std::string kHeader =
    "# nThread 1 nGpus 4 minBytes 1024 maxBytes 4096 step: 2(factor) warmup\n"
    "#\n# Using devices\n"
    "#  Rank  0 Group  0 Pid   4242 on   node device  0 [0x1b] NVIDIA H200\n"
    "#  Rank  1 Group  0 Pid   4242 on   node device  1 [0x43] NVIDIA H200\n"
    "#  Rank  2 Group  0 Pid   4242 on   node device  2 [0x52] NVIDIA H200\n"
    "#  Rank  3 Group  0 Pid   4242 on   node device  3 [0x61] NVIDIA H200\n"
    "#\n"
    "#                                                    out-of-place       "
    "                in-place\n"
    "#       size         count      type   redop    root     time   algbw   "
    "busbw #wrong     time   algbw   busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  "
    "(GB/s)            (us)  (GB/s)  (GB/s)\n";
const std::string kFooter = "# Out of bounds values : 0 OK\n"
                            "# Avg bus bandwidth    : 12.5\n#\n";

std::string row(int64_t size, int64_t count, const char *type, const char *us,
                const char *inPlace, const char *wrong = "0") {
  return "  " + std::to_string(size) + "  " + std::to_string(count) + "  " +
         type + "  sum  -1  " + us + "  0.1  0.1  " + wrong + "  " + inPlace +
         "  0.1  0.1  N/A\n";
}

std::string allReduce() {
  return "# Collective test starting: all_reduce_perf\n" + kHeader +
         row(1024, 256, "float", "15.5", "15.0") +
         row(4096, 1024, "float", "16.5", "16.0") + kFooter;
}

std::vector<MeasuredCurve> parsed(const std::string &text,
                                  const MeasurementOptions &options = {}) {
  std::string error;
  std::optional<std::vector<MeasuredCurve>> curves =
      parseMeasurements(text, "log", options, error);
  INFO(error);
  REQUIRE(curves);
  return *curves;
}

void refused(const std::string &text, const std::string &message,
             const MeasurementOptions &options = {}) {
  std::string error;
  CHECK_FALSE(parseMeasurements(text, "log", options, error));
  CHECK(error == message);
}

} // namespace

TEST_CASE("a run of all_reduce_perf") {
  std::vector<MeasuredCurve> curves = parsed(allReduce());
  REQUIRE(curves.size() == 1);
  CHECK(curves[0].op == "all_reduce");
  CHECK(curves[0].ranks == 4);
  CHECK(curves[0].algorithm == "nccl");
  CHECK(curves[0].points ==
        std::map<int64_t, double>{{1024, 15.5}, {4096, 16.5}});
  MeasurementOptions inPlace;
  inPlace.inPlace = true;
  CHECK(parsed(allReduce(), inPlace)[0].points.at(1024) == 15.0);
}

TEST_CASE("bytes are those of the whole tensor, whatever the test counts") {
  // An all_gather and a reduce_scatter count a rank's part, 4 ranks.
  for (const char *name : {"all_gather", "reduce_scatter"}) {
    std::vector<MeasuredCurve> curves =
        parsed("$ ./build/" + std::string(name) + "_perf -b 4K -g 4\n" +
               kHeader + row(4096, 512, "half", "9.5", "9.0") + kFooter);
    CHECK(curves[0].op == name);
    CHECK(curves[0].points == std::map<int64_t, double>{{4096, 9.5}});
  }
  // An alltoall's size is what one rank sends, its count what a pair does.
  std::vector<MeasuredCurve> curves =
      parsed("# Collective test starting: alltoall_perf\n" + kHeader +
             row(4096, 256, "float", "9.5", "9.0") + kFooter);
  CHECK(curves[0].op == "all_to_all");
  CHECK(curves[0].points == std::map<int64_t, double>{{16384, 9.5}});
}

TEST_CASE("headings of other years, several runs, repeats") {
  std::string old =
      "# Collective test starting: all_gather_perf\n"
      "# nThread 2 nGpus 1 minBytes 8\n"
      "#   Rank  0 Pid 1 on node device 0\n"
      "#   Rank  1 Pid 1 on node device 1\n"
      "#       size  count  type  time  algbw  busbw  error   time "
      " algbw  busbw  error\n"
      "#        (B)  (elements)  (us)  (GB/s)  (GB/s)\n"
      "   0  0  float  4.1  0  0  0e+00  4.0  0  0  0e+00\n"
      "   64  8  float  5.5  0.1  0.1  0e+00  5.0  0.1  0.1  0e+00\n"
      "# Avg bus bandwidth : 1\n";
  std::vector<MeasuredCurve> curves = parsed(
      allReduce() + old + "# Collective test starting: all_reduce_perf\n" +
      kHeader + row(1024, 256, "float", "17.5", "15.0") + kFooter);
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].op == "all_gather");
  CHECK(curves[0].ranks == 2);
  CHECK(curves[0].points == std::map<int64_t, double>{{64, 5.5}});
  CHECK(curves[1].points.at(1024) == 16.5); // of 15.5 and 17.5
}

TEST_CASE("what is no whole, right run is refused where it ends") {
  std::string text = allReduce();
  // Cut in a row, before the end, between two runs.
  refused(text.substr(0, text.find("16.5")),
          "log:14: found 5 cells, expected 13 as in the headings");
  refused(text.substr(0, text.find("# Out")),
          "log:14: found the end of the file, expected '# Avg bus bandwidth' "
          "at the end of a run: was the file cut?");
  refused(
      text.substr(0, text.find("# Out")) + text,
      "log:16: found another run, expected '# Avg bus bandwidth' at the end "
      "of the one before: was the file cut?");
  refused("", "log: found no rows of nccl-tests and no line op,ranks,bytes,us, "
              "expected either");
  refused("hello\n", "log: found no rows of nccl-tests and no line "
                     "op,ranks,bytes,us, expected either");
  // Which test, which ranks.
  refused(
      kHeader + kFooter,
      "log:10: found rows of no test, expected a line above them that names "
      "all_reduce_perf, reduce_scatter_perf, all_gather_perf or "
      "alltoall_perf, or --op");
  MeasurementOptions named;
  named.op = "broadcast";
  refused(text,
          "log:11: op: found 'broadcast', expected all_reduce, "
          "reduce_scatter, all_gather or all_to_all",
          named);
  std::string alone = text;
  while (alone.find("#  Rank") != std::string::npos)
    alone.erase(alone.find("#  Rank"), 3);
  refused(alone, "log:11: found 0 lines '# Rank ..' above the rows, expected "
                 "one for each of 2 or more ranks");
  // Odd units, wrong results, numbers that are none.
  std::string milliseconds = text;
  milliseconds.replace(milliseconds.find("(us)"), 4, "(ms)");
  refused(milliseconds, "log:12: found the unit (ms), expected (us)");
  std::string kilobytes = text;
  kilobytes.replace(kilobytes.find("(B)"), 3, "(KB)");
  refused(kilobytes, "log:12: found the unit (KB), expected (B)");
  std::string test = "# Collective test starting: all_reduce_perf\n" + kHeader;
  refused(
      test + row(1024, 256, "float", "15.5", "15", "3"),
      "log:13: #wrong: found '3', expected 0: times of wrong results are no "
      "measurement");
  refused(test + row(1024, 256, "float", "0.0", "15"),
          "log:13: time: found '0.0', expected microseconds above 0");
  refused(test + row(1024, 256, "quad", "15.5", "15"),
          "log:13: type: found 'quad', expected a type of nccl-tests");
  refused(test + row(1024, 128, "float", "15.5", "15"),
          "log:13: size: found 1024 bytes, expected 512: 128 elements of 4 "
          "bytes");
  // A size of one rank's part, as other tools print.
  refused("# all_gather_perf\n" + kHeader + row(1024, 256, "float", "1", "1"),
          "log:13: size: found 1024 bytes, expected 4096: 256 elements of 4 "
          "bytes from each of 4 ranks");
}

TEST_CASE("plain CSV") {
  std::vector<MeasuredCurve> curves =
      parsed("op,ranks,bytes,us,algorithm\r\nall_reduce,8,1024,3.5,mine\r\n"
             "all_reduce, 8, 2048, 4, mine\n\nrow_kernel,1,4096,2.5,norm\n");
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].algorithm == "mine");
  CHECK(curves[0].points ==
        std::map<int64_t, double>{{1024, 3.5}, {2048, 4.0}});
  CHECK(curves[1].op == "row_kernel");
  const std::string header = "op,ranks,bytes,us\n";
  refused("op,bytes\nall_reduce,8\n",
          "log:1: found 'op,bytes', expected op,ranks,bytes,us or "
          "op,ranks,bytes,us,algorithm");
  refused(header, "log:1: found no rows, expected some after the headings");
  refused(header + "all_reduce,8,1024\n", "log:2: found 3 cells, expected 4");
  refused(header + "sum,8,1024,1\n",
          "log:2: op: found 'sum', expected all_reduce, reduce_scatter, "
          "all_gather, all_to_all, row_kernel or a fused form of a capability "
          "file");
  refused(header + "all_reduce,1,1024,1\n",
          "log:2: ranks: found '1', expected a whole number from 2 on");
  refused(header + "all_reduce,8,1K,1\n",
          "log:2: bytes: found '1K', expected a whole number above 0");
  refused(header + "all_reduce,8,1024,1ms\n",
          "log:2: us: found '1ms', expected microseconds above 0");
  refused(header + "all_reduce,8,1024,\n",
          "log:2: us: found '', expected microseconds above 0");
}

TEST_CASE("what layline-gpu-bench prints") {
  const std::string head = "# layline-gpu-bench: 1 card\n# rows of 64\n",
                    columns = "op,ranks,bytes,us,algorithm\n",
                    rows = "row_kernel,1,4096,2.5,norm\n"
                           "all_reduce,2,4096,3.5,two_shot:one_card\n",
                    end = "# end: 2 rows\n", text = head + columns + rows + end;
  std::vector<MeasuredCurve> curves = parsed(text);
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].algorithm == "two_shot:one_card");
  CHECK(isOfOneCard(curves[0]));
  CHECK(curves[1].points == std::map<int64_t, double>{{4096, 2.5}});
  CHECK_FALSE(isOfOneCard(curves[1]));
  CHECK_FALSE(isOfOneCard({"all_reduce", 2, "one_card", {}}));
  // Cut anywhere but at the end of the last line it is refused.
  std::string error;
  for (size_t length = 0; length + 1 < text.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(parseMeasurements(text.substr(0, length), "log", {}, error));
  }
  CHECK(parseMeasurements(text.substr(0, text.size() - 1), "log", {}, error));
  refused(head, "log:2: found the end of the file, expected "
                "op,ranks,bytes,us,algorithm: was the file cut?");
  refused(head + columns + rows,
          "log:5: found the end of the file, expected '# end: 2 rows' as its "
          "last line: was the file cut?");
  refused(head + columns + "row_kernel,1,4096,2.5,norm\n" + end,
          "log:5: found '# end: 2 rows', expected '# end: 1 rows': was the "
          "file cut?");
  refused(text + text, "log:7: found '# layline-gpu-bench: 1 card' behind '# "
                       "end: 2 rows', expected nothing");
  refused(head + "op,ranks,us,algorithm\n" + rows + end,
          "log:3: found 'op,ranks,us,algorithm', expected "
          "op,ranks,bytes,us,algorithm: was the file cut?");
  refused(head + columns + "row_kernel,1,4096,-2.5,norm\n" + end,
          "log:4: us: found '-2.5', expected microseconds above 0");
}

TEST_CASE("a calibration file keeps what it was given, and meets its schema") {
  Calibration calibration{"h200x8", "node \"7\"", "2026-11-30",
                          parsed(allReduce())};
  std::string text = printCalibration(calibration), error;
  std::optional<Calibration> read = parseCalibration(text, "c.json", error);
  INFO(error);
  REQUIRE(read);
  CHECK(read->source == calibration.source);
  CHECK(read->curves[0].points == calibration.curves[0].points);
  CHECK(printCalibration(*read) == text);

  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  nlohmann::json schemaText = nlohmann::json::parse(
      readSource("data/schema/calibration.v1.schema.json"));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(Adapter(schemaText), schema);
  nlohmann::json document = nlohmann::json::parse(text);
  CHECK(valijson::Validator(valijson::Validator::kStrongTypes)
            .validate(schema, Adapter(document), nullptr));

  auto bad = [&](const char *key, nlohmann::json value,
                 const std::string &message) {
    nlohmann::json changed = document;
    changed[nlohmann::json::json_pointer(key)] = std::move(value);
    CHECK_FALSE(parseCalibration(changed.dump(), "c.json", error));
    CHECK(error == "c.json: " + message);
  };
  bad("/date", "today", "date: found \"today\", expected YYYY-MM-DD");
  bad("/date", "2026-13-01", "date: found \"2026-13-01\", expected YYYY-MM-DD");
  bad("/curves", nlohmann::json::array(),
      "curves: found none, expected at least one");
  bad("/curves/0/op", "sum",
      "curves[0].op: found \"sum\", expected a "
      "collective, a fused form or row_kernel");
  bad("/curves/0/ranks", 0,
      "curves[0].ranks: found 0, expected a whole number from 1 on");
  bad("/curves/0/points/1", {1024, 4},
      "curves[0].points[1]: found 1024 bytes after 1024, expected rising "
      "bytes");
  bad("/curves/0/points/1", {4096},
      "curves[0].points[1]: found a list of 1, expected a pair [BYTES, "
      "MICROSECONDS], both above 0");
  bad("/curves/0/points/1", {4096, 0},
      "curves[0].points[1]: found [4096,0], expected a pair [BYTES, "
      "MICROSECONDS], both above 0");
  bad("/curve", 1,
      "curve: found, expected only curves, date, schema, source, "
      "target or version");
  for (size_t length : {size_t(0), size_t(1), text.size() / 2, text.size() - 3})
    CHECK_FALSE(parseCalibration(text.substr(0, length), "c.json", error));
}

TEST_CASE(
    "a calibration takes the built-in tables' place where it has curves") {
  Calibration calibration{
      "h200x8",
      "mine",
      "2026-11-30",
      {{"all_reduce", 8, "nccl", {{kMiB, 50.0}, {4 * kMiB, 100.0}}}}};
  TemporaryFile file(printCalibration(calibration));
  CostModel model = makeModel({"h200x8", file.path, "", LaunchMode::Graph});
  Estimate own = model.collective(Collective::AllReduce, kMiB, 8);
  CHECK(own.us == 50);
  CHECK(own.confidence == Confidence::Measured);
  CHECK(own.source == "calibration 2026-11-30 H200 nccl");
  CHECK(model.collectiveCandidates(Collective::AllReduce, kMiB, 8).size() == 1);
  CostModel plain = makeModel("h200x8");
  for (int64_t ranks : {2, 4})
    CHECK(model.collective(Collective::AllReduce, kMiB, ranks).us ==
          plain.collective(Collective::AllReduce, kMiB, ranks).us);
  CHECK(model.collective(Collective::AllGather, kMiB, 8).us ==
        plain.collective(Collective::AllGather, kMiB, 8).us);
  // What the fused kernel is derived from goes with it.
  FusedShape shape{FusedForm::ReduceScatterEpilogueAllGather, 4 * kMiB,
                   4 * kMiB, 0, 0};
  CHECK(model.fused(shape, 8).us == Approx(107.2).epsilon(0.01));

  std::string error;
  CHECK_FALSE(
      CostModel::create({"b200x8", file.path, "", LaunchMode::Graph}, error));
  CHECK_THAT(error, Contains("target: found 'h200x8', expected 'b200x8'"));
}
