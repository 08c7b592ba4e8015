//===- EmitMigration.cpp - kv.json's plan as IR ---------------------------===//
#include "dialects/KV/KV.h"
#include "dialects/KV/PlanConversion.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace layline::kv;
using namespace layline::kv::ir;

//===----------------------------------------------------------------------===//
// Pools: what ranks keep, as a rule over a mesh
//===----------------------------------------------------------------------===//

namespace {

class PoolEmitter {
public:
  PoolEmitter(OpBuilder &builder, const Plan &plan, const Side &side,
              StringRef name)
      : builder(builder), plan(plan), side(side), name(name) {}

  /// Null, and a reason, if the ranks follow no rule.
  PoolOp emit(Location loc, std::string &error);

private:
  bool fail(const Twine &text) {
    reason = ("pool '" + name + "': " + text).str();
    return false;
  }
  StringAttr str(StringRef text) { return builder.getStringAttr(text); }
  bool findMesh();
  bool findTokens();
  bool findHeads();
  bool findLayers();
  bool describesTokens(StringRef axis, int64_t group) const;
  int64_t getSize(StringRef axis) const {
    return axis == "pp" ? mesh[0] : axis == "cp" ? mesh[2] : mesh[3];
  }
  PlaneAttr getPlaneAttr(int number);

  OpBuilder &builder;
  const Plan &plan;
  const Side &side;
  StringRef name;
  std::string reason;
  SmallVector<int64_t> mesh = {1, 1, 1, 1};
  DealAttr tokens;
  StringAttr headAxis;
  int64_t headGroup = 1;
  LayerRule rule = LayerRule::All;
  SmallVector<LayersAttr> layers;
};

} // namespace

/// Ranks in row-major order.
bool PoolEmitter::findMesh() {
  for (const Rank &rank : side.ranks) {
    const int64_t at[] = {rank.pp, rank.dp, rank.cp, rank.tp};
    for (size_t axis = 0; axis < mesh.size(); ++axis)
      mesh[axis] = std::max(mesh[axis], at[axis] + 1);
  }
  for (auto [number, rank] : llvm::enumerate(side.ranks)) {
    int64_t index =
        ((rank.pp * mesh[1] + rank.dp) * mesh[2] + rank.cp) * mesh[3] + rank.tp;
    if (index != static_cast<int64_t>(number))
      return fail("rank " + Twine(number) + " is at pp " + Twine(rank.pp) +
                  ", dp " + Twine(rank.dp) + ", cp " + Twine(rank.cp) +
                  ", tp " + Twine(rank.tp) +
                  ", expected ranks in the order of their mesh");
  }
  if (mesh[0] * mesh[1] * mesh[2] * mesh[3] !=
      static_cast<int64_t>(side.ranks.size()))
    return fail(Twine(side.ranks.size()) + " ranks do not fill a mesh");
  return true;
}

bool PoolEmitter::describesTokens(StringRef axis, int64_t group) const {
  return llvm::all_of(side.ranks, [&](const Rank &rank) {
    int64_t at = axis == "cp" ? rank.cp : rank.tp;
    return rank.tokens.index == at % rank.tokens.parts;
  });
}

