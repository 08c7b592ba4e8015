//===- NvtxOperators.h - PyTorch's operators in NVTX ranges -----*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_NVTXOPERATORS_H
#define LAYLINE_LIB_TRACE_NVTXOPERATORS_H

#include "TraceBuilder.h"

namespace layline::trace {

/// Operators as torch.autograd.profiler.emit_nvtx(record_shapes=True) writes
/// them: "aten::mm, op_id = 7, sizes = [[888, 2880], [2880, 640]]".
class NvtxOperators {
public:
  explicit NvtxOperators(TraceBuilder &builder) : builder(builder) {}

  /// Takes a range of a thread, in order of start, the outer of two that start
  /// together first. False if it is not an operator.
  bool add(int64_t thread, int64_t start, int64_t end, std::string_view text);

  /// The number of the innermost operator that a thread is in; -1: none. To be
  /// asked in order of time.
  int64_t find(int64_t thread, int64_t time);

private:
  struct Range {
    int64_t start, end, number;
  };
  struct Thread {
    std::vector<Range> ranges; ///< in order of start
    std::vector<Range> open;   ///< those begun by the last time asked for
    size_t next = 0;
  };

  TraceBuilder &builder;
  std::unordered_map<int64_t, Thread> threads;
  int64_t numOperators = 0;
};

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_NVTXOPERATORS_H
