//===- NsysReader.cpp - Nsight Systems' SQLite export ---------------------===//
//
// Tables and columns: "SQLite Export Schema Reference" of Nsight Systems' user
// guide. Tables are there only if there was something to write to them.
//
//===----------------------------------------------------------------------===//
#include "NvtxOperators.h"
#include "Sqlite.h"
#include "TraceBuilder.h"
#include "layline/Trace/Readers.h"
#include <filesystem>

using namespace layline::trace;

/// Times, operators and kernels of several processes in one file have numbers
/// of their own process: 24 bits of a serialised id are of the thread.
static constexpr int kThreadBits = 24;

namespace {

class NsysReader {
public:
  NsysReader(const std::string &path, const Progress &progress)
      : progress(progress), path(path), database(path), builder(path),
        operators(builder) {}

  std::vector<DeviceTrace> read() {
    checkSchema();
    database.require("StringIds", {"id", "value"});
    readStrings();
    report(1);
    readNvtx();
    report(2);
    readLaunches();
    report(3);
    readKernels();
    report(4);
    readMemory("CUPTI_ACTIVITY_KIND_MEMCPY", EventKind::Memcpy);
    readMemory("CUPTI_ACTIVITY_KIND_MEMSET", EventKind::Memset);
    readDevices();
    report(kParts);
    return builder.finish();
  }

private:
  static constexpr int64_t kParts = 5;

  void report(int64_t part) const {
    // Tables are read one by one, not the file from its begin to its end.
    std::error_code failed;
    if (auto size =
            static_cast<int64_t>(std::filesystem::file_size(path, failed));
        progress && !failed)
      progress(size / kParts * part + (part == kParts ? size % kParts : 0),
               size);
  }

  void checkSchema() const {
    database.require("META_DATA_EXPORT", {"name", "value"});
    Query query(database, "SELECT value FROM META_DATA_EXPORT WHERE name = "
                          "'EXPORT_SCHEMA_VERSION'");
    if (!query.next())
      database.fail("table META_DATA_EXPORT: found no EXPORT_SCHEMA_VERSION, "
                    "expected the version of the export");
    std::string version(query.text(0));
    if (version.rfind("2.", 0) != 0 && version.rfind("3.", 0) != 0)
      database.fail("META_DATA_EXPORT: found EXPORT_SCHEMA_VERSION '" +
                    version + "', expected 2.x or 3.x");
  }

  void readStrings() {
    Query query(database, "SELECT id, value FROM StringIds");
    while (query.next())
      strings[query.integer(0, "StringIds.id")] = query.text(1);
  }
  std::string_view find(int64_t id, const char *what) const {
    auto found = strings.find(id);
    if (found == strings.end())
      database.fail(std::string(what) + ": found string " + std::to_string(id) +
                    ", expected one of StringIds");
    return found->second;
  }

  /// A number of a process and one that counts in it, as one.
  static int64_t inProcess(int64_t globalId, int64_t number) {
    return ((globalId >> kThreadBits) << 32) ^ number;
  }

  void readNvtx() {
    if (!database.hasTable("NVTX_EVENTS"))
      return;
    database.require("NVTX_EVENTS",
                     {"start", "end", "eventType", "text", "globalTid"});
    bool hasIds = database.hasColumn("NVTX_EVENTS", "textId");
    // 59: a range pushed and popped, 60: one started and ended.
    Query query(database, std::string("SELECT start, end, globalTid, text, ") +
                              (hasIds ? "textId" : "NULL") +
                              " FROM NVTX_EVENTS WHERE eventType IN (59, 60) "
                              "AND end IS NOT NULL ORDER BY start, end DESC");
    while (query.next()) {
      int64_t start = query.integer(0, "NVTX_EVENTS.start");
      int64_t end = query.integer(1, "NVTX_EVENTS.end");
      std::string_view text = query.isNull(3) && !query.isNull(4)
                                  ? find(query.integer(4, "NVTX_EVENTS.textId"),
                                         "NVTX_EVENTS.textId")
                                  : query.text(3);
      checkTimes("NVTX_EVENTS", start, end);
      if (operators.add(query.integer(2, "NVTX_EVENTS.globalTid"), start, end,
                        text))
        continue;
      if (parseBatch(std::string(text)))
        builder.addAnnotation({std::string(text), start, end - start, false});
    }
  }

  void readLaunches() {
    if (!database.hasTable("CUPTI_ACTIVITY_KIND_RUNTIME"))
      return;
    database.require("CUPTI_ACTIVITY_KIND_RUNTIME",
                     {"start", "globalTid", "correlationId"});
    Query query(database, "SELECT start, globalTid, correlationId FROM "
                          "CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY start");
    while (query.next()) {
      int64_t start = query.integer(0, "CUPTI_ACTIVITY_KIND_RUNTIME.start");
      int64_t thread =
          query.integer(1, "CUPTI_ACTIVITY_KIND_RUNTIME.globalTid");
      builder.linkLaunch(
          inProcess(thread, query.integer(2, "CUPTI_ACTIVITY_KIND_RUNTIME."
                                             "correlationId")),
          start, operators.find(thread, start));
    }
  }

