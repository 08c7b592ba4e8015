//===- ReaderTest.cpp - profiler files to the event model -----------------===//
#include "TraceTests.h"
#include <catch2/catch.hpp>

using namespace layline::trace;

static std::string kernel(const std::string &rest,
                          const std::string &args = "\"stream\": 7") {
  return "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", " + rest +
         ", \"args\": {" + args + "}}";
}
static std::string chrome(const std::string &events) {
  return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "]}";
}
static const std::string kGood = kernel("\"ts\": 10.5, \"dur\": 2");

static std::string errorOf(const std::string &text, bool packed = false) {
  TemporaryFile file(text, packed);
  try {
    readTrace(file.getPath());
  } catch (const TraceError &failed) {
    std::string what = failed.what();
    // Every message names the file first.
    CHECK(what.rfind(file.getPath() + ": ", 0) == 0);
    return what.substr(std::min(what.size(), file.getPath().size() + 2));
  }
  return "";
}

TEST_CASE("Chrome trace: events, operators and annotations", "[trace]") {
  TemporaryFile good(
      "{\"deviceProperties\": [{\"id\": 1, \"name\": \"Card\"}],"
      "\"distributedInfo\": {\"rank\": 3, \"world_size\": 8, "
      "\"pg_config\": [{\"rank\": 9}]}, \"baseTimeNanoseconds\": 1000000,"
      "\"traceEvents\": ["
      "{\"ph\": \"X\", \"cat\": \"gpu_memcpy\", \"name\": \"Memcpy DtoD\","
      " \"ts\": 20, \"dur\": 1, \"args\": {\"device\": 1, \"bytes\": 64}}," +
          kernel("\"ts\": 10.5, \"dur\": 2.25",
                 "\"device\": 1, \"stream\": 7, \"correlation\": 5, "
                 "\"External id\": 4") +
          ",{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", "
          "\"ts\": 1,"
          " \"dur\": 1, \"args\": {\"External id\": 4, \"Input Dims\": [[2, "
          "3], "
          "[3, 4], [], [[7], [8]]], \"Input type\": [\"c10::BFloat16\", "
          "\"\"]}},"
          "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
          "\"cudaLaunch\", "
          "\"ts\": 2, \"dur\": 1, \"args\": {\"correlation\": 5}},"
          "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": "
          "\"step[DECODE "
          "bs=4]\", \"ts\": 0, \"dur\": 9, \"args\": {}}]}",
      /*packed=*/true);
  std::vector<DeviceTrace> devices = readTrace(good.getPath());
  REQUIRE(devices.size() == 1);
  const DeviceTrace &trace = devices.front();
  CHECK(trace.rank == 3);
  CHECK(trace.worldSize == 8);
  CHECK(trace.device == 1);
  CHECK(trace.deviceName == "Card");
  CHECK(trace.hasAbsoluteClock);
  REQUIRE(trace.events.size() == 2);
  const DeviceEvent &first = trace.events[0], &second = trace.events[1];
  CHECK(trace.nameOf(first) == "k");
  CHECK(first.start == 1010500);
  CHECK(first.duration == 2250);
  CHECK(first.launch == 1002000);
  CHECK(first.stream == 7);
  REQUIRE(trace.operatorOf(first));
  CHECK(trace.operatorOf(first)->name == "aten::mm");
  CHECK(trace.operatorOf(first)->dims ==
        std::vector<std::vector<int64_t>>{{2, 3}, {3, 4}, {}, {}});
  CHECK(second.kind == EventKind::Memcpy);
  CHECK(second.bytes == 64);
  CHECK(second.op == -1);
  CHECK(trace.busyTime() == 3250);
  REQUIRE(trace.annotations.size() == 1);
  CHECK(parseBatch(trace.annotations[0].text)->decodeRequests == 4);
}

