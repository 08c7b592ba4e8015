//===- SendOps.cpp - what is sent resides, and arrives where it belongs ---===//
#include "MigrateVerifier.h"

using namespace mlir;
using namespace layline::kv;
using namespace layline::kv::ir;

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
