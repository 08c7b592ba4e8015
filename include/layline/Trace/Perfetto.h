//===- Perfetto.h - a mapped run for Perfetto -------------------*- C++ -*-===//
//
// The device events of a recording as they were, each with what it is in the
// plan among its arguments, and tracks above them: passes, layers, modules,
// boundaries, and of each collective the part that waited and the part that
// moved. The file is the Chrome JSON that Perfetto, chrome://tracing and
// TensorBoard open
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TRACE_PERFETTO_H
#define LAYLINE_TRACE_PERFETTO_H

#include "layline/Trace/Communication.h"

namespace layline::trace {

/// Writes `path`, compressed if it ends in .gz, event by event: memory does not
/// grow with the file. It is written beside its place and then renamed. Throws
/// TraceError that begins with the path if that fails; nothing is left then.
/// Each device is a process, in order. Times are from the first event on, of
/// all recordings if they carry an absolute clock (`baseTimeNanoseconds` then
/// says when that was), else of each file: a double has no room for nanoseconds
/// since 1970.
void writePerfetto(const std::string &path,
                   const std::vector<const Mapping *> &mappings,
                   const std::vector<CollectiveUse> &collectives);

} // namespace layline::trace

#endif // LAYLINE_TRACE_PERFETTO_H
