//===- Consumers.cpp - who reads a rewritten value, and as what -----------===//
#include "layline/Verification/Consumers.h"

using namespace mlir;
using namespace layline;
using namespace layline::grid;

static std::string placeOf(Operation *op) {
  StringAttr place = getPlace(op->getLoc());
  return place ? place.str() : std::string();
}

/// Readers of a value; what a fused region yields is read outside.
static void collectReaders(Value value, std::vector<Consumer> &readers) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<YieldOp>(user)) {
      collectReaders(user->getParentOp()->getResult(use.getOperandNumber()),
                     readers);
      continue;
    }
    readers.push_back({user->getName().stripDialect().str(), placeOf(user),
                       use.getOperandNumber()});
  }
}

FailureOr<std::vector<RewrittenValue>>
layline::collectConsumers(func::FuncOp function) {
  std::vector<RewrittenValue> values;
  bool lost = false;
  function.walk([&](Operation *op) {
    if (isa<FusedOp, YieldOp>(op))
      return;
    for (Value result : op->getResults()) {
      LayoutAttr layout = getLayout(result.getType());
      bool byRows = layout && layout.getDims().size() > 0 &&
                    layout.isSplit(0) && op->getNumOperands();
      if (!isa<CommEdgeOpInterface>(op) && !byRows)
        continue;
      RewrittenValue value;
      value.name = placeOf(op);
      value.op = op->getName().stripDialect().str();
      llvm::raw_string_ostream(value.layout) << layout;
      collectReaders(result, value.consumers);
      // Users are listed last first.
      std::reverse(value.consumers.begin(), value.consumers.end());
      if (value.consumers.empty()) {
        op->emitOpError("gives a value that nothing reads: its rows are lost");
        lost = true;
      }
      values.push_back(std::move(value));
    }
  });
  if (lost)
    return failure();
  return values;
}
