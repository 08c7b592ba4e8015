//===- KVAttrs.cpp - attributes of caches: syntax and rules ---------------===//
#include "dialects/KV/KV.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace layline::kv::ir;

#define GET_ATTRDEF_CLASSES
#include "dialects/KV/KVAttrs.cpp.inc"

void KVDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/KV/KVAttrs.cpp.inc"
      >();
}

/// A keyword of an enum; the message lists what is expected.
template <typename Enum>
static FailureOr<Enum> parseEnum(AsmParser &parser,
                                 std::optional<Enum> (*symbolize)(StringRef),
                                 StringRef expected) {
  StringRef keyword;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&keyword))
    return failure();
  if (std::optional<Enum> value = symbolize(keyword))
    return *value;
  return parser.emitError(loc)
         << "found '" << keyword << "', expected " << expected;
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

Attribute TokensAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<TokensKind> kind =
      parseEnum<TokensKind>(parser, symbolizeTokensKind,
                            "whole, contiguous, zigzag, cyclic, room or top_k");
  if (failed(kind))
    return {};
  int64_t index = 0, parts = 1, unit = 1;
  if (*kind == TokensKind::TopK) {
    if (parser.parseInteger(parts))
      return {};
  } else if (*kind != TokensKind::Whole) {
    if (parser.parseInteger(index) || parser.parseKeyword("of") ||
        parser.parseInteger(parts) ||
        (succeeded(parser.parseOptionalKeyword("x")) &&
         parser.parseInteger(unit)))
      return {};
  }
  bool perChunk = succeeded(parser.parseOptionalKeyword("per_chunk"));
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TokensAttr>(parser.getContext(), *kind, index, parts,
                                       unit, perChunk);
}

void TokensAttr::print(AsmPrinter &printer) const {
  printer << "<" << stringifyTokensKind(getKind());
  if (getKind() == TokensKind::TopK)
    printer << " " << getParts();
  else if (getKind() != TokensKind::Whole)
    printer << " " << getIndex() << " of " << getParts();
  if (getUnit() != 1)
    printer << " x " << getUnit();
  if (getPerChunk())
    printer << " per_chunk";
  printer << ">";
}

LogicalResult TokensAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 TokensKind kind, int64_t index, int64_t parts,
                                 int64_t unit, bool) {
  if (parts < 1 || (kind != TokensKind::TopK && (index < 0 || index >= parts)))
    return emitError() << "part " << index << " of " << parts
                       << ", expected one of the parts";
  if (unit < 1)
    return emitError() << "runs of " << unit << " tokens, expected at least 1";
  return success();
}

//===----------------------------------------------------------------------===//
// Deal
//===----------------------------------------------------------------------===//

static void printDeal(AsmPrinter &printer, DealAttr deal) {
  printer << stringifyDealKind(deal.getKind());
  if (deal.getKind() == DealKind::Whole)
    return;
  printer << " " << deal.getAxis();
  if (deal.getGroup())
    printer << " by " << deal.getGroup();
  if (deal.getUnit() != 1)
    printer << " x " << deal.getUnit();
}

static DealAttr parseDeal(AsmParser &parser) {
  FailureOr<DealKind> kind =
      parseEnum<DealKind>(parser, symbolizeDealKind,
                          "whole, contiguous, zigzag, cyclic, page_striped or "
                          "page_number");
  if (failed(kind))
    return {};
  std::string axis;
  StringAttr name;
  int64_t group = 0, unit = 1;
  if (*kind != DealKind::Whole) {
    if (parser.parseString(&axis))
      return {};
    name = StringAttr::get(parser.getContext(), axis);
    if (succeeded(parser.parseOptionalKeyword("by")) &&
        parser.parseInteger(group))
      return {};
    if (succeeded(parser.parseOptionalKeyword("x")) &&
        parser.parseInteger(unit))
      return {};
  }
  return parser.getChecked<DealAttr>(parser.getContext(), *kind, name, group,
                                     unit);
}

Attribute DealAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  DealAttr deal = parseDeal(parser);
  if (!deal || parser.parseGreater())
    return {};
  return deal;
}

void DealAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printDeal(printer, *this);
  printer << ">";
}

