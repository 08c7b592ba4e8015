//===- Planner.h - choices for a placed program, and their prices -*- C++
//-*-===//
#ifndef LAYLINE_LIB_PLANNING_PLANNER_H
#define LAYLINE_LIB_PLANNING_PLANNER_H

#include "FormProgram.h"
#include "layline/Planning/TokenRanges.h"

namespace layline {

/// What one site costs at one token count, in microseconds. The three baselines
/// are never mixed: what fusion gains is `chosen` against `unfused`, what the
/// sharding gains is `unfused` against `today`.
struct SitePrice {
  std::string id;     ///< sites that are paid together are joined by "+"
  double today = 0;   ///< all_reduce, then the row-wise kernels of all rows
  double unfused = 0; ///< sharded as chosen, a kernel each
  double chosen = 0;
  double byRows = 0; ///< the best plan without an all_reduce
  double whole = 0;  ///< the best plan without a reduce_scatter
  Confidence confidence = Confidence::Measured; ///< of the worst number
  std::string source; ///< of the kernel that pays the sum
  bool scatters = false;
  std::string kernel; ///< that pays the sum
};

/// A plan's totals: the sums of its sites and of what belongs to none.
struct PlanPrice {
  int64_t tokens = 0;
  double today = 0, unfused = 0, chosen = 0, byRows = 0, whole = 0;
  /// Products that every plan has, by the roofline; attention and caches are
  /// not in it.
  double fixed = 0;
  Confidence confidence = Confidence::Measured;
  std::vector<SitePrice> sites;
  /// Collectives of the chosen plan and of the plain one. Fusing and deferring
  /// a sum change launches, not these.
  int64_t phases = 0, phasesToday = 0;
  int64_t launches = 0, launchesToday = 0, launchesUnfused = 0;
};

/// One way to treat a site, with everything else at its best.
struct Alternative {
  std::string what;
  double us = 0;     ///< of the whole plan; kNever if it cannot be
  double siteUs = 0; ///< of the sum's own kernel
  Confidence confidence = Confidence::Measured;
  std::string source;
  bool isChosen = false;
};

class Planner {
public:
  /// `rowsShare`: of the tokens of a step, the ranks of the axis see one of so
  /// many parts (context parallelism). `fuse`: kernels that do several things
  /// may be used. `experts`: how experts on several ranks may get their rows.
  Planner(mlir::func::FuncOp placed, mlir::StringAttr axis,
          const CostModel &model, int64_t rowsShare, bool fuse,
          ExpertRows experts);

  const FormProgram &getProgram() const { return program; }
  /// The least-cost choice.
  FormChoice choose(int64_t tokens) const;
  /// The choice by rows wherever rows can be.
  FormChoice chooseByRows() const;
  /// The least-cost choice in which this value is not gathered.
  FormChoice chooseWithoutGather(int value, int64_t tokens) const;

  /// The least-cost choice, with what no choice is about.
  double priceStep(int64_t tokens) const;

  PlanPrice explainPlan(const FormChoice &choice, int64_t tokens) const;
  std::vector<Alternative> explainSite(llvm::StringRef site,
                                       const FormChoice &choice,
                                       int64_t tokens) const;

  struct Ranges {
    RangeSearch search;
    std::vector<FormChoice> choices; ///< by the numbers of `search`
  };
  Ranges searchRanges(int64_t min, int64_t max) const;

private:
  FormCosts getCosts(int64_t tokens) const;
  /// Without the modes that the asked-for way of feeding experts rules out.
  FormCosts restrictExperts(FormCosts costs) const;
  /// Labels for a solver to which this value's costs are unlike others'.
  std::vector<int> markUnlike(int value) const;
  int64_t getRows(int64_t tokens) const;
  /// Sums the price of each event and piece where it belongs.
  void addUp(const FormChoice &choice, const FormCosts &costs,
             llvm::ArrayRef<int> groupOfOp,
             llvm::function_ref<void(int group, double us)> add) const;

  mlir::MLIRContext *context;
  const CostModel &model;
  int64_t rowsShare;
  ExpertRows experts;
  FormProgram program;
  FormSolver solver;
  /// Every op in the mode whose results are whole, all sums all-reduced,
  /// without kernels that hold a collective, weights in parts: what engines do
  /// without this compiler.
  FormChoice solveToday(FormCosts &costs, int64_t tokens) const;
  void findWholeChains(mlir::func::FuncOp placed, mlir::StringAttr axis);

  /// An op of a chain whose weights every rank holds, as it is where they are
  /// split; the product behind owes the sum.
  struct ChainOp {
    int op;
    Traffic split;
    int owed; ///< value, or -1
  };
  std::vector<ChainOp> chainOps;
  int64_t wholeChains = 0;
  /// The last sum that each op waits for: a graph value, or -1.
  std::vector<int> lastSum;
};

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_PLANNER_H
