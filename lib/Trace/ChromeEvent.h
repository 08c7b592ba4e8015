//===- ChromeEvent.h - one event of a Chrome trace --------------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_CHROMEEVENT_H
#define LAYLINE_LIB_TRACE_CHROMEEVENT_H

#include "TraceBuilder.h"

namespace layline::trace {

/// A value as the parser meets it. `text` is a string, or how a fraction is
/// spelled.
struct ChromeScalar {
  enum Kind { Null, Boolean, Integer, Fraction, Text } kind = Null;
  int64_t integer = 0;
  const std::string *text = nullptr;
  double fraction = 0;
};
/// For messages: "the string 'abc'".
std::string describe(const ChromeScalar &value);

/// Keys of an event and of its arguments that matter here.
enum class ChromeKey {
  Other,
  Phase,
  Category,
  Name,
  Time,
  Duration,
  Args,
  ExternalId,
  Correlation,
  Device,
  Stream,
  Bytes,
  Dims,
  Types,
  CollectiveName,
  InElements,
  OutElements,
  GroupSize,
  DType
};
ChromeKey findKey(const std::string &text);

/// What is kept of an event while it is read.
class ChromeEvent {
public:
  int64_t number = -1; ///< place in traceEvents
  ChromeKey key = ChromeKey::Other;

  void clear();
  void set(const std::string &file, const ChromeScalar &value);
  /// `depth`: 0 in args itself, 1 in an array there, ...
  void setArgument(const std::string &file, const ChromeScalar &value,
                   int depth);
  void openArray(int depth);
  void closeArray(int depth);
  /// Hands it over if it is of a kind that is kept.
  void finish(const std::string &file, TraceBuilder &builder);

private:
  [[noreturn]] void fail(const std::string &file, const char *where,
                         const std::string &found, const char *expected) const;
  void finishDeviceEvent(const std::string &file, TraceBuilder &builder,
                         EventKind kind);
  void finishOperator(TraceBuilder &builder);

  std::string category, name;
  bool isComplete = false; ///< phase X
  bool hasTime = false, hasDuration = false;
  int64_t time = 0, duration = 0; ///< ns
  int64_t externalId = -1, correlation = -1, device = -1, stream = 0;
  int64_t bytes = -1;
  HostOperator op;
  CollectiveCall call;
  std::string shapeText; ///< of the dimensions and types, to tell them apart
};

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_CHROMEEVENT_H
