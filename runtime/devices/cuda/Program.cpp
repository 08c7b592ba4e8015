#include "devices/cuda/Program.h"

#include "plan/Error.h"

namespace layline::runtime::cuda {

void StepTimes::reserve(const Card &card, std::size_t groups) {
  while (events_.size() < 1 + 2 * groups)
    events_.emplace_back(card, /*isTimed=*/true);
}

void StepTimes::record(std::size_t number, Stream stream) const {
  check(driver().eventRecord(events_[number].get(), stream), "cuEventRecord",
        "trace of a run");
}

std::int64_t StepTimes::elapsed(std::size_t number) const {
  float milliseconds = 0;
  check(driver().eventElapsed(&milliseconds, events_[0].get(),
                              events_[number].get()),
        "cuEventElapsedTime", "trace of a run");
  return static_cast<std::int64_t>(double(milliseconds) * 1e6);
}

std::pair<std::int64_t, std::int64_t>
StepTimes::ofStep(std::size_t group) const {
  return {elapsed(1 + 2 * group), elapsed(2 + 2 * group)};
}

CardStreams::CardStreams(const Card &card, std::size_t streams) {
  for (std::size_t s = 0; s < streams; ++s) {
    streams_.emplace_back(card);
    joins_.emplace_back(card, /*isTimed=*/false);
  }
}

void CardStreams::reserveEvents(const Card &card, std::size_t count) {
  while (events_.size() < count)
    events_.emplace_back(card, /*isTimed=*/false);
}

void CardStreams::fork() const {
  if (streams_.size() < 2)
    return;
  check(driver().eventRecord(joins_[0].get(), get(0)), "cuEventRecord",
        "begin of a run");
  for (std::size_t s = 1; s < streams_.size(); ++s)
    check(driver().streamWaitEvent(get(s), joins_[0].get(), 0),
          "cuStreamWaitEvent", "begin of a run");
}

void CardStreams::join() const {
  for (std::size_t s = 1; s < streams_.size(); ++s) {
    check(driver().eventRecord(joins_[s].get(), get(s)), "cuEventRecord",
          "end of a run");
    check(driver().streamWaitEvent(get(0), joins_[s].get(), 0),
          "cuStreamWaitEvent", "end of a run");
  }
}

void CapturedGraph::capture(const Card &card, const CardStreams &streams,
                            const std::function<void()> &enqueue) {
  card.use();
  std::string what = concat("graph of a run on ", card.name());
  // Other threads' engines may allocate meanwhile.
  check(driver().streamBeginCapture(streams.get(0), kCaptureThreadLocal),
        "cuStreamBeginCapture", what);
  Graph graph = nullptr;
  try {
    streams.fork();
    enqueue();
    streams.join();
  } catch (...) {
    // The stream must be taken out of its capture, whatever it holds.
    if (driver().streamEndCapture(streams.get(0), &graph) == kSuccess && graph)
      driver().graphDestroy(graph);
    throw;
  }
  check(driver().streamEndCapture(streams.get(0), &graph), "cuStreamEndCapture",
        what);
  Cleanup description;
  description.add([graph] { driver().graphDestroy(graph); });
  check(driver().graphInstantiate(&exec_, graph, 0), "cuGraphInstantiate",
        what);
  GraphExec exec = exec_;
  cleanup_.add([exec] { driver().graphExecDestroy(exec); });
}

void CapturedGraph::launch(const Card &card, Stream stream) const {
  card.use();
  check(driver().graphLaunch(exec_, stream), "cuGraphLaunch",
        concat("graph of a run on ", card.name()));
}

} // namespace layline::runtime::cuda
