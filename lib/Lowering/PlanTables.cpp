//===- PlanTables.cpp - what all variants of a plan share -----------------===//
#include "PlanTables.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;

PlanTables::PlanTables(PlanOp plan) : plan(plan), builder(plan.getContext()) {}

OpBuilder &PlanTables::in(Section section) {
  for (int s = section; s >= 0; --s)
    if (last[s]) {
      builder.setInsertionPointAfter(last[s]);
      return builder;
    }
  builder.setInsertionPointToStart(&plan.getBody().front());
  return builder;
}

void PlanTables::addSymbol(StringRef id, int64_t min, int64_t max) {
  make<SymbolOp>(Symbols, plan.getLoc(), id, min, max);
}

void PlanTables::addStream(StringRef id) {
  make<StreamOp>(Streams, plan.getLoc(), id);
}

FailureOr<FlatSymbolRefAttr>
PlanTables::getRange(Location loc, grid::SplitAttr split, int64_t size) {
  std::string name = getRangeName(split, size);
  if (FlatSymbolRefAttr known = ranges.lookup(name))
    return known;
  // The last split of a chain deals out what the others leave to a rank.
  grid::SplitAttr last = split.getChain().back();
  StringAttr axis = last.getAxis();
  std::optional<int64_t> ranks = getAxisSize(axis);
  if (!ranks)
    return emitError(loc) << "a layout splits over " << axis
                          << ", which is no axis of the mesh";
  Expr items = ShapedType::isDynamic(size) ? Expr::symbol("tokens")
                                           : Expr(size / split.getUnit());
  FlatSymbolRefAttr within;
  if (grid::SplitAttr outer = split.withoutLast()) {
    FailureOr<FlatSymbolRefAttr> range = getRange(loc, outer, size);
    if (failed(range))
      return failure();
    within = *range;
    items = Expr::size(within.getValue().str());
  }
  std::optional<RangeKind> kind =
      symbolizeRangeKind(grid::stringifyPartitionKind(last.getKind()));
  std::vector<SegmentExpr> segments = getSegmentExprs(
      grid::toPartition(last), items, *ranks, Expr::rank(axis.str()));
  if (!kind || segments.empty())
    return emitError(loc) << "a layout is split by '"
                          << grid::stringifyPartitionKind(last.getKind())
                          << "', which the plan format has no range for";
  isSegmented |= within || last.getKind() == grid::PartitionKind::Zigzag ||
                 last.getKind() == grid::PartitionKind::Cyclic;
  IntegerAttr argument = builder.getI64IntegerAttr(last.getArgument());
  // The table may have grown.
  FlatSymbolRefAttr &entry = ranges[name];
  entry = FlatSymbolRefAttr::get(plan.getContext(), name);
  make<RangeOp>(Ranges, loc, name, *kind, axis,
                launch::toAttribute(plan.getContext(), items),
                last.hasQueryHeads() || last.isRouted() ? argument
                                                        : IntegerAttr(),
                *kind == RangeKind::Cyclic ? argument : IntegerAttr(), within,
                toAttribute(segments));
  return entry;
}

ArrayAttr PlanTables::toAttribute(ArrayRef<SegmentExpr> segments) {
  SmallVector<Attribute, 2> list;
  MLIRContext *context = plan.getContext();
  for (const SegmentExpr &segment : segments) {
    SmallVector<Attribute, 4> parts = {
        launch::toAttribute(context, segment.begin),
        launch::toAttribute(context, segment.size)};
    if (segment.stride)
      parts.append({builder.getI64IntegerAttr(segment.block),
                    builder.getI64IntegerAttr(segment.stride)});
    list.push_back(builder.getArrayAttr(parts));
  }
  return builder.getArrayAttr(list);
}

LogicalResult PlanTables::addRanges(Location loc, Type type) {
  auto [entry, isNew] = rangedTypes.try_emplace(type, true);
  if (!isNew)
    return success(entry->second);
  auto tensor = cast<RankedTensorType>(type);
  auto layout = grid::getLayout(tensor);
  if (!layout) {
    entry->second = false;
    return emitError(loc) << "a value has the type " << type
                          << ", expected a layout: place the program first";
  }
  if (!layout.getPadding().empty()) {
    entry->second = false;
    return emitError(loc) << "a value has the type " << type
                          << ", whose padding the plan format has no words for";
  }
  for (auto [dim, split] : llvm::enumerate(layout.getDims()))
    if (split && failed(getRange(loc, split, tensor.getDimSize(dim)))) {
      rangedTypes[type] = false;
      return failure();
    }
  return success();
}

FailureOr<FlatSymbolRefAttr> PlanTables::getWeight(decoder::WeightOp op) {
  auto tensor = cast<RankedTensorType>(op.getType());
  if (failed(addRanges(op.getLoc(), tensor)))
    return failure();
  // The stored tensor, the window of it, and where it goes.
  auto orUnit = [&](Attribute attr) {
    return attr ? attr : Attribute(builder.getUnitAttr());
  };
  Attribute key = builder.getArrayAttr(
      {op.getKeyAttr(), orUnit(op.getRowsAttr()), orUnit(op.getPeriodAttr()),
       builder.getBoolAttr(op.getStoredStack()),
       builder.getBoolAttr(op.getTransposed()), TypeAttr::get(tensor)});
  FlatSymbolRefAttr &symbol = weights[key];
  if (symbol)
    return symbol;
  std::string name = "w" + std::to_string(numWeights++);
  symbol = FlatSymbolRefAttr::get(plan.getContext(), name);
  make<launch::WeightOp>(
      Weights, op.getLoc(), name, op.getKey(), op.getStoredShape(),
      op.getRowsAttr(), op.getPeriodAttr(), op.getStoredStack(),
      op.getTransposed(), getLargestBytes(plan, tensor, 0), tensor);
  return symbol;
}

