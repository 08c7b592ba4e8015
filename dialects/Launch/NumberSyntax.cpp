//===- NumberSyntax.cpp - doubles that survive a round trip ---------------===//
#include "dialects/Launch/NumberSyntax.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

ParseResult layline::launch::parseNumbers(OpAsmParser &parser,
                                          DenseF64ArrayAttr &numbers) {
  SmallVector<double> values;
  if (parser.parseCommaSeparatedList(
          AsmParser::Delimiter::Square,
          [&] { return parser.parseFloat(values.emplace_back()); }))
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
