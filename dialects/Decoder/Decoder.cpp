//===- Decoder.cpp - the decoder dialect and its attributes ---------------===//
#include "dialects/Decoder/Decoder.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace layline::decoder;

#include "dialects/Decoder/DecoderDialect.cpp.inc"
#include "dialects/Decoder/DecoderEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Decoder/DecoderAttrs.cpp.inc"

void DecoderDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "dialects/Decoder/DecoderOps.cpp.inc"
      >();
}

void DecoderDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/Decoder/DecoderAttrs.cpp.inc"
      >();
}

LogicalResult DecoderDialect::verifyOperationAttribute(Operation *op,
                                                       NamedAttribute attr) {
  if (attr.getName() == kSource && isa<ModuleOp>(op) &&
      isa<DictionaryAttr>(attr.getValue()))
    return success();
  if (attr.getName() == kReference && isa<FunctionOpInterface>(op) &&
      isa<UnitAttr>(attr.getValue()))
    return success();
  if (attr.getName() != kRecord)
    return op->emitOpError("has the unknown attribute '")
           << attr.getName().getValue() << "'";
  auto names = dyn_cast<ArrayAttr>(attr.getValue());
  if (!names || names.size() != op->getNumResults() ||
      !llvm::all_of(names, [](Attribute name) {
        return isa<StringAttr>(name) && !cast<StringAttr>(name).empty();
      }))
    return op->emitOpError("'")
           << kRecord << "' is " << attr.getValue() << ", expected a name for "
           << "each of " << op->getNumResults() << " results";
  return success();
}

LogicalResult DecoderDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                       unsigned argument,
                                                       NamedAttribute attr) {
  auto name = dyn_cast<StringAttr>(attr.getValue());
  if (attr.getName() != kInput || !name || name.empty())
    return op->emitOpError("argument #")
           << argument << " has '" << attr.getName().getValue()
           << "' = " << attr.getValue() << ", expected '" << kInput
           << "' with the input's name";
  return success();
}

//===----------------------------------------------------------------------===//
// RoPE table
//===----------------------------------------------------------------------===//

RopeTableAttr RopeTableAttr::get(MLIRContext *context, ArrayRef<double> invFreq,
                                 double factor, int64_t above,
                                 ArrayRef<double> longInvFreq,
                                 double longFactor) {
  Builder builder(context);
  bool isLong = !longInvFreq.empty();
  return get(context, builder.getDenseF64ArrayAttr(invFreq),
             builder.getF64FloatAttr(factor), above,
             isLong ? builder.getDenseF64ArrayAttr(longInvFreq)
                    : DenseF64ArrayAttr(),
             isLong ? builder.getF64FloatAttr(longFactor) : FloatAttr());
}

static bool isFrequency(double value) {
  return std::isfinite(value) && value >= 0;
}

LogicalResult
RopeTableAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                      DenseF64ArrayAttr invFreq, FloatAttr factor,
                      int64_t above, DenseF64ArrayAttr longInvFreq,
                      FloatAttr longFactor) {
  if (!invFreq || invFreq.empty())
    return emitError() << "a RoPE table needs at least one frequency";
  if (!factor || !llvm::all_of(invFreq.asArrayRef(), isFrequency) ||
      !isFrequency(factor.getValueAsDouble()))
    return emitError() << "RoPE frequencies and factors must be finite and "
                          "not negative";
  if (!longInvFreq)
    return above == 0 && !longFactor ? success()
                                     : emitError() << "positions from " << above
                                                   << " on have no frequencies";
  if (above < 1 || longInvFreq.size() != invFreq.size() || !longFactor ||
      !llvm::all_of(longInvFreq.asArrayRef(), isFrequency) ||
      !isFrequency(longFactor.getValueAsDouble()))
    return emitError() << "the table has " << invFreq.size()
                       << " frequencies and " << longInvFreq.size()
                       << " for positions from " << above
                       << " on; expected as many, from a positive position on";
  return success();
}

static ParseResult parseNumbers(AsmParser &parser, DenseF64ArrayAttr &numbers,
                                FloatAttr &factor) {
  SmallVector<double> values;
  double scale;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parser.parseFloat(values.emplace_back()); }) ||
      parser.parseComma() || parser.parseKeyword("factor") ||
      parser.parseFloat(scale))
    return failure();
  numbers = parser.getBuilder().getDenseF64ArrayAttr(values);
  factor = parser.getBuilder().getF64FloatAttr(scale);
  return success();
}

Attribute RopeTableAttr::parse(AsmParser &parser, Type) {
  SMLoc loc = parser.getCurrentLocation();
  DenseF64ArrayAttr invFreq, longInvFreq;
  FloatAttr factor, longFactor;
  int64_t above = 0;
  if (parser.parseLess() || parseNumbers(parser, invFreq, factor))
    return {};
  if (succeeded(parser.parseOptionalComma()) &&
      (parser.parseKeyword("above") || parser.parseInteger(above) ||
       parseNumbers(parser, longInvFreq, longFactor)))
    return {};
  if (parser.parseGreater())
    return {};
  return RopeTableAttr::getChecked([&] { return parser.emitError(loc); },
                                   parser.getContext(), invFreq, factor, above,
                                   longInvFreq, longFactor);
}

static void printNumbers(AsmPrinter &printer, DenseF64ArrayAttr numbers,
                         FloatAttr factor) {
  printer << "[";
  llvm::interleaveComma(numbers.asArrayRef(), printer, [&](double value) {
    printer.printFloat(APFloat(value));
  });
  printer << "], factor ";
  printer.printFloat(factor.getValue());
}

void RopeTableAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printNumbers(printer, getInvFreq(), getFactor());
  if (getLongInvFreq()) {
    printer << ", above " << getAbove() << " ";
    printNumbers(printer, getLongInvFreq(), getLongFactor());
  }
  printer << ">";
}