static Plane toPlane(decoder::Plane plane) {
  switch (plane) {
  case decoder::Plane::Key:
    return Plane::Key;
  case decoder::Plane::Value:
    return Plane::Value;
  case decoder::Plane::Positions:
    return Plane::Positions;
  case decoder::Plane::Latent:
    return Plane::Latent;
  case decoder::Plane::RopeKey:
    return Plane::RopeKey;
  case decoder::Plane::IndexKey:
    return Plane::IndexKey;
  }
  return Plane::Positions;
}

FailureOr<FlatSymbolRefAttr> PlanTables::getCache(decoder::CacheOp op) {
  Plane plane = toPlane(op.getPlane());
  std::string name = stringifyPlane(plane).str();
  if (plane != Plane::Positions)
    name = "layer." + std::to_string(op.getLayer()) + "." + name;
  auto tensor = cast<RankedTensorType>(op.getType());
  if (failed(addRanges(op.getLoc(), tensor)))
    return failure();
  launch::CacheOp &cache = caches[name];
  if (!cache)
    cache = make<launch::CacheOp>(Caches, op.getLoc(), name, op.getLayer(),
                                  plane, tensor);
  if (cache.getType() != tensor) {
    InFlightDiagnostic diag = op.emitOpError("keeps ")
                              << tensor << " in the cache '" << name
                              << "', but " << cache.getType() << " elsewhere";
    diag.attachNote(cache.getLoc()) << "that one is here";
    return diag;
  }
  return FlatSymbolRefAttr::get(plan.getContext(), name);
}

FlatSymbolRefAttr PlanTables::getTable(Location loc,
                                       decoder::RopeTableAttr table) {
  FlatSymbolRefAttr &symbol = tables[table];
  if (symbol)
    return symbol;
  std::string name = "rope." + std::to_string(tables.size() - 1);
  symbol = FlatSymbolRefAttr::get(plan.getContext(), name);
  bool isLong = static_cast<bool>(table.getLongInvFreq());
  make<TableOp>(Tables, loc, builder.getStringAttr(name), table.getInvFreq(),
                table.getFactor(),
                isLong ? builder.getI64IntegerAttr(table.getAbove())
                       : IntegerAttr(),
                table.getLongInvFreq(), table.getLongFactor());
  return symbol;
}

FailureOr<FlatSymbolRefAttr> PlanTables::getGroup(Location loc,
                                                  ArrayRef<StringAttr> axes) {
  std::string name;
  int64_t ranks = 1;
  SmallVector<Attribute, 2> list;
  for (StringAttr axis : axes) {
    std::optional<int64_t> size = getAxisSize(axis);
    if (!size)
      return emitError(loc) << "a collective is over " << axis
                            << ", which is no axis of the mesh";
    ranks *= *size;
    name += (name.empty() ? "" : "+") + axis.str();
    list.push_back(axis);
  }
  FlatSymbolRefAttr &symbol = groups[name];
  if (!symbol) {
    symbol = FlatSymbolRefAttr::get(plan.getContext(), name);
    make<GroupOp>(Groups, loc, name, builder.getArrayAttr(list), ranks);
  }
  return symbol;
}

FlatSymbolRefAttr PlanTables::getFlag(Location loc, FlatSymbolRefAttr group) {
  FlatSymbolRefAttr &symbol = flags[group.getValue()];
  if (!symbol) {
    std::string name = "f." + group.getValue().str();
    symbol = FlatSymbolRefAttr::get(plan.getContext(), name);
    auto groupOp = plan.lookupSymbol<GroupOp>(group.getValue());
    SmallVector<Attribute> key;
    for (Attribute axis : plan.getAxes())
      if (!llvm::is_contained(groupOp.getAxes(), axis))
        key.push_back(axis);
    make<FlagOp>(Flags, loc, builder.getStringAttr(name), group,
                 builder.getArrayAttr(key));
  }
  return symbol;
}

FlatSymbolRefAttr PlanTables::getKernel(Location loc, ArrayAttr ops, Type dtype,
                                        FlatSymbolRefAttr group) {
  Attribute key =
      builder.getArrayAttr({ops, TypeAttr::get(dtype),
                            group ? Attribute(group) : builder.getUnitAttr()});
  FlatSymbolRefAttr &symbol = kernels[key];
  if (!symbol) {
    std::string name = "k" + std::to_string(kernels.size() - 1);
    symbol = FlatSymbolRefAttr::get(plan.getContext(), name);
    make<KernelOp>(Kernels, loc, name, ops, dtype, group);
  }
  return symbol;
}

LogicalResult PlanTables::addInput(Location loc, StringAttr id,
                                   RankedTensorType tensor) {
  // The caller binds the global tensor.
  tensor = grid::withLayout(tensor, {});
  InputOp &input = inputs[id.getValue()];
  if (!input)
    input = make<InputOp>(Inputs, loc, id, TypeAttr::get(tensor));
  if (input.getType() != tensor)
    return emitError(loc) << "the input " << id << " is " << tensor << ", but "
                          << input.getType() << " in another variant";
  return success();
}
