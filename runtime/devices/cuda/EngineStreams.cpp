#include "devices/cuda/EngineStreams.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::runtime::cuda {

/// Several ranks of a card, or streams of the plan, may have been given one
/// stream.
void EngineStreams::list() {
  given_.clear();
  if (!hooks_)
    return;
  for (const RankView &rank : ranks_) {
    const std::vector<void *> &of =
        hooks_->streams[static_cast<std::size_t>(rank.rank)];
    for (std::size_t s = 0; s < of.size(); ++s) {
      auto *stream = static_cast<Stream>(of[s]);
      bool isKnown =
          std::any_of(given_.begin(), given_.end(), [&](const HandedIn &other) {
            return other.stream == stream && other.card == rank.cardNumber;
          });
      if (stream && !isKnown)
        given_.push_back({stream, rank.cardNumber,
                          concat("the engine's stream '", plan_.streams[s],
                                 "' of rank ", rank.rank, "; one of ",
                                 rank.card->name(), " is expected")});
    }
  }
}

void EngineStreams::beginRun(const std::vector<CardStreams> &streams) {
  list();
  begins_.resize(cards_.size());
  std::vector<std::size_t> used(cards_.size());
  for (const HandedIn &given : given_) {
    std::deque<OwnedEvent> &events = begins_[given.card];
    std::size_t place = used[given.card]++;
    if (place == events.size())
      events.emplace_back(*cards_[given.card], /*isTimed=*/false);
    cards_[given.card]->use();
    check(driver().eventRecord(events[place].get(), given.stream),
          "cuEventRecord", given.what);
    // Cards read one another's memory: each waits for the streams of all.
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      cards_[c]->use();
      check(driver().streamWaitEvent(streams[c].get(0), events[place].get(), 0),
            "cuStreamWaitEvent", given.what);
    }
  }
}

void EngineStreams::endRun(const std::vector<CardStreams> &streams) {
  if (given_.empty())
    return;
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    if (c == ends_.size())
      ends_.emplace_back(*cards_[c], /*isTimed=*/false);
    cards_[c]->use();
    check(driver().eventRecord(ends_[c].get(), streams[c].get(0)),
          "cuEventRecord", "end of a run");
    for (const HandedIn &given : given_) {
      cards_[given.card]->use();
      check(driver().streamWaitEvent(given.stream, ends_[c].get(), 0),
            "cuStreamWaitEvent", given.what);
    }
  }
}

} // namespace layline::runtime::cuda
