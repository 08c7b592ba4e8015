//===- Checker.h - do programs compute what a reference does? ---*- C++ -*-===//
#ifndef LAYLINE_EXACT_CHECKER_H
#define LAYLINE_EXACT_CHECKER_H

#include "layline/Exact/Interpreter.h"
#include "layline/Exact/Program.h"
#include <mutex>

namespace layline::exact {

/// Where a program first differs from the reference, or cannot run.
struct Mismatch {
  std::string program; ///< its label
  std::optional<Run> run;
  int64_t rank = -1;
  std::string value; ///< recorded name, or empty
  std::string kind, place, location;
  std::string referenceKind, referencePlace, referenceLocation;
  /// True global coordinates of the element; empty if the op did not run.
  std::vector<int64_t> element;
  /// All of it as a sentence: "with 9 tokens (past 3), rank 5: row 4, column 0
  /// of layer.0.attn_out (linear at layer.0.o_proj) differs from ...".
  std::string text;
};

struct Statistics {
  size_t runs = 0;
  size_t operations = 0; ///< ops, once for each rank, program and run
  size_t computed = 0;   ///< results that were not known before
  double seconds = 0;
};

/// Token counts at the edges of splits over axes of these sizes: one token, as
/// many as ranks and one more or less, and remainders of zigzag halves; with
/// and without a history. At most `most` runs. A step whose largest position is
/// `longAbove` is among them, if given.
std::vector<Run> chooseRuns(const std::vector<int64_t> &axes, size_t most,
                            std::optional<int64_t> longAbove = std::nullopt);

/// What the runs of a check have computed, kept for a later check of other
/// programs against the same reference: where they are alike, it is looked up.
/// Not for two checks at once.
class RunMemos {
public:
  /// The memo of the run of this number; runs are those of the first check.
  Memo &get(size_t number, size_t budget);

private:
  friend class Checker;
  std::mutex mutex;
  std::vector<Run> runs;
  std::vector<std::unique_ptr<Memo>> memos;
};

struct CheckerOptions {
  std::string referenceName = "the imported program";
  std::vector<Run> runs; ///< none: chosen from the programs
  unsigned threads = 2;
  size_t memoBytes = size_t(256) << 20; ///< per thread, about
  /// Null: what is computed is dropped after the check.
  std::shared_ptr<RunMemos> memos;
};

/// Compares programs with a reference on one device: what they return (on every
/// rank, replicas included), the caches they leave behind and all values of the
/// same recorded name.
class Checker {
public:
  explicit Checker(Program reference, CheckerOptions options = {});
  ~Checker();

  void addProgram(Program program, std::string label);
  /// At most one for each program.
  std::vector<Mismatch> check();
  /// Of the last check.
  const Statistics &getStatistics() const { return statistics; }

private:
  class Session;

  Program reference;
  CheckerOptions options;
  std::vector<std::pair<std::unique_ptr<const Program>, std::string>> programs;
  Statistics statistics;
};

} // namespace layline::exact

#endif // LAYLINE_EXACT_CHECKER_H
