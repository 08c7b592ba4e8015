//===- MigrateOps.cpp - what goes from pool to pool is there --------------===//
#include "dialects/KV/KV.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace layline::kv;
using namespace layline::kv::ir;

namespace {

/// One of the two pools of a migration.
struct End {
  StringRef name; ///< "source" or "target"
  PoolOp pool;
  Side side;

  int64_t countRanks() const { return static_cast<int64_t>(side.ranks.size()); }
  std::string nameRank(int64_t rank) const;
  /// Ranks that keep a layer of a plane, and heads of it.
  std::vector<int64_t> findHolders(int plane, int64_t layer) const;
};

class MigrateVerifier {
public:
  MigrateVerifier(MigrateOp op, PoolOp source, PoolOp target)
      : op(op), source{"source", source, getSide(source)},
        target{"target", target, getSide(target)}, planes(getPlanes(source)) {}

  LogicalResult run();

private:
  LogicalResult verifyPlanes();
  LogicalResult verifyPlane(PlaneAttr from, PlaneAttr to);
  LogicalResult verifyRank(Operation *at, const End &end, int64_t rank);
  LogicalResult verifySend(TransferOp transfer, SendOp send);
  LogicalResult verifyTokens(TransferOp transfer, SendOp send);
  LogicalResult verifyLayers(TransferOp transfer, SendOp send, int plane);
  LogicalResult verifyHeads(TransferOp transfer, SendOp send, int plane);
  LogicalResult verifyPages(TransferOp transfer, SendOp send, int plane);
  LogicalResult verifyResident(SendOp send, const End &end, int64_t rank,
                               int plane, int64_t layer);
  LogicalResult verifyComplete();
  LogicalResult verifyReady();
  OwnerBroadcastOp findBroadcast(const Plane &plane, int64_t layer);
  int findPlane(StringRef name) const {
    for (auto [number, plane] : llvm::enumerate(planes))
      if (plane.name == name)
        return static_cast<int>(number);
    return -1;
  }

  MigrateOp op;
  End source, target;
  std::vector<Plane> planes;
  /// By target rank: planes that are sent to it.
  std::map<int64_t, llvm::SmallBitVector> sent;
};

} // namespace

