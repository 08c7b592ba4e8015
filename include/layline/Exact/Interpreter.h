//===- Interpreter.h - a program on all ranks, exactly ----------*- C++ -*-===//
#ifndef LAYLINE_EXACT_INTERPRETER_H
#define LAYLINE_EXACT_INTERPRETER_H

#include "layline/Exact/Memo.h"
#include "layline/Exact/Sampling.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace layline::exact {

/// The sizes of one step. Positions are base + past + row, and base + row in
/// the history, so that a position, a row and an index into a cache all differ.
struct Run {
  int64_t tokens = 1;
  int64_t past = 0;
  int64_t base = 0;
};

/// Why an op did not run.
struct Fault {
  size_t op = 0;
  int64_t rank = 0;
  std::string message;
};

class RunLayouts;
struct PreparedProgram;

/// A value at the moment it was computed, on all ranks.
struct Computed {
  size_t op;
  ValueId value;
  const RankTensors &tensors;
  const RunLayouts &layouts;
  Memo &memo;
};
/// Returns whether to go on.
using Observer = std::function<bool(const Computed &)>;

struct Execution {
  std::optional<Fault> fault;
  size_t operations = 0; ///< ops, once a rank
};

/// Runs a program on all ranks in lockstep. What does not depend on sizes is
/// prepared once; `run` may be called by several threads with a memo each.
class Interpreter {
public:
  /// The sampled program outlives the interpreter.
  explicit Interpreter(const SampledProgram &sampled);
  Interpreter(Interpreter &&) noexcept;
  ~Interpreter();

  /// Values are dropped after their last use; what is to stay, `observe` keeps.
  Execution run(const Run &run, Memo &memo, const Observer &observe) const;

private:
  class Executor;
  std::unique_ptr<const PreparedProgram> prepared;
};

} // namespace layline::exact

#endif // LAYLINE_EXACT_INTERPRETER_H