bool PoolEmitter::findTokens() {
  TokenPart first = side.ranks.front().tokens;
  for (auto [number, rank] : llvm::enumerate(side.ranks)) {
    TokenPart own = rank.tokens;
    own.index = first.index;
    if (!(own == first))
      return fail("rank " + Twine(number) +
                  " has its tokens by another rule than rank 0");
  }
  MLIRContext *context = builder.getContext();
  DealKind kind = DealKind::Whole;
  int64_t unit = first.unit;
  switch (first.kind) {
  case TokenPart::Kind::Whole:
    tokens = DealAttr::get(context, DealKind::Whole, StringAttr(), 0, 1);
    return true;
  case TokenPart::Kind::Room:
    return fail("keeps tokens by room");
  case TokenPart::Kind::Contiguous:
    kind = DealKind::Contiguous;
    break;
  case TokenPart::Kind::PageNumber:
    kind = DealKind::PageNumber;
    break;
  case TokenPart::Kind::Zigzag:
    kind = DealKind::Zigzag;
    break;
  case TokenPart::Kind::Cyclic:
    kind = DealKind::Cyclic;
    if (unit == side.pageTokens && unit > 1) {
      kind = DealKind::PageStriped;
      unit = 1;
    }
    break;
  }
  for (StringRef axis : {"cp", "tp"})
    for (int64_t group : {int64_t(0), first.parts}) {
      int64_t size = getSize(axis);
      if (group == 0 ? size != first.parts : size % group != 0)
        continue;
      if (!describesTokens(axis, group))
        continue;
      tokens = DealAttr::get(context, kind, str(axis), group, unit);
      return true;
    }
  return fail("parts of the tokens follow neither cp nor tp");
}

bool PoolEmitter::findHeads() {
  if (side.headParts > 1) {
    if (mesh[3] % side.headParts)
      return fail(Twine(side.headParts) + " parts of heads over " +
                  Twine(mesh[3]) + " tp ranks");
    headAxis = str("tp");
    headGroup = mesh[3] / side.headParts;
  }
  for (auto [number, rank] : llvm::enumerate(side.ranks))
    if (rank.headIndex != (headAxis ? rank.tp / headGroup : 0))
      return fail("rank " + Twine(number) + " has part " +
                  Twine(rank.headIndex) + " of the heads, expected " +
                  Twine(headAxis ? rank.tp / headGroup : 0));
  return true;
}

bool PoolEmitter::findLayers() {
  // By pp and cp: the layers that a rank has of any plane.
  std::vector<std::set<int64_t>> kept(mesh[0] * mesh[2]);
  std::set<int64_t> all;
  for (const Plane &plane : plan.planes)
    all.insert(plane.layers.begin(), plane.layers.end());
  for (const Rank &rank : side.ranks)
    for (const std::vector<int64_t> &own : rank.layers)
      kept[rank.pp * mesh[2] + rank.cp].insert(own.begin(), own.end());
  for (auto [number, rank] : llvm::enumerate(side.ranks))
    for (auto [plane, place] : llvm::zip(plan.planes, side.planes)) {
      std::vector<int64_t> expected;
      for (int64_t layer : plane.layers)
        if (kept[rank.pp * mesh[2] + rank.cp].count(layer))
          expected.push_back(layer);
      if (rank.layers[place.buffer] != expected)
        return fail("rank " + Twine(number) + " has layers " +
                    describeLayers(rank.layers[place.buffer]) + " of plane '" +
                    plane.name + "', its group " + describeLayers(expected));
    }
  if (llvm::all_of(kept, [&](const auto &own) { return own == all; }))
    return true;
  rule = LayerRule::Stages;
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i] != kept[i / mesh[2] * mesh[2]])
      rule = LayerRule::Owners;
  for (size_t i = 0; i < kept.size();
       i += rule == LayerRule::Stages ? mesh[2] : 1)
    layers.push_back(
        LayersAttr::get(builder.getContext(),
                        SmallVector<int64_t>(kept[i].begin(), kept[i].end())));
  return true;
}

PlaneAttr PoolEmitter::getPlaneAttr(int number) {
  const Plane &plane = plan.planes[number];
  const Placement &place = side.planes[number];
  int64_t tokens = plane.isState ? 1 : side.pageTokens;
  RowOrder order = RowOrder::Strides;
  if (place.tokenStride == place.heads * plane.headBytes &&
      place.headStride == plane.headBytes)
    order = RowOrder::TokenMajor;
  else if (place.tokenStride == plane.headBytes &&
           place.headStride == tokens * plane.headBytes)
    order = RowOrder::HeadMajor;
  bool isGiven = order == RowOrder::Strides;
  return PlaneAttr::get(
      builder.getContext(), str(plane.name), str(plane.dtype), plane.heads,
      plane.headBytes, plane.isState, plane.window,
      LayersAttr::get(builder.getContext(), plane.layers),
      str(side.buffers[place.buffer].name), place.offset, order,
      isGiven ? place.tokenStride : 0, isGiven ? place.headStride : 0);
}

