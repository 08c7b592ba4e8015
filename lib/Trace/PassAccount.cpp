//===- PassAccount.cpp - the budget of one recorded pass ------------------===//
#include "PassAccount.h"
#include <algorithm>

using namespace layline::trace;

static double toUs(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000;
}

static Figure exactly(double us) { return {us, us, us}; }

/// What the cost model has no price of: other rows or heads may make it faster
/// or slower, and no gain is claimed.
static bool isUnpriced(Work work) {
  return work == Work::Attention || work == Work::Indexer ||
         work == Work::Experts;
}

PassAccount::PassAccount(const Mapping &run, size_t traceNumber,
                         int32_t passNumber,
                         const std::map<size_t, int64_t> &waitsByEvent,
                         const PlanChanges &planChanges,
                         const StepCosts &prices)
    : mapping(run), trace(traceNumber), pass(passNumber), change(planChanges),
      costs(prices), ledger(run, traceNumber, passNumber, waitsByEvent,
                            planChanges.boundaries),
      waits(waitsByEvent) {}

void PassAccount::close() {
  collectUnits();
  for (Unit &unit : units)
    decide(unit);
  collectNewSteps();
  groupFusions();
  findIncomplete();
  for (Unit &unit : units)
    post(unit);
  postCopies();
  for (const NewStep &step : added)
    if (!isIncomplete(change.boundaryAfter[step.step])) {
      changedAfter.insert(step.step);
      ledger.charge(step.line, change.boundaryAfter[step.step], step.cost);
    }
  for (const auto &[launch, fusion] : fusions)
    fuse(launch, fusion);
}

//===----------------------------------------------------------------------===//
// Kernels of the run
//===----------------------------------------------------------------------===//

void PassAccount::collectUnits() {
  const ForwardPass &own = mapping.passes[static_cast<size_t>(pass)];
  for (size_t i = own.firstEvent; i < own.endEvent; ++i) {
    const Assignment &place = mapping.assignments[i];
    if (place.pass == pass &&
        (place.role == Role::Does || place.role == Role::GoesOn))
      addUnit(i, place);
  }
}

void PassAccount::addUnit(size_t event, const Assignment &own) {
  const std::vector<ExpectedStep> &expected =
      mapping
          .programs[static_cast<size_t>(
              mapping.passes[static_cast<size_t>(pass)].program)]
          .steps;
  Unit unit;
  for (int32_t s = own.first; s <= own.last; ++s) {
    unit.isAtBoundary |= !expected[static_cast<size_t>(s)].boundary.empty();
    auto step = change.before->byId.find(expected[static_cast<size_t>(s)].id);
    if (step != change.before->byId.end())
      unit.steps.push_back(step->second);
  }
  if (unit.steps.empty())
    return; // inputs of the pass, sampling
  auto wait = waits.find(event);
  int64_t time = mapping.trace->events[event].duration -
                 (wait == waits.end() ? 0 : wait->second);
  auto known = unitOfStep.find(unit.steps.front());
  if (own.role == Role::GoesOn && known != unitOfStep.end()) {
    units[known->second].events.push_back(event);
    units[known->second].measured += toUs(time);
    return;
  }
  unit.events = {event};
  unit.measured = toUs(time);
  for (size_t step : unit.steps) {
    unitOfStep.emplace(step, units.size());
    unit.isCollective |= trace::isCollective(change.before->steps[step].work);
  }
  unit.boundary = change.boundaryBefore[unit.steps.front()];
  units.push_back(std::move(unit));
}

std::vector<size_t> PassAccount::counterparts(const Unit &unit) const {
  std::vector<size_t> after;
  for (size_t step : unit.steps)
    if (change.counterpart[step] >= 0)
      after.push_back(static_cast<size_t>(change.counterpart[step]));
  return after;
}

void PassAccount::decide(Unit &unit) {
  std::vector<size_t> after = counterparts(unit);
  for (size_t step : after)
    if (size_t launch = change.after->steps[step].launch;
        unit.launch < 0 && change.after->launches[launch].isFused())
      unit.launch = static_cast<int>(launch);
  bool isSame = std::all_of(unit.steps.begin(), unit.steps.end(),
                            [&](size_t step) { return change.isSame[step]; });
  unit.after = {exactly(unit.measured), FigureBasis::Measured, ""};
  std::optional<StepCost> price = priceTogether(*change.before, unit.steps);
  if (price)
    unit.price = price->us;
  if (isSame)
    return;
  if (after.empty()) {
    unit.fate = Unit::Fate::Gone;
    unit.after = {Figure(), FigureBasis::Measured,
                  unit.isCollective ? "" : "not in the other plan"};
  } else if (unit.isCollective) {
    // Other collectives are steps of the other plan alone; what else this
    // kernel did remains to be done.
    unit.fate = Unit::Fate::Replaced;
    unit.after = {Figure(), FigureBasis::Measured, ""};
    std::vector<size_t> rest;
    for (size_t step : after)
      if (const SizedStep &its = change.after->steps[step];
          !trace::isCollective(its.work))
        rest.push_back(step);
      else if (auto cost = costs.collective(its.work, its.bytes, its.ranks))
        addCost(unit.after, *cost);
    if (std::optional<StepCost> cost = priceTogether(*change.after, rest);
        cost && !rest.empty())
      addCost(unit.after, *cost);
    unit.price = unit.after.figure.us;
  } else {
    resize(unit);
  }
}

