//===- VerifyPlan.cpp - prove that a plan is safe to run ------------------===//
//
// Knows nothing of how the plan was made. Where AssignStreams keeps intervals
// of last uses, this walks the elementary pieces of an arena and keeps what
// each holds: a read must find the value that it wants, put there by a step
// that is certain to have finished.
//
//===----------------------------------------------------------------------===//
#include "Effects.h"
#include "StepOrder.h"
#include "layline/Lowering/Passes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace layline {
#define GEN_PASS_DEF_LAUNCHVERIFY
#include "lib/Lowering/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::launch;

namespace {

/// What an elementary piece of an arena holds, and who has used it.
struct Piece {
  int64_t begin;
  Value value;
  int writer = -1;
  SmallVector<int, 4> readers;
};

class VariantVerifier {
public:
  VariantVerifier(PlanOp plan, VariantOp variant)
      : plan(plan), variant(variant), steps(getSteps(variant)) {}

  LogicalResult verify();

private:
  LogicalResult verifyInput(BufferOp buffer);
  LogicalResult verifyPlaces();
  LogicalResult verifyLives();
  LogicalResult verifyStep(int at);
  LogicalResult verifyRead(int at, Value value);
  LogicalResult verifyWrite(int at, Value value);
  LogicalResult verifyCaches(int at, const Effects &effects,
                             llvm::SmallSetVector<int, 4> &sources);
  LogicalResult verifyCollectiveOrder(int at);
  bool waitsForNobody(FlatSymbolRefAttr flag);
  LogicalResult verifyRoots(int at);
  LogicalResult verifyAfter(int at, ArrayRef<int> sources);
  LogicalResult verifyOutputs();
  LogicalResult verifySites();

  InFlightDiagnostic error(int at) {
    return steps[at].emitOpError("\"") << steps[at].getId() << "\" ";
  }
  bool isLive(BufferOp buffer, int at) {
    auto [first, last] = lives.lookup(buffer.getBuffer());
    return first <= at && at <= last;
  }
  void cutArenas();
  MutableArrayRef<Piece> getPieces(BufferOp buffer);

  PlanOp plan;
  VariantOp variant;
  SmallVector<StepOp> steps;
  StepOrder order;
  llvm::StringMap<int> stepById;
  llvm::StringMap<int64_t> arenaBytes;
  llvm::StringMap<SmallVector<Piece, 0>> arenas;
  DenseMap<Value, std::pair<int, int>> lives;
  DenseMap<Value, int> writers;
  DenseMap<Attribute, int> appenders;
  DenseMap<Attribute, SmallVector<int, 4>> cacheReaders;
  DenseMap<Attribute, int> lastOfFlag;
  /// The last that waits for other ranks, of whatever flag.
  int lastCollective = -1;
};

} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

LogicalResult VariantVerifier::verifyInput(BufferOp buffer) {
  for (auto input : plan.getOps<InputOp>()) {
    if (input.getId() != *buffer.getInput())
      continue;
    if (input.getType() == grid::withLayout(buffer.getTensor(), {}))
      return success();
    InFlightDiagnostic diag = buffer.emitOpError("\"")
                              << buffer.getId() << "\" holds "
                              << buffer.getType() << ", but the input is "
                              << input.getType();
    diag.attachNote(input.getLoc()) << "the input is defined here";
    return diag;
  }
  return buffer.emitOpError("\"")
         << buffer.getId() << "\" binds the input \"" << *buffer.getInput()
         << "\", which the plan does not have";
}

LogicalResult VariantVerifier::verifyPlaces() {
  for (auto arena : variant.getBody().getOps<ArenaOp>())
    arenaBytes[arena.getId()] = arena.getBytes();
  for (auto buffer : variant.getBody().getOps<BufferOp>()) {
    if (buffer.isInput()) {
      if (failed(verifyInput(buffer)))
        return failure();
      continue;
    }
    auto fail = [&]() {
      return buffer.emitOpError("\"") << buffer.getId() << "\" ";
    };
    if (!buffer.hasPlace() || !buffer.getLive())
      return fail() << "has no place or no life: plan the memory first";
    StringRef expected = getArenaId(buffer);
    if (*buffer.getArena() != expected)
      return fail() << "is in the arena \"" << *buffer.getArena()
                    << "\", expected \"" << expected << "\"";
    int64_t offset = *buffer.getOffset(), bytes = *buffer.getBytes();
    int64_t needed =
        getLargestBytes(plan, buffer.getTensor(), variant.getMaxTokens());
    if (bytes < needed)
      return fail() << "has " << bytes << " bytes, but "
                    << variant.getMaxTokens() << " tokens need " << needed;
    if (offset < 0 ||
        offset % getElementBytes(buffer.getTensor().getElementType()) ||
        offset + bytes > arenaBytes.lookup(expected))
      return fail() << "is at the bytes [" << offset << ", " << offset + bytes
                    << ") of an arena of " << arenaBytes.lookup(expected)
                    << ", expected aligned bytes inside";
    lives[buffer.getBuffer()] = {
        stepById.lookup(cast<StringAttr>((*buffer.getLive())[0]).getValue()),
        stepById.lookup(cast<StringAttr>((*buffer.getLive())[1]).getValue())};
  }
  return success();
}

