//===- VariantLowering.cpp - a function as a variant of the plan ----------===//
#include "VariantLowering.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;

/// The same bytes under another shape: no step.
static bool isView(Operation &op) {
  auto rowwise = dyn_cast<grid::RowwiseOpInterface>(op);
  return rowwise && rowwise.isView();
}

FailureOr<BufferOp> VariantLowering::createBuffer(Location loc, Type type,
                                                  BufferClass kind) {
  if (failed(tables.addRanges(loc, type)))
    return failure();
  std::string id = "b" + std::to_string(numBuffers++);
  return BufferOp::create(builder, loc, builder.getType<BufferType>(),
                          StringRef(id), kind, StringAttr(), StringAttr(),
                          IntegerAttr(), IntegerAttr(), ArrayAttr(), type);
}

LogicalResult VariantLowering::createResults(Operation &op, BufferClass kind) {
  for (Value result : op.getResults()) {
    FailureOr<BufferOp> buffer =
        createBuffer(op.getLoc(), result.getType(), kind);
    if (failed(buffer))
      return failure();
    refs[result] = {*buffer, cast<RankedTensorType>(result.getType())};
  }
  return success();
}

void VariantLowering::lowerView(Operation &op) {
  Ref ref = refs.lookup(op.getOperand(0));
  refs[op.getResult(0)] = {ref.buffer,
                           cast<RankedTensorType>(op.getResult(0).getType())};
}

/// What an argument names: a symbol, or a buffer (unit, or the type of a view).
FailureOr<Attribute> VariantLowering::resolve(Operation &op, Value value,
                                              BufferOp &buffer) {
  if (auto weight = value.getDefiningOp<decoder::WeightOp>()) {
    FailureOr<FlatSymbolRefAttr> symbol = tables.getWeight(weight);
    if (failed(symbol))
      return failure();
    return Attribute(*symbol);
  }
  if (auto cache = value.getDefiningOp<decoder::CacheOp>()) {
    FailureOr<FlatSymbolRefAttr> symbol = tables.getCache(cache);
    if (failed(symbol))
      return failure();
    return Attribute(*symbol);
  }
  Ref ref = refs.lookup(value);
  if (!ref.buffer)
    return op.emitOpError("reads a value that no step has written");
  buffer = ref.buffer;
  if (ref.type == buffer.getTensor())
    return Attribute(builder.getUnitAttr());
  return Attribute(TypeAttr::get(ref.type));
}

FailureOr<StepOp> VariantLowering::createStep(Operation &op, const Twine &id,
                                              StepSpec &spec) {
  SmallVector<Value> buffers;
  SmallVector<Attribute> roles, targets;
  bool isCollective = getInfo(spec.kind).isCollective;
  unsigned numOutputs = 0;
  for (StepSpec::Target &target : spec.targets) {
    BufferOp buffer;
    FailureOr<Attribute> resolved = Attribute(target.symbol);
    if (target.value)
      resolved = resolve(op, target.value, buffer);
    if (failed(resolved))
      return failure();
    roles.push_back(builder.getStringAttr(target.role));
    targets.push_back(*resolved);
    if (!buffer)
      continue;
    buffers.push_back(buffer.getBuffer());
    numOutputs += getInfo(spec.kind).findRole(target.role)->isOutput;
    if (isCollective && buffer.getKind() == BufferClass::Activation)
      buffer.setKind(BufferClass::Symmetric);
  }
  // A cache has no name of its own in a step.
  auto names = op.getAttrOfType<ArrayAttr>(decoder::DecoderDialect::kRecord);
  if (numOutputs == 0)
    names = {};
  FlatSymbolRefAttr flag;
  if (isCollective)
    flag = tables.getFlag(op.getLoc(), spec.group);
  return StepOp::create(
      builder, op.getLoc(), builder.getStringAttr(id), spec.kind, buffers,
      builder.getArrayAttr(roles), builder.getArrayAttr(targets),
      spec.attrs.empty() ? DictionaryAttr()
                         : builder.getDictionaryAttr(spec.attrs),
      flag, FlatSymbolRefAttr(), ArrayAttr(), ArrayAttr(), ArrayAttr(), names,
      grid::getPlace(op.getLoc()));
}

