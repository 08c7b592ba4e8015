//===- Trace.h - what a profiler saw on one device --------------*- C++ -*-===//
//
// One event model for every file format: kernels, copies and fills of one
// device, the host operators that launched them where the profiler linked them,
// and annotated spans. Times are in nanoseconds. Times of files that carry an
// absolute clock can be compared with each other; of others only within one.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TRACE_TRACE_H
#define LAYLINE_TRACE_TRACE_H

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace layline::trace {

/// An input that cannot be read or contradicts itself. The text begins with the
/// file and says where, what was found and what was expected.
class TraceError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a collective was called with.
struct CollectiveCall {
  std::string name;        ///< as the profiler spells it: "_allgather_base"
  int64_t inElements = -1; ///< of this rank's input; -1: not known
  int64_t outElements = -1;
  int64_t ranks = -1;
  std::string dtype; ///< "BFloat16"
};

/// A host operator that launched work on the device.
struct HostOperator {
  std::string name; ///< "aten::addmm"
  /// Of its tensor arguments; scalars and lists have no dimensions.
  std::vector<std::vector<int64_t>> dims;
  /// Of its arguments, as the profiler spells them; may be empty.
  std::vector<std::string> types;
  std::optional<CollectiveCall> collective;
};

enum class EventKind : uint8_t { Kernel, Memcpy, Memset };

struct DeviceEvent {
  int64_t start = 0, duration = 0; ///< ns
  int64_t launch = -1; ///< when the host launched it, ns; -1: not known
  int64_t bytes = -1;  ///< of a copy or fill; -1: not known
  int32_t name = 0;    ///< index of DeviceTrace::names
  int32_t op = -1;     ///< index of DeviceTrace::operators; -1: not known
  int32_t stream = 0;
  EventKind kind = EventKind::Kernel;

  int64_t end() const { return start + duration; }
};

/// A named span: of the host, or of the device as the profiler projects it.
struct Annotation {
  std::string text;
  int64_t start = 0, duration = 0; ///< ns
  bool onDevice = false;
};

/// What one device did. Events are in order of their start; those that start
/// together in order of the file.
struct DeviceTrace {
  std::string file;
  int64_t rank = -1;      ///< in the job, if the file says so
  int64_t worldSize = -1; ///< ranks of the job, if the file says so
  int64_t device = 0;
  std::string deviceName; ///< "NVIDIA B200"; may be empty
  bool hasAbsoluteClock = false;
  std::vector<std::string> names;
  std::vector<HostOperator> operators;
  std::vector<DeviceEvent> events;
  std::vector<Annotation> annotations;

  const std::string &nameOf(const DeviceEvent &event) const {
    return names[event.name];
  }
  const HostOperator *operatorOf(const DeviceEvent &event) const {
    return event.op < 0 ? nullptr : &operators[event.op];
  }
  /// Sum of all durations: what shares are taken of.
  int64_t busyTime() const;
  /// From the first start to the last end; 0 if there are no events.
  int64_t span() const;
};

/// What a step of an engine worked on, as its annotation says.
struct BatchComposition {
  int64_t prefillRequests = 0, prefillTokens = 0;
  int64_t decodeRequests = 0, decodeTokens = 0;
  int64_t tokens() const { return prefillTokens + decodeTokens; }
  bool operator==(const BatchComposition &other) const {
    return prefillRequests == other.prefillRequests &&
           prefillTokens == other.prefillTokens &&
           decodeRequests == other.decodeRequests &&
           decodeTokens == other.decodeTokens;
  }
};

/// Reads vLLM's and SGLang's spellings; nothing if it is another annotation.
///   execute_context_1(888_788544)_generation_0(0): requests (tokens_...)
///   execute_32_context_0(sq0sk0..)_generation_32(sq32sk55086..): sq = tokens
///   execute_context_0(0)_generation_32(32)
///   step[DECODE bs=32], step[EXTEND bs=1 toks=888]
std::optional<BatchComposition> parseBatch(const std::string &annotation);

} // namespace layline::trace

#endif // LAYLINE_TRACE_TRACE_H