/// No two buffers that live at one time share bytes: a sweep over the steps
/// with the few that are live.
LogicalResult VariantVerifier::verifyLives() {
  std::vector<BufferOp> buffers;
  for (auto buffer : variant.getBody().getOps<BufferOp>())
    if (!buffer.isInput())
      buffers.push_back(buffer);
  auto getLife = [&](BufferOp b) { return lives.lookup(b.getBuffer()); };
  auto isEarlier = [&](BufferOp a, BufferOp b) {
    return getLife(a).first < getLife(b).first;
  };
  llvm::sort(buffers, isEarlier);
  SmallVector<BufferOp> live;
  for (BufferOp buffer : buffers) {
    std::pair<int, int> life = getLife(buffer);
    if (life.first > life.second)
      return buffer.emitOpError("\"")
             << buffer.getId() << "\" dies before it lives";
    llvm::erase_if(live,
                   [&](BufferOp b) { return getLife(b).second < life.first; });
    for (BufferOp other : live) {
      int64_t begin = *buffer.getOffset(), otherBegin = *other.getOffset();
      if (buffer.getArena() != other.getArena() ||
          begin + static_cast<int64_t>(*buffer.getBytes()) <= otherBegin ||
          otherBegin + static_cast<int64_t>(*other.getBytes()) <= begin)
        continue;
      InFlightDiagnostic diag = buffer.emitOpError("\"")
                                << buffer.getId() << "\" shares bytes with \""
                                << other.getId() << "\" while both live";
      diag.attachNote(other.getLoc()) << "the other one is here";
      return diag;
    }
    live.push_back(buffer);
  }
  return success();
}

void VariantVerifier::cutArenas() {
  llvm::StringMap<SmallVector<int64_t>> cuts;
  for (auto buffer : variant.getBody().getOps<BufferOp>())
    if (buffer.hasPlace()) {
      int64_t begin = *buffer.getOffset();
      auto &arena = cuts[*buffer.getArena()];
      arena.push_back(begin);
      arena.push_back(begin + *buffer.getBytes());
    }
  for (auto &entry : cuts) {
    llvm::sort(entry.second);
    entry.second.erase(llvm::unique(entry.second), entry.second.end());
    for (int64_t cut : entry.second)
      arenas[entry.first()].push_back({cut, {}, -1, {}});
  }
}