PoolOp PoolEmitter::emit(Location loc, std::string &error) {
  bool isGood = !side.ranks.empty() && side.planes.size() == plan.planes.size();
  if (!isGood)
    fail("no ranks, or other planes than the plan's");
  if (!isGood || !findMesh() || !findTokens() || !findHeads() ||
      !findLayers()) {
    error = reason;
    return {};
  }
  SmallVector<Attribute> buffers, planes;
  for (const Buffer &buffer : side.buffers)
    buffers.push_back(BufferAttr::get(builder.getContext(), str(buffer.name),
                                      str(buffer.table), buffer.pageBytes));
  for (size_t i = 0; i < plan.planes.size(); ++i)
    planes.push_back(getPlaneAttr(static_cast<int>(i)));
  auto residency = ResidencyAttr::get(builder.getContext(), tokens, headAxis,
                                      headGroup, rule, layers);
  // Plans do not say who computes, nor how large pools are.
  return PoolOp::create(
      builder, loc, str(name), builder.getDenseI64ArrayAttr(mesh),
      builder.getI64IntegerAttr(side.pageTokens), IntegerAttr(),
      builder.getArrayAttr(buffers), builder.getArrayAttr(planes), DealAttr(),
      residency, side.spec.empty() ? StringAttr() : str(side.spec));
}

//===----------------------------------------------------------------------===//
// Sends
//===----------------------------------------------------------------------===//

static TokensAttr getTokensAttr(MLIRContext *context, const TokenPart &part) {
  TokensKind kind = TokensKind::Whole;
  switch (part.kind) {
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::PageNumber: // of no share (kv/CheckPlan.h)
    break;
  case TokenPart::Kind::Contiguous:
    kind = TokensKind::Contiguous;
    break;
  case TokenPart::Kind::Zigzag:
    kind = TokensKind::Zigzag;
    break;
  case TokenPart::Kind::Cyclic:
    kind = TokensKind::Cyclic;
    break;
  case TokenPart::Kind::Room:
    kind = TokensKind::Room;
    break;
  }
  return TokensAttr::get(context, kind, part.index, part.parts, part.unit,
                         part.of == TokenPart::Of::Chunk);
}

/// The layers of a rank's buffers of one kind, by the numbers of its list;
/// false if one of them is of another kind, or none.
static bool getLayerIds(const Rank &rank, int buffer, const Move &move,
                        std::int64_t LayerRun::*begin,
                        SmallVectorImpl<int64_t> &ids) {
  int64_t first = 0;
  for (int i = 0; i < buffer; ++i)
    first += static_cast<int64_t>(rank.layers[i].size());
  const std::vector<int64_t> &own = rank.layers[buffer];
  for (const LayerRun &run : move.layers)
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t number = run.*begin + i - first;
      if (number < 0 || number >= static_cast<int64_t>(own.size()))
        return false;
      ids.push_back(own[number]);
    }
  return true;
}