static std::string listRanks(ArrayRef<int64_t> ranks) {
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
// Sends
//===----------------------------------------------------------------------===//

/// The op that brings a layer to ranks that do not keep it.
OwnerBroadcastOp MigrateVerifier::findBroadcast(const Plane &plane,
                                                int64_t layer) {
  OwnerBroadcastOp found;
  op->getParentOp()->walk([&](OwnerBroadcastOp broadcast) {
    bool isOf =
        broadcast.getPool() == source.pool.getSymName() &&
        static_cast<int64_t>(broadcast.getLayer()) == layer &&
        llvm::is_contained(broadcast.getPlanes().getAsValueRange<StringAttr>(),
                           StringRef(plane.name));
    if (!found && isOf)
      found = broadcast;
  });
  return found;
}

LogicalResult MigrateVerifier::verifyResident(SendOp send, const End &end,
                                              int64_t rank, int plane,
                                              int64_t layer) {
  const Rank &at = end.side.ranks[rank];
  int buffer = end.side.planes[plane].buffer;
  if (at.getOrdinal(buffer, layer) >= 0)
    return success();
  bool isSource = end.name == "source";
  OwnerBroadcastOp broadcast =
      isSource ? findBroadcast(planes[plane], layer) : OwnerBroadcastOp();
  std::vector<int64_t> holders = end.findHolders(plane, layer);
  InFlightDiagnostic diag = send.emitOpError(isSource ? "sends" : "writes");
  diag << " layer " << layer << " of plane '" << planes[plane].name
       << (isSource ? "' from " : "' at ") << end.nameRank(rank);
  if (broadcast) {
    diag << ", which has a broadcast copy of it, not a lasting one; it resides "
            "at rank "
         << listRanks(holders);
    diag.attachNote(broadcast.getLoc())
        << "the copy comes from here, into a scratch buffer";
    return diag;
  }
  diag << ", which keeps layers " << describeLayers(at.layers[buffer]);
  if (holders.empty())
    return diag << "; no rank keeps it";
  return diag << "; it resides at rank " << listRanks(holders);
}

LogicalResult MigrateVerifier::verifyLayers(TransferOp transfer, SendOp send,
                                            int plane) {
  LayersAttr to = send.getTargetLayers().value_or(send.getLayers());
  if (to.getIds().size() != send.getLayers().getIds().size())
    return send.emitOpError("sends ") << send.getLayers().getIds().size()
                                      << " layers as " << to.getIds().size();
  for (auto [a, b] : llvm::zip(send.getLayers().getIds(), to.getIds())) {
    if (failed(verifyResident(send, source, transfer.getSource(), plane, a)) ||
        failed(verifyResident(send, target, transfer.getTarget(), plane, b)))
      return failure();
    if (a != b)
      return send.emitOpError("pairs layer ")
             << a << " of plane '" << planes[plane].name << "' at "
             << source.nameRank(transfer.getSource()) << " with layer " << b
             << " at " << target.nameRank(transfer.getTarget())
             << ": layers are paired by their numbers in the model, not by "
                "position, expected layer "
             << b;
  }
  return success();
}

LogicalResult MigrateVerifier::verifyHeads(TransferOp transfer, SendOp send,
                                           int plane) {
  int64_t head = send.getHead(), count = send.getHeads();
  int64_t to = send.getTargetHead().value_or(head);
  const Plane &of = planes[plane];
  if (count < 1)
    return send.emitOpError("sends ") << count << " heads, expected at least 1";
  if (of.heads == 1 && (head != 0 || count != 1))
    return send.emitOpError("sends heads ")
           << head << " to " << head + count - 1 << " of plane '" << of.name
           << "', whose rows have no heads to be cut by, expected head 0";
  auto verify = [&](const End &end, int64_t rank, StringRef verb,
                    int64_t first) -> LogicalResult {
    HeadRange own = ::layline::kv::getHeads(of, end.side, end.side.ranks[rank]);
    if (first >= own.begin && first + count <= own.end)
      return success();
    return send.emitOpError(verb)
           << " heads " << first << " to " << first + count - 1 << " of plane '"
           << of.name << "' at " << end.nameRank(rank) << ", which keeps heads "
           << own.begin << " to " << own.end - 1;
  };
  if (failed(verify(source, transfer.getSource(), "sends", head)) ||
      failed(verify(target, transfer.getTarget(), "writes", to)))
    return failure();
  if (head != to)
    return send.emitOpError("sends head ")
           << head << " of plane '" << of.name << "' as head " << to
           << ", expected head " << head;
  return success();
}

/// What is sent is that part of what both keep; is it all that it should be?
LogicalResult MigrateVerifier::verifyTokens(TransferOp transfer, SendOp send) {
  TokensAttr tokens = send.getTokens();
  std::string name = cast<StringAttr>(send.getPlanes()[0]).str();
  if (tokens.getKind() == TokensKind::TopK)
    return send.emitOpError("sends the ")
           << tokens.getParts() << " positions of plane '" << name
           << "' that one query has selected: the next selects others, "
              "expected every position that the target keeps";
  // Only ranks that own the same layers, and keep the same heads, can share
  // out their tokens.
  int plane = findPlane(name);
  if (source.pool.getResidency().getRule() != LayerRule::Owners || plane < 0 ||
      tokens.getKind() == TokensKind::Whole)
    return success();
  for (int64_t layer : send.getLayers().getIds()) {
    int64_t count = 0;
    for (int64_t rank : source.findHolders(plane, layer)) {
      HeadRange own = ::layline::kv::getHeads(planes[plane], source.side,
                                              source.side.ranks[rank]);
      int64_t head = send.getHead();
      count += head >= own.begin && head < own.end;
    }
    if (count == 0 || tokens.getParts() <= count)
      continue;
    return send.emitOpError("sends 1/")
           << tokens.getParts() << " of the tokens of layer " << layer
           << " of plane '" << name << "', which "
           << source.nameRank(transfer.getSource()) << " owns: " << count
           << (count == 1 ? " rank keeps" : " ranks keep") << " it, "
           << tokens.getParts() - count << "/" << tokens.getParts()
           << " would be lost, expected every token";
  }
  return success();
}

/// A page is the same bytes on both sides.
LogicalResult MigrateVerifier::verifyPages(TransferOp transfer, SendOp send,
                                           int plane) {
  if (planes[plane].isState)
    return send.emitOpError("sends pages of plane '")
           << planes[plane].name << "', which is a state, one item";
  if (source.side.pageTokens != target.side.pageTokens)
    return send.emitOpError("sends whole pages, of ")
           << source.side.pageTokens << " tokens at the source and of "
           << target.side.pageTokens << " at the target";
  const Placement &a = source.side.planes[plane],
                  &b = target.side.planes[plane];
  if (a.pageBytes != b.pageBytes || a.offset != b.offset ||
      a.tokenStride != b.tokenStride || a.headStride != b.headStride)
    return send.emitOpError("sends whole pages, in which plane '")
           << planes[plane].name << "' lies at " << a.offset << " strides ["
           << a.tokenStride << ", " << a.headStride << "] of " << a.pageBytes
           << " bytes at the source and at " << b.offset << " strides ["
           << b.tokenStride << ", " << b.headStride << "] of " << b.pageBytes
           << " at the target";
  HeadRange own = ::layline::kv::getHeads(
      planes[plane], source.side, source.side.ranks[transfer.getSource()]);
  int64_t head = send.getHead(), end = head + send.getHeads();
  if (head != own.begin || end != own.end)
    return send.emitOpError("sends whole pages with heads ")
           << head << " to " << end - 1 << " of plane '" << planes[plane].name
           << "', a page has heads " << own.begin << " to " << own.end - 1;
  return success();
}

LogicalResult MigrateVerifier::verifySend(TransferOp transfer, SendOp send) {
  int buffer = -1;
  if (send.getPlanes().empty())
    return send.emitOpError("sends no plane");
  if (failed(verifyTokens(transfer, send)))
    return failure();
  for (StringRef name : send.getPlanes().getAsValueRange<StringAttr>()) {
    int plane = findPlane(name);
    if (plane < 0)
      return send.emitOpError("sends plane '")
             << name << "', which @" << source.pool.getSymName()
             << " does not have";
    if (buffer >= 0 && source.side.planes[plane].buffer != buffer)
      return send.emitOpError("sends planes of several buffers together");
    buffer = source.side.planes[plane].buffer;
    if (failed(verifyLayers(transfer, send, plane)) ||
        failed(verifyHeads(transfer, send, plane)))
      return failure();
    if (planes[plane].isState && !transfer.getWithLastChunk())
      return send.emitOpError("sends the state '")
             << name
             << "' with every chunk, before it is final, expected "
                "'with_last_chunk'";
    llvm::SmallBitVector &own = sent[transfer.getTarget()];
    own.resize(planes.size());
    own.set(plane);
    if (send.getGrain() != GrainKind::Page)
      continue;
    for (int other = 0; other < static_cast<int>(planes.size()); ++other) {
      if (source.side.planes[other].buffer != buffer)
        continue;
      if (failed(verifyPages(transfer, send, other)))
        return failure();
      own.set(other); // comes along
    }
  }
  return success();
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
    if (isa<ReadyOp>(nested))
      continue;
    auto transfer = dyn_cast<TransferOp>(nested);
    if (!transfer)
      return nested.emitOpError("is in a migration, expected kv.transfer or "
                                "kv.ready");
    if (failed(verifyRank(transfer, source, transfer.getSource())) ||
        failed(verifyRank(transfer, target, transfer.getTarget())))
      return failure();
    for (SendOp send : transfer.getOps<SendOp>())
      if (failed(verifySend(transfer, send)))
        return failure();
  }
  return failure(failed(verifyComplete()) || failed(verifyReady()));
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
