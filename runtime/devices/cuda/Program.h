// What the streams of every card are given for one run: kernels, products and
// copies in the order of the plan's steps. Built for a variant and a token
// count; which kernels run, and how large, depends on nothing else, so that a
// captured graph stays right while what kernels read from their parameters
// changes.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_PROGRAM_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_PROGRAM_H

#include "devices/cuda/Gemm.h"
#include "devices/cuda/Launch.h"
#include "plan/Plan.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace layline::runtime::cuda {

/// One thing that is put into a stream of one card.
struct Command {
  enum class Kind : std::uint8_t { Kernel, Product, Copy, Nccl, Engine };
  Kind kind = Kind::Kernel;
  std::size_t card = 0;
  std::size_t stream = 0;

  // Kernel, and Engine where it does not do it: its parameters begin at this
  // byte of the card's parameter memory.
  KernelLaunch kernel;
  std::size_t parameters = 0;
  // Product
  Product product;
  const Step *step = nullptr; ///< whose product it is
  std::int64_t rank = 0;
  // Product: operands. Copy: source in `input`, target in `output`.
  Address input = 0, weight = 0, output = 0;
  std::size_t bytes = 0;
  // Nccl
  std::function<void(Stream)> nccl;
  // Engine: whether its function has put the work into the stream.
  std::function<bool(Stream)> isDone;
};

/// The commands of one step, for all cards. `waits` and `signals` are the
/// plan's event numbers.
struct CommandGroup {
  const Step *step = nullptr; ///< top-level
  std::vector<Command> commands;
};

/// When the steps of a run began and ended on a card, by timed events.
class StepTimes {
public:
  /// Events that are enough for `groups`.
  void reserve(const Card &card, std::size_t groups);
  void begin(Stream stream) const { record(0, stream); }
  void beginStep(std::size_t group, Stream stream) const {
    record(1 + 2 * group, stream);
  }
  void endStep(std::size_t group, Stream stream) const {
    record(2 + 2 * group, stream);
  }
  /// Nanoseconds behind begin(), of a run that has ended.
  std::pair<std::int64_t, std::int64_t> ofStep(std::size_t group) const;

private:
  void record(std::size_t number, Stream stream) const;
  std::int64_t elapsed(std::size_t number) const;

  std::vector<OwnedEvent> events_;
};

/// Streams and events of the cards, in the plan's numbers.
class CardStreams {
public:
  CardStreams(const Card &card, std::size_t streams);
  Stream get(std::size_t stream) const { return streams_[stream].get(); }
  std::size_t size() const { return streams_.size(); }
  void reserveEvents(const Card &card, std::size_t count);
  Event event(std::size_t number) const { return events_[number].get(); }
  /// Stream 0 waits for nothing; the others begin behind it, and it ends behind
  /// them.
  void fork() const;
  void join() const;

private:
  std::vector<OwnedStream> streams_;
  std::vector<OwnedEvent> events_;
  std::vector<OwnedEvent> joins_; ///< by stream; 0: the fork
};

/// One instantiated graph; empty until captured.
class CapturedGraph {
public:
  bool isCaptured() const { return exec_ != nullptr; }
  /// Captures what `enqueue` puts into the streams.
  void capture(const Card &card, const CardStreams &streams,
               const std::function<void()> &enqueue);
  void launch(const Card &card, Stream stream) const;

private:
  GraphExec exec_ = nullptr;
  Cleanup cleanup_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_PROGRAM_H
