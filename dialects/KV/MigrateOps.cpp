//===- MigrateOps.cpp - pools, planes and answers of a migration ----------===//
#include "MigrateVerifier.h"
#include "dialects/KV/PlanConversion.h"
#include "kv/CheckCompletion.h"

using namespace mlir;
using namespace layline::kv;
using namespace layline::kv::ir;

std::string ir::listRanks(ArrayRef<int64_t> ranks) {
  std::string text;
  for (int64_t rank : ranks)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::string End::nameRank(int64_t number) const {
  const Rank &rank = side.ranks[number];
  const char *const axes[] = {"pp", "dp", "cp", "tp"};
  const int64_t at[] = {rank.pp, rank.dp, rank.cp, rank.tp};
  std::string where;
  for (auto [axis, size] : llvm::enumerate(PoolOp(pool).getMesh()))
    if (size > 1)
      where += (where.empty() ? "" : ", ") + std::string(axes[axis]) + " " +
               std::to_string(at[axis]);
  return (name + " rank " + Twine(number) +
          (where.empty() ? std::string() : " (" + where + ")"))
      .str();
}

std::vector<int64_t> End::findHolders(int plane, int64_t layer) const {
  std::vector<int64_t> holders;
  for (auto [number, rank] : llvm::enumerate(side.ranks))
    if (rank.getOrdinal(side.planes[plane].buffer, layer) >= 0)
      holders.push_back(static_cast<int64_t>(number));
  return holders;
}

//===----------------------------------------------------------------------===//
// Pools
//===----------------------------------------------------------------------===//

LogicalResult MigrateVerifier::verifyPlane(PlaneAttr from, PlaneAttr to) {
  auto differs = [&](StringRef what, auto found, auto expected) {
    return op.emitOpError("moves plane ")
           << from.getName() << " of " << what << " " << found << " in @"
           << source.pool.getSymName() << " to " << what << " " << expected
           << " in @" << target.pool.getSymName()
           << ": bytes are moved, never converted";
  };
  if (from.getDtype() != to.getDtype())
    return differs("element type", from.getDtype(), to.getDtype());
  if (from.getHeads() != to.getHeads())
    return differs("heads", from.getHeads(), to.getHeads());
  if (from.getHeadBytes() != to.getHeadBytes()) {
    if (from.getHeads() == 1 && from.getHeadBytes() % to.getHeadBytes() == 0)
      return op.emitOpError("moves rows of ")
             << from.getHeadBytes() << " bytes of plane " << from.getName()
             << " to ranks that keep " << to.getHeadBytes()
             << " bytes of each: a latent row has no heads to be cut by, "
                "expected the whole row at each rank";
    return differs("head bytes", from.getHeadBytes(), to.getHeadBytes());
  }
  if (from.getIsState() != to.getIsState() ||
      from.getWindow() != to.getWindow())
    return differs("window", from.getWindow(), to.getWindow());
  if (from.getLayers() != to.getLayers())
    return differs("layers", describeLayers(from.getLayers().getIds()),
                   describeLayers(to.getLayers().getIds()));
  return success();
}

LogicalResult MigrateVerifier::verifyPlanes() {
  auto from = source.pool.getPlanes().getAsRange<PlaneAttr>();
  auto to = target.pool.getPlanes().getAsRange<PlaneAttr>();
  auto list = [](auto planes) {
    std::string names;
    for (PlaneAttr plane : planes)
      names += (names.empty() ? "" : ", ") + plane.getName().str();
    return names;
  };
  if (list(from) != list(to))
    return op.emitOpError("moves planes ")
           << list(from) << " of @" << source.pool.getSymName() << " to planes "
           << list(to) << " of @" << target.pool.getSymName()
           << ", expected the same planes";
  for (auto [a, b] : llvm::zip(from, to))
    if (failed(verifyPlane(a, b)))
      return failure();
  return success();
}

LogicalResult MigrateVerifier::verifyRank(Operation *at, const End &end,
                                          int64_t rank) {
  if (rank >= 0 && rank < end.countRanks())
    return success();
  return at->emitOpError("names ")
         << end.name << " rank " << rank << ", pool @"
         << PoolOp(end.pool).getSymName() << " has " << end.countRanks();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Whoever gets one plane gets all that it keeps.
LogicalResult MigrateVerifier::verifyComplete() {
  for (auto &[rank, own] : sent)
    for (auto [number, plane] : llvm::enumerate(planes)) {
      int buffer = target.side.planes[number].buffer;
      const std::vector<int64_t> &kept = target.side.ranks[rank].layers[buffer];
      if (own.test(number) || kept.empty())
        continue;
      return op.emitOpError("sends '")
             << planes[own.find_first()].name << "' to "
             << target.nameRank(rank) << ", but never its '" << plane.name
             << "' of layers " << describeLayers(kept)
             << ", expected every plane that it keeps";
    }
  return success();
}

LogicalResult MigrateVerifier::verifyReady() {
  std::map<int64_t, ReadyOp> ready;
  for (ReadyOp one : op.getOps<ReadyOp>()) {
    if (failed(verifyRank(one, target, one.getTarget())))
      return failure();
    if (auto [known, isNew] = ready.insert({one.getTarget(), one}); !isNew) {
      InFlightDiagnostic diag = one.emitOpError("is the second of ")
                                << target.nameRank(one.getTarget());
      diag.attachNote(known->second.getLoc()) << "the first is here";
      return diag;
    }
    llvm::SmallDenseSet<int64_t> seen;
    for (int64_t rank : one.getSources()) {
      if (failed(verifyRank(one, source, rank)))
        return failure();
      if (!seen.insert(rank).second)
        return one.emitOpError("counts ")
               << source.nameRank(rank)
               << " twice: " << target.nameRank(one.getTarget())
               << " would be ready while another has not answered, expected "
                  "each rank once";
    }
  }
  for (int64_t rank = 0; rank < target.countRanks(); ++rank)
    if (!ready.count(rank))
      return op.emitOpError("does not say whom ")
             << target.nameRank(rank) << " waits for";
  for (TransferOp transfer : op.getOps<TransferOp>()) {
    ReadyOp one = ready[transfer.getTarget()];
    int64_t rank = transfer.getSource();
    if (llvm::is_contained(one.getSources(), rank))
      continue;
    bool isEmpty = transfer.getBody().front().empty();
    InFlightDiagnostic diag = one.emitOpError("waits for ranks ")
                              << listRanks(one.getSources()) << ", not for "
                              << source.nameRank(rank)
                              << (isEmpty ? ", which answers with nothing to "
                                            "send"
                                          : ", which sends")
                              << ": the request would be ready without it";
    diag.attachNote(transfer.getLoc()) << "its transfer is here";
    return diag;
  }
  return success();
}

LogicalResult MigrateVerifier::run() {
  if (static_cast<int64_t>(op.getPrefixUnit()) < 1)
    return op.emitOpError("has prefixes in units of ")
           << static_cast<int64_t>(op.getPrefixUnit())
           << " tokens, expected at least 1";
  if (failed(verifyPlanes()))
    return failure();
  for (Operation &nested : op.getBody().front()) {
    if (isa<ReadyOp, LifetimeOp, SlotOp>(nested))
      continue;
    auto transfer = dyn_cast<TransferOp>(nested);
    if (!transfer)
      return nested.emitOpError("is in a migration, expected kv.transfer, "
                                "kv.ready, kv.lifetime or kv.slot");
    if (failed(verifyRank(transfer, source, transfer.getSource())) ||
        failed(verifyRank(transfer, target, transfer.getTarget())))
      return failure();
    for (SendOp send : transfer.getOps<SendOp>())
      if (failed(verifySend(transfer, send)))
        return failure();
  }
  return failure(failed(verifyComplete()) || failed(verifyReady()) ||
                 failed(verifyCompletion()));
}

/// What is stated is what the transfers need.
LogicalResult MigrateVerifier::verifyCompletion() {
  bool isStated = op.getReadiness() || op.getKeys() || op.getLanes() ||
                  !op.getOps<LifetimeOp>().empty() ||
                  !op.getOps<SlotOp>().empty() ||
                  llvm::any_of(op.getOps<ReadyOp>(), [](ReadyOp ready) {
                    return ready.getReports().has_value();
                  });
  if (!isStated)
    return success();
  if (!op.getLanes() && !op.getOps<SlotOp>().empty())
    return op.emitOpError("has relay slots, but no 'lanes' for them");
  FailureOr<Plan> plan = readMigration(op);
  if (failed(plan))
    return failure();
  std::string fault = findCompletionFault(*plan);
  return fault.empty() ? success() : op.emitOpError("is wrong at ") << fault;
}

LogicalResult ReadyOp::verify() {
  size_t sources = getSources().size();
  size_t reports = getReports() ? getReports()->size() : 0;
  size_t completions = getCompletions() ? getCompletions()->size() : 0;
  if (getReports().has_value() != getCompletions().has_value() ||
      (getReports() && (reports != sources || completions != sources)))
    return emitOpError("has ")
           << reports << " sets of reports and " << completions
           << " counts of completions for " << sources
           << " ranks, expected one of each for every rank, or none";
  return success();
}

LogicalResult MigrateOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto find = [&](FlatSymbolRefAttr name) -> PoolOp {
    auto pool = symbols.lookupNearestSymbolFrom<PoolOp>(*this, name);
    if (!pool)
      emitOpError("names ") << name << ", which is no kv.pool";
    return pool;
  };
  PoolOp source = find(getSourceAttr());
  PoolOp target = source ? find(getTargetAttr()) : PoolOp();
  if (!target)
    return failure();
  return MigrateVerifier(*this, source, target).run();
}