LogicalResult VariantLowering::lowerOp(Operation &op) {
  if (isa<decoder::WeightOp>(op))
    return success(); // resolved where it is used
  std::string id = "s" + std::to_string(numSteps);
  if (failed(sites.visit(&op, builder.getStringAttr(id))))
    return failure();
  if (isView(op)) {
    lowerView(op);
    return success();
  }
  FailureOr<StepSpec> spec = getStepSpec(&op, tables);
  if (failed(spec))
    return failure();
  if (!isa<decoder::CacheOp>(op) &&
      failed(createResults(op, BufferClass::Activation)))
    return failure();
  ++numSteps;
  return createStep(op, id, *spec);
}

LogicalResult VariantLowering::lowerFused(grid::FusedOp op) {
  std::string id = "s" + std::to_string(numSteps++);
  StringAttr idAttr = builder.getStringAttr(id);
  Block &body = op.getBody().front();
  auto yield = cast<grid::YieldOp>(body.getTerminator());
  llvm::SmallDenseSet<Value, 4> yielded(yield.getValues().begin(),
                                        yield.getValues().end());

  // Registers stand before the step, like all buffers.
  for (Operation &inner : body.without_terminator()) {
    if (isa<decoder::WeightOp, decoder::CacheOp>(inner) || isView(inner))
      continue;
    bool leaves = llvm::any_of(inner.getResults(), [&](Value result) {
      return yielded.contains(result) ||
             llvm::any_of(result.getUsers(), [&](Operation *user) {
               return isView(*user) && yielded.contains(user->getResult(0));
             });
    });
    if (failed(createResults(inner, leaves ? BufferClass::Activation
                                           : BufferClass::Register)))
      return failure();
  }

  auto step = StepOp::create(
      builder, op.getLoc(), idAttr, StepKind::Fused, ValueRange(),
      builder.getArrayAttr({}), builder.getArrayAttr({}), DictionaryAttr(),
      FlatSymbolRefAttr(), FlatSymbolRefAttr(), ArrayAttr(), ArrayAttr(),
      ArrayAttr(), ArrayAttr(), grid::getPlace(op.getLoc()));
  llvm::SetVector<Value> readBuffers, written;
  llvm::SetVector<Attribute> readSymbols, writtenSymbols;
  SmallVector<Attribute> kinds;
  FlatSymbolRefAttr group;
  Type dtype;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&step.getBody().emplaceBlock());
    unsigned numInner = 0;
    for (Operation &inner : body.without_terminator()) {
      if (isa<decoder::WeightOp>(inner))
        continue;
      if (failed(sites.visit(&inner, idAttr)))
        return failure();
      if (isView(inner)) {
        lowerView(inner);
        continue;
      }
      FailureOr<StepSpec> spec = getStepSpec(&inner, tables);
      if (failed(spec))
        return failure();
      FailureOr<StepOp> leaf =
          createStep(inner, id + "." + Twine(numInner++), *spec);
      if (failed(leaf))
        return failure();
      kinds.push_back(builder.getStringAttr(stringifyStepKind(spec->kind)));
      if (spec->group && group && spec->group != group)
        return inner.emitOpError("is over another group than an op before it "
                                 "in one fused region");
      if (spec->group)
        group = spec->group;
      leaf->forEachArgument([&](const Argument &argument) {
        if (argument.buffer && argument.isWritten())
          written.insert(argument.buffer);
        else if (argument.buffer && !written.contains(argument.buffer))
          readBuffers.insert(argument.buffer);
        else if (argument.symbol)
          (argument.isWritten() ? writtenSymbols : readSymbols)
              .insert(argument.symbol);
        if (argument.buffer && !dtype)
          dtype = cast<BufferOp>(argument.buffer.getDefiningOp())
                      .getTensor()
                      .getElementType();
      });
    }
  }
  for (auto [result, value] : llvm::zip(op.getOutputs(), yield.getValues())) {
    refs[result] = refs.lookup(value);
    sites.alias(result, value);
  }

  SmallVector<Value> buffers(readBuffers.begin(), readBuffers.end());
  SmallVector<Attribute> roles, targets;
  auto add = [&](StringRef role, Attribute target) {
    roles.push_back(builder.getStringAttr(role));
    targets.push_back(target);
  };
  for (unsigned i = 0; i < readBuffers.size(); ++i)
    add("inputs", builder.getUnitAttr());
  for (Attribute symbol : readSymbols)
    add("inputs", symbol);
  for (Value buffer : written) {
    if (cast<BufferOp>(buffer.getDefiningOp()).getKind() ==
        BufferClass::Register)
      continue;
    buffers.push_back(buffer);
    add("outputs", builder.getUnitAttr());
  }
  for (Attribute symbol : writtenSymbols)
    add("outputs", symbol);
  step.getBuffersMutable().assign(buffers);
  step.setRolesAttr(builder.getArrayAttr(roles));
  step.setTargetsAttr(builder.getArrayAttr(targets));
  step.setAttrsAttr(builder.getDictionaryAttr(builder.getNamedAttr(
      "kernel", tables.getKernel(op.getLoc(), builder.getArrayAttr(kinds),
                                 dtype, group))));
  if (group)
    step.setFlagAttr(tables.getFlag(op.getLoc(), group));
  return success();
}

