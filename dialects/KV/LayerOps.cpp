//===- LayerOps.cpp - caches of one side, layer by layer ------------------===//
//
// Ops start in the order in which they stand; they are complete when an event
// says so. What an op waits for is what its events, and what those waited for,
// are the completion of.
//
//===----------------------------------------------------------------------===//
#include "dialects/KV/KV.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace layline::kv;
using namespace layline::kv::ir;

/// The pool that an op names, or null with a message.
static PoolOp lookupPool(Operation *op, FlatSymbolRefAttr name,
                         SymbolTableCollection &symbols) {
  auto pool = symbols.lookupNearestSymbolFrom<PoolOp>(op, name);
  if (!pool)
    op->emitOpError("names ") << name << ", which is no kv.pool";
  return pool;
}

static LogicalResult verifyPlanes(Operation *op, PoolOp pool, ArrayAttr planes,
                                  std::optional<int64_t> layer) {
  if (planes.empty())
    return op->emitOpError("names no plane");
  for (StringRef name : planes.getAsValueRange<StringAttr>()) {
    PlaneAttr plane = pool.lookupPlane(name);
    if (!plane)
      return op->emitOpError("names plane '")
             << name << "', which @" << pool.getSymName() << " does not have";
    if (layer && !llvm::is_contained(plane.getLayers().getIds(), *layer))
      return op->emitOpError("names layer ")
             << *layer << " of plane '" << name << "', which has layers "
             << describeLayers(plane.getLayers().getIds());
  }
  return success();
}

/// The cp rank that owns a layer; -1 if none does.
static int64_t findOwner(PoolOp pool, int64_t layer) {
  ResidencyAttr residency = pool.getResidency();
  for (auto [number, list] : llvm::enumerate(residency.getLayers()))
    if (llvm::is_contained(list.getIds(), layer))
      return static_cast<int64_t>(number) % pool.getAxisSize("cp");
  return -1;
}

/// Ops that are complete when these events are.
static llvm::SetVector<Operation *> getCompleted(ValueRange events) {
  llvm::SetVector<Operation *> completed;
  SmallVector<Value> worklist(events);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val().getDefiningOp();
    if (!op || !completed.insert(op))
      continue;
    for (Value operand : op->getOperands())
      if (isa<EventType>(operand.getType()))
        worklist.push_back(operand);
  }
  return completed;
}

static bool hasPlane(OwnerBroadcastOp op, StringRef plane) {
  return llvm::is_contained(op.getPlanes().getAsValueRange<StringAttr>(),
                            plane);
}

/// All that has used a scratch buffer before `op` has completed.
static LogicalResult verifyQuiescent(Operation *op, Value buffer,
                                     ValueRange after, StringRef what) {
  llvm::SetVector<Operation *> completed = getCompleted(after);
  for (Operation *user : llvm::reverse(llvm::to_vector(buffer.getUsers()))) {
    if (user == op || user->getBlock() != op->getBlock() ||
        !user->isBeforeInBlock(op))
      continue;
    if (isa<ReleaseOp>(user)) {
      InFlightDiagnostic diag =
          op->emitOpError("uses a scratch buffer that has been released");
      diag.attachNote(user->getLoc()) << "it is free since here";
      return diag;
    }
    if (completed.contains(user))
      continue;
    InFlightDiagnostic diag = op->emitOpError(what)
                              << " a scratch buffer before all that uses it "
                                 "has completed, expected its event";
    diag.attachNote(user->getLoc())
        << (isa<PostOp>(user)     ? "it is the source of these sends"
            : isa<AttendOp>(user) ? "it is read here"
                                  : "it is written here");
    return diag;
  }
  return success();
}

/// The last broadcast into a scratch buffer before `op`, or null.
static OwnerBroadcastOp findContent(Operation *op, Value buffer) {
  OwnerBroadcastOp last;
  for (Operation *user : buffer.getUsers())
    if (auto broadcast = dyn_cast<OwnerBroadcastOp>(user))
      if (user->getBlock() == op->getBlock() && user->isBeforeInBlock(op) &&
          (!last || last->isBeforeInBlock(user)))
        last = broadcast;
  return last;
}

