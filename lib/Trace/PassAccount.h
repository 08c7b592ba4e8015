//===- PassAccount.h - the budget of one recorded pass ----------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_PASSACCOUNT_H
#define LAYLINE_LIB_TRACE_PASSACCOUNT_H

#include "Ledger.h"
#include "PlanChanges.h"
#include "layline/Trace/StepCosts.h"
#include <set>

namespace layline::trace {

/// Finds what becomes of each kernel of a pass and posts it.
class PassAccount {
public:
  PassAccount(const Mapping &mapping, size_t trace, int32_t pass,
              const std::map<size_t, int64_t> &waits,
              const PlanChanges &changes, const StepCosts &costs);

  void close();

  const Ledger &getLedger() const { return ledger; }
  /// us of copies that serve collectives which stay as they are.
  double copiesLeft() const { return copiesLeftUs; }
  /// us of what stays of collectives, copies at them and row-wise work behind
  /// them.
  double boundariesLeft() const { return boundariesUs + copiesLeftUs; }
  /// us of products and experts, and of the core of attention, unchanged.
  double products() const { return productsUs; }
  double attention() const { return attentionUs; }
  /// us, of the collectives of a boundary.
  double waitingAt(size_t boundary) const;
  const std::set<size_t> &incomplete() const { return incompleteBoundaries; }
  const std::set<std::string> &getNotes() const { return notes; }
  /// Steps that change, by boundary: "all_reduce, norm" and
  /// "reduce_scatter + norm + all_gather".
  std::string printBefore(size_t boundary) const;
  std::string printAfter(size_t boundary) const;

private:
  /// Kernels of the run that do the same steps one after another, and what
  /// becomes of them.
  struct Unit {
    std::vector<size_t> events;
    std::vector<size_t> steps; ///< of the plan before
    size_t boundary = 0;
    double measured = 0; ///< us, without waiting
    enum class Fate {
      Stays,    ///< the same in both plans
      Resized,  ///< the same steps on other sizes
      Replaced, ///< a collective gives way to others
      Gone      ///< the other plan does not have its steps
    } fate = Fate::Stays;
    Replacement after;
    double price = 0; ///< of what comes after, by the cost model
    int launch = -1;  ///< of the plan after, if it is a fused one
    bool isCollective = false;
    bool isAtBoundary = false; ///< ExpectedStep::boundary
  };
  /// A step that only the other plan has.
  struct NewStep {
    size_t step = 0;
    BudgetLine line = BudgetLine::RepeatedWork;
    Replacement cost;
    double price = 0;
    std::optional<Transport> transport;
  };
  struct Fusion {
    std::vector<size_t> units, added; ///< numbers
    bool joins() const { return units.size() + added.size() > 1; }
  };

  void collectUnits();
  void addUnit(size_t event, const Assignment &own);
  void decide(Unit &unit);
  void resize(Unit &unit);
  std::optional<StepCost> priceTogether(const SizedVariant &variant,
                                        const std::vector<size_t> &steps) const;
  std::vector<size_t> counterparts(const Unit &unit) const;
  /// Multiplications or bytes.
  static double workOf(const SizedVariant &variant,
                       const std::vector<size_t> &steps);
  static Figure withError(const StepCost &cost);
  static void addCost(Replacement &sum, const StepCost &cost);
  void collectNewSteps();
  void groupFusions();
  void findIncomplete();
  bool isIncomplete(size_t boundary) const {
    return incompleteBoundaries.count(boundary) > 0;
  }
  bool changes(const Unit &unit) const;
  void post(Unit &unit);
  void postCopies();
  void fuse(size_t launch, const Fusion &fusion);
  std::optional<Replacement> priceFused(size_t launch, const Fusion &fusion,
                                        const Figure &parts,
                                        std::optional<Transport> &transport);
  bool movesAlike(const Fusion &fusion, Transport transport) const;
  double priceJoining(size_t launch, const Fusion &fusion) const;

  const Mapping &mapping;
  size_t trace;
  int32_t pass;
  const PlanChanges &change;
  const StepCosts &costs;
  Ledger ledger;
  const std::map<size_t, int64_t> &waits;
  std::vector<Unit> units;
  std::map<size_t, size_t> unitOfStep; ///< before
  std::vector<NewStep> added;
  std::map<size_t, Fusion> fusions; ///< by launch of the plan after
  std::set<size_t> incompleteBoundaries;
  std::set<size_t> changedBefore, changedAfter; ///< steps
  std::set<std::string> notes;
  double copiesLeftUs = 0, boundariesUs = 0, productsUs = 0, attentionUs = 0;
};

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_PASSACCOUNT_H
