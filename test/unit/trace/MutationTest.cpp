//===- MutationTest.cpp - readers of damaged files ------------------------===//
//
// Good files of each format, damaged at random: bytes changed, cut out, put in
// twice, files cut off. A reader gives a trace or a TraceError that begins with
// the file; under sanitizers it does no more than that either.
//
//===----------------------------------------------------------------------===//
#include "TraceTests.h"
#include "layline/Trace/KernelFamilies.h"
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <sqlite3.h>

using namespace layline::trace;

static std::string damage(std::string text, std::mt19937 &random) {
  static constexpr char kTelling[] = "{}[]\",:-0.eE9\\u\n\0\xff*^$";
  auto place = [&] { return random() % std::max<size_t>(text.size(), 1); };
  for (unsigned edits = 1 + random() % 4; edits > 0 && !text.empty(); --edits) {
    size_t at = place(), count = 1 + random() % 16;
    switch (random() % 5) {
    case 0:
      text[at] = static_cast<char>(random());
      break;
    case 1:
      text[at] = kTelling[random() % (sizeof kTelling - 1)];
      break;
    case 2:
      text.erase(at, count);
      break;
    case 3:
      text.insert(place(), text.substr(at, count * 8));
      break;
    case 4:
      text.resize(at + 1);
      break;
    }
  }
  return text;
}

/// Calls `read` with damaged texts; counts those that were refused.
static int refusals(const std::string &good, int times,
                    const std::function<void(const std::string &)> &read) {
  std::mt19937 random(7);
  read(good);
  int refused = 0;
  for (int i = 0; i < times; ++i) {
    std::string text = damage(good, random);
    try {
      read(text);
    } catch (const TraceError &) {
      ++refused;
    }
  }
  return refused;
}

static void readText(const std::string &text, bool packed) {
  TemporaryFile file(text, packed);
  try {
    readTrace(file.getPath());
  } catch (const TraceError &failed) {
    CHECK(std::string(failed.what()).rfind(file.getPath(), 0) == 0);
    throw;
  }
}

static const char *const kChrome =
    R"json({"deviceProperties": [{"id": 0, "name": "Card"}],
"distributedInfo": {"rank": 3, "world_size": 8}, "baseTimeNanoseconds": 1000000,
"traceEvents": [
{"ph": "X", "cat": "kernel", "name": "nvjet \u00e9", "ts": 10.5, "dur": 2.25,
 "args": {"device": 0, "stream": 7, "correlation": 5, "External id": 4}},
{"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy DtoD", "ts": 2e1, "dur": 1,
 "args": {"device": 0, "stream": 7, "correlation": 6, "bytes": 64}},
{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllGather", "ts": 30,
 "dur": 4, "args": {"device": 0, "stream": 9, "correlation": 8,
 "Collective name": "_allgather_base", "In msg nelems": 32,
 "Out msg nelems": 64, "Group size": 2, "dtype": "BFloat16"}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 1, "args":
 {"External id": 4, "Input Dims": [[2, 3], [3, 4], [], [[7]]],
  "Input type": ["c10::BFloat16", ""]}},
{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunch", "ts": 2, "dur": 1,
 "args": {"correlation": 5}}, {"ph": "i", "name": "x", "s": "t", "ts": 3},
{"ph": "X", "cat": "user_annotation", "ts": 0, "dur": 9, "args": {},
 "name": "execute_32_context_1(sq10sk20)_generation_31(sq31sk99)"}]})json";

/// What Nsight Systems exports, of two kernels and a copy.
static std::string makeExport() {
  TemporaryFile file("");
  sqlite3 *database = nullptr;
  REQUIRE(sqlite3_open(file.getPath().c_str(), &database) == SQLITE_OK);
  const char *script =
      "PRAGMA page_size = 512; VACUUM;"
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
      "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.1');"
      "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
      "INSERT INTO StringIds VALUES (1, 'nvjet'), (2, 'cudaLaunchKernel');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, "
      "deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId "
      "INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 0, 1, 7, 5, 9, "
      "1, 1), (30, 45, 0, 1, 7, 6, 9, 1, 1);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, "
      "deviceId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid "
      "INTEGER, bytes INTEGER, copyKind INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (22, 25, 0, 7, 8, 9, 64, "
      "8);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, "
      "globalTid INTEGER, correlationId INTEGER, nameId INTEGER);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 9, 5, 2);"
      "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType "
      "INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);"
      "INSERT INTO NVTX_EVENTS VALUES (0, 3, 59, 'aten::mm, op_id = 1, sizes = "
      "[[2, 3], [3, 4]]', NULL, 9);";
  char *failed = nullptr;
  int status = sqlite3_exec(database, script, nullptr, nullptr, &failed);
  std::string said = failed ? failed : "";
  sqlite3_free(failed);
  sqlite3_close(database);
  CAPTURE(said);
  REQUIRE(status == SQLITE_OK);
  return readFile(file.getPath());
}

// Most damage hits what is needed, some only a name or a number.

TEST_CASE("Damaged Chrome traces are read or refused", "[trace][mutation]") {
  int refused = refusals(kChrome, 1500, [](const std::string &text) {
    readText(text, /*packed=*/false);
  });
  CHECK(refused > 500);
  CHECK(refused < 1450);
}

TEST_CASE("Damaged Chrome traces in good gzip", "[trace][mutation]") {
  CHECK(refusals(kChrome, 200, [](const std::string &text) {
          readText(text, /*packed=*/true);
        }) > 50);
}

TEST_CASE("Damaged gzip is read or refused", "[trace][mutation]") {
  TemporaryFile packed(kChrome, /*packed=*/true);
  int refused =
      refusals(readFile(packed.getPath()), 1000, [](const std::string &text) {
        readText(text, /*packed=*/false);
      });
  CHECK(refused > 800);
}

TEST_CASE("Damaged SQLite exports are read or refused", "[trace][mutation]") {
  int refused = refusals(makeExport(), 1000, [](const std::string &text) {
    readText(text, /*packed=*/false);
  });
  CHECK(refused > 200);
  CHECK(refused < 1000);
}

TEST_CASE("Damaged lists of kernel names are read or refused",
          "[trace][mutation]") {
  std::string good = readSource("data/kernels/families.csv");
  good.resize(good.find('\n', 1500) + 1);
  int refused = refusals(good, 1500, [](const std::string &text) {
    KernelFamilies families;
    families.addFront(text, "own.csv");
    families.classify("void nvjet_tst<4>(int)");
    families.classify(text.substr(0, 200));
  });
  CHECK(refused > 100);
  CHECK(refused < 1500);
}
