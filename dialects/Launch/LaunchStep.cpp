//===- LaunchStep.cpp - syntax and verifier of a step ---------------------===//
#include "dialects/Launch/Launch.h"
#include "dialects/Launch/StepSyntax.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace layline::launch;
using layline::grid::getLayout;

//===----------------------------------------------------------------------===//
// Syntax: (input = %b5, weight = @w6, output = %b7 as tensor<...>)
//===----------------------------------------------------------------------===//

// A target is a symbol, the type that the next buffer is viewed as, or a unit
// for the next buffer as it is.
ParseResult layline::launch::parseArguments(
    OpAsmParser &parser,
    SmallVectorImpl<OpAsmParser::UnresolvedOperand> &buffers, ArrayAttr &roles,
    ArrayAttr &targets) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> roleList, targetList;
  auto parseOne = [&]() -> ParseResult {
    StringRef role;
    if (parser.parseKeyword(&role) || parser.parseEqual())
      return failure();
    roleList.push_back(builder.getStringAttr(role));
    StringAttr symbol;
    if (succeeded(parser.parseOptionalSymbolName(symbol))) {
      targetList.push_back(FlatSymbolRefAttr::get(symbol));
      return success();
    }
    if (parser.parseOperand(buffers.emplace_back()))
      return failure();
    if (failed(parser.parseOptionalKeyword("as"))) {
      targetList.push_back(builder.getUnitAttr());
      return success();
    }
    Type view;
    if (parser.parseType(view))
      return failure();
    targetList.push_back(TypeAttr::get(view));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, parseOne))
    return failure();
  roles = builder.getArrayAttr(roleList);
  targets = builder.getArrayAttr(targetList);
  return success();
}

void layline::launch::printArguments(OpAsmPrinter &printer, Operation *,
                                     OperandRange buffers, ArrayAttr roles,
                                     ArrayAttr targets) {
  auto next = buffers.begin();
  printer << "(";
  llvm::interleaveComma(llvm::zip(roles, targets), printer, [&](auto pair) {
    auto [role, target] = pair;
    printer << cast<StringAttr>(role).getValue() << " = ";
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(target)) {
      printer << symbol;
      return;
    }
    printer << *next++;
    if (auto view = dyn_cast<TypeAttr>(target))
      printer << " as " << view;
  });
  printer << ")";
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

bool StepOp::isTopLevel() { return isa<VariantOp>((*this)->getParentOp()); }

void StepOp::forEachLeaf(llvm::function_ref<void(StepOp)> visit) {
  if (getBody().empty())
    return visit(*this);
  for (auto step : getBody().getOps<StepOp>())
    visit(step);
}

bool StepOp::isCollective() {
  bool found = false;
  forEachLeaf(
      [&](StepOp step) { found |= getInfo(step.getKind()).isCollective; });
  return found;
}

void StepOp::forEachArgument(llvm::function_ref<void(const Argument &)> visit) {
  const StepKindInfo &info = getInfo(getKind());
  auto next = getBuffers().begin();
  for (auto [role, target] : llvm::zip(getRoles(), getTargets())) {
    Argument argument{
        info.findRole(cast<StringAttr>(role).getValue()), {}, {}, {}};
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(target)) {
      argument.symbol = symbol;
    } else {
      argument.buffer = *next++;
      if (auto view = dyn_cast<TypeAttr>(target))
        argument.view = cast<RankedTensorType>(view.getValue());
    }
    visit(argument);
  }
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

/// Roles against the kind's: in order, none missing, lists only repeated.
static LogicalResult verifyRoles(StepOp op, const StepKindInfo &info) {
  if (op.getRoles().size() != op.getTargets().size() ||
      op.getBuffers().size() !=
          static_cast<size_t>(llvm::count_if(op.getTargets(), [](Attribute a) {
            return !isa<FlatSymbolRefAttr>(a);
          })))
    return op.emitOpError("has ")
           << op.getRoles().size() << " roles for " << op.getTargets().size()
           << " targets and " << op.getBuffers().size() << " buffers";
  StringRef kind = stringifyStepKind(op.getKind());
  size_t next = 0, given = op.getRoles().size();
  auto roleAt = [&](size_t i) {
    return i < given ? cast<StringAttr>(op.getRoles()[i]).getValue()
                     : StringRef();
  };
  for (const RoleSpec &role : info.roles) {
    size_t count = 0;
    while (roleAt(next) == role.name) {
      ++next;
      ++count;
    }
    if (count == 0 && !role.isOptional)
      return op.emitOpError("has the role '")
             << roleAt(next) << "' in place #" << next << ", expected '"
             << role.name << "' of '" << kind << "'";
    if (count > 1 && !role.isList)
      return op.emitOpError("has ")
             << count << " of '" << role.name << "', expected one";
  }
  if (next != given)
    return op.emitOpError("has the role '")
           << roleAt(next) << "' in place #" << next << ", which '" << kind
           << "' does not take there";
  return success();
}

