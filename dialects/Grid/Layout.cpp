//===- Layout.cpp - splits and layouts: syntax and rules ------------------===//
#include "dialects/Grid/Grid.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace layline::grid;

#include "dialects/Grid/GridEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Grid/GridAttrs.cpp.inc"

void GridDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Grid/GridAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Split
//===----------------------------------------------------------------------===//

SplitAttr SplitAttr::withUnit(int64_t unit) const {
  return SplitAttr::get(getContext(), getAxis(), getKind(), unit, getArgument(),
                        getOwners());
}

static bool takesArgument(PartitionKind kind) {
  return kind == PartitionKind::Cyclic || kind == PartitionKind::Readers;
}

LogicalResult SplitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringAttr axis, PartitionKind kind,
                                int64_t unit, int64_t argument,
                                ArrayRef<int64_t> owners) {
  if (axis.empty())
    return emitError() << "a split needs the name of a mesh axis, found \"\"";
  if (unit < 1)
    return emitError() << "the unit of a split is " << unit
                       << ", expected at least 1";
  if (takesArgument(kind) ? argument < 1 : argument != 0)
    return emitError() << "'" << stringifyPartitionKind(kind)
                       << "' has the argument " << argument << ", expected "
                       << (takesArgument(kind) ? "at least 1" : "none");
  if ((kind == PartitionKind::Owner) != !owners.empty())
    return emitError() << "'" << stringifyPartitionKind(kind) << "' lists "
                       << owners.size() << " owners, expected "
                       << (kind == PartitionKind::Owner ? "one per item"
                                                        : "none");
  if (llvm::any_of(owners, [](int64_t owner) { return owner < 0; }))
    return emitError() << "owners are ranks of \"" << axis.getValue()
                       << "\", found a negative one";
  return success();
}

// block "tp" x 128 | readers(64) "tp" | owner(0, 1) "pp"
static SplitAttr parseSplit(AsmParser &parser) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return {};
  std::optional<PartitionKind> kind = symbolizePartitionKind(word);
  if (!kind) {
    parser.emitError(loc)
        << "unknown partition kind '" << word
        << "', expected block, zigzag, cyclic, owner or readers";
    return {};
  }
  int64_t argument = 0, unit = 1;
  SmallVector<int64_t> owners;
  if (takesArgument(*kind)) {
    if (parser.parseLParen() || parser.parseInteger(argument) ||
        parser.parseRParen())
      return {};
  } else if (*kind == PartitionKind::Owner) {
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
          return parser.parseInteger(owners.emplace_back());
        }))
      return {};
  }
  std::string axis;
  if (parser.parseString(&axis))
    return {};
  if (succeeded(parser.parseOptionalKeyword("x")) && parser.parseInteger(unit))
    return {};
  return SplitAttr::getChecked([&] { return parser.emitError(loc); },
                               parser.getContext(),
                               StringAttr::get(parser.getContext(), axis),
                               *kind, unit, argument, owners);
}

static void printSplit(AsmPrinter &printer, SplitAttr split) {
  printer << stringifyPartitionKind(split.getKind());
  if (takesArgument(split.getKind()))
    printer << "(" << split.getArgument() << ")";
  if (split.getKind() == PartitionKind::Owner) {
    printer << "(";
    llvm::interleaveComma(split.getOwners(), printer);
    printer << ")";
  }
  printer << " " << split.getAxis();
  if (split.getUnit() != 1)
    printer << " x " << split.getUnit();
}

Attribute SplitAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  SplitAttr split = parseSplit(parser);
  if (!split || parser.parseGreater())
    return {};
  return split;
}

void SplitAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printSplit(printer, *this);
  printer << ">";
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::getWhole(MLIRContext *context, unsigned rank) {
  return LayoutAttr::get(context, SmallVector<SplitAttr>(rank), {});
}

std::optional<unsigned> LayoutAttr::getDimSplitBy(StringAttr axis) const {
  for (auto [dim, split] : llvm::enumerate(getDims()))
    if (split && split.getAxis() == axis)
      return dim;
  return std::nullopt;
}

LayoutAttr LayoutAttr::withDim(unsigned dim, SplitAttr split) const {
  SmallVector<SplitAttr> dims(getDims());
  dims[dim] = split;
  return LayoutAttr::get(getContext(), dims, getOwes());
}

