//===- RopeTable.h - rotary frequencies of a model --------------*- C++ -*-===//
//
// The frequencies HF computes in modeling_rope_utils.py, here in double. The
// rotation of position p uses the angles p * invFreq[i]; cos and sin are both
// multiplied by the attention factor.
//
//===----------------------------------------------------------------------===//

#ifndef LAYLINE_IMPORT_ROPETABLE_H
#define LAYLINE_IMPORT_ROPETABLE_H

#include "layline/Import/DecoderConfig.h"

namespace layline {

/// Frequencies, in radians per token.
struct RopeFrequencies {
  std::vector<double> invFreq; ///< rotaryDim / 2
  double attentionFactor = 1;
};

struct RopeTable {
  RopeFrequencies base;

  /// longrope only. When the largest position of a run + 1 is greater than
  /// `above`, every position of that run uses these instead of `base`.
  struct LongContext {
    int64_t above = 0;
    RopeFrequencies frequencies;
  };
  std::optional<LongContext> longContext;
};

RopeTable computeRopeTable(const RopeConfig &rope);

} // namespace layline

#endif // LAYLINE_IMPORT_ROPETABLE_H
