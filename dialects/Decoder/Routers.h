//===- Routers.h - who chose the experts of a row ---------------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_DECODER_ROUTERS_H
#define LAYLINE_DIALECTS_DECODER_ROUTERS_H

#include "dialects/Decoder/Decoder.h"

namespace layline::decoder {

/// The router that gave the ids, through what only moves their rows; null if
/// they come from elsewhere.
RouterOp findRouter(mlir::Value ids);

} // namespace layline::decoder

#endif // LAYLINE_DIALECTS_DECODER_ROUTERS_H
