//===- TensorFile.h - a run's recorded values as safetensors ----*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_TENSORFILE_H
#define LAYLINE_TOOLS_LAYLINE_TENSORFILE_H

#include "layline/runtime.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace layline::tool {

/// The values that a run names, [tokens, ...] each: F64, or I64 of integers.
class TensorFile {
public:
  /// Adds the values of the last run. Those of an earlier one, of the tokens
  /// before, are continued. False, with the reason in `error`, if a value
  /// cannot be read.
  bool addRun(layline_engine *engine, std::string &error);
  /// Writes a safetensors file, whole or not at all. False, with the reason in `error`.
  bool write(const std::string &path, std::string &error) const;

private:
  struct Entry {
    const char *dtype = "";
    std::vector<int64_t> shape;
    std::vector<char> bytes;
  };
  std::map<std::string, Entry> entries;
};

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_TENSORFILE_H
