// Which steps of a variant are certain to have finished before another begins:
// steps of one stream in list order, and a signal before its wait.
#ifndef LAYLINE_RUNTIME_PLAN_HAPPENSBEFORE_H
#define LAYLINE_RUNTIME_PLAN_HAPPENSBEFORE_H

#include "plan/Plan.h"

#include <vector>

namespace layline::runtime {

class HappensBefore {
public:
  HappensBefore(const Variant &variant, std::size_t streams);

  /// Whether step `a` has finished when step `b` begins.
  bool operator()(int a, int b) const {
    return a < b && last(b, streamOf_[a]) >= a;
  }
  /// The last step of a stream that has finished when `step` begins, or `step`
  /// itself on its own stream; -1 if none.
  int last(int step, int stream) const {
    return clocks_[static_cast<std::size_t>(step) * streams_ + stream];
  }
  std::size_t streams() const { return streams_; }
  int streamOf(int step) const { return streamOf_[step]; }
  /// By event number: the step that signals it, -1 if none.
  const std::vector<int> &signallers() const { return signallers_; }

private:
  std::size_t streams_;
  std::vector<int> streamOf_;
  std::vector<int> clocks_; ///< [steps, streams]
  std::vector<int> signallers_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_HAPPENSBEFORE_H
