// The streams that the engine around this one has handed in
// (layline_stream_set), and their order with a run: it begins behind what they
// hold when layline_run is called, and what is put into them later, also by
// another thread while it waits, begins behind the run.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_ENGINESTREAMS_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_ENGINESTREAMS_H

#include "devices/cuda/Program.h"
#include "devices/cuda/RankView.h"
#include "engine/Hooks.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace layline::runtime::cuda {

class EngineStreams {
public:
  /// All must outlive the object; `hooks` may be null: nothing is handed in.
  EngineStreams(const Plan &plan, const Hooks *hooks,
                const std::vector<RankView> &ranks,
                const std::vector<std::unique_ptr<Card>> &cards)
      : plan_(plan), hooks_(hooks), ranks_(ranks), cards_(cards) {}

  /// Takes what is handed in now; all cards' first streams wait for it. Throws
  /// Error that names rank and stream, also of a handle that the driver
  /// does not take too.
  void beginRun(const std::vector<CardStreams> &streams);
  /// They wait for all that the cards' first streams hold.
  void endRun(const std::vector<CardStreams> &streams);

private:
  struct HandedIn {
    Stream stream = nullptr;
    std::size_t card = 0;
    std::string what; ///< for messages
  };
  void list();

  const Plan &plan_;
  const Hooks *hooks_;
  const std::vector<RankView> &ranks_;
  const std::vector<std::unique_ptr<Card>> &cards_;
  std::vector<HandedIn> given_; ///< of this run, each once
  /// An event is of a card, and takes streams of that card only. [card][place]
  std::vector<std::deque<OwnedEvent>> begins_;
  std::deque<OwnedEvent> ends_; ///< by card
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_ENGINESTREAMS_H
