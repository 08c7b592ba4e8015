//===- PlanFaults.cpp - a launch plan that is not safe to run -------------===//
#include "FaultFinder.h"
#include "dialects/Launch/Launch.h"
#include "layline/Planning/Passes.h"

using namespace mlir;
using namespace layline;
using namespace layline::test;
namespace l = layline::launch;

template <typename Visit>
static void forEachVariant(FaultFinder &finder, Visit visit) {
  for (auto plan : finder.module.getOps<l::PlanOp>())
    for (auto variant : plan.getOps<l::VariantOp>())
      visit(variant);
}

static SmallVector<l::StepOp> stepsOf(l::VariantOp variant) {
  return llvm::to_vector(variant.getBody().getOps<l::StepOp>());
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The steps that have finished when each step begins: those before it on its
/// stream, and what events say; `ignored` does not wait.
static std::vector<llvm::BitVector> finishedBefore(ArrayRef<l::StepOp> steps,
                                                   l::StepOp ignored) {
  std::vector<llvm::BitVector> done(steps.size(),
                                    llvm::BitVector(steps.size()));
  llvm::StringMap<unsigned> signallers;
  DenseMap<Attribute, unsigned> lastOf;
  for (unsigned at = 0; at < steps.size(); ++at) {
    l::StepOp step = steps[at];
    auto finish = [&](unsigned earlier) {
      done[at] |= done[earlier];
      done[at].set(earlier);
    };
    if (auto last = lastOf.find(step.getStreamAttr()); last != lastOf.end())
      finish(last->second);
    lastOf[step.getStreamAttr()] = at;
    if (step.getWaits() && step != ignored)
      for (StringRef event : step.getWaits()->getAsValueRange<StringAttr>())
        if (signallers.contains(event))
          finish(signallers.lookup(event));
    if (step.getSignals())
      for (StringRef event : step.getSignals()->getAsValueRange<StringAttr>())
        signallers[event] = at;
  }
  return done;
}

void test::findCollectiveOrder(FaultFinder &finder) {
  forEachVariant(finder, [&](l::VariantOp variant) {
    SmallVector<l::StepOp> steps = stepsOf(variant);
    DenseMap<Attribute, unsigned> lastOfFlag;
    for (auto [at, step] : llvm::enumerate(steps)) {
      if (!step.getFlagAttr())
        continue;
      auto [last, isFirst] = lastOfFlag.try_emplace(step.getFlagAttr(), at);
      bool isOrderedByWait =
          !isFirst && step.getWaits() &&
          !finishedBefore(steps, step)[at].test(last->second);
      last->second = at;
      if (isOrderedByWait)
        finder.addPlace([step = step]() mutable { step.removeWaitsAttr(); });
    }
  });
}

void test::findEventLost(FaultFinder &finder) {
  forEachVariant(finder, [&](l::VariantOp variant) {
    for (l::StepOp step : stepsOf(variant))
      if (step.getWaits())
        finder.addPlace([=]() mutable { step.removeWaitsAttr(); });
  });
}

void test::findAfterLost(FaultFinder &finder) {
  forEachVariant(finder, [&](l::VariantOp variant) {
    for (l::StepOp step : stepsOf(variant))
      if (step.getAfter())
        finder.addPlace([=]() mutable { step.removeAfterAttr(); });
  });
}

void test::findStepsSwapped(FaultFinder &finder) {
  forEachVariant(finder, [&](l::VariantOp variant) {
    SmallVector<l::StepOp> steps = stepsOf(variant);
    for (unsigned at = 1; at < steps.size(); ++at) {
      l::StepOp first = steps[at - 1], second = steps[at];
      if (second.getAfter() &&
          llvm::is_contained(*second.getAfter(), first.getIdAttr()))
        finder.addPlace([=]() mutable {
          // A buffer of the second step may stand between the two.
          first->moveAfter(second);
        });
    }
  });
}

void test::findWrongFlag(FaultFinder &finder) {
  for (auto plan : finder.module.getOps<l::PlanOp>())
    plan.walk([&](l::StepOp step) {
      for (auto flag : plan.getOps<l::FlagOp>()) {
        auto other = FlatSymbolRefAttr::get(flag.getSymNameAttr());
        if (step.getFlagAttr() && step.getFlagAttr() != other)
          finder.addPlace([=]() mutable { step.setFlagAttr(other); });
      }
    });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// A buffer of an arena with the numbers of its first and last step.
struct Life {
  l::BufferOp buffer;
  unsigned first, last;
  bool overlaps(Life other) {
    return buffer.getArena() == other.buffer.getArena() &&
           first <= other.last && other.first <= last;
  }
};
} // namespace

static SmallVector<Life> livesOf(l::VariantOp variant) {
  llvm::StringMap<unsigned> numbers;
  for (auto [at, step] : llvm::enumerate(stepsOf(variant)))
    numbers[step.getId()] = at;
  SmallVector<Life> lives;
  for (auto buffer : variant.getBody().getOps<l::BufferOp>()) {
    if (!buffer.getLive() || !buffer.hasPlace() || *buffer.getBytes() == 0)
      continue;
    auto step = [&](unsigned i) {
      return numbers.lookup(
          cast<StringAttr>((*buffer.getLive())[i]).getValue());
    };
    lives.push_back({buffer, step(0), step(1)});
  }
  return lives;
}

static int64_t arenaBytes(l::VariantOp variant, StringRef id) {
  for (auto arena : variant.getBody().getOps<l::ArenaOp>())
    if (arena.getId() == id)
      return arena.getBytes();
  return 0;
}

void test::findBufferReusedWhileLive(FaultFinder &finder) {
  forEachVariant(finder, [&](l::VariantOp variant) {
    SmallVector<Life> lives = livesOf(variant);
    for (auto [index, life] : llvm::enumerate(lives))
      for (Life other : ArrayRef(lives).take_front(index)) {
        l::BufferOp buffer = life.buffer;
        int64_t offset = *other.buffer.getOffset();
        if (!life.overlaps(other) ||
            offset + static_cast<int64_t>(*buffer.getBytes()) >
                arenaBytes(variant, *buffer.getArena()))
          continue;
        finder.addPlace([=]() mutable { buffer.setOffset(offset); });
        break;
      }
  });
}

void test::findLifeTooShort(FaultFinder &finder) {
  forEachVariant(finder, [&](l::VariantOp variant) {
    SmallVector<l::StepOp> steps = stepsOf(variant);
    for (Life life : livesOf(variant)) {
      if (life.first == life.last)
        continue;
      l::BufferOp buffer = life.buffer;
      StringAttr earlier = steps[life.last - 1].getIdAttr();
      finder.addPlace([=]() mutable {
        buffer.setLiveAttr(ArrayAttr::get(buffer.getContext(),
                                          {(*buffer.getLive())[0], earlier}));
      });
    }
  });
}

void test::findArenaTooSmall(FaultFinder &finder) {
  forEachVariant(finder, [&](l::VariantOp variant) {
    for (auto arena : variant.getBody().getOps<l::ArenaOp>()) {
      // Arenas may have bytes to spare.
      int64_t used = 0;
      for (Life life : livesOf(variant))
        if (*life.buffer.getArena() == arena.getId())
          used = std::max<int64_t>(used, *life.buffer.getOffset() +
                                             *life.buffer.getBytes());
      if (used == 0)
        continue;
      finder.addPlace([=]() mutable {
        arena.setBytes(used - 1);
        arena.setBound(std::min<int64_t>(arena.getBound(), used - 1));
      });
    }
  });
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

/// Ranges of more than one rank that deal out in blocks.
template <typename Visit>
static void forEachBlockRange(FaultFinder &finder, Visit visit) {
  for (auto plan : finder.module.getOps<l::PlanOp>())
    for (auto range : plan.getOps<l::RangeOp>())
      if (range.getKind() == l::RangeKind::Block &&
          plan.getAxisSize(range.getAxis()).value_or(1) > 1)
        visit(range, *plan.getAxisSize(range.getAxis()));
}

static Attribute binary(StringRef op, Attribute lhs, Attribute rhs) {
  Builder builder(lhs.getContext());
  return builder.getArrayAttr({builder.getStringAttr(op), lhs, rhs});
}

static void setSegment(l::RangeOp range, Attribute begin, Attribute size) {
  Builder builder(range.getContext());
  range.setSegmentsAttr(
      builder.getArrayAttr({builder.getArrayAttr({begin, size})}));
}

void test::findRowBoundaryOffByOne(FaultFinder &finder) {
  forEachBlockRange(finder, [&](l::RangeOp range, int64_t) {
    finder.addPlace([=]() mutable {
      // All parts but the first begin an item too late.
      Builder builder(range.getContext());
      auto segment = range.getSegmentList().front();
      Attribute isLater =
          binary("min", builder.getStringAttr("rank." + range.getAxis().str()),
                 builder.getI64IntegerAttr(1));
      setSegment(range, binary("add", segment.begin, isLater), segment.size);
    });
  });
}

void test::findRemainderRowsLost(FaultFinder &finder) {
  forEachBlockRange(finder, [&](l::RangeOp range, int64_t ranks) {
    auto extent = dyn_cast<IntegerAttr>(range.getExtent());
    if (extent && extent.getInt() % ranks == 0)
      return;
    finder.addPlace([=]() mutable {
      Builder builder(range.getContext());
      Attribute size = binary("floordiv", range.getExtent(),
                              builder.getI64IntegerAttr(ranks));
      Attribute rank = builder.getStringAttr("rank." + range.getAxis().str());
      setSegment(range, binary("mul", rank, size), size);
    });
  });
}

void test::findZigzagHalvesSwapped(FaultFinder &finder) {
  for (auto plan : finder.module.getOps<l::PlanOp>())
    for (auto range : plan.getOps<l::RangeOp>())
      if (range.getSegments().size() == 2)
        finder.addPlace([=]() mutable {
          ArrayAttr segments = range.getSegments();
          range.setSegmentsAttr(
              ArrayAttr::get(range.getContext(), {segments[1], segments[0]}));
        });
}

/// Moves the first token count of every variant but the first by `delta`.
static void findRange(FaultFinder &finder, int64_t delta) {
  for (func::FuncOp function :
       ArrayRef(finder.variants)
           .drop_front(std::min<size_t>(1, finder.variants.size())))
    finder.addPlace([=]() mutable {
      auto tokens = function->getAttrOfType<DenseI64ArrayAttr>(kVariantTokens);
      function->setAttr(kVariantTokens,
                        DenseI64ArrayAttr::get(function.getContext(),
                                               {tokens[0] + delta, tokens[1]}));
    });
  bool isFirst = true;
  forEachVariant(finder, [&](l::VariantOp variant) {
    if (!std::exchange(isFirst, false))
      finder.addPlace([=]() mutable {
        variant.setMinTokens(variant.getMinTokens() + delta);
      });
  });
}

void test::findVariantRangeOverlap(FaultFinder &finder) {
  findRange(finder, -1);
}
void test::findVariantRangeGap(FaultFinder &finder) { findRange(finder, 1); }
