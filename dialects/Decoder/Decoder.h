//===- Decoder.h - the decoder dialect --------------------------*- C++ -*-===//
#ifndef LAYLINE_DIALECTS_DECODER_DECODER_H
#define LAYLINE_DIALECTS_DECODER_DECODER_H

#include "dialects/Grid/Grid.h"

#include "dialects/Decoder/DecoderDialect.h.inc"
#include "dialects/Decoder/DecoderEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/Decoder/DecoderAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/Decoder/DecoderOps.h.inc"

#endif // LAYLINE_DIALECTS_DECODER_DECODER_H