void PassAccount::resize(Unit &unit) {
  std::vector<size_t> after = counterparts(unit);
  std::optional<StepCost> old = priceTogether(*change.before, unit.steps);
  std::optional<StepCost> made = priceTogether(*change.after, after);
  if (!old || !made || old->us <= 0) {
    notes.insert("kernels of " + change.before->steps[unit.steps.front()].kind +
                 " work on other rows or features in the other plan; no price "
                 "of that is known, they stay as measured");
    return;
  }
  unit.fate = Unit::Fate::Resized;
  unit.price = made->us;
  // As the formula scales it; as the work scales, as if a launch cost nothing;
  // and less what the formula says is saved.
  double scaled = unit.measured * made->us / old->us;
  double byWork = unit.measured * workOf(*change.after, after) /
                  std::max(workOf(*change.before, unit.steps), 1.0);
  double less = unit.measured - (old->us - made->us);
  Figure figure = exactly(scaled);
  figure.low = std::max(0.0, std::min({scaled, byWork, less}));
  figure.high = std::max({scaled, byWork, less});
  // Less work takes no longer.
  if (made->us <= old->us)
    figure.high = std::min(figure.high, unit.measured);
  unit.after = {figure, FigureBasis::Formula,
                "measured here, scaled by " + made->source};
}

std::optional<StepCost>
PassAccount::priceTogether(const SizedVariant &variant,
                           const std::vector<size_t> &steps) const {
  StepCost sum;
  int products = 0;
  for (size_t number : steps) {
    const SizedStep &step = variant.steps[number];
    if (isUnpriced(step.work))
      return std::nullopt;
    if (!step.product)
      continue;
    StepCost cost =
        costs.product(step.product->m, step.product->n, step.product->k,
                      step.product->weightBytes, step.product->activationBytes);
    sum.us += cost.us;
    sum.error = std::max(sum.error, cost.error);
    sum.source = cost.source;
    products += cost.us > 0;
  }
  if (products > 0) {
    sum.us -= (products - 1) * costs.launchUs();
    return sum;
  }
  SizedVariant::Traffic traffic = variant.trafficOf(steps);
  return costs.rowKernel(traffic.read, traffic.written);
}

double PassAccount::workOf(const SizedVariant &variant,
                           const std::vector<size_t> &steps) {
  double products = 0;
  for (size_t number : steps)
    if (const std::optional<SizedProduct> &own = variant.steps[number].product)
      products += static_cast<double>(own->m) * static_cast<double>(own->n) *
                  static_cast<double>(own->k);
  SizedVariant::Traffic traffic = variant.trafficOf(steps);
  return products > 0 ? products
                      : static_cast<double>(traffic.read + traffic.written);
}

//===----------------------------------------------------------------------===//
// Steps of the other plan alone
//===----------------------------------------------------------------------===//

Figure PassAccount::withError(const StepCost &cost) {
  return {cost.us, cost.us / (1 + cost.error), cost.us * (1 + cost.error)};
}

void PassAccount::addCost(Replacement &sum, const StepCost &cost) {
  sum.figure += withError(cost);
  sum.basis = std::max(sum.basis, cost.basis);
  if (sum.source.find(cost.source) == std::string::npos)
    sum.source += (sum.source.empty() ? "" : " + ") + cost.source;
}

void PassAccount::collectNewSteps() {
  for (size_t i = 0; i < change.after->steps.size(); ++i) {
    const SizedStep &step = change.after->steps[i];
    if (change.origin[i] >= 0 || step.isView)
      continue;
    NewStep own;
    own.step = i;
    std::optional<StepCost> cost;
    if (trace::isCollective(step.work)) {
      own.line = change.isSecondGather(i) ? BudgetLine::LayoutConversion
                                          : BudgetLine::Communication;
      cost = costs.collective(step.work, step.bytes, step.ranks);
      if (cost)
        own.transport = cost->transport;
    } else {
      own.line = step.work == Work::Columns ? BudgetLine::LayoutConversion
                                            : BudgetLine::RepeatedWork;
      cost = priceTogether(*change.after, {i});
    }
    if (!cost) {
      notes.insert("the other plan has steps " + step.kind +
                   ", of which no price is known: they are not in the budget");
      continue;
    }
    if (cost->us <= 0)
      continue; // no rows on this rank
    addCost(own.cost, *cost);
    own.price = cost->us;
    added.push_back(std::move(own));
  }
}

//===----------------------------------------------------------------------===//
// Postings
//===----------------------------------------------------------------------===//

