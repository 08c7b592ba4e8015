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
                        getOwners(), getNext());
}

SplitAttr SplitAttr::getFirst() const {
  return SplitAttr::get(getContext(), getAxis(), getKind(), getUnit(),
                        getArgument(), getOwners(), Attribute());
}

SmallVector<SplitAttr, 2> SplitAttr::getChain() const {
  SmallVector<SplitAttr, 2> chain;
  for (SplitAttr split = *this; split;
       split = dyn_cast_or_null<SplitAttr>(split.getNext()))
    chain.push_back(split.getFirst());
  return chain;
}

StringAttr SplitAttr::getLastAxis() const {
  return getChain().back().getAxis();
}

bool SplitAttr::isOver(StringAttr axis) const {
  return llvm::any_of(getChain(),
                      [&](SplitAttr s) { return s.getAxis() == axis; });
}

/// The splits one after another, with the unit of the first.
static SplitAttr link(ArrayRef<SplitAttr> chain) {
  SplitAttr linked;
  for (SplitAttr split : llvm::reverse(chain)) {
    int64_t unit = split == chain.front() ? split.getUnit() : 1;
    linked =
        SplitAttr::get(split.getContext(), split.getAxis(), split.getKind(),
                       unit, split.getArgument(), split.getOwners(), linked);
  }
  return linked;
}

SplitAttr SplitAttr::then(SplitAttr last) const {
  SmallVector<SplitAttr, 2> chain = getChain();
  chain.append(last.getChain());
  return link(chain);
}

SplitAttr SplitAttr::withoutLast() const {
  SmallVector<SplitAttr, 2> chain = getChain();
  chain.pop_back();
  return link(chain);
}

SplitAttr SplitAttr::getFirstReaders() const {
  assert(getKind() == PartitionKind::Readers && "not split by readers");
  return SplitAttr::get(getAxis(), PartitionKind::FirstReaders, getUnit(),
                        getArgument());
}

bool SplitAttr::isPartOf(SplitAttr outer) const {
  if (outer && outer.getKind() == PartitionKind::Readers)
    return *this == outer.getFirstReaders();
  return withoutLast() == outer;
}

bool SplitAttr::isRouted() const {
  return getChain().back().getKind() == PartitionKind::Routed;
}

static bool takesArgument(PartitionKind kind) {
  return kind == PartitionKind::Cyclic || kind == PartitionKind::Readers ||
         kind == PartitionKind::FirstReaders || kind == PartitionKind::Routed;
}

/// Parts of parts have an order of their own.
static bool canBeChained(PartitionKind kind) {
  return kind == PartitionKind::Block || kind == PartitionKind::Zigzag ||
         kind == PartitionKind::Cyclic;
}

LogicalResult SplitAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringAttr axis, PartitionKind kind,
                                int64_t unit, int64_t argument,
                                ArrayRef<int64_t> owners, Attribute next) {
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
  if (!next)
    return success();
  auto follows = dyn_cast<SplitAttr>(next);
  if (!follows || follows.getUnit() != 1)
    return emitError() << "a split is followed by " << next
                       << ", expected a split without a unit of its own";
  bool canFollow = canBeChained(follows.getKind()) ||
                   follows.getKind() == PartitionKind::Routed;
  if (!canBeChained(kind) || !canFollow)
    return emitError() << "'" << stringifyPartitionKind(kind)
                       << "' is followed by '"
                       << stringifyPartitionKind(follows.getKind())
                       << "': only block, zigzag and cyclic parts are dealt "
                          "out again";
  if (follows.isOver(axis))
    return emitError() << "axis " << axis
                       << " splits one dimension twice: a rank would hold "
                          "its part of its own part only";
  return success();
}