static bool emitSend(OpBuilder &builder, Location loc, const Plan &plan,
                     const Transfer &transfer, const Move &move,
                     std::string &error) {
  const Rank &from = plan.source.ranks[transfer.source];
  const Rank &to = plan.target.ranks[transfer.target];
  int plane = move.planes.front();
  SmallVector<int64_t> sources, targets;
  if (!getLayerIds(from, plan.source.planes[plane].buffer, move,
                   &LayerRun::source, sources) ||
      !getLayerIds(to, plan.target.planes[plane].buffer, move,
                   &LayerRun::target, targets)) {
    error = "source rank " + std::to_string(transfer.source) +
            " to target rank " + std::to_string(transfer.target) +
            ": a layer of plane '" + plan.planes[plane].name +
            "' is none of the rank's";
    return false;
  }
  SmallVector<Attribute> names;
  for (int number : move.planes)
    names.push_back(builder.getStringAttr(plan.planes[number].name));
  MLIRContext *context = builder.getContext();
  int64_t head =
      getHeads(plan.planes[plane], plan.source, from).begin + move.sourceHead;
  int64_t targetHead =
      getHeads(plan.planes[plane], plan.target, to).begin + move.targetHead;
  SendOp::create(
      builder, loc, builder.getArrayAttr(names),
      LayersAttr::get(context, sources),
      sources == targets ? LayersAttr() : LayersAttr::get(context, targets),
      builder.getI64IntegerAttr(head), builder.getI64IntegerAttr(move.heads),
      head == targetHead ? IntegerAttr()
                         : builder.getI64IntegerAttr(targetHead),
      getTokensAttr(context, move.share),
      GrainKindAttr::get(context, static_cast<GrainKind>(move.grain)));
  return true;
}

// Both enums have the same cases in the same order.
static_assert(
    static_cast<int>(GrainKind::Token) == static_cast<int>(Grain::Token) &&
        static_cast<int>(GrainKind::Page) == static_cast<int>(Grain::Page) &&
        static_cast<int>(GrainKind::Free) == static_cast<int>(Grain::Free),
    "grains");
static_assert(static_cast<int>(PackingKind::None) ==
                      static_cast<int>(Packing::None) &&
                  static_cast<int>(PackingKind::Source) ==
                      static_cast<int>(Packing::Source) &&
                  static_cast<int>(PackingKind::Target) ==
                      static_cast<int>(Packing::Target) &&
                  static_cast<int>(PackingKind::Both) ==
                      static_cast<int>(Packing::Both),
              "packings");
static_assert(static_cast<int>(BatchKind::Layer) ==
                      static_cast<int>(Batching::Layer) &&
                  static_cast<int>(BatchKind::All) ==
                      static_cast<int>(Batching::All),
              "batchings");

//===----------------------------------------------------------------------===//
// Completion
//===----------------------------------------------------------------------===//

// Enums of the plan and of the dialect have the same cases in the same order.
static_assert(static_cast<unsigned>(ReportSet::Main) ==
                      static_cast<unsigned>(Report::Main) &&
                  static_cast<unsigned>(ReportSet::Index) ==
                      static_cast<unsigned>(Report::Index) &&
                  static_cast<unsigned>(ReportSet::State) ==
                      static_cast<unsigned>(Report::State) &&
                  static_cast<unsigned>(ReportSet::Auxiliary) ==
                      static_cast<unsigned>(Report::Auxiliary),
              "reports");
static_assert(static_cast<int>(StoreKind::TargetSlots) ==
                      static_cast<int>(Store::TargetSlots) &&
                  static_cast<int>(StoreKind::BroadcastScratch) ==
                      static_cast<int>(Store::BroadcastScratch),
              "stores");
static_assert(static_cast<int>(MomentKind::Consumed) ==
                      static_cast<int>(Moment::Consumed) &&
                  static_cast<int>(MomentKind::Quiet) ==
                      static_cast<int>(Moment::Quiet),
              "moments");
static_assert(static_cast<int>(ReuseKind::NextLayer) ==
                  static_cast<int>(Reuse::NextLayer),
              "reuses");

static ReadinessAttr getReadinessAttr(MLIRContext *context,
                                      const Readiness &readiness) {
  return ReadinessAttr::get(context, static_cast<ReadyWhen>(readiness.when),
                            static_cast<ReadyCounting>(readiness.counting),
                            static_cast<ReadyReporting>(readiness.reporting),
                            static_cast<ReadyNaming>(readiness.naming),
                            static_cast<ReadyFailure>(readiness.failure));
}

