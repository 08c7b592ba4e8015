// What ran when: the steps of every rank, as layline_trace_write prints them.
#ifndef LAYLINE_RUNTIME_ENGINE_TRACE_H
#define LAYLINE_RUNTIME_ENGINE_TRACE_H

#include "layline/runtime.h"
#include "plan/Plan.h"

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <vector>

namespace layline::runtime {

class Trace {
public:
  /// Drops what was recorded, and records from now on.
  void begin(std::int64_t ranks);
  void end() { isRecording_ = false; }
  /// Drops everything: the plan goes.
  void clear();
  bool isRecording() const { return isRecording_; }
  /// Whether there was a begin() for this plan.
  bool hasBegun() const { return !ranks_.empty(); }

  void beginRun(const Variant &variant, std::int64_t tokens, std::int64_t past);

  std::int64_t nanoseconds() const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now() - start_)
        .count();
  }
  /// By the rank's own thread; `step` belongs to the variant of the run.
  void add(std::int64_t rank, const Step &step, std::int64_t begin,
           std::int64_t end) {
    ranks_[static_cast<std::size_t>(rank)].push_back(
        {&step, static_cast<std::int64_t>(runs_.size()) - 1, begin, end});
  }

  /// `precision`: of the engine; it decides how many bytes a number has.
  void write(std::ostream &out, const Plan &plan,
             layline_precision precision) const;

private:
  struct Run {
    const Variant *variant;
    std::int64_t tokens, past;
  };
  struct Event {
    const Step *step;
    std::int64_t run;
    std::int64_t begin, end; ///< ns from start_
  };

  bool isRecording_ = false;
  std::chrono::steady_clock::time_point start_;
  std::vector<Run> runs_;
  std::vector<std::vector<Event>> ranks_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_TRACE_H
