//===- ReadMigration.cpp - the plan that a migration says -----------------===//
#include "dialects/KV/KV.h"
#include "dialects/KV/PlanConversion.h"
#include "kv/CompletePlan.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace layline::kv;
using namespace layline::kv::ir;

static TokenPart getPart(TokensAttr tokens) {
  TokenPart part;
  switch (tokens.getKind()) {
  case TokensKind::Whole:
  case TokensKind::TopK: // refused by the verifier
    break;
  case TokensKind::Contiguous:
    part.kind = TokenPart::Kind::Contiguous;
    break;
  case TokensKind::Zigzag:
    part.kind = TokenPart::Kind::Zigzag;
    break;
  case TokensKind::Cyclic:
    part.kind = TokenPart::Kind::Cyclic;
    break;
  case TokensKind::Room:
    part.kind = TokenPart::Kind::Room;
    break;
  }
  part.index = tokens.getIndex();
  part.parts = tokens.getParts();
  part.unit = tokens.getUnit();
  part.of =
      tokens.getPerChunk() ? TokenPart::Of::Chunk : TokenPart::Of::Request;
  return part;
}

static int findPlane(const Plan &plan, StringRef name) {
  for (auto [number, plane] : llvm::enumerate(plan.planes))
    if (plane.name == name)
      return static_cast<int>(number);
  return -1; // not of a module that has verified
}

static Move readSend(const Plan &plan, const Transfer &transfer, SendOp send) {
  const Rank &from = plan.source.ranks[transfer.source];
  const Rank &to = plan.target.ranks[transfer.target];
  Move move;
  for (StringRef name : send.getPlanes().getAsValueRange<StringAttr>())
    move.planes.push_back(findPlane(plan, name));
  int plane = move.planes.front();
  move.grain = static_cast<Grain>(send.getGrain());
  int64_t head = send.getHead();
  move.sourceHead =
      head - getHeads(plan.planes[plane], plan.source, from).begin;
  move.targetHead = static_cast<int64_t>(send.getTargetHead().value_or(head)) -
                    getHeads(plan.planes[plane], plan.target, to).begin;
  move.heads = send.getHeads();
  move.share = getPart(send.getTokens());
  LayersAttr targets = send.getTargetLayers().value_or(send.getLayers());
  for (auto [a, b] : llvm::zip(send.getLayers().getIds(), targets.getIds())) {
    LayerRun run{from.getOrdinal(plan.source.planes[plane].buffer, a),
                 to.getOrdinal(plan.target.planes[plane].buffer, b), 1};
    if (!move.layers.empty()) {
      LayerRun &last = move.layers.back();
      if (last.source + last.count == run.source &&
          last.target + last.count == run.target) {
        ++last.count;
        continue;
      }
    }
    move.layers.push_back(run);
  }
  return move;
}