static void emitCompletion(OpBuilder &builder, Location loc, const Plan &plan) {
  MLIRContext *context = builder.getContext();
  for (auto [target, ranks] : llvm::enumerate(plan.responders)) {
    SmallVector<Attribute> reports;
    SmallVector<int64_t> completions;
    for (const Responder &responder : plan.readiness.targets[target]) {
      reports.push_back(
          ReportSetAttr::get(context, static_cast<ReportSet>(responder.reports)));
      completions.push_back(responder.completions);
    }
    ReadyOp::create(builder, loc, builder.getI64IntegerAttr(target),
                    builder.getDenseI64ArrayAttr(
                        SmallVector<int64_t>(ranks.begin(), ranks.end())),
                    builder.getArrayAttr(reports),
                    builder.getDenseI64ArrayAttr(completions));
  }
  for (const Lifetime &lifetime : plan.lifetimes)
    LifetimeOp::create(builder, loc, static_cast<StoreKind>(lifetime.store),
                       lifetime.name, static_cast<MomentKind>(lifetime.from),
                       static_cast<MomentKind>(lifetime.until),
                       static_cast<MomentKind>(lifetime.afterFailure),
                       static_cast<ReuseKind>(lifetime.reuse));
  for (const RelaySlot &slot : plan.relay.slots)
    SlotOp::create(
        builder, loc, slot.isAtSource ? SlotPlace::Source : SlotPlace::Target,
        slot.source, slot.target, slot.lane, slot.bytes, slot.maxDescriptors,
        SmallVector<int64_t>(slot.transfers.begin(), slot.transfers.end()));
}

OwningOpRef<ModuleOp> layline::kv::emitMigration(MLIRContext *context,
                                                 const Plan &plan,
                                                 std::string &error) {
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  builder.setInsertionPointToEnd(module->getBody());
  for (auto [side, name] :
       {std::pair<const Side *, StringRef>(&plan.source, "source"),
        {&plan.target, "target"}})
    if (!PoolEmitter(builder, plan, *side, name).emit(loc, error))
      return {};
  auto migrate = MigrateOp::create(
      builder, loc, builder.getStringAttr("migration"),
      FlatSymbolRefAttr::get(context, "source"),
      FlatSymbolRefAttr::get(context, "target"),
      builder.getStringAttr(plan.profile),
      builder.getI64IntegerAttr(plan.policy.maxDescriptors),
      builder.getI64IntegerAttr(plan.policy.slotBytes),
      plan.policy.roundsToPages ? builder.getUnitAttr() : UnitAttr(),
      builder.getI64IntegerAttr(plan.policy.prefixUnit),
      plan.model.empty() ? StringAttr() : builder.getStringAttr(plan.model),
      getReadinessAttr(context, plan.readiness),
      builder.getStrArrayAttr(SmallVector<StringRef>(
          plan.readiness.keys.begin(), plan.readiness.keys.end())),
      builder.getI64IntegerAttr(plan.relay.lanes));
  builder.createBlock(&migrate.getBody());
  for (const Transfer &transfer : plan.transfers) {
    OpBuilder::InsertionGuard guard(builder);
    auto op = TransferOp::create(
        builder, loc, builder.getI64IntegerAttr(transfer.source),
        builder.getI64IntegerAttr(transfer.target),
        PackingKindAttr::get(context,
                             static_cast<PackingKind>(transfer.packing)),
        BatchKindAttr::get(context, static_cast<BatchKind>(transfer.batching)),
        transfer.isWithLastChunk ? builder.getUnitAttr() : UnitAttr());
    builder.createBlock(&op.getBody());
    for (const Move &move : transfer.moves)
      if (!emitSend(builder, loc, plan, transfer, move, error))
        return {};
  }
  emitCompletion(builder, loc, plan);
  return module;
}
