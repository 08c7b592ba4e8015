//===- SizedPlan.h - a plan's steps with what they move ---------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_SIZEDPLAN_H
#define LAYLINE_LIB_TRACE_SIZEDPLAN_H

#include "layline/Trace/ExpectedProgram.h"
#include <map>
#include <memory>
#include <tuple>

namespace layline::runtime {
struct Plan;
}

namespace layline::trace {

/// An operand of a step as one rank has it.
struct SizedOperand {
  /// What holds it, the same for every view of it: "buffer 12".
  std::string storage;
  int64_t bytes = 0;
  bool isOutput = false;
};

/// A product of rows [m, k] with a weight [n, k].
struct SizedProduct {
  int64_t m = 0, n = 0, k = 0;
  int weightBytes = 0, activationBytes = 0;
};

/// A step of a variant for one token count on one rank.
struct SizedStep {
  std::string id, kind, place;
  Work work = Work::Elementwise;
  /// The kind of step and every size that this rank sees: steps of two plans
  /// with equal signatures at the same place do the same.
  std::string signature;
  std::vector<SizedOperand> operands; ///< of buffers and weights
  std::optional<SizedProduct> product;
  /// Of a collective: bytes of the whole value, and its ranks.
  int64_t bytes = 0, ranks = 0;
  /// A sum of rows is paid: boundaries begin here.
  bool paysSum = false;
  /// What it reads is also read for its own sake, as a residual.
  bool gathersResidual = false;
  /// Own rows of a value that is there whole, one behind the other in memory:
  /// nothing runs.
  bool isView = false;
  size_t launch = 0; ///< index of SizedVariant::launches
};

/// What one kernel of the plan does: a step, or a fused one's.
struct SizedLaunch {
  size_t first = 0, end = 0; ///< steps
  bool isFused() const { return end - first > 1; }
};

struct SizedVariant {
  std::string id;
  std::vector<SizedStep> steps; ///< fused ones taken apart
  std::vector<SizedLaunch> launches;
  /// How many steps read it; outputs of the program are read once more.
  std::map<std::string, int64_t> readers;
  std::map<std::string, size_t> byId;

  /// Bytes that kernels doing all these steps in one read and write: what one
  /// of them hands to another is neither.
  struct Traffic {
    int64_t read = 0, written = 0;
  };
  Traffic trafficOf(const std::vector<size_t> &these) const;
};

/// A launch plan, its steps sized on demand.
class SizedPlan {
public:
  /// Throws TraceError if the loader refuses the text.
  SizedPlan(const std::string &text, const std::string &name);
  ~SizedPlan();
  SizedPlan(const SizedPlan &) = delete;
  SizedPlan &operator=(const SizedPlan &) = delete;

  const std::string &getName() const { return name; }
  /// The variant that runs so many tokens; null if none does. Results live as
  /// long as this. A rank that the mesh does not have counts as the first.
  const SizedVariant *find(int64_t tokens, int64_t rank);
  /// The variant of that name, whatever token counts it is for.
  const SizedVariant &get(const std::string &variant, int64_t tokens,
                          int64_t rank);
  /// "1 to 512, 513 to 8192": token counts that have a variant.
  std::string printRanges() const;

  /// Why `other` is no plan of the same model on the same mesh, or empty.
  std::string findDifference(const SizedPlan &other) const;

private:
  std::string name;
  std::unique_ptr<runtime::Plan> plan;
  std::map<std::tuple<std::string, int64_t, int64_t>, SizedVariant> known;
};

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_SIZEDPLAN_H
