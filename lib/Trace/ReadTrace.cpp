//===- ReadTrace.cpp - a profiler's file of any kind ----------------------===//
#include "layline/Trace/Readers.h"
#include <fstream>
#include <string_view>

using namespace layline::trace;

std::vector<DeviceTrace> layline::trace::readTrace(const std::string &path,
                                                   const Progress &progress) {
  // The first 16 bytes of every SQLite 3 file, the last of them 0.
  constexpr std::string_view kSqlite = "SQLite format 3";
  char begin[kSqlite.size()] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof begin);
  if (std::string_view(begin, sizeof begin) == kSqlite)
    return readNsysTrace(path, progress);
  return readChromeTrace(path, progress);
}
