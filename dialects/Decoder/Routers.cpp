//===- Routers.cpp - who chose the experts of a row -----------------------===//
#include "dialects/Decoder/Routers.h"

using namespace mlir;
using namespace layline::decoder;
using namespace layline::grid;

RouterOp layline::decoder::findRouter(Value ids) {
  while (auto result = dyn_cast<OpResult>(ids)) {
    Operation *op = result.getOwner();
    if (auto router = dyn_cast<RouterOp>(op))
      return router;
    if (auto fused = dyn_cast<FusedOp>(op))
      ids = fused.getBody().front().getTerminator()->getOperand(
          result.getResultNumber());
    else if (auto dispatch = dyn_cast<DispatchOp>(op))
      ids = dispatch.getIds();
    else if (auto carrier = dyn_cast<RowCarrierOpInterface>(op))
      ids = carrier.getCarriedRows();
    else
      break;
  }
  return {};
}
