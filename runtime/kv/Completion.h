// When a request is ready at a target, how long each buffer that a plan uses is
// pinned, and the slots that packed blocks go through.
//
// Rules are values, also those that are wrong: a plan that has one can be read,
// refused by its name, and simulated so that a test sees what goes wrong.
#ifndef LAYLINE_RUNTIME_KV_COMPLETION_H
#define LAYLINE_RUNTIME_KV_COMPLETION_H

#include <cstdint>
#include <string>
#include <vector>

namespace layline::kv {

/// What a responder reports of a request, as a set of bits.
enum class Report : unsigned {
  Main = 1,  ///< keys, values, latents, of all tokens or of a window
  Index = 2, ///< keys by which rows are chosen, and their scales
  State = 4, ///< of a request
  /// What goes with a request beside its cache (its first token); behind all
  /// else of its sender, and all that one with nothing to send has.
  Auxiliary = 8
};

/// A source rank that a target rank waits for.
struct Responder {
  int source = 0;
  unsigned reports = 0; ///< of Report
  /// Reports of a request: one for each of its transfers to the target, when
  /// the last byte of the last chunk has arrived, and the auxiliary one.
  int completions = 0;

  bool operator==(const Responder &other) const {
    return source == other.source && reports == other.reports &&
           completions == other.completions;
  }
};

/// When a target rank has a request.
struct Readiness {
  enum class When { All, Any };             ///< completions that it needs
  enum class Counting { Senders, Reports }; ///< a repeated one: once, again
  enum class Reporting { Arrived, Posted }; ///< when a transfer completes
  enum class Naming { Request, Room };      ///< whom a report is for
  enum class Failure { Sticky, UntilNextReport };

  When when = When::All;
  Counting counting = Counting::Senders;
  Reporting reporting = Reporting::Arrived;
  Naming naming = Naming::Request;
  Failure failure = Failure::Sticky;
  std::vector<std::string> keys; ///< by source rank; names it in its reports
  /// By target rank: the plan's responders, in the same order.
  std::vector<std::vector<Responder>> targets;
};

/// The kinds of buffers that a plan uses.
enum class Store {
  SourcePages,      ///< of a page table of the source
  TargetPages,      ///< of a page table of the target
  BroadcastScratch, ///< at ranks of the source that do not own the layer
  SourceSlots,      ///< relay slots
  TargetSlots
};

/// What happens to a buffer, in this order; and how its use ends if the request
/// fails, is aborted or is freed early.
enum class Moment {
  Taken,    ///< from its pool or for a round or a layer, before anything writes
  Posted,   ///< the first write from it or to it is under way
  Arrived,  ///< the last of these is complete at its target
  Consumed, ///< decoded from, unpacked, or read by attention
  Failed,   ///< at once, when the target has been told
  Quiet     ///< every responder has reported or has nothing under way
};

/// Who may have a buffer next.
enum class Reuse {
  AnyRequest, ///< the pool's allocator
  NextRound,  ///< of the same pair
  NextLayer   ///< the next broadcast into it
};

/// From when until when a buffer is pinned.
struct Lifetime {
  Store store = Store::SourcePages;
  /// The page table, or the buffer whose layers are broadcast; empty of slots.
  std::string name;
  Moment from = Moment::Taken;
  Moment until = Moment::Arrived;
  Moment afterFailure = Moment::Quiet;
  Reuse reuse = Reuse::AnyRequest;

  bool operator==(const Lifetime &other) const {
    return store == other.store && name == other.name && from == other.from &&
           until == other.until && afterFailure == other.afterFailure &&
           reuse == other.reuse;
  }
};

/// Memory of one rank that packed blocks of one pair go through, round by
/// round.
struct RelaySlot {
  bool isAtSource = true;
  int source = 0, target = 0; ///< ranks; a slot has one target
  int lane = 0;
  std::int64_t bytes = 0;
  std::int64_t maxDescriptors = 0; ///< of a round; 0: no limit
  std::vector<int> transfers;      ///< that use it, ascending

  bool operator==(const RelaySlot &other) const {
    return isAtSource == other.isAtSource && source == other.source &&
           target == other.target && lane == other.lane &&
           bytes == other.bytes && maxDescriptors == other.maxDescriptors &&
           transfers == other.transfers;
  }
};

/// Slots by target, then source, that at the source first. Rounds of one lane
/// go one after the other, those of different lanes beside each other.
struct Relay {
  int lanes = 0; ///< of every rank
  std::vector<RelaySlot> slots;
};

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_COMPLETION_H