LogicalResult DealAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               DealKind kind, StringAttr axis, int64_t group,
                               int64_t unit) {
  if (group < 0)
    return emitError() << "groups of " << group
                       << " neighbours, expected at least 1";
  if (unit < 1)
    return emitError() << "runs of " << unit << " tokens, expected at least 1";
  if (kind == DealKind::PageNumber && unit != 1)
    return emitError() << "page numbers in runs of " << unit
                       << ", expected none";
  if (kind == DealKind::PageStriped && unit != 1)
    return emitError() << "pages in runs of " << unit
                       << ", expected 'cyclic' with that many tokens";
  if ((kind == DealKind::Whole) == static_cast<bool>(axis))
    return emitError() << "'" << stringifyDealKind(kind)
                       << (axis ? "' names an axis, expected none"
                                : "' names no axis");
  return success();
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

std::string layline::kv::ir::describeLayers(ArrayRef<int64_t> layers) {
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t end = i + 1;
    while (end < layers.size() && layers[end] == layers[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ", ") + std::to_string(layers[i]);
    if (end - i > 1)
      text += " to " + std::to_string(layers[end - 1]);
    i = end;
  }
  return text.empty() ? "none" : text;
}

/// Far above any model's; ranges are written out.
static constexpr int64_t kMostLayers = 1 << 20;

/// "0 to 7, 12" or "none".
static ParseResult parseLayerList(AsmParser &parser,
                                  SmallVectorImpl<int64_t> &ids) {
  if (succeeded(parser.parseOptionalKeyword("none")))
    return success();
  do {
    int64_t first = 0, last = 0;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseInteger(first))
      return failure();
    last = first;
    if (succeeded(parser.parseOptionalKeyword("to")) &&
        parser.parseInteger(last))
      return failure();
    if (first < 0 || last < first || last >= kMostLayers)
      return parser.emitError(loc)
             << "layers " << first << " to " << last
             << ", expected ascending numbers below " << kMostLayers;
    for (int64_t layer = first; layer <= last; ++layer)
      ids.push_back(layer);
  } while (succeeded(parser.parseOptionalComma()));
  return success();
}

Attribute LayersAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> ids;
  if (parser.parseLess() || parseLayerList(parser, ids) ||
      parser.parseGreater())
    return {};
  return parser.getChecked<LayersAttr>(parser.getContext(), ids);
}

void LayersAttr::print(AsmPrinter &printer) const {
  printer << "<" << describeLayers(getIds()) << ">";
}

LogicalResult LayersAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 ArrayRef<int64_t> ids) {
  for (size_t i = 0; i < ids.size(); ++i)
    if (ids[i] < 0 || (i > 0 && ids[i] <= ids[i - 1]))
      return emitError() << "layer " << ids[i]
                         << (i > 0
                                 ? " behind layer " + std::to_string(ids[i - 1])
                                 : std::string())
                         << ", expected ascending numbers";
  return success();
}

//===----------------------------------------------------------------------===//
// Residency
//===----------------------------------------------------------------------===//

Attribute ResidencyAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  StringAttr axis;
  int64_t group = 1;
  SmallVector<LayersAttr> lists;
  if (parser.parseLess() || parser.parseKeyword("tokens"))
    return {};
  DealAttr tokens = parseDeal(parser);
  if (!tokens || parser.parseComma() || parser.parseKeyword("heads"))
    return {};
  if (failed(parser.parseOptionalKeyword("replicated"))) {
    std::string name;
    if (parser.parseKeyword("split", " or 'replicated'") ||
        parser.parseString(&name) ||
        (succeeded(parser.parseOptionalKeyword("by")) &&
         parser.parseInteger(group)))
      return {};
    axis = StringAttr::get(context, name);
  }
  if (parser.parseComma() || parser.parseKeyword("layers"))
    return {};
  FailureOr<LayerRule> rule =
      parseEnum<LayerRule>(parser, symbolizeLayerRule, "all, stages or owners");
  if (failed(rule))
    return {};
  if (*rule != LayerRule::All) {
    if (parser.parseLSquare())
      return {};
    while (true) {
      SmallVector<int64_t> ids;
      if (parseLayerList(parser, ids))
        return {};
      LayersAttr list = parser.getChecked<LayersAttr>(context, ids);
      if (!list)
        return {};
      lists.push_back(list);
      if (succeeded(parser.parseOptionalRSquare()))
        break;
      if (parser.parseVerticalBar())
        return {};
    }
  }
  if (parser.parseGreater())
    return {};
  return parser.getChecked<ResidencyAttr>(context, tokens, axis, group, *rule,
                                          lists);
}

