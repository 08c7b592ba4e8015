//===- HFConfigLayers.h - keys that differ by layer -------------*- C++ -*-===//
//
// Sliding windows, and which layers are mixtures of experts.
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_LIB_IMPORT_HFCONFIGLAYERS_H
#define LAYLINE_LIB_IMPORT_HFCONFIGLAYERS_H

#include "HFConfigFamilies.h"
#include "HFConfigFields.h"

namespace layline {

/// Fills `config.perLayer` and `config.moe`; reads `config.layers` and
/// `config.maxPositions`. Faults are left in `fields`.
void readLayers(HFConfigFields &fields, const Family &family,
                DecoderConfig &config);

/// Fills `config.moe` and says which layers have experts. HFConfigMoe.cpp.
void readExperts(HFConfigFields &fields, const Family &family,
                 DecoderConfig &config);

} // namespace layline

#endif // LAYLINE_LIB_IMPORT_HFCONFIGLAYERS_H