LayoutAttr LayoutAttr::withOwes(ArrayRef<StringAttr> axes) const {
  SmallVector<StringAttr> owes(getOwes());
  for (StringAttr axis : axes)
    if (!llvm::is_contained(owes, axis))
      owes.push_back(axis);
  llvm::sort(owes, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  return LayoutAttr::get(getContext(), getDims(), owes);
}

LayoutAttr LayoutAttr::withoutOwes(ArrayRef<StringAttr> axes) const {
  SmallVector<StringAttr> owes(getOwes());
  llvm::erase_if(owes,
                 [&](StringAttr a) { return llvm::is_contained(axes, a); });
  return LayoutAttr::get(getContext(), getDims(), owes);
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<SplitAttr> dims,
                                 ArrayRef<StringAttr> owes) {
  for (unsigned i = 0, e = dims.size(); i < e; ++i)
    for (unsigned j = i + 1; dims[i] && j < e; ++j)
      if (dims[j] && dims[j].getAxis() == dims[i].getAxis())
        return emitError()
               << "axis " << dims[i].getAxis() << " splits dimensions " << i
               << " and " << j
               << ": that covers only the diagonal blocks of the two";
  for (unsigned i = 0, e = owes.size(); i < e; ++i) {
    if (owes[i].empty())
      return emitError()
             << "an owed sum needs the name of a mesh axis, found \"\"";
    if (i && owes[i - 1].getValue() >= owes[i].getValue())
      return emitError() << "owed axes stand once each in alphabetical order, "
                            "found "
                         << owes[i - 1] << " before " << owes[i];
    for (unsigned d = 0; d < dims.size(); ++d)
      if (dims[d] && dims[d].getAxis() == owes[i])
        return emitError() << "axis " << owes[i] << " splits dimension " << d
                           << " and cannot owe a sum at the same time";
  }
  return success();
}

LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  if (shape.size() != getDims().size())
    return emitError() << "the layout has " << getDims().size()
                       << " dimensions, but the tensor has " << shape.size();
  for (auto [dim, split] : llvm::enumerate(getDims())) {
    if (!split)
      continue;
    if (ShapedType::isDynamic(shape[dim])) {
      if (split.getKind() == PartitionKind::Readers ||
          split.getKind() == PartitionKind::Owner)
        return emitError() << "dimension " << dim << " is dynamic, but '"
                           << stringifyPartitionKind(split.getKind())
                           << "' needs its number of items";
      continue;
    }
    if (shape[dim] % split.getUnit())
      return emitError() << "dimension " << dim << " has " << shape[dim]
                         << " elements, which is no multiple of the unit "
                         << split.getUnit() << " of its split";
    int64_t items = shape[dim] / split.getUnit();
    if (split.getKind() == PartitionKind::Owner &&
        items != static_cast<int64_t>(split.getOwners().size()))
      return emitError() << "dimension " << dim << " has " << items
                         << " items, but " << split.getOwners().size()
                         << " owners are listed";
    if (split.getKind() == PartitionKind::Readers &&
        (items == 0 || split.getArgument() % items))
      return emitError() << split.getArgument() << " query heads cannot share "
                         << items << " KV heads evenly";
  }
  if (owesAnything() && !isa<FloatType>(elementType))
    return emitError() << "only floating-point values can owe a sum, found "
                       << elementType;
  return success();
}

Attribute LayoutAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<SplitAttr> dims;
  SmallVector<StringAttr> owes;
  auto parseDim = [&]() -> ParseResult {
    // `_` is lexed as a bare identifier.
    if (succeeded(parser.parseOptionalKeyword("_"))) {
      dims.push_back({});
      return success();
    }
    dims.push_back(parseSplit(parser));
    return failure(!dims.back());
  };
  auto parseAxis = [&]() -> ParseResult {
    std::string axis;
    if (parser.parseString(&axis))
      return failure();
    owes.push_back(StringAttr::get(parser.getContext(), axis));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalKeyword("owes")) &&
      parser.parseCommaSeparatedList(parseAxis))
    return {};
  if (parser.parseGreater())
    return {};
  return LayoutAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), dims, owes);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](SplitAttr split) {
    if (split)
      printSplit(printer, split);
    else
      printer << "_";
  });
  printer << "]";
  if (owesAnything()) {
    printer << " owes ";
    llvm::interleaveComma(getOwes(), printer);
  }
  printer << ">";
}