MutableArrayRef<Piece> VariantVerifier::getPieces(BufferOp buffer) {
  MutableArrayRef<Piece> all = arenas[*buffer.getArena()];
  auto at = [&](int64_t offset) {
    return llvm::partition_point(
        all, [&](const Piece &p) { return p.begin < offset; });
  };
  int64_t begin = *buffer.getOffset();
  auto *first = at(begin), *last = at(begin + *buffer.getBytes());
  return {first, last};
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult VariantVerifier::verifyRead(int at, Value value) {
  BufferOp buffer = getBuffer(value);
  auto writer = writers.find(value);
  if (writer == writers.end())
    return error(at) << "reads \"" << buffer.getId()
                     << "\" before any step has written it";
  if (!isLive(buffer, at))
    return error(at) << "reads \"" << buffer.getId() << "\" outside its life";
  if (!order.isDone(writer->second, at))
    return error(at) << "reads \"" << buffer.getId()
                     << "\" but does not wait for \""
                     << steps[writer->second].getId() << "\", which writes it";
  for (Piece &piece : getPieces(buffer)) {
    assert(piece.value == value && "overwritten, though no two lives overlap");
    piece.readers.push_back(at);
  }
  return success();
}

LogicalResult VariantVerifier::verifyWrite(int at, Value value) {
  BufferOp buffer = getBuffer(value);
  if (buffer.isInput())
    return error(at) << "writes the input \"" << buffer.getId() << "\"";
  if (!writers.try_emplace(value, at).second)
    return error(at) << "writes \"" << buffer.getId() << "\", which \""
                     << steps[writers[value]].getId() << "\" has written";
  if (!isLive(buffer, at))
    return error(at) << "writes \"" << buffer.getId() << "\" outside its life";
  for (Piece &piece : getPieces(buffer)) {
    SmallVector<int, 4> users = piece.readers;
    if (piece.writer >= 0)
      users.push_back(piece.writer);
    for (int user : users)
      if (!order.isDone(user, at))
        return error(at) << "writes \"" << buffer.getId() << "\" where \""
                         << getBuffer(piece.value).getId()
                         << "\" was, but does not wait for \""
                         << steps[user].getId() << "\", which uses that";
    piece.value = value;
    piece.writer = at;
    piece.readers.clear();
  }
  return success();
}

LogicalResult
VariantVerifier::verifyCaches(int at, const Effects &effects,
                              llvm::SmallSetVector<int, 4> &sources) {
  for (Attribute cache : effects.cacheReads) {
    auto appender = appenders.find(cache);
    if (appender == appenders.end())
      return error(at) << "reads the cache " << cache
                       << " before the rows of this step are in it";
    if (!order.isDone(appender->second, at))
      return error(at) << "reads the cache " << cache
                       << " but does not wait for \""
                       << steps[appender->second].getId()
                       << "\", which appends to it";
    sources.insert(appender->second);
  }
  for (Attribute cache : effects.cacheWrites)
    if (auto [first, isNew] = appenders.try_emplace(cache, at); !isNew)
      return error(at) << "appends to the cache " << cache << ", as \""
                       << steps[first->second].getId() << "\" did";
  return success();
}

LogicalResult VariantVerifier::verifyAfter(int at, ArrayRef<int> sources) {
  SmallVector<int, 4> listed, expected(sources);
  if (steps[at].getAfter())
    for (StringRef id : steps[at].getAfter()->getAsValueRange<StringAttr>())
      listed.push_back(stepById.lookup(id));
  llvm::sort(listed);
  llvm::sort(expected);
  if (listed == expected)
    return success();
  InFlightDiagnostic diag = error(at) << "lists the steps [";
  llvm::interleaveComma(listed, diag, [&](int s) { diag << steps[s].getId(); });
  diag << "] in 'after', but uses the results of [";
  llvm::interleaveComma(expected, diag,
                        [&](int s) { diag << steps[s].getId(); });
  return diag << "]";
}

/// All collectives are ordered one behind the other. Of one flag: its counters
/// serve one at a time. Of different flags too: each rank is in an instance of
/// every group, so that two in flight share ranks. One rank may begin the first
/// and another the second, and each then holds the processors that the other's
/// partner waits for.
LogicalResult VariantVerifier::verifyCollectiveOrder(int at) {
  FlatSymbolRefAttr flag = steps[at].getFlagAttr();
  if (!flag)
    return success();
  if (auto [last, isFirst] = lastOfFlag.try_emplace(flag, at); !isFirst) {
    if (!order.isDone(last->second, at))
      return error(at) << "may be in flight together with \""
                       << steps[last->second].getId()
                       << "\", a collective of the same "
                       << "group";
    last->second = at;
  }
  if (waitsForNobody(flag))
    return success();
  int last = std::exchange(lastCollective, at);
  if (last < 0 || order.isDone(last, at))
    return success();
  return error(at) << "may be in flight together with \"" << steps[last].getId()
                   << "\", a collective over ranks that it shares: the order "
                      "of the two may differ from rank to rank";
}

/// A group of one rank.
bool VariantVerifier::waitsForNobody(FlatSymbolRefAttr flag) {
  auto flagOp = plan.lookupSymbol<FlagOp>(flag.getValue());
  auto group =
      flagOp ? plan.lookupSymbol<GroupOp>(flagOp.getGroup()) : GroupOp();
  return group && group.getRanks() == 1;
}

/// The root of a broadcast is a rank of its group.
LogicalResult VariantVerifier::verifyRoots(int at) {
  bool good = true;
  steps[at].forEachLeaf([&](StepOp leaf) {
    if (leaf.getKind() != StepKind::Broadcast || !leaf.getAttrs())
      return;
    auto root = leaf.getAttrs()->getAs<IntegerAttr>("root");
    auto symbol = leaf.getAttrs()->getAs<FlatSymbolRefAttr>("group");
    auto group =
        symbol ? plan.lookupSymbol<GroupOp>(symbol.getValue()) : GroupOp();
    if (!root || !group)
      return;
    int64_t ranks = group.getRanks();
    if (root.getInt() >= 0 && root.getInt() < ranks)
      return;
    good = false;
    error(at) << "broadcasts from rank " << root.getInt() << " of a group of "
              << ranks;
  });
  return success(good);
}

LogicalResult VariantVerifier::verifyStep(int at) {
  Effects effects = getEffects(steps[at]);
  llvm::SmallSetVector<int, 4> sources;
  for (Value value : effects.reads) {
    if (getBuffer(value).isInput())
      continue;
    if (failed(verifyRead(at, value)))
      return failure();
    sources.insert(writers[value]);
  }
  for (Value value : effects.writes)
    if (failed(verifyWrite(at, value)))
      return failure();
  if (failed(verifyCaches(at, effects, sources)))
    return failure();
  if (failed(verifyCollectiveOrder(at)) || failed(verifyRoots(at)))
    return failure();
  return verifyAfter(at, sources.getArrayRef());
}

//===----------------------------------------------------------------------===//
// What leaves the variant
//===----------------------------------------------------------------------===//

LogicalResult VariantVerifier::verifyOutputs() {
  for (auto output : variant.getBody().getOps<OutputOp>()) {
    BufferOp buffer = getBuffer(output.getBuffer());
    if (!writers.contains(buffer.getBuffer()))
      return output.emitOpError("\"")
             << output.getId() << "\" is written by no step";
    if (lives.lookup(buffer.getBuffer()).second + 1 !=
        static_cast<int>(steps.size()))
      return output.emitOpError("\"")
             << output.getId() << "\" does not live to the last step";
  }
  return success();
}

LogicalResult VariantVerifier::verifySites() {
  for (auto site : variant.getBody().getOps<SiteOp>()) {
    bool paysSum = false;
    if (site.getStep() && stepById.contains(*site.getStep()))
      steps[stepById.lookup(*site.getStep())].forEachLeaf([&](StepOp leaf) {
        paysSum |= leaf.getKind() == StepKind::AllReduce ||
                   leaf.getKind() == StepKind::ReduceScatter ||
                   leaf.getKind() == StepKind::Combine;
      });
    if (!paysSum)
      return site.emitOpError("\"")
             << site.getId() << "\" names no step that pays its sum";
  }
  return success();
}

LogicalResult VariantVerifier::verify() {
  for (auto [index, step] : llvm::enumerate(steps))
    stepById[step.getId()] = index;
  if (failed(order.build(steps)) || failed(verifyPlaces()) ||
      failed(verifyLives()))
    return failure();
  cutArenas();
  for (int at = 0, e = steps.size(); at < e; ++at)
    if (failed(verifyStep(at)))
      return failure();
  for (auto cache : plan.getOps<CacheOp>())
    if (!appenders.contains(FlatSymbolRefAttr::get(cache.getSymNameAttr()))) {
      InFlightDiagnostic diag =
          variant.emitOpError("never appends to the cache @")
          << cache.getSymName();
      diag.attachNote(cache.getLoc()) << "the cache is defined here";
      return diag;
    }
  if (failed(verifyOutputs()))
    return failure();
  return verifySites();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// A weight that no step reads is either loaded in vain or forgotten.
static LogicalResult verifyWeightsAreUsed(PlanOp plan) {
  DenseSet<Attribute> used;
  plan.walk([&](StepOp step) {
    step.forEachArgument([&](const Argument &argument) {
      if (argument.symbol)
        used.insert(argument.symbol);
    });
  });
  for (auto weight : plan.getOps<WeightOp>())
    if (!used.contains(FlatSymbolRefAttr::get(weight.getSymNameAttr())))
      return weight.emitOpError("\"")
             << weight.getKey() << "\" is read by no step";
  return success();
}

/// Every split of every type is a range of the plan.
static LogicalResult verifyRanges(PlanOp plan) {
  DenseSet<Type> seen;
  llvm::StringMap<bool> ranges;
  for (auto range : plan.getOps<RangeOp>())
    ranges[range.getSymName()] = true;
  auto check = [&](Operation *op, Type type) -> LogicalResult {
    if (!seen.insert(type).second)
      return success();
    auto tensor = cast<RankedTensorType>(type);
    for (auto [dim, split] : llvm::enumerate(grid::getLayout(tensor).getDims()))
      if (split &&
          !ranges.contains(getRangeName(split, tensor.getDimSize(dim))))
        return op->emitOpError("has the type ")
               << type << ", for which the plan has no range @\""
               << getRangeName(split, tensor.getDimSize(dim)) << "\"";
    return success();
  };
  for (auto weight : plan.getOps<WeightOp>())
    if (failed(check(weight, weight.getType())))
      return failure();
  for (auto cache : plan.getOps<CacheOp>())
    if (failed(check(cache, cache.getType())))
      return failure();
  for (auto variant : plan.getOps<VariantOp>())
    for (auto buffer : variant.getBody().getOps<BufferOp>())
      if (failed(check(buffer, buffer.getType())))
        return failure();
  return success();
}

namespace {
struct LaunchVerify : layline::impl::LaunchVerifyBase<LaunchVerify> {
  void runOnOperation() override {
    PlanOp plan = getOperation();
    if (failed(verifyWeightsAreUsed(plan)) || failed(verifyRanges(plan)))
      return signalPassFailure();
    for (auto variant : plan.getOps<VariantOp>())
      if (failed(VariantVerifier(plan, variant).verify()))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
