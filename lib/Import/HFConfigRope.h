//===- HFConfigRope.h - RoPE keys of a config.json --------------*- C++ -*-===//
//
// Two generations of keys: `rope_theta` + `rope_scaling` beside it, and one
// `rope_parameters` object (transformers 5). Both at once must agree.
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_LIB_IMPORT_HFCONFIGROPE_H
#define LAYLINE_LIB_IMPORT_HFCONFIGROPE_H

#include "HFConfigFamilies.h"
#include "HFConfigFields.h"

namespace layline {

/// Fills `config.rope` and `slidingRope`; reads `config.headDim` and
/// `config.maxPositions`. Faults are left in `fields`.
void readRope(HFConfigFields &fields, const Family &family,
              DecoderConfig &config);

} // namespace layline

#endif // LAYLINE_LIB_IMPORT_HFCONFIGROPE_H
