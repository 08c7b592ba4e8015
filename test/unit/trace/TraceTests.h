//===- TraceTests.h - what the tests of traces share ------------*- C++ -*-===//
#ifndef LAYLINE_TEST_UNIT_TRACE_TRACETESTS_H
#define LAYLINE_TEST_UNIT_TRACE_TRACETESTS_H

#include "layline/Trace/Mapping.h"
#include "layline/Trace/Readers.h"
#include <string>

namespace layline::trace {

/// A file of the source tree.
inline std::string sourcePath(const std::string &name) {
  return std::string(LAYLINE_SOURCE_DIR) + "/" + name;
}

/// Text of a file of the source tree, plain or gzip.
std::string readSource(const std::string &name);

/// Bytes of a file as they are.
std::string readFile(const std::string &path);

/// A file for as long as a test needs it.
class TemporaryFile {
public:
  /// With the text in it; packed as gzip if asked.
  explicit TemporaryFile(const std::string &text, bool packed = false);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile &) = delete;
  TemporaryFile &operator=(const TemporaryFile &) = delete;
  const std::string &getPath() const { return path; }

private:
  std::string path;
};

/// gpt-oss-120b in prefill on 8 B200, rank 0 (test/traces/README.md).
DeviceTrace readB200();
/// The plan of the same, plain tensor parallelism.
std::vector<ExpectedProgram> expectB200();

/// Where the events of readB200() stand, from its layout as it was counted by
/// hand: 25 events before the first layer's products, 25 a layer, 4 behind.
struct KnownPlace {
  int64_t layer;      ///< -1: of none
  std::string module; ///< as ExpectedStep::module
  std::string place;
};
std::vector<KnownPlace> knownPlacesB200();
constexpr size_t kB200Before = 25, kB200Layer = 25, kB200Layers = 36;

} // namespace layline::trace

#endif // LAYLINE_TEST_UNIT_TRACE_TRACETESTS_H