// block "tp" x 128 | readers(64) "tp" | owner(0, 1) "pp"
// | zigzag "cp" then block "tp" x 2
static SplitAttr parseSplit(AsmParser &parser) {
  struct Part {
    PartitionKind kind;
    std::string axis;
    int64_t argument = 0;
    SmallVector<int64_t> owners;
  };
  SmallVector<Part, 2> parts;
  SMLoc loc = parser.getCurrentLocation();
  do {
    StringRef word;
    SMLoc wordLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&word))
      return {};
    std::optional<PartitionKind> kind = symbolizePartitionKind(word);
    if (!kind) {
      parser.emitError(wordLoc)
          << "unknown partition kind '" << word
          << "', expected block, zigzag, cyclic, owner, readers, "
             "first_readers or routed";
      return {};
    }
    Part &part = parts.emplace_back();
    part.kind = *kind;
    if (takesArgument(*kind)) {
      if (parser.parseLParen() || parser.parseInteger(part.argument) ||
          parser.parseRParen())
        return {};
    } else if (*kind == PartitionKind::Owner) {
      if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, [&] {
            return parser.parseInteger(part.owners.emplace_back());
          }))
        return {};
    }
    if (parser.parseString(&part.axis))
      return {};
  } while (succeeded(parser.parseOptionalKeyword("then")));
  int64_t unit = 1;
  if (succeeded(parser.parseOptionalKeyword("x")) && parser.parseInteger(unit))
    return {};
  SplitAttr split;
  for (Part &part : llvm::reverse(parts)) {
    split = SplitAttr::getChecked(
        [&] { return parser.emitError(loc); }, parser.getContext(),
        StringAttr::get(parser.getContext(), part.axis), part.kind,
        &part == &parts.front() ? unit : 1, part.argument, part.owners, split);
    if (!split)
      return {};
  }
  return split;
}

