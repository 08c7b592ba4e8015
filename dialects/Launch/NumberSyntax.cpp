//===- NumberSyntax.cpp - doubles that survive a round trip ---------------===//
#include "dialects/Launch/NumberSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

ParseResult layline::launch::parseNumbers(OpAsmParser &parser,
                                          DenseF64ArrayAttr &numbers) {
  SmallVector<double> values;
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, [&] {
        return parser.parseFloat(values.emplace_back());
      }))
    return failure();
  numbers = parser.getBuilder().getDenseF64ArrayAttr(values);
  return success();
}

void layline::launch::printNumbers(OpAsmPrinter &printer, Operation *,
                                   DenseF64ArrayAttr numbers) {
  printer << "[";
  llvm::interleaveComma(numbers.asArrayRef(), printer, [&](double value) {
    printer.printFloat(APFloat(value));
  });
  printer << "]";
}

ParseResult layline::launch::parseSegments(OpAsmParser &parser,
                                           ArrayAttr &segments) {
  SmallVector<Attribute> list;
  do {
    SmallVector<Attribute, 4> parts(2);
    if (parser.parseKeyword("begin") || parser.parseAttribute(parts[0]) ||
        parser.parseKeyword("size") || parser.parseAttribute(parts[1]))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("block"))) {
      int64_t block, stride;
      if (parser.parseInteger(block) || parser.parseKeyword("stride") ||
          parser.parseInteger(stride))
        return failure();
      parts.push_back(parser.getBuilder().getI64IntegerAttr(block));
      parts.push_back(parser.getBuilder().getI64IntegerAttr(stride));
    }
    list.push_back(parser.getBuilder().getArrayAttr(parts));
  } while (succeeded(parser.parseOptionalComma()));
  segments = parser.getBuilder().getArrayAttr(list);
  return success();
}

void layline::launch::printSegments(OpAsmPrinter &printer, Operation *,
                                    ArrayAttr segments) {
  llvm::interleaveComma(segments, printer, [&](Attribute attr) {
    auto parts = dyn_cast<ArrayAttr>(attr);
    if (!parts || parts.size() < 2) {
      printer << attr; // its op is invalid
      return;
    }
    printer << "begin " << parts[0] << " size " << parts[1];
    if (parts.size() == 4)
      printer << " block " << cast<IntegerAttr>(parts[2]).getInt() << " stride "
              << cast<IntegerAttr>(parts[3]).getInt();
  });
}