/// A boundary some of whose kernels were not recorded cannot be compared.
void PassAccount::findIncomplete() {
  const ForwardPass &own = mapping.passes[static_cast<size_t>(pass)];
  const std::vector<ExpectedStep> &expected =
      mapping.programs[static_cast<size_t>(own.program)].steps;
  constexpr double kSurelyOwnKernel = 0.5;
  for (int32_t number : own.missing) {
    const ExpectedStep &lost = expected[static_cast<size_t>(number)];
    auto step = change.before->byId.find(lost.id);
    if (lost.weight < kSurelyOwnKernel || step == change.before->byId.end())
      continue;
    int after = change.counterpart[step->second];
    bool isInQuestion =
        !change.isSame[step->second] ||
        change.after
            ->launches[change.after->steps[static_cast<size_t>(after)].launch]
            .isFused();
    if (isInQuestion)
      incompleteBoundaries.insert(change.boundaryBefore[step->second]);
  }
}

bool PassAccount::changes(const Unit &unit) const {
  if (isIncomplete(unit.boundary))
    return false;
  if (unit.fate != Unit::Fate::Stays)
    return true;
  auto fusion = fusions.find(static_cast<size_t>(unit.launch));
  return unit.launch >= 0 && fusion != fusions.end();
}

void PassAccount::post(Unit &unit) {
  auto isOf = [&](auto... works) {
    return std::any_of(unit.steps.begin(), unit.steps.end(), [&](size_t step) {
      Work work = change.before->steps[step].work;
      return ((work == works) || ...);
    });
  };
  if (!changes(unit)) {
    if (isOf(Work::Attention, Work::Indexer))
      attentionUs += unit.measured;
    else if (isOf(Work::Product, Work::Experts))
      productsUs += unit.measured;
    else if (unit.isAtBoundary)
      boundariesUs += unit.measured;
    return;
  }
  bool isColumns =
      std::all_of(unit.steps.begin(), unit.steps.end(), [&](size_t step) {
        return change.before->steps[step].work == Work::Columns;
      });
  BudgetLine line = unit.fate == Unit::Fate::Stays ? BudgetLine::Fusion
                    : unit.isCollective            ? BudgetLine::Communication
                    : isColumns ? BudgetLine::LayoutConversion
                                : BudgetLine::RepeatedWork;
  changedBefore.insert(unit.steps.begin(), unit.steps.end());
  for (size_t step : counterparts(unit))
    changedAfter.insert(step);
  // The first of several kernels stands for all of them.
  bool isFirst = true;
  for (size_t event : unit.events) {
    ledger.post(ledger.take(event), line, unit.boundary,
                isFirst ? unit.after : Replacement());
    isFirst = false;
  }
}

/// Copies to and from the memory of a collective go with it: the other plan has
/// its sums in memory that all ranks reach.
void PassAccount::postCopies() {
  const ForwardPass &own = mapping.passes[static_cast<size_t>(pass)];
  const std::vector<ExpectedStep> &expected =
      mapping.programs[static_cast<size_t>(own.program)].steps;
  for (size_t i = own.firstEvent; i < own.endEvent; ++i) {
    const Assignment &place = mapping.assignments[i];
    Family family = mapping.familyOf(i);
    if (place.pass != pass || place.role != Role::Beside ||
        (family != Family::MemcpyDtoD && family != Family::Copy))
      continue;
    const ExpectedStep &served = expected[static_cast<size_t>(place.first)];
    auto step = change.before->byId.find(served.id);
    if (!trace::isCollective(served.work) || step == change.before->byId.end())
      continue;
    auto unit = unitOfStep.find(step->second);
    if (unit != unitOfStep.end() && changes(units[unit->second]))
      ledger.post(ledger.take(i), BudgetLine::Copies,
                  units[unit->second].boundary,
                  {Figure(), FigureBasis::Measured, "not in the other plan"});
    else
      copiesLeftUs += toUs(mapping.trace->events[i].duration);
  }
}

double PassAccount::waitingAt(size_t boundary) const {
  int64_t sum = 0;
  for (const Unit &unit : units)
    if (unit.boundary == boundary)
      for (size_t event : unit.events)
        if (auto wait = waits.find(event); wait != waits.end())
          sum += wait->second;
  return toUs(sum);
}

static void append(std::string &list, const std::string &item,
                   const char *separator) {
  list += (list.empty() ? "" : separator) + item;
}

std::string PassAccount::printBefore(size_t boundary) const {
  std::string text;
  for (size_t step : changedBefore)
    if (change.boundaryBefore[step] == boundary)
      append(text, change.before->steps[step].kind, ", ");
  return text;
}

std::string PassAccount::printAfter(size_t boundary) const {
  std::string text, launch;
  size_t last = 0;
  for (size_t step : changedAfter) {
    if (change.boundaryAfter[step] != boundary)
      continue;
    const SizedStep &own = change.after->steps[step];
    if (!launch.empty() && own.launch != last) {
      append(text, launch, ", ");
      launch.clear();
    }
    append(launch, own.kind, " + ");
    last = own.launch;
  }
  if (!launch.empty())
    append(text, launch, ", ");
  return text;
}
