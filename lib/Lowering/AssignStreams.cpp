//===- AssignStreams.cpp - streams, and the events that order them --------===//
#include "Effects.h"
#include "layline/Lowering/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include <array>

namespace layline {
#define GEN_PASS_DEF_LAUNCHASSIGNSTREAMS
#include "lib/Lowering/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::launch;

namespace {

enum Stream : unsigned { Compute, Comm, NumStreams };
constexpr std::array<llvm::StringLiteral, NumStreams> kStreamNames = {"compute",
                                                                      "comm"};

/// A step of each stream, -1 for none.
using StepPerStream = std::array<int, NumStreams>;
constexpr StepPerStream kNoSteps = {-1, -1};

void join(StepPerStream &into, const StepPerStream &other) {
  for (unsigned s = 0; s < NumStreams; ++s)
    into[s] = std::max(into[s], other[s]);
}

/// The last use of every byte of an arena, as disjoint intervals.
class LastUses {
public:
  /// The steps that used any of these bytes last.
  StepPerStream get(int64_t begin, int64_t end) const {
    StepPerStream last = kNoSteps;
    for (const Interval &interval : intervals)
      if (interval.begin < end && begin < interval.end)
        join(last, interval.last);
    return last;
  }

  /// A new value: what was there before does not matter any more.
  void write(int64_t begin, int64_t end, unsigned stream, int step) {
    SmallVector<Interval> kept;
    for (const Interval &interval : intervals) {
      if (interval.end <= begin || end <= interval.begin) {
        kept.push_back(interval);
        continue;
      }
      if (interval.begin < begin)
        kept.push_back({interval.begin, begin, interval.last});
      if (end < interval.end)
        kept.push_back({end, interval.end, interval.last});
    }
    kept.push_back({begin, end, kNoSteps});
    kept.back().last[stream] = step;
    intervals = std::move(kept);
  }

  void read(int64_t begin, int64_t end, unsigned stream, int step) {
    for (Interval &interval : intervals)
      if (interval.begin < end && begin < interval.end)
        interval.last[stream] = std::max(interval.last[stream], step);
  }

private:
  struct Interval {
    int64_t begin, end;
    StepPerStream last;
  };
  SmallVector<Interval> intervals;
};

/// Orders the steps of a variant.
class Scheduler {
public:
  explicit Scheduler(VariantOp variant)
      : steps(getSteps(variant)), builder(variant.getContext()),
        clocks(steps.size(), kNoSteps), waitsFor(steps.size()),
        isWaitedFor(steps.size(), false) {}

  void run() {
    for (int at = 0, e = steps.size(); at < e; ++at)
      schedule(at);
    writeEvents();
  }

private:
  struct CacheUse {
    int writer = -1;
    StepPerStream last = kNoSteps;
  };

  void schedule(int at);
  void writeEvents();

  SmallVector<StepOp> steps;
  Builder builder;
  /// Per step: the last step of each stream that is done when it begins.
  std::vector<StepPerStream> clocks;
  std::vector<SmallVector<int, 1>> waitsFor;
  std::vector<bool> isWaitedFor;
  StepPerStream lastOfStream = kNoSteps;
  DenseMap<Value, int> writers;
  DenseMap<Attribute, CacheUse> caches;
  int lastCollective = -1;
  llvm::StringMap<LastUses> arenas;
};

} // namespace

void Scheduler::schedule(int at) {
  StepOp step = steps[at];
  unsigned stream = getInfo(step.getKind()).isCollective ? Comm : Compute;
  Effects effects = getEffects(step);
  llvm::SmallSetVector<int, 4> after;
  StepPerStream needed = kNoSteps;

  auto use = [&](int producer) {
    after.insert(producer);
    StepPerStream done = kNoSteps;
    done[getInfo(steps[producer].getKind()).isCollective ? Comm : Compute] =
        producer;
    join(needed, done);
  };
  for (Value value : effects.reads) {
    BufferOp buffer = getBuffer(value);
    if (auto writer = writers.find(value); writer != writers.end())
      use(writer->second);
    if (buffer.hasPlace())
      arenas[*buffer.getArena()].read(*buffer.getOffset(),
                                      *buffer.getOffset() + *buffer.getBytes(),
                                      stream, at);
  }
  for (Value value : effects.writes) {
    BufferOp buffer = getBuffer(value);
    writers[value] = at;
    if (!buffer.hasPlace())
      continue;
    int64_t begin = *buffer.getOffset(), end = begin + *buffer.getBytes();
    LastUses &uses = arenas[*buffer.getArena()];
    join(needed, uses.get(begin, end));
    uses.write(begin, end, stream, at);
  }
  for (Attribute cache : effects.cacheReads) {
    CacheUse &uses = caches[cache];
    if (uses.writer >= 0)
      use(uses.writer);
    uses.last[stream] = at;
  }
  for (Attribute cache : effects.cacheWrites) {
    CacheUse &uses = caches[cache];
    join(needed, uses.last);
    uses.last = kNoSteps;
    uses.last[stream] = at;
    uses.writer = at;
  }
  // One collective after another, of whatever flag: the ranks of one group are
  // in groups of the other.
  if (step.getFlagAttr()) {
    if (lastCollective >= 0) {
      bool onComm = getInfo(steps[lastCollective].getKind()).isCollective;
      StepPerStream previous = kNoSteps;
      previous[onComm ? Comm : Compute] = lastCollective;
      join(needed, previous);
    }
    lastCollective = at;
  }

  StepPerStream &clock = clocks[at];
  if (lastOfStream[stream] >= 0)
    join(clock, clocks[lastOfStream[stream]]);
  for (unsigned other = 0; other < NumStreams; ++other)
    if (other != stream && needed[other] > clock[other]) {
      waitsFor[at].push_back(needed[other]);
      isWaitedFor[needed[other]] = true;
      join(clock, clocks[needed[other]]);
    }
  clock[stream] = at;
  lastOfStream[stream] = at;

  step.setStreamAttr(
      FlatSymbolRefAttr::get(builder.getContext(), kStreamNames[stream]));
  SmallVector<int> sorted(after.begin(), after.end());
  llvm::sort(sorted);
  SmallVector<Attribute> ids;
  for (int producer : sorted)
    ids.push_back(steps[producer].getIdAttr());
  step.setAfterAttr(ids.empty() ? ArrayAttr() : builder.getArrayAttr(ids));
}

/// Events are numbered in the order in which they are signalled.
void Scheduler::writeEvents() {
  unsigned numEvents = 0;
  std::vector<Attribute> events(steps.size());
  for (unsigned at = 0; at < steps.size(); ++at) {
    if (isWaitedFor[at])
      events[at] = builder.getStringAttr("e" + Twine(numEvents++));
    SmallVector<Attribute, 1> waits;
    for (int signaller : waitsFor[at])
      waits.push_back(events[signaller]);
    StepOp step = steps[at];
    step.setWaitsAttr(waits.empty() ? ArrayAttr()
                                    : builder.getArrayAttr(waits));
    step.setSignalsAttr(events[at] ? builder.getArrayAttr(events[at])
                                   : ArrayAttr());
  }
}

namespace {
struct LaunchAssignStreams
    : layline::impl::LaunchAssignStreamsBase<LaunchAssignStreams> {
  void runOnOperation() override {
    for (auto variant : getOperation().getOps<VariantOp>())
      Scheduler(variant).run();
  }
};
} // namespace
