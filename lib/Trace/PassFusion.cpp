//===- PassFusion.cpp - what fusing saves of a recorded pass --------------===//
//
// The other plan's fused kernels against their parts, each a kernel of its own:
// the parts as they are in the lines above, so that what those have saved is
// not counted again.
//
//===----------------------------------------------------------------------===//
#include "PassAccount.h"
#include <algorithm>

using namespace layline::trace;
using namespace layline;

void PassAccount::groupFusions() {
  std::map<size_t, Fusion> found;
  for (size_t i = 0; i < units.size(); ++i)
    if (units[i].launch >= 0 && units[i].fate != Unit::Fate::Gone)
      found[static_cast<size_t>(units[i].launch)].units.push_back(i);
  for (size_t i = 0; i < added.size(); ++i) {
    size_t launch = change.after->steps[added[i].step].launch;
    if (change.after->launches[launch].isFused())
      found[launch].added.push_back(i);
  }
  // Where a kernel of the run does all of it nothing is left to fuse.
  std::optional<Transport> transport;
  for (auto &[launch, fusion] : found)
    if (fusion.joins() && priceFused(launch, fusion, Figure(), transport))
      fusions.emplace(launch, std::move(fusion));
}

bool PassAccount::movesAlike(const Fusion &fusion, Transport transport) const {
  auto isAlike = [&](const Unit &unit) {
    return !unit.isCollective ||
           findTransport(mapping.trace->nameOf(
               mapping.trace->events[unit.events.front()])) == transport;
  };
  return std::all_of(fusion.units.begin(), fusion.units.end(),
                     [&](size_t unit) { return isAlike(units[unit]); }) &&
         std::all_of(fusion.added.begin(), fusion.added.end(),
                     [&](size_t step) {
                       return !added[step].transport ||
                              *added[step].transport == transport;
                     });
}

/// What one kernel in place of several saves where nothing else changes: the
/// launches, and what one of them writes for another to read.
double PassAccount::priceJoining(size_t launch, const Fusion &fusion) const {
  const SizedLaunch &own = change.after->launches[launch];
  std::map<std::string, int64_t> made;
  double bytes = 0;
  for (size_t i = own.first; i < own.end; ++i)
    for (const SizedOperand &operand : change.after->steps[i].operands)
      if (operand.isOutput)
        made[operand.storage] = operand.bytes;
      else if (auto inside = made.find(operand.storage); inside != made.end())
        bytes += 2 * static_cast<double>(std::exchange(inside->second, 0));
  size_t parts = fusion.units.size() + fusion.added.size();
  return static_cast<double>(parts - 1) * costs.launchUs() +
         bytes / costs.memoryBytesPerUs();
}

std::optional<Replacement>
PassAccount::priceFused(size_t launch, const Fusion &fusion,
                        const Figure &parts,
                        std::optional<Transport> &transport) {
  const SizedLaunch &own = change.after->launches[launch];
  std::vector<size_t> all;
  std::vector<std::string> rowwise;
  FusedShape shape;
  bool scatters = false, reduces = false;
  int64_t ranks = 0, collectiveReads = 0, collectiveWrites = 0;
  for (size_t i = own.first; i < own.end; ++i) {
    const SizedStep &step = change.after->steps[i];
    all.push_back(i);
    if (!trace::isCollective(step.work)) {
      rowwise.push_back(step.kind);
      continue;
    }
    scatters |= step.work == Work::ReduceScatter;
    reduces |= step.work == Work::AllReduce;
    (step.work == Work::AllGather ? shape.gatherBytes : shape.reduceBytes) +=
        step.bytes;
    ranks = step.ranks;
    for (const SizedOperand &operand : step.operands)
      if (step.work == Work::AllGather && operand.isOutput)
        collectiveWrites += operand.bytes;
      else if (step.work != Work::AllGather && !operand.isOutput)
        collectiveReads += operand.bytes;
  }
  SizedVariant::Traffic traffic = change.after->trafficOf(all);
  if (ranks == 0) {
    // Kernels of one rank: by how much less they move together.
    double apart = 0;
    for (size_t unit : fusion.units)
      apart += units[unit].price;
    for (size_t step : fusion.added)
      apart += added[step].price;
    StepCost cost = costs.rowKernel(traffic.read, traffic.written);
    double ratio = apart > 0 ? std::min(1.0, cost.us / apart) : 1.0;
    return Replacement{
        {parts.us * ratio, parts.low * ratio, parts.high * ratio},
        FigureBasis::Formula,
        "its parts, scaled by " + cost.source};
  }
  shape.form = reduces ? FusedForm::AllReduceEpilogue
               : scatters && shape.gatherBytes > 0
                   ? FusedForm::ReduceScatterEpilogueAllGather
               : scatters        ? FusedForm::ReduceScatterEpilogue
               : rowwise.empty() ? FusedForm::GroupedAllGather
                                 : FusedForm::EpilogueAllGather;
  shape.localReadBytes = std::max<int64_t>(0, traffic.read - collectiveReads);
  shape.localWriteBytes =
      std::max<int64_t>(0, traffic.written - collectiveWrites);
  std::string reason;
  std::optional<StepCost> cost = costs.fused(shape, rowwise, ranks, reason);
  if (!reason.empty())
    notes.insert(reason);
  if (!cost)
    return std::nullopt;
  transport = cost->transport;
  Replacement price;
  addCost(price, *cost);
  return price;
}

void PassAccount::fuse(size_t launch, const Fusion &fusion) {
  size_t boundary = change.boundaryAfter[change.after->launches[launch].first];
  auto leftOut = [&](size_t unit) {
    return isIncomplete(units[unit].boundary);
  };
  if (isIncomplete(boundary) ||
      std::any_of(fusion.units.begin(), fusion.units.end(), leftOut))
    return;
  Figure parts;
  for (size_t unit : fusion.units)
    parts += units[unit].after.figure;
  for (size_t step : fusion.added)
    parts += added[step].cost.figure;
  std::optional<Transport> transport;
  Replacement saved = *priceFused(launch, fusion, parts, transport);
  saved.figure -= parts;
  if (!transport || movesAlike(fusion, *transport)) {
    ledger.charge(BudgetLine::Fusion, boundary, saved);
    return;
  }
  double joining = priceJoining(launch, fusion);
  ledger.charge(BudgetLine::Fusion, boundary,
                {{-joining, -joining, -joining},
                 FigureBasis::Formula,
                 "launches and values between the parts"});
  saved.figure += {joining, joining, joining};
  ledger.charge(BudgetLine::Transport, boundary, saved);
}
