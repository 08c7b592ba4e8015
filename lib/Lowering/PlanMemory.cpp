//===- PlanMemory.cpp - a life and a place for every buffer ---------------===//
#include "Effects.h"
#include "layline/Lowering/Passes.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace layline {
#define GEN_PASS_DEF_LAUNCHPLANMEMORY
#include "lib/Lowering/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::launch;

/// What vector loads and peer copies want, with room to spare.
static constexpr int64_t kAlignment = 256;

namespace {

struct Placed {
  BufferOp buffer;
  unsigned first, last; ///< steps of the list, both included
  int64_t bytes;
  int64_t offset = 0;

  int64_t getSize() const { return llvm::alignTo(bytes, kAlignment); }
};

/// The buffers that share one arena.
class Arena {
public:
  explicit Arena(StringRef id) : id(id) {}

  void add(Placed buffer) { buffers.push_back(buffer); }
  void place(unsigned numSteps);

  StringRef id;
  std::vector<Placed> buffers;
  int64_t bytes = 0;
  int64_t bound = 0;

private:
  int64_t placeInOrder(ArrayRef<unsigned> order, unsigned numSteps,
                       std::vector<int64_t> &offsets) const;
};

} // namespace

/// Every buffer at the lowest free offset, in the order given. What is live at
/// a step is kept by step: few buffers are, so this is linear in the lifetimes.
int64_t Arena::placeInOrder(ArrayRef<unsigned> order, unsigned numSteps,
                            std::vector<int64_t> &offsets) const {
  std::vector<SmallVector<unsigned, 8>> live(numSteps);
  std::vector<unsigned> seenBy(buffers.size(), ~0u);
  SmallVector<unsigned> conflicts;
  int64_t end = 0;
  for (unsigned index : order) {
    const Placed &buffer = buffers[index];
    conflicts.clear();
    for (unsigned step = buffer.first; step <= buffer.last; ++step) {
      for (unsigned other : live[step])
        if (std::exchange(seenBy[other], index) != index)
          conflicts.push_back(other);
      live[step].push_back(index);
    }
    llvm::sort(conflicts, [&](unsigned a, unsigned b) {
      return std::pair(offsets[a], a) < std::pair(offsets[b], b);
    });
    int64_t offset = 0;
    for (unsigned other : conflicts) {
      if (offsets[other] - offset >= buffer.getSize())
        break;
      offset = std::max(offset, offsets[other] + buffers[other].getSize());
    }
    offsets[index] = offset;
    end = std::max(end, offset + buffer.getSize());
  }
  return end;
}

void Arena::place(unsigned numSteps) {
  std::vector<unsigned> byTime(buffers.size());
  for (unsigned i = 0; i < byTime.size(); ++i)
    byTime[i] = i;
  llvm::sort(byTime, [&](unsigned a, unsigned b) {
    return std::pair(buffers[a].first, a) < std::pair(buffers[b].first, b);
  });
  std::vector<unsigned> bySize = byTime;
  llvm::sort(bySize, [&](unsigned a, unsigned b) {
    return std::tuple(-buffers[a].bytes, buffers[a].first, a) <
           std::tuple(-buffers[b].bytes, buffers[b].first, b);
  });

  std::vector<int64_t> inTime(buffers.size()), inSize(buffers.size());
  int64_t time = placeInOrder(byTime, numSteps, inTime);
  int64_t size = placeInOrder(bySize, numSteps, inSize);
  bytes = std::min(time, size);
  const std::vector<int64_t> &offsets = time <= size ? inTime : inSize;
  for (auto [buffer, offset] : llvm::zip(buffers, offsets))
    buffer.offset = offset;

  // The most that is live at once: differences at the ends of lives, summed up.
  std::vector<int64_t> change(numSteps + 1, 0);
  for (const Placed &buffer : buffers) {
    change[buffer.first] += buffer.getSize();
    change[buffer.last + 1] -= buffer.getSize();
  }
  int64_t live = 0;
  for (int64_t delta : change)
    bound = std::max(bound, live += delta);
}

namespace {
struct LaunchPlanMemory
    : layline::impl::LaunchPlanMemoryBase<LaunchPlanMemory> {
  void runOnOperation() override {
    for (auto variant : getOperation().getOps<VariantOp>())
      if (failed(plan(variant)))
        return signalPassFailure();
  }

  LogicalResult plan(VariantOp variant);
};
} // namespace

LogicalResult LaunchPlanMemory::plan(VariantOp variant) {
  constexpr unsigned kNone = ~0u;
  SmallVector<StepOp> steps = getSteps(variant);
  DenseMap<Value, std::pair<unsigned, unsigned>> lives;
  for (auto [index, step] : llvm::enumerate(steps)) {
    unsigned at = index;
    Effects effects = getEffects(step);
    auto touch = [&](Value value) {
      auto [entry, isNew] = lives.try_emplace(value, at, at);
      entry->second.second = at;
    };
    llvm::for_each(effects.reads, touch);
    llvm::for_each(effects.writes, touch);
  }

  Arena arenas[] = {Arena("float"), Arena("int"), Arena("narrow"),
                    Arena("register")};
  for (auto buffer : variant.getBody().getOps<BufferOp>()) {
    if (buffer.isInput())
      continue;
    auto [first, last] = lives.lookup_or(buffer.getBuffer(), {kNone, kNone});
    if (first == kNone)
      return buffer.emitOpError("\"")
             << buffer.getId() << "\" is used by no step";
    if (buffer.getKind() == BufferClass::Output)
      last = steps.size() - 1;
    Arena &arena = *llvm::find_if(
        arenas, [&](const Arena &a) { return a.id == getArenaId(buffer); });
    arena.add({buffer, first, last,
               getLargestBytes(getOperation(), buffer.getTensor(),
                               variant.getMaxTokens())});
  }

  OpBuilder builder = OpBuilder::atBlockBegin(&variant.getBody().front());
  for (Arena &arena : arenas) {
    // Readers of 1.1 know the other three.
    if (arena.id == "narrow" && arena.buffers.empty())
      continue;
    arena.place(steps.size());
    ArenaOp::create(builder, variant.getLoc(), arena.id, arena.bytes,
                    arena.bound);
    StringAttr id = builder.getStringAttr(arena.id);
    for (Placed &placed : arena.buffers) {
      placed.buffer.setArenaAttr(id);
      placed.buffer.setOffset(placed.offset);
      placed.buffer.setBytes(placed.bytes);
      placed.buffer.setLiveAttr(builder.getArrayAttr(
          {steps[placed.first].getIdAttr(), steps[placed.last].getIdAttr()}));
    }
  }
  return success();
}