void ResidencyAttr::print(AsmPrinter &printer) const {
  printer << "<tokens ";
  printDeal(printer, getTokens());
  printer << ", heads ";
  if (!getHeadAxis())
    printer << "replicated";
  else
    printer << "split " << getHeadAxis();
  if (getHeadGroup() != 1)
    printer << " by " << getHeadGroup();
  printer << ", layers " << stringifyLayerRule(getRule());
  if (getRule() != LayerRule::All) {
    printer << " [";
    llvm::interleave(
        getLayers(), printer,
        [&](LayersAttr list) { printer << describeLayers(list.getIds()); },
        " | ");
    printer << "]";
  }
  printer << ">";
}

LogicalResult
ResidencyAttr::verify(function_ref<InFlightDiagnostic()> emitError, DealAttr,
                      StringAttr axis, int64_t group, LayerRule rule,
                      ArrayRef<LayersAttr> lists) {
  if (group < 1 || (!axis && group != 1))
    return emitError() << "heads by groups of " << group
                       << (axis ? ", expected at least 1"
                                : " that are replicated on every rank");
  if ((rule == LayerRule::All) != lists.empty())
    return emitError() << lists.size() << " lists of layers for '"
                       << stringifyLayerRule(rule) << "'";
  llvm::SmallDenseMap<int64_t, size_t> seen;
  for (auto [number, list] : llvm::enumerate(lists))
    for (int64_t layer : list.getIds())
      if (auto [known, isNew] = seen.insert({layer, number}); !isNew)
        return emitError() << "layer " << layer << " is in list "
                           << known->second << " and in list " << number
                           << ", expected one of them";
  return success();
}

//===----------------------------------------------------------------------===//
// Plane
//===----------------------------------------------------------------------===//

Attribute PlaneAttr::parse(AsmParser &parser, Type) {
  MLIRContext *context = parser.getContext();
  std::string name, dtype, buffer;
  int64_t heads = 1, bytes = 0, window = 0, offset = 0;
  int64_t tokenStride = 0, headStride = 0;
  SmallVector<int64_t> ids;
  if (parser.parseLess() || parser.parseString(&name) ||
      parser.parseString(&dtype) || parser.parseInteger(heads) ||
      parser.parseKeyword("x") || parser.parseInteger(bytes))
    return {};
  bool isState = succeeded(parser.parseOptionalKeyword("state"));
  if (succeeded(parser.parseOptionalKeyword("last")) &&
      (parser.parseInteger(window)))
    return {};
  if (parser.parseKeyword("layers") || parseLayerList(parser, ids) ||
      parser.parseKeyword("in") || parser.parseString(&buffer))
    return {};
  if (succeeded(parser.parseOptionalKeyword("at")) &&
      parser.parseInteger(offset))
    return {};
  FailureOr<RowOrder> order = parseEnum<RowOrder>(
      parser, symbolizeRowOrder, "token_major, head_major or strides");
  if (failed(order))
    return {};
  if (*order == RowOrder::Strides &&
      (parser.parseLSquare() || parser.parseInteger(tokenStride) ||
       parser.parseComma() || parser.parseInteger(headStride) ||
       parser.parseRSquare()))
    return {};
  LayersAttr layers = parser.getChecked<LayersAttr>(context, ids);
  if (!layers || parser.parseGreater())
    return {};
  return parser.getChecked<PlaneAttr>(
      context, StringAttr::get(context, name), StringAttr::get(context, dtype),
      heads, bytes, isState, window, layers, StringAttr::get(context, buffer),
      offset, *order, tokenStride, headStride);
}

void PlaneAttr::print(AsmPrinter &printer) const {
  printer << "<" << getName() << " " << getDtype() << " " << getHeads() << " x "
          << getHeadBytes();
  if (getIsState())
    printer << " state";
  if (getWindow())
    printer << " last " << getWindow();
  printer << " layers " << describeLayers(getLayers().getIds()) << " in "
          << getBuffer();
  if (getOffset())
    printer << " at " << getOffset();
  printer << " " << stringifyRowOrder(getOrder());
  if (getOrder() == RowOrder::Strides)
    printer << " [" << getTokenStride() << ", " << getHeadStride() << "]";
  printer << ">";
}

LogicalResult PlaneAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                StringAttr name, StringAttr, int64_t heads,
                                int64_t headBytes, bool isState, int64_t window,
                                LayersAttr, StringAttr, int64_t, RowOrder,
                                int64_t, int64_t) {
  if (heads < 1 || headBytes < 1)
    return emitError() << "plane " << name << " has " << heads << " heads of "
                       << headBytes << " bytes, expected at least 1 of each";
  if (window < 0 || (isState && window))
    return emitError() << "plane " << name << " has a window of " << window
                       << (isState ? " and is a state, which has no tokens"
                                   : " tokens, expected at least 1");
  return success();
}
