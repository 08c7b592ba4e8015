#include "devices/cuda/CollectiveGuard.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime::cuda {

/// A fused step's collectives are those of its body.
void CollectiveGuard::begin(const Step &step, const Step &topLevel,
                            Done &done) {
  for (const Step &inner : step.body)
    begin(inner, topLevel, done);
  if (!step.info().isCollective)
    return;
  const Group &group = plan_.groups[static_cast<std::size_t>(step.attrs.group)];
  if (group.ranks == 1)
    return;
  Ticket &last = done[static_cast<std::size_t>(step.attrs.group)];
  Ticket ticket = 0;
  std::string error;
  if (!order_.begin(group.id, static_cast<std::uint64_t>(topLevel.stream),
                    concat("step '", topLevel.id, "'"), last, ticket, error))
    fail(LAYLINE_REFUSED_FEATURE, "step '", topLevel.id, "' (",
         topLevel.info().name, topLevel.place.empty() ? "" : ", ",
         topLevel.place, "): ", error);
  underWay_.push_back(ticket);
  last = ticket;
}

void CollectiveGuard::beginRun(const Variant &variant) {
  std::size_t streams = std::max<std::size_t>(1, plan_.streams.size());
  std::vector<Done> onStream(streams, Done(plan_.groups.size())),
      atEvent(variant.events.size());
  try {
    for (const Step &step : variant.steps) {
      Done &done = onStream[static_cast<std::size_t>(step.stream)];
      // Collectives of a group follow one another, so that who knows the last
      // to be done knows it of all before.
      for (int event : step.waits) {
        const Done &other = atEvent[static_cast<std::size_t>(event)];
        for (std::size_t g = 0; g < other.size(); ++g)
          done[g] = std::max(done[g], other[g]);
      }
      begin(step, step, done);
      for (int event : step.signals)
        atEvent[static_cast<std::size_t>(event)] = done;
    }
  } catch (...) {
    endRun();
    throw;
  }
}

void CollectiveGuard::endRun() {
  for (Ticket ticket : underWay_)
    order_.complete(ticket);
  underWay_.clear();
}

} // namespace layline::runtime::cuda