TEST_CASE("Chrome trace: what is wrong is named", "[trace]") {
  CHECK(errorOf(chrome(kGood)).empty());
  CHECK(errorOf("[" + kGood + "]").empty());
  CHECK_THAT(
      errorOf(chrome(kGood + "," + kernel("\"ts\": \"soon\", \"dur\": 2"))),
      Catch::Contains("event 1 of traceEvents") &&
          Catch::Contains("ts: found the string 'soon'") &&
          Catch::Contains("expected a number of microseconds"));
  CHECK_THAT(errorOf(chrome(kernel("\"ts\": 1, \"dur\": -2"))),
             Catch::Contains("dur: found -2000 ns, expected no negative time"));
  CHECK_THAT(errorOf(chrome(kernel("\"ts\": 1"))),
             Catch::Contains("dur: found nothing"));
  CHECK_THAT(
      errorOf(chrome(kernel("\"ts\": 1, \"dur\": 1", "\"stream\": \"first\""))),
      Catch::Contains("args.stream: found the string 'first', expected "
                      "a whole number"));
  CHECK_THAT(errorOf(chrome("7")),
             Catch::Contains("event 0 of traceEvents: found 7, expected an "
                             "object"));
  CHECK_THAT(errorOf("{\"traceEvents\": 3}"),
             Catch::Contains("traceEvents: found 3, expected an array"));
  CHECK_THAT(errorOf("{}"), Catch::Contains("found JSON without traceEvents"));
  CHECK_THAT(errorOf(chrome("")), Catch::Contains("found no kernel"));
  CHECK_THAT(errorOf(""), Catch::Contains("found the end of the file"));
  CHECK_THAT(errorOf(chrome(kGood).substr(0, 60)),
             Catch::Contains("found the end of the file, expected JSON"));
  CHECK_THAT(errorOf(chrome(kGood) + "x"), Catch::Contains("found '"));
}

TEST_CASE("gzip: cut and damaged data are told", "[trace]") {
  std::string events = kGood;
  for (int i = 0; i < 3000; ++i)
    events += "," + kernel("\"ts\": " + std::to_string(i * 7919 % 5000) + "." +
                           std::to_string(i * 31 % 1000) + ", \"dur\": 2");
  TemporaryFile good(chrome(events), true);
  CHECK(readTrace(good.getPath()).front().events.size() == 3001);
  std::FILE *file = std::fopen(good.getPath().c_str(), "rb");
  std::string bytes(1 << 20, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  CHECK_THAT(errorOf(bytes.substr(0, bytes.size() / 2)),
             Catch::Contains("the file was cut"));
  CHECK_THAT(errorOf(bytes.substr(0, bytes.size() - 3)),
             Catch::Contains("the file was cut"));
  std::string damaged = bytes;
  for (size_t i = damaged.size() / 2; i < damaged.size() / 2 + 40; ++i)
    damaged[i] = static_cast<char>(~damaged[i]);
  CHECK(!errorOf(damaged).empty());
  // Two members one after the other are one text.
  CHECK_THAT(errorOf(bytes + bytes), Catch::Contains("expected JSON to go on"));
}

TEST_CASE("Batches in annotations", "[trace]") {
  auto batch = [](const char *text) { return parseBatch(text); };
  CHECK(*batch("execute_context_1(888_788544)_generation_0(0)") ==
        BatchComposition{1, 888, 0, 0});
  CHECK(*batch("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55"
               "086sqsq32sqsk55086)") == BatchComposition{0, 0, 32, 32});
  CHECK(*batch("execute_context_3(50)_generation_2(2)") ==
        BatchComposition{3, 50, 2, 2});
  CHECK(*batch("step[DECODE bs=32]") == BatchComposition{0, 0, 32, 32});
  CHECK(*batch("step[EXTEND bs=2 toks=14721]") ==
        BatchComposition{2, 14721, 0, 0});
  for (const char *other :
       {"", "nccl:_all_gather_base", "step[EXTEND bs=2]", "execute_", "step[",
        "execute_context_x(1)_generation_0(0)", "step[DECODE bs=]"}) {
    CAPTURE(other);
    CHECK(!batch(other));
  }
}