/// What is not stated follows from the transfers.
static void readCompletion(MigrateOp migrate, Plan &plan) {
  completePlan(plan, kDefaultLanes);
  Readiness &readiness = plan.readiness;
  if (std::optional<ReadinessAttr> rules = migrate.getReadiness()) {
    readiness.when = static_cast<Readiness::When>(rules->getWhen());
    readiness.counting = static_cast<Readiness::Counting>(rules->getCounting());
    readiness.reporting =
        static_cast<Readiness::Reporting>(rules->getReporting());
    readiness.naming = static_cast<Readiness::Naming>(rules->getNaming());
    readiness.failure = static_cast<Readiness::Failure>(rules->getFailure());
  }
  if (std::optional<ArrayAttr> keys = migrate.getKeys()) {
    readiness.keys.clear();
    for (StringRef key : keys->getAsValueRange<StringAttr>())
      readiness.keys.push_back(key.str());
  }
  for (ReadyOp ready : migrate.getOps<ReadyOp>()) {
    if (!ready.getReports() || !ready.getCompletions())
      continue;
    std::vector<Responder> &own = readiness.targets[ready.getTarget()];
    own.clear();
    for (auto [source, reports, completions] : llvm::zip(
             ready.getSources(), ready.getReports()->getAsRange<ReportSetAttr>(),
             *ready.getCompletions()))
      own.push_back({static_cast<int>(source),
                     static_cast<unsigned>(reports.getValue()),
                     static_cast<int>(completions)});
    llvm::sort(own, [](const Responder &a, const Responder &b) {
      return a.source < b.source;
    });
  }
  if (!migrate.getOps<LifetimeOp>().empty())
    plan.lifetimes.clear();
  for (LifetimeOp lifetime : migrate.getOps<LifetimeOp>())
    plan.lifetimes.push_back({static_cast<Store>(lifetime.getStore()),
                              lifetime.getName().str(),
                              static_cast<Moment>(lifetime.getFrom()),
                              static_cast<Moment>(lifetime.getUntil()),
                              static_cast<Moment>(lifetime.getAfterFailure()),
                              static_cast<Reuse>(lifetime.getReuse())});
  std::optional<uint64_t> lanes = migrate.getLanes();
  if (!lanes)
    return;
  plan.relay = {};
  plan.relay.lanes = static_cast<int>(*lanes);
  for (SlotOp slot : migrate.getOps<SlotOp>()) {
    RelaySlot next;
    next.isAtSource = slot.getAt() == SlotPlace::Source;
    next.source = static_cast<int>(slot.getSource());
    next.target = static_cast<int>(slot.getTarget());
    next.lane = static_cast<int>(slot.getLane());
    next.bytes = slot.getBytes();
    next.maxDescriptors = slot.getMaxDescriptors();
    next.transfers.assign(slot.getTransfers().begin(),
                          slot.getTransfers().end());
    plan.relay.slots.push_back(std::move(next));
  }
}

FailureOr<Plan> layline::kv::readMigration(ModuleOp module) {
  auto migrations = llvm::to_vector(module.getOps<MigrateOp>());
  if (migrations.size() != 1)
    return module.emitError("has ")
           << migrations.size() << " migrations, expected one";
  return readMigration(migrations.front());
}

FailureOr<Plan> layline::kv::readMigration(MigrateOp migrate) {
  auto source = SymbolTable::lookupNearestSymbolFrom<PoolOp>(
      migrate, migrate.getSourceAttr());
  auto target = SymbolTable::lookupNearestSymbolFrom<PoolOp>(
      migrate, migrate.getTargetAttr());
  if (!source || !target)
    return migrate.emitOpError("names no pools");
  Plan plan;
  plan.model = migrate.getModel().value_or("").str();
  plan.profile = migrate.getProfile().str();
  plan.planes = getPlanes(source);
  plan.source = getSide(source);
  plan.target = getSide(target);
  plan.policy.roundsToPages = migrate.getRoundsToPages();
  plan.policy.prefixUnit = migrate.getPrefixUnit();
  plan.policy.maxDescriptors = migrate.getMaxDescriptors();
  plan.policy.slotBytes = migrate.getSlotBytes();
  plan.responders.resize(plan.target.ranks.size());
  for (Operation &op : migrate.getBody().front()) {
    if (auto ready = dyn_cast<ReadyOp>(op)) {
      std::vector<int> &ranks = plan.responders[ready.getTarget()];
      ranks.assign(ready.getSources().begin(), ready.getSources().end());
      llvm::sort(ranks);
      continue;
    }
    auto transfer = dyn_cast<TransferOp>(op);
    if (!transfer)
      continue; // readCompletion
    Transfer next;
    next.source = static_cast<int>(transfer.getSource());
    next.target = static_cast<int>(transfer.getTarget());
    next.packing = static_cast<Packing>(transfer.getPacking());
    next.batching = static_cast<Batching>(transfer.getBatching());
    next.isWithLastChunk = transfer.getWithLastChunk();
    for (SendOp send : transfer.getOps<SendOp>())
      next.moves.push_back(readSend(plan, next, send));
    plan.transfers.push_back(std::move(next));
  }
  readCompletion(migrate, plan);
  return plan;
}
