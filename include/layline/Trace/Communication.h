//===- Communication.h - waiting, moving and padding ------------*- C++ -*-===//
//
// A collective's kernel runs from when its rank gets there until the slowest
// rank has come and the data have moved. Only the latter is a cost of
// communication. What part is which is told apart by other ranks' recordings of
// the same call, by other calls of the same size, or by a cost model.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TRACE_COMMUNICATION_H
#define LAYLINE_TRACE_COMMUNICATION_H

#include "layline/Trace/Mapping.h"

namespace layline::trace {

/// How long a transfer takes, in microseconds, and what that rests on.
struct TransferEstimate {
  double us = 0;
  std::string source;
};
/// Asks a cost model: the work, bytes of the whole value and ranks; nothing if
/// it does not know.
using TransferModel = std::function<std::optional<TransferEstimate>(
    Work work, int64_t bytes, int64_t ranks)>;

/// What tells a collective's transfer from waiting.
enum class TransferBasis : uint8_t {
  None,      ///< nothing: all of it counts as transfer
  Ranks,     ///< the least time of a rank in the same call
  SameCalls, ///< the median of calls of the same kind and size in this file
  Model      ///< the cost model
};
const char *getName(TransferBasis basis); ///< "ranks", ...

/// One call of a collective, as one rank recorded it.
struct CollectiveUse {
  size_t trace = 0, event = 0; ///< whose mapping, which event
  int32_t pass = -1, step = -1;
  Work work = Work::AllReduce;
  std::string place;     ///< "layer.3.o_proj"
  int64_t elements = -1; ///< of the whole value, as called; -1: not known
  int64_t elementBytes = 0, ranks = -1;
  bool isFused = false; ///< its kernel does more than communicate
  int64_t duration = 0; ///< ns
  int64_t wait = 0;     ///< ns of it
  TransferBasis basis = TransferBasis::None;
  double modelUs = -1; ///< what the cost model says; -1: not known
  std::string modelSource;
  /// Elements of a row that it moved, and that the model has; -1: not known.
  int64_t movedColumns = -1, neededColumns = -1;
  /// Rows that it moved.
  int64_t rows = -1;

  int64_t transfer() const { return duration - wait; }
  int64_t bytes() const { return elements < 0 ? -1 : elements * elementBytes; }
  /// Bytes beyond what the model needs; 0 if that is not known.
  int64_t paddingBytes() const;
};

/// Of mappings of the same run, one for each rank that was recorded. A model
/// may be null. Calls in order of mapping and event.
std::vector<CollectiveUse>
findCollectives(const std::vector<const Mapping *> &mappings,
                const TransferModel &model);

} // namespace layline::trace

#endif // LAYLINE_TRACE_COMMUNICATION_H
