//===- VerifyPositions.cpp - positions are those of the rows --------------===//
#include "dialects/Decoder/Decoder.h"
#include "layline/Verification/Passes.h"

namespace layline {
#define GEN_PASS_DEF_VERIFYPOSITIONS
#include "lib/Verification/Passes.h.inc"
} // namespace layline

using namespace mlir;
using namespace layline;
using namespace layline::grid;

namespace {

/// Where the rows of a value come from.
struct Origin {
  Value source;           ///< what no op merely hands on
  unsigned histories = 0; ///< how often cached rows were put in front
};

/// Looks through fused regions and ops that hand rows on.
Origin traceRows(Value value) {
  Origin origin{value};
  while (Operation *op = origin.source.getDefiningOp()) {
    if (auto fused = dyn_cast<FusedOp>(op)) {
      unsigned index = cast<OpResult>(origin.source).getResultNumber();
      origin.source =
          fused.getBody().front().getTerminator()->getOperand(index);
      continue;
    }
    auto carrier = dyn_cast<RowCarrierOpInterface>(op);
    if (!carrier)
      break;
    origin.histories += carrier.prependsHistory();
    origin.source = carrier.getCarriedRows();
  }
  return origin;
}

bool isPositionsInput(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  if (!function)
    return false;
  auto name = function.getArgAttrOfType<StringAttr>(
      argument.getArgNumber(), decoder::DecoderDialect::kInput);
  return name && name.getValue() == "positions";
}

struct VerifyPositions : layline::impl::VerifyPositionsBase<VerifyPositions> {
  using VerifyPositionsBase::VerifyPositionsBase;

  LogicalResult verify(PositionedOpInterface op) {
    for (auto [positions, rows] : op.getPositionedOperands()) {
      Origin origin = traceRows(op->getOperand(positions));
      if (!isPositionsInput(origin.source)) {
        InFlightDiagnostic diag =
            op->emitOpError("reads positions (operand #")
            << positions << ") that are not the program's input \"positions\"";
        // Positions that came so far and went through something else.
        if (Operation *maker = origin.source.getDefiningOp();
            maker && llvm::any_of(maker->getOperands(), [](Value operand) {
              return isPositionsInput(traceRows(operand).source);
            }))
          diag << ", but what '" << maker->getName()
               << "' makes of them: a rank's own row numbers are no positions";
        diag.attachNote(origin.source.getLoc()) << "they come from here";
        return diag;
      }
      unsigned histories = traceRows(op->getOperand(rows)).histories;
      auto describe = [](unsigned count) -> std::string {
        return count == 0   ? "the step's rows only"
               : count == 1 ? "cached rows and the step's"
                            : "rows that were cached " + std::to_string(count) +
                                  " times";
      };
      if (origin.histories != histories)
        return op->emitOpError("reads the positions of ")
               << describe(origin.histories) << " (operand #" << positions
               << ") for operand #" << rows << ", which holds "
               << describe(histories);
      LayoutAttr ofPositions = getLayout(op->getOperand(positions).getType());
      LayoutAttr ofRows = getLayout(op->getOperand(rows).getType());
      if (ofPositions && ofRows &&
          ofPositions.getDims()[0] != ofRows.getDims()[0])
        return op->emitOpError("reads positions in the layout ")
               << ofPositions << " for rows in the layout " << ofRows
               << ": row r of one is not row r of the other";
    }
    return success();
  }

  void runOnOperation() override {
    getOperation().walk([&](PositionedOpInterface op) {
      if (failed(verify(op)))
        signalPassFailure();
    });
    markAllAnalysesPreserved();
  }
};

} // namespace