static void printSplit(AsmPrinter &printer, SplitAttr whole) {
  llvm::interleave(
      whole.getChain(), printer,
      [&](SplitAttr split) {
        printer << stringifyPartitionKind(split.getKind());
        if (takesArgument(split.getKind()))
          printer << "(" << split.getArgument() << ")";
        if (split.getKind() == PartitionKind::Owner) {
          printer << "(";
          llvm::interleaveComma(split.getOwners(), printer);
          printer << ")";
        }
        printer << " " << split.getAxis();
      },
      " then ");
  if (whole.getUnit() != 1)
    printer << " x " << whole.getUnit();
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

layline::Partition layline::grid::toPartition(SplitAttr split) {
  switch (split.getKind()) {
  case PartitionKind::Block:
    return layline::Partition::block();
  case PartitionKind::Zigzag:
    return layline::Partition::zigzag();
  case PartitionKind::Cyclic:
    return layline::Partition::cyclic(split.getArgument());
  case PartitionKind::Owner:
    return layline::Partition::owner(split.getOwners().vec());
  case PartitionKind::Readers:
    return layline::Partition::readers(split.getArgument());
  case PartitionKind::FirstReaders:
    return layline::Partition::firstReaders(split.getArgument());
  case PartitionKind::Routed:
    return layline::Partition::routed(split.getArgument());
  }
  return layline::Partition::block();
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

LayoutAttr LayoutAttr::getWhole(MLIRContext *context, unsigned rank) {
  return LayoutAttr::get(context, SmallVector<SplitAttr>(rank), {});
}

std::optional<unsigned> LayoutAttr::getDimSplitBy(StringAttr axis) const {
  for (auto [dim, split] : llvm::enumerate(getDims()))
    if (split && split.isOver(axis))
      return dim;
  return std::nullopt;
}

LayoutAttr LayoutAttr::withDim(unsigned dim, SplitAttr split) const {
  SmallVector<SplitAttr> dims(getDims());
  dims[dim] = split;
  return LayoutAttr::get(getContext(), dims, getOwes(), getPadding());
}

LayoutAttr LayoutAttr::withPad(unsigned dim, int64_t elements) const {
  SmallVector<int64_t> padding(getPadding());
  padding.resize(getDims().size());
  padding[dim] = elements;
  // No padding has one spelling.
  if (llvm::all_of(padding, [](int64_t pad) { return pad == 0; }))
    padding.clear();
  return LayoutAttr::get(getContext(), getDims(), getOwes(), padding);
}

LayoutAttr LayoutAttr::withOwes(ArrayRef<StringAttr> axes) const {
  SmallVector<StringAttr> owes(getOwes());
  for (StringAttr axis : axes)
    if (!llvm::is_contained(owes, axis))
      owes.push_back(axis);
  llvm::sort(owes, [](StringAttr a, StringAttr b) {
    return a.getValue() < b.getValue();
  });
  return LayoutAttr::get(getContext(), getDims(), owes, getPadding());
}

LayoutAttr LayoutAttr::withoutOwes(ArrayRef<StringAttr> axes) const {
  SmallVector<StringAttr> owes(getOwes());
  llvm::erase_if(owes,
                 [&](StringAttr a) { return llvm::is_contained(axes, a); });
  return LayoutAttr::get(getContext(), getDims(), owes, getPadding());
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<SplitAttr> dims,
                                 ArrayRef<StringAttr> owes,
                                 ArrayRef<int64_t> padding) {
  for (unsigned i = 0, e = dims.size(); i < e; ++i) {
    if (!dims[i])
      continue;
    if (dims[i].isRouted() && (i != 0 || dims[i].getUnit() != 1))
      return emitError() << "dimension " << i << " is split as " << dims[i]
                         << ": only rows, dimension 0, are routed, one by one";
    for (SplitAttr split : dims[i].getChain())
      for (unsigned j = i + 1; j < e; ++j)
        if (dims[j] && dims[j].isOver(split.getAxis()))
          return emitError()
                 << "axis " << split.getAxis() << " splits dimensions " << i
                 << " and " << j
                 << ": that covers only the diagonal blocks of the two";
  }
  if (!padding.empty()) {
    if (padding.size() != dims.size() ||
        llvm::all_of(padding, [](int64_t pad) { return pad == 0; }))
      return emitError() << "padding is given for " << padding.size() << " of "
                         << dims.size() << " dimensions, expected all or none";
    if (llvm::any_of(padding, [](int64_t pad) { return pad < 0; }))
      return emitError() << "a part is padded to a negative number of elements";
    if (padding.front())
      return emitError() << "rows are padded to " << padding.front()
                         << ": every row stands for a token";
  }
  for (unsigned i = 0, e = owes.size(); i < e; ++i) {
    if (owes[i].empty())
      return emitError()
             << "an owed sum needs the name of a mesh axis, found \"\"";
    if (i && owes[i - 1].getValue() >= owes[i].getValue())
      return emitError() << "owed axes stand once each in alphabetical order, "
                            "found "
                         << owes[i - 1] << " before " << owes[i];
    for (unsigned d = 0; d < dims.size(); ++d)
      if (dims[d] && dims[d].isOver(owes[i]) &&
          !(dims[d].isRouted() && dims[d].getLastAxis() == owes[i]))
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
    if (!split) {
      if (getPad(dim) && getPad(dim) < shape[dim])
        return emitError() << "dimension " << dim << " has " << shape[dim]
                           << " elements and is padded to only " << getPad(dim);
      continue;
    }
    if (getPad(dim) % split.getUnit())
      return emitError() << "dimension " << dim << " is padded to "
                         << getPad(dim) << " elements, which cut items of "
                         << split.getUnit();
    if (ShapedType::isDynamic(shape[dim])) {
      if (split.hasQueryHeads() || split.getKind() == PartitionKind::Owner)
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
    if (split.hasQueryHeads() && (items == 0 || split.getArgument() % items))
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
  SmallVector<int64_t> padding;
  bool isPadded = false;
  auto parseDim = [&]() -> ParseResult {
    // `_` is lexed as a bare identifier.
    bool isWhole = succeeded(parser.parseOptionalKeyword("_"));
    dims.push_back(isWhole ? SplitAttr() : parseSplit(parser));
    if (!isWhole && !dims.back())
      return failure();
    int64_t &pad = padding.emplace_back(0);
    if (failed(parser.parseOptionalKeyword("pad")))
      return success();
    isPadded = true;
    return parser.parseInteger(pad);
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
  if (!isPadded)
    padding.clear();
  return LayoutAttr::getChecked([&] { return parser.emitError(loc); },
                                parser.getContext(), dims, owes, padding);
}

void LayoutAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  unsigned dim = 0;
  llvm::interleaveComma(getDims(), printer, [&](SplitAttr split) {
    if (split)
      printSplit(printer, split);
    else
      printer << "_";
    if (int64_t pad = getPad(dim++))
      printer << " pad " << pad;
  });
  printer << "]";
  if (owesAnything()) {
    printer << " owes ";
    llvm::interleaveComma(getOwes(), printer);
  }
  printer << ">";
}