LogicalResult VariantLowering::lowerArguments(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments()) {
    auto id = function.getArgAttrOfType<StringAttr>(
        argument.getArgNumber(), decoder::DecoderDialect::kInput);
    auto tensor = dyn_cast<RankedTensorType>(argument.getType());
    if (!id || !tensor)
      return function.emitOpError("argument #")
             << argument.getArgNumber()
             << " is no input: it needs a tensor type "
             << "and the attribute '" << decoder::DecoderDialect::kInput << "'";
    if (failed(tables.addInput(argument.getLoc(), id, tensor)))
      return failure();
    FailureOr<BufferOp> buffer =
        createBuffer(argument.getLoc(), tensor, BufferClass::Activation);
    if (failed(buffer))
      return failure();
    buffer->setKind(BufferClass::Input);
    buffer->setInputAttr(id);
    refs[argument] = {*buffer, tensor};
  }
  return success();
}

LogicalResult VariantLowering::lowerReturn(func::FuncOp function,
                                           func::ReturnOp op) {
  for (auto [index, value] : llvm::enumerate(op.getOperands())) {
    auto id = function.getResultAttrOfType<StringAttr>(index, kOutput);
    if (!id && op.getNumOperands() == 1)
      id = builder.getStringAttr("logits");
    if (!id)
      return function.emitOpError("result #")
             << index << " has no name: it needs the attribute '" << kOutput
             << "'";
    Ref ref = refs.lookup(value);
    if (!ref.buffer || ref.buffer.isInput() ||
        ref.type != ref.buffer.getTensor())
      return op.emitOpError("returns as ")
             << id
             << " an input, a weight, a cache or a view, expected a value "
             << "that a step writes";
    ref.buffer.setKind(BufferClass::Output);
    OutputOp::create(builder, op.getLoc(), id, ref.buffer.getBuffer());
  }
  return success();
}

LogicalResult VariantLowering::lowerSites(func::FuncOp function) {
  auto list = function->getAttrOfType<ArrayAttr>(kSites);
  if (!list)
    return success();
  for (Attribute entry : list) {
    auto dict = dyn_cast<DictionaryAttr>(entry);
    auto id = dict ? dict.getAs<StringAttr>("id") : StringAttr();
    auto status = dict ? dict.getAs<StringAttr>("status") : StringAttr();
    auto was = dict ? dict.getAs<ArrayAttr>("was") : ArrayAttr();
    if (!id || !status || !was)
      return function.emitOpError("'")
             << kSites << "' has the entry " << entry
             << ", expected a dictionary with id, status and was";
    const SiteBytes::Site *site = sites.find(id);
    auto bytes = [&](const WireBytes &sent) {
      return builder.getDictionaryAttr(
          {builder.getNamedAttr("ring",
                                toAttribute(builder.getContext(), sent.ring)),
           builder.getNamedAttr(
               "switch", toAttribute(builder.getContext(), sent.viaSwitch))});
    };
    bool hasBytes = site && site->hasBytes;
    SiteOp::create(builder, function.getLoc(), id, status, was,
                   dict.getAs<ArrayAttr>("became"),
                   site ? site->step : StringAttr(),
                   dict.getAs<StringAttr>("reason"),
                   hasBytes ? bytes(site->before) : DictionaryAttr(),
                   hasBytes ? bytes(site->after) : DictionaryAttr());
  }
  return success();
}

LogicalResult VariantLowering::lower(func::FuncOp function) {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitOpError("has ")
           << function.getBody().getBlocks().size() << " blocks, expected one";
  if (failed(lowerArguments(function)))
    return failure();
  Block &body = function.getBody().front();
  for (Operation &op : body.without_terminator()) {
    auto fused = dyn_cast<grid::FusedOp>(op);
    if (failed(fused ? lowerFused(fused) : lowerOp(op)))
      return failure();
  }
  auto terminator = dyn_cast<func::ReturnOp>(body.getTerminator());
  if (!terminator)
    return body.getTerminator()->emitOpError(
        "ends a program, expected 'func.return'");
  if (failed(lowerReturn(function, terminator)))
    return failure();
  return lowerSites(function);
}
