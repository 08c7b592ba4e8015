#include "devices/simt/RaceCheck.h"

#include <algorithm>

using namespace layline::simt;

const char *layline::simt::nameOf(AccessKind kind) {
  switch (kind) {
  case AccessKind::Load:
    return "load";
  case AccessKind::Store:
    return "store";
  case AccessKind::StrongLoad:
    return "relaxed or acquire load";
  case AccessKind::StrongStore:
    return "relaxed or release store";
  case AccessKind::StrongUpdate:
    return "atomic update";
  }
  return "";
}

void Moments::add(Moment moment, const ThreadClock &clock) {
  // What is ordered before this one races with nothing that this one does not
  // race with.
  auto isBefore = [&](Moment earlier) {
    return earlier.time <= clock.at(earlier.thread);
  };
  if (more_) {
    more_->erase(std::remove_if(more_->begin(), more_->end(), isBefore),
                 more_->end());
    if (more_->empty())
      more_.reset();
  }
  if (first_.time == 0 || isBefore(first_)) {
    first_ = moment;
    return;
  }
  if (!more_)
    more_ = std::make_unique<std::vector<Moment>>();
  more_->push_back(moment);
}

namespace {

Moments copyOf(const Moments &moments) {
  Moments copy;
  // Nobody's clock: nothing is ordered before anything.
  ThreadClock nobody;
  nobody.id = 0xffffffff;
  moments.each([&](Moment moment) { copy.add(moment, nobody); });
  return copy;
}

ShadowCell copyOf(const ShadowCell &cell) {
  ShadowCell copy;
  copy.store = cell.store;
  copy.loads = copyOf(cell.loads);
  copy.strongStores = copyOf(cell.strongStores);
  copy.strongLoads = copyOf(cell.strongLoads);
  return copy;
}

} // namespace

void layline::simt::split(ShadowGranule &granule, unsigned bytes) {
  auto parts = std::make_unique<ShadowCell[]>(16 / bytes);
  for (unsigned at = 0; at < 16; at += bytes)
    parts[at / bytes] = copyOf(granule.at(at));
  granule.parts = std::move(parts);
  granule.bytesPerCell = bytes;
}
