#include "plan/HappensBefore.h"

#include <algorithm>

namespace layline::runtime {

HappensBefore::HappensBefore(const Variant &variant, std::size_t streams)
    : streams_(streams), clocks_(variant.steps.size() * streams, -1),
      signallers_(variant.events.size(), -1) {
  std::vector<int> lastOf(streams, -1);
  for (std::size_t i = 0; i < variant.steps.size(); ++i) {
    const Step &step = variant.steps[i];
    int *clock = &clocks_[i * streams];
    auto join = [&](int earlier) {
      if (earlier < 0)
        return;
      const int *other = &clocks_[static_cast<std::size_t>(earlier) * streams];
      for (std::size_t s = 0; s < streams; ++s)
        clock[s] = std::max(clock[s], other[s]);
    };
    join(lastOf[step.stream]);
    for (int event : step.waits)
      join(signallers_[event]);
    clock[step.stream] = static_cast<int>(i);
    lastOf[step.stream] = static_cast<int>(i);
    streamOf_.push_back(step.stream);
    for (int event : step.signals)
      if (signallers_[event] < 0)
        signallers_[event] = static_cast<int>(i);
  }
}

} // namespace layline::runtime