static bool isQuantized(Type type) {
  return isa<Float8E4M3FNType, Float8E5M2Type>(type);
}

static bool holds(Element element, Type tensor) {
  Type type = cast<RankedTensorType>(tensor).getElementType();
  switch (element) {
  case Element::Float:
    return isa<FloatType>(type) && !isQuantized(type);
  case Element::Integer:
    return isa<IntegerType>(type);
  case Element::Quantized:
    return isQuantized(type);
  case Element::Any:
    return true;
  }
  return false;
}

static StringRef describe(Element element) {
  return element == Element::Integer     ? "integers"
         : element == Element::Quantized ? "a quantised type"
                                         : "floats";
}

/// A view splits or merges dimensions of its buffer: same bytes, same rank.
static LogicalResult verifyView(StepOp op, StringRef role, RankedTensorType own,
                                RankedTensorType view) {
  auto countStatic = [](RankedTensorType type) {
    int64_t count = 1;
    for (int64_t dim : type.getShape())
      count *= ShapedType::isDynamic(dim) ? 1 : dim;
    return count;
  };
  auto layout = getLayout(own), seen = getLayout(view);
  if (!seen || own.getElementType() != view.getElementType() ||
      own.getNumDynamicDims() != view.getNumDynamicDims() ||
      countStatic(own) != countStatic(view) ||
      layout.getOwes() != seen.getOwes())
    return op.emitOpError("views '")
           << role << "' as " << view << ", but the buffer holds " << own;
  return success();
}

static LogicalResult verifyTargets(StepOp op) {
  LogicalResult result = success();
  op.forEachArgument([&](const Argument &argument) {
    if (failed(result))
      return;
    const RoleSpec &role = *argument.role;
    bool takesBuffer = role.takes == Takes::Buffer;
    if (role.takes != Takes::Any &&
        takesBuffer != static_cast<bool>(argument.buffer)) {
      result = op.emitOpError("has ")
               << (takesBuffer ? "a symbol" : "a buffer") << " as '"
               << role.name << "', expected "
               << (takesBuffer ? "a buffer" : "a symbol");
      return;
    }
    auto buffer = argument.buffer ? argument.buffer.getDefiningOp<BufferOp>()
                                  : BufferOp();
    if (!buffer)
      return;
    if (!holds(role.element, buffer.getType()))
      result = op.emitOpError("has ")
               << buffer.getTensor().getElementType() << " as '" << role.name
               << "', expected " << describe(role.element);
    else if (argument.view)
      result = verifyView(op, role.name, buffer.getTensor(), argument.view);
  });
  return result;
}

static bool hasType(Attribute attr, AttrType type) {
  switch (type) {
  case AttrType::String:
    return isa<StringAttr>(attr);
  case AttrType::Number:
    return isa<FloatAttr>(attr);
  case AttrType::Integer:
    return isa<IntegerAttr>(attr) && !isa<BoolAttr>(attr);
  case AttrType::Bool:
    return isa<BoolAttr>(attr);
  case AttrType::Symbol:
    return isa<FlatSymbolRefAttr>(attr);
  }
  return false;
}

static LogicalResult verifyAttrs(StepOp op, const StepKindInfo &info) {
  StringRef kind = stringifyStepKind(op.getKind());
  for (const KindAttrSpec &spec : info.attrs) {
    Attribute attr = op.getKindAttr(spec.name);
    if (!attr && spec.isOptional)
      continue;
    if (!attr)
      return op.emitOpError("lacks the attribute '")
             << spec.name << "' of '" << kind << "'";
    if (!hasType(attr, spec.type))
      return op.emitOpError("has the attribute '")
             << spec.name << "' = " << attr << " of a wrong type";
  }
  if (op.getAttrsAttr())
    for (NamedAttribute attr : op.getAttrsAttr())
      if (!info.findAttr(attr.getName().getValue()))
        return op.emitOpError("has the attribute '")
               << attr.getName().getValue() << "', which '" << kind
               << "' does not take";
  return success();
}

LogicalResult StepOp::verify() {
  const StepKindInfo &info = getInfo(getKind());
  if (failed(verifyRoles(*this, info)) || failed(verifyTargets(*this)) ||
      failed(verifyAttrs(*this, info)))
    return failure();
  auto outputs = llvm::count_if(getRoles(), [&](Attribute role) {
    const RoleSpec *spec = info.findRole(cast<StringAttr>(role).getValue());
    return spec->isOutput && spec->takes != Takes::Cache;
  });
  if (getNames() && getNames()->size() != static_cast<size_t>(outputs))
    return emitOpError("has ")
           << getNames()->size() << " names for " << outputs << " outputs";
  return success();
}

