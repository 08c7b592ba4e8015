//===- Communication.cpp - waiting, moving and padding --------------------===//
#include "layline/Trace/Communication.h"
#include "Covers.h"
#include <algorithm>
#include <map>

using namespace layline::trace;

const char *layline::trace::getName(TransferBasis basis) {
  static constexpr const char *names[] = {"none", "ranks", "same_calls",
                                          "model"};
  return names[static_cast<size_t>(basis)];
}

int64_t CollectiveUse::paddingBytes() const {
  return movedColumns > neededColumns && neededColumns > 0
             ? (movedColumns - neededColumns) * rows * elementBytes
             : 0;
}

// A call takes longer than others by chance. That it waited is said only of
// what is far from the usual: in the B200 trace all but the first are within
// 1.2 times their median.
static constexpr double kWaited = 1.5;
// The median of fewer calls might be of calls that waited.
static constexpr size_t kEnoughCalls = 5;

int64_t layline::trace::calledElements(const HostOperator *op, Work work,
                                       int64_t ranks) {
  if (!op)
    return -1;
  int64_t elements = -1;
  bool isPart = work == Work::AllGather; // the input is one rank's part
  if (op->collective && op->collective->inElements > 0) {
    elements = op->collective->inElements;
  } else if (!op->dims.empty() && !op->dims.front().empty()) {
    elements = 1;
    for (int64_t size : op->dims.front())
      elements *= size;
  }
  if (elements < 0 || !isPart)
    return elements;
  return ranks < 0 ? -1 : elements * ranks;
}

static CollectiveUse readUse(const Mapping &mapping, size_t trace,
                             size_t event) {
  const Assignment &own = mapping.assignments[event];
  const ForwardPass &pass = mapping.passes[own.pass];
  const ExpectedStep &step = *mapping.firstStepOf(event);
  CollectiveUse use;
  use.trace = trace;
  use.event = event;
  use.pass = own.pass;
  use.step = own.first;
  use.work = step.work;
  use.place = step.place;
  use.ranks = step.ranks;
  use.elementBytes = step.elementBytes;
  use.isFused = own.first != own.last;
  use.duration = mapping.trace->events[event].duration;
  const HostOperator *op =
      mapping.trace->operatorOf(mapping.trace->events[event]);
  use.elements = calledElements(op, step.work, step.ranks);
  use.neededColumns = step.columns;
  // Logits are gathered of the rows that are asked for, not of all.
  if (use.elements < 0 || step.columns <= 0 || step.gathersColumns)
    return use;
  if (pass.tokens > 0 && use.elements % pass.tokens == 0) {
    use.rows = pass.tokens;
    use.movedColumns = use.elements / pass.tokens;
  } else if (use.elements % step.columns == 0) {
    // A batch that the engine padded in rows.
    use.rows = use.elements / step.columns;
    use.movedColumns = step.columns;
  }
  return use;
}

/// The same call on every rank: the ranks ran the same passes in the same
/// order.
static void compareRanks(std::vector<CollectiveUse> &uses) {
  std::map<std::pair<int32_t, int32_t>, std::vector<CollectiveUse *>> calls;
  for (CollectiveUse &use : uses)
    calls[{use.pass, use.step}].push_back(&use);
  for (auto &[key, same] : calls) {
    if (same.size() < 2)
      continue;
    int64_t least = same.front()->duration;
    for (const CollectiveUse *use : same)
      least = std::min(least, use->duration);
    for (CollectiveUse *use : same) {
      use->wait = use->duration - least;
      use->basis = TransferBasis::Ranks;
    }
  }
}

static void compareCalls(std::vector<CollectiveUse> &uses) {
  using Kind = std::tuple<size_t, Work, int64_t, bool>;
  std::map<Kind, std::vector<int64_t>> durations;
  auto kindOf = [](const CollectiveUse &use) {
    return Kind(use.trace, use.work, use.elements, use.isFused);
  };
  for (const CollectiveUse &use : uses)
    if (use.elements > 0)
      durations[kindOf(use)].push_back(use.duration);
  for (auto &[kind, times] : durations)
    std::sort(times.begin(), times.end());
  for (CollectiveUse &use : uses) {
    if (use.basis != TransferBasis::None || use.elements <= 0)
      continue;
    const std::vector<int64_t> &times = durations[kindOf(use)];
    if (times.size() < kEnoughCalls)
      continue;
    int64_t median = times[times.size() / 2];
    use.basis = TransferBasis::SameCalls;
    if (static_cast<double>(use.duration) >
        kWaited * static_cast<double>(median))
      use.wait = use.duration - median;
  }
}

static void compareModel(std::vector<CollectiveUse> &uses,
                         const TransferModel &model) {
  for (CollectiveUse &use : uses) {
    if (use.elements <= 0 || use.ranks < 2)
      continue;
    std::optional<TransferEstimate> estimate =
        model(use.work, use.bytes(), use.ranks);
    if (!estimate)
      continue;
    use.modelUs = estimate->us;
    use.modelSource = estimate->source;
    if (use.basis != TransferBasis::None)
      continue;
    use.basis = TransferBasis::Model;
    if (static_cast<double>(use.duration) > kWaited * estimate->us * 1000)
      use.wait = use.duration - static_cast<int64_t>(estimate->us * 1000);
  }
}

std::vector<CollectiveUse>
layline::trace::findCollectives(const std::vector<const Mapping *> &mappings,
                                const TransferModel &model) {
  std::vector<CollectiveUse> uses;
  for (size_t trace = 0; trace < mappings.size(); ++trace)
    for (size_t i = 0; i < mappings[trace]->assignments.size(); ++i)
      if (mappings[trace]->assignments[i].role == Role::Does &&
          isCollective(mappings[trace]->firstStepOf(i)->work))
        uses.push_back(readUse(*mappings[trace], trace, i));
  compareRanks(uses);
  compareCalls(uses);
  if (model)
    compareModel(uses, model);
  return uses;
}
