//===- Readers.h - profiler files to the event model ------------*- C++ -*-===//
#ifndef LAYLINE_TRACE_READERS_H
#define LAYLINE_TRACE_READERS_H

#include "layline/Trace/Trace.h"
#include <functional>

namespace layline::trace {

/// Told how far a file is read: bytes of the file, and of all of it.
using Progress = std::function<void(int64_t read, int64_t size)>;

/// Reads a file by what it begins with: JSON, gzip of JSON, or SQLite. Gives
/// what each device did that had anything to do, by number. Throws TraceError.
std::vector<DeviceTrace> readTrace(const std::string &path,
                                   const Progress &progress = nullptr);

/// The torch profiler's Chrome trace, plain or gzip. Read in one pass, keeping
/// device events, operators and annotations only: memory grows with those, not
/// with the file.
std::vector<DeviceTrace> readChromeTrace(const std::string &path,
                                         const Progress &progress = nullptr);

/// SQLite as Nsight Systems exports it, schema 2 and 3. Operators and their
/// dimensions come from NVTX ranges that PyTorch emits ("aten::mm, op_id = 1,
/// sizes = [[..]]").
std::vector<DeviceTrace> readNsysTrace(const std::string &path,
                                       const Progress &progress = nullptr);

} // namespace layline::trace

#endif // LAYLINE_TRACE_READERS_H