LogicalResult StepOp::verifyRegions() {
  bool isFused = getKind() == StepKind::Fused;
  if (isFused == getBody().empty())
    return emitOpError(isFused ? "is fused but has no body"
                               : "has a body, which only a fused step has");
  if (!isTopLevel() &&
      (isFused || getStream() || getAfter() || getWaits() || getSignals()))
    return emitOpError("stands in the body of a fused step, where nothing is "
                       "fused, ordered or put on a stream");
  if (isCollective() != static_cast<bool>(getFlagAttr()))
    return emitOpError(isCollective() ? "is a collective without a flag"
                                      : "has a flag but is no collective");
  return success();
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

template <typename... Ops>
static LogicalResult expectSymbol(StepOp op, StringRef use,
                                  FlatSymbolRefAttr symbol,
                                  SymbolTableCollection &symbols) {
  if (!symbol)
    return success();
  Operation *found = symbols.lookupNearestSymbolFrom(op, symbol);
  if (!found)
    return op.emitOpError("has '")
           << use << "' = " << symbol << ", which is not defined";
  if (!isa<Ops...>(found)) {
    InFlightDiagnostic diag = op.emitOpError("has '")
                              << use << "' = " << symbol << ", which is a '"
                              << found->getName() << "'";
    diag.attachNote(found->getLoc()) << "it is defined here";
    return diag;
  }
  return success();
}

/// A collective signals by a flag of its own group: another group's counters
/// would be advanced, and its waiters woken, by this one.
static LogicalResult verifyFlag(StepOp op, SymbolTableCollection &symbols) {
  FlatSymbolRefAttr flag = op.getFlagAttr();
  if (!flag)
    return success();
  auto lookup = [&](StringRef attr) -> Operation * {
    auto symbol = dyn_cast_or_null<FlatSymbolRefAttr>(op.getKindAttr(attr));
    return symbol ? symbols.lookupNearestSymbolFrom(op, symbol) : nullptr;
  };
  FlatSymbolRefAttr group;
  if (auto kernel = dyn_cast_or_null<KernelOp>(lookup("kernel")))
    group = kernel.getGroupAttr();
  else if (auto own = dyn_cast_or_null<GroupOp>(lookup("group")))
    group = FlatSymbolRefAttr::get(own.getSymNameAttr());
  auto found = symbols.lookupNearestSymbolFrom<FlagOp>(op, flag.getAttr());
  if (!group || !found || found.getGroupAttr() == group)
    return success();
  InFlightDiagnostic diag = op.emitOpError("is of the group ")
                            << group << ", but signals by " << flag
                            << ", a flag of the group " << found.getGroupAttr();
  diag.attachNote(found.getLoc()) << "the flag is defined here";
  return diag;
}

LogicalResult StepOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto attrSymbol = [&](StringRef name) {
    return dyn_cast_or_null<FlatSymbolRefAttr>(getKindAttr(name));
  };
  if (failed(expectSymbol<StreamOp>(*this, "on", getStreamAttr(), symbols)) ||
      failed(expectSymbol<FlagOp>(*this, "flag", getFlagAttr(), symbols)) ||
      failed(expectSymbol<RangeOp>(*this, "range", attrSymbol("range"),
                                   symbols)) ||
      failed(expectSymbol<GroupOp>(*this, "group", attrSymbol("group"),
                                   symbols)) ||
      failed(expectSymbol<KernelOp>(*this, "kernel", attrSymbol("kernel"),
                                    symbols)) ||
      failed(verifyFlag(*this, symbols)))
    return failure();
  LogicalResult result = success();
  forEachArgument([&](const Argument &argument) {
    if (failed(result) || !argument.symbol)
      return;
    StringRef role = argument.role->name;
    switch (argument.role->takes) {
    case Takes::Weight:
      result = expectSymbol<WeightOp>(*this, role, argument.symbol, symbols);
      break;
    case Takes::Cache:
      result = expectSymbol<CacheOp>(*this, role, argument.symbol, symbols);
      break;
    case Takes::Table:
      result = expectSymbol<TableOp>(*this, role, argument.symbol, symbols);
      break;
    case Takes::Any:
    case Takes::Buffer:
      result = expectSymbol<WeightOp, CacheOp, TableOp>(
          *this, role, argument.symbol, symbols);
      break;
    }
  });
  return result;
}