/// A scratch buffer is read after it was written and before it is free.
static LogicalResult verifyRead(Operation *op, Value buffer) {
  for (Operation *user : buffer.getUsers())
    if (isa<ReleaseOp>(user) && user->getBlock() == op->getBlock() &&
        user->isBeforeInBlock(op)) {
      InFlightDiagnostic diag =
          op->emitOpError("uses a scratch buffer that has been released");
      diag.attachNote(user->getLoc()) << "it is free since here";
      return diag;
    }
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult RebuildOp::verifySymbolUses(SymbolTableCollection &symbols) {
  PoolOp pool = lookupPool(*this, getPoolAttr(), symbols);
  if (!pool || failed(::verifyPlanes(*this, pool, getPlanes(), getLayer())))
    return failure();
  if (!pool.getCompute())
    return emitOpError("gathers what cp ranks have computed, but @")
           << pool.getSymName() << " does not state its compute split";
  if (getFrom() != *pool.getCompute())
    return emitOpError("gathers tokens dealt out as ")
           << getFrom() << ", but @" << pool.getSymName()
           << " computes them as " << *pool.getCompute();
  if (getFrom().getKind() == DealKind::Whole || getFrom().getAxis() != "cp")
    return emitOpError("gathers over \"cp\" what is not dealt out over it");
  DealAttr kept = pool.getResidency().getTokens();
  if (kept.getKind() != DealKind::Whole)
    return emitOpError("writes every token of the chunk at each rank, but @")
           << pool.getSymName() << " keeps parts of them, " << kept;
  llvm::SmallDenseSet<StringRef> named;
  for (StringRef name : getPlanes().getAsValueRange<StringAttr>()) {
    named.insert(name);
    bool isIndex = isIndexPlane(name);
    if (isIndex != (getForm() == WriteForm::QuantisedPages))
      return emitOpError("writes plane '")
             << name << "' as " << stringifyWriteForm(getForm())
             << (isIndex ? ": its pages are planar, so keys are gathered first "
                           "and quantised then, expected quantised_pages"
                         : ": it is kept as it is computed, expected rows");
  }
  for (PlaneAttr plane : pool.getPlanes().getAsRange<PlaneAttr>())
    for (StringRef name : getPlanes().getAsValueRange<StringAttr>())
      if (plane.getBuffer() == pool.lookupPlane(name).getBuffer() &&
          !named.contains(plane.getName()))
        return emitOpError("writes plane '")
               << name << "' without plane " << plane.getName()
               << " of the same pages";
  return success();
}

LogicalResult ScratchOp::verifySymbolUses(SymbolTableCollection &symbols) {
  PoolOp pool = lookupPool(*this, getPoolAttr(), symbols);
  return failure(
      !pool || failed(::verifyPlanes(*this, pool, getPlanes(), std::nullopt)));
}

LogicalResult
OwnerBroadcastOp::verifySymbolUses(SymbolTableCollection &symbols) {
  PoolOp pool = lookupPool(*this, getPoolAttr(), symbols);
  int64_t layer = getLayer();
  if (!pool || failed(::verifyPlanes(*this, pool, getPlanes(), layer)))
    return failure();
  if (pool.getResidency().getRule() != LayerRule::Owners)
    return emitOpError("broadcasts a layer of @")
           << pool.getSymName() << ", every cp rank of which keeps it";
  int64_t owner = findOwner(pool, layer);
  if (static_cast<int64_t>(getOwner()) != owner)
    return emitOpError("broadcasts layer ")
           << layer << " from cp rank " << getOwner()
           << ", which does not keep it, expected its owner " << owner;
  auto names = llvm::to_vector(getPlanes().getAsValueRange<StringAttr>());
  bool isIndex = isIndexPlane(names.front());
  for (StringRef name : names)
    if (isIndexPlane(name) != isIndex)
      return emitOpError("broadcasts index and main planes together: the "
                         "indexer would wait for rows that it does not need");
  if (auto scratch = getInto().getDefiningOp<ScratchOp>())
    for (StringRef name : names)
      if (!llvm::is_contained(scratch.getPlanes().getAsValueRange<StringAttr>(),
                              name)) {
        InFlightDiagnostic diag = emitOpError("brings plane '")
                                  << name << "' into a buffer of others";
        diag.attachNote(scratch.getLoc()) << "the buffer is made here";
        return diag;
      }
  if (!isIndex) {
    for (PlaneAttr plane : pool.getPlanes().getAsRange<PlaneAttr>()) {
      if (!isIndexPlane(plane.getName()) ||
          !llvm::is_contained(plane.getLayers().getIds(), layer))
        continue;
      OwnerBroadcastOp first;
      for (Operation *op : getCompleted(getAfter()))
        if (auto other = dyn_cast<OwnerBroadcastOp>(op))
          if (static_cast<int64_t>(other.getLayer()) == layer &&
              hasPlane(other, plane.getName()))
            first = other;
      if (!first)
        return emitOpError("broadcasts '")
               << names.front() << "' of layer " << layer << " before its "
               << plane.getName()
               << ": the indexer would wait behind it, expected it after the "
                  "broadcast of the index";
      if (first.getStream() == getStream()) {
        InFlightDiagnostic diag =
            emitOpError("broadcasts on stream ")
            << getStream()
            << " as its index does: the indexer could not run "
               "beside it, expected a second stream";
        diag.attachNote(first.getLoc()) << "the index is broadcast here";
        return diag;
      }
    }
  }
  return verifyQuiescent(*this, getInto(), getAfter(), "re-uses");
}

LogicalResult AttendOp::verifySymbolUses(SymbolTableCollection &symbols) {
  PoolOp pool = lookupPool(*this, getPoolAttr(), symbols);
  if (!pool)
    return failure();
  for (Value buffer : getFrom())
    if (failed(verifyRead(*this, buffer)))
      return failure();
  if (pool.getResidency().getRule() != LayerRule::Owners)
    return success();
  int64_t layer = getLayer();
  llvm::SetVector<Operation *> completed = getCompleted(getAfter());
  for (PlaneAttr plane : pool.getPlanes().getAsRange<PlaneAttr>()) {
    if (plane.getIsState() ||
        !llvm::is_contained(plane.getLayers().getIds(), layer))
      continue;
    OwnerBroadcastOp content;
    for (Value buffer : getFrom())
      if (OwnerBroadcastOp last = findContent(*this, buffer);
          last && hasPlane(last, plane.getName()))
        content = last;
    if (!content)
      return emitOpError("reads plane ")
             << plane.getName() << " of layer " << layer << ", which cp rank "
             << findOwner(pool, layer)
             << " owns, from no scratch buffer with a broadcast of it";
    if (static_cast<int64_t>(content.getLayer()) != layer) {
      InFlightDiagnostic diag = emitOpError("reads plane ")
                                << plane.getName() << " of layer " << layer
                                << " from a buffer that holds layer "
                                << content.getLayer();
      diag.attachNote(content.getLoc()) << "it was written here";
      return diag;
    }
    if (!completed.contains(content)) {
      InFlightDiagnostic diag =
          emitOpError("reads plane ")
          << plane.getName() << " of layer " << layer
          << " before its broadcast has arrived, expected its event";
      diag.attachNote(content.getLoc()) << "the broadcast starts here";
      return diag;
    }
  }
  return success();
}

LogicalResult PostOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (!symbols.lookupNearestSymbolFrom<MigrateOp>(*this, getMigrationAttr()))
    return emitOpError("names ")
           << getMigrationAttr() << ", which is no kv.migrate";
  if (failed(verifyRead(*this, getFrom())))
    return failure();
  OwnerBroadcastOp content = findContent(*this, getFrom());
  if (!content)
    return emitOpError("sends from a scratch buffer that nothing has written");
  if (!getCompleted(getAfter()).contains(content)) {
    InFlightDiagnostic diag = emitOpError(
        "sends from a scratch buffer before what writes it has completed, "
        "expected its event");
    diag.attachNote(content.getLoc()) << "it is written here";
    return diag;
  }
  return success();
}

LogicalResult ReleaseOp::verify() {
  return verifyQuiescent(*this, getBuffer(), getAfter(), "releases");
}
