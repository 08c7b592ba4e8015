//===- TraceBuilder.h - events of a file, by device -------------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_TRACEBUILDER_H
#define LAYLINE_LIB_TRACE_TRACEBUILDER_H

#include "layline/Trace/Trace.h"
#include <map>
#include <string_view>
#include <unordered_map>

namespace layline::trace {

/// Gathers what a reader finds, in any order, and links it in the end. Names
/// and operators are kept once each.
class TraceBuilder {
public:
  explicit TraceBuilder(std::string file) : file(std::move(file)) {}

  int32_t addName(std::string_view name);
  /// `key` tells operators with their dimensions apart.
  int32_t addOperator(const std::string &key, const HostOperator &op);

  /// An event whose operator is known by a number that `linkOperator` may give
  /// before or after; -1: none. `correlation` likewise is linked to its launch.
  void addEvent(int64_t device, DeviceEvent event, int64_t operatorId,
                int64_t correlation);
  void linkOperator(int64_t operatorId, int32_t op);
  /// When the host launched what has this correlation, and the operator that it
  /// was in; -1: not known.
  void linkLaunch(int64_t correlation, int64_t time, int64_t operatorId);
  void addAnnotation(Annotation annotation);

  size_t countEvents() const { return pending.size(); }

  int64_t rank = -1, worldSize = -1;
  bool hasAbsoluteClock = false;
  /// Added to every time.
  int64_t clockOffset = 0;
  std::map<int64_t, std::string> deviceNames;

  /// Everything linked and in order of start. Throws TraceError if there is no
  /// event.
  std::vector<DeviceTrace> finish();

private:
  struct Pending {
    DeviceEvent event;
    int64_t operatorId, correlation;
    int64_t device;
  };
  struct Launch {
    int64_t correlation, time, operatorId;
  };

  std::string file;
  std::unordered_map<std::string, int32_t> nameIndex, operatorIndex;
  std::vector<std::string> names;
  std::vector<HostOperator> operators;
  std::vector<Pending> pending;
  std::vector<std::pair<int64_t, int32_t>> operatorsById;
  std::vector<Launch> launches;
  std::vector<Annotation> annotations;
};

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_TRACEBUILDER_H