  void checkTimes(const std::string &table, int64_t start, int64_t end) const {
    if (end < start)
      database.fail("table " + table + ": found an event from " +
                    std::to_string(start) + " to " + std::to_string(end) +
                    " ns, expected no negative time");
  }

  std::string processColumn(const std::string &table) const {
    return database.hasColumn(table, "globalPid") ? "globalPid" : "0";
  }

  void readKernels() {
    const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
    database.require(table, {"start", "end", "deviceId", "streamId",
                             "correlationId", "demangledName"});
    Query query(database, "SELECT start, end, deviceId, streamId, "
                          "correlationId, demangledName, " +
                              processColumn(table) + " FROM " + table);
    while (query.next()) {
      DeviceEvent event;
      event.start = query.integer(0, "CUPTI_ACTIVITY_KIND_KERNEL.start");
      int64_t end = query.integer(1, "CUPTI_ACTIVITY_KIND_KERNEL.end");
      checkTimes(table, event.start, end);
      event.duration = end - event.start;
      event.stream = static_cast<int32_t>(
          query.integer(3, "CUPTI_ACTIVITY_KIND_KERNEL.streamId"));
      event.name = builder.addName(
          find(query.integer(5, "CUPTI_ACTIVITY_KIND_KERNEL.demangledName"),
               "CUPTI_ACTIVITY_KIND_KERNEL.demangledName"));
      builder.addEvent(
          query.integer(2, "CUPTI_ACTIVITY_KIND_KERNEL.deviceId"), event, -1,
          inProcess(
              query.integer(6, "CUPTI_ACTIVITY_KIND_KERNEL.globalPid"),
              query.integer(4, "CUPTI_ACTIVITY_KIND_KERNEL.correlationId")));
    }
  }

  /// As the torch profiler names them. Numbers are CUPTI's
  /// CUpti_ActivityMemcpyKind.
  static const char *copyName(int64_t kind) {
    switch (kind) {
    case 1:
      return "Memcpy HtoD (Host -> Device)";
    case 2:
      return "Memcpy DtoH (Device -> Host)";
    case 8:
      return "Memcpy DtoD (Device -> Device)";
    case 10:
      return "Memcpy PtoP (Device -> Device)";
    default:
      return "Memcpy";
    }
  }

  void readMemory(const std::string &table, EventKind kind) {
    if (!database.hasTable(table))
      return;
    std::vector<std::string> columns = {"start",    "end",           "deviceId",
                                        "streamId", "correlationId", "bytes"};
    bool isCopy = kind == EventKind::Memcpy;
    if (isCopy)
      columns.push_back("copyKind");
    database.require(table, columns);
    Query query(
        database,
        "SELECT start, end, deviceId, streamId, correlationId, bytes, " +
            processColumn(table) + (isCopy ? ", copyKind" : "") + " FROM " +
            table);
    auto at = [&](int column) {
      static const char *const names[] = {
          "start",         "end",   "deviceId",  "streamId",
          "correlationId", "bytes", "globalPid", "copyKind"};
      return query.integer(column, (table + "." + names[column]).c_str());
    };
    while (query.next()) {
      DeviceEvent event;
      event.start = at(0);
      checkTimes(table, event.start, at(1));
      event.duration = at(1) - event.start;
      event.stream = static_cast<int32_t>(at(3));
      event.bytes = at(5);
      event.kind = kind;
      event.name = builder.addName(isCopy ? copyName(at(7)) : "Memset");
      builder.addEvent(at(2), event, -1, inProcess(at(6), at(4)));
    }
  }

  void readDevices() {
    if (!database.hasColumn("TARGET_INFO_GPU", "name") ||
        !database.hasColumn("TARGET_INFO_GPU", "id"))
      return;
    Query query(database, "SELECT id, name FROM TARGET_INFO_GPU");
    while (query.next())
      if (!query.isNull(0))
        builder.deviceNames[query.integer(0, "TARGET_INFO_GPU.id")] =
            query.text(1);
  }

  const Progress &progress;
  const std::string &path;
  Database database;
  TraceBuilder builder;
  NvtxOperators operators;
  std::unordered_map<int64_t, std::string> strings;
};

} // namespace

std::vector<DeviceTrace>
layline::trace::readNsysTrace(const std::string &path,
                              const Progress &progress) {
  return NsysReader(path, progress).read();
}
