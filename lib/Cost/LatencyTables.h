//===- LatencyTables.h - the measured curves --------------------*- C++ -*-===//
//
// Text of the form of data/collectives/h100_sxm.csv -> curves. The files of the
// repository are built into the library; data/collectives/README.md says what
// is in them.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_LIB_COST_LATENCYTABLES_H
#define LAYLINE_LIB_COST_LATENCYTABLES_H

#include "Curve.h"
#include <optional>
#include <string>
#include <vector>

namespace layline {

struct LatencyRow {
  enum class Use {
    Deployed,  ///< the newest version of the algorithm
    Inferred,  ///< deployed, but the source does not name the card
    Older,     ///< an older version
    Reference, ///< measured beside others, to compare with
    Calibrated ///< measured by the user on the target itself
  };

  std::string card; ///< "h200_sxm"
  std::string op;   ///< a collective, a FusedForm or "row_kernel", by name
  int64_t ranks = 0;
  std::string algorithm, version;
  Use use = Use::Deployed;
  std::string source, date;
  Curve curve;

  bool isDeployed() const { return use != Use::Older && use != Use::Reference; }
  /// "vllm 0.24.0 vllm_custom"
  std::string label() const {
    return version.empty() ? algorithm : version + " " + algorithm;
  }
};

/// Nothing on failure, with "NAME:LINE: found .., expected .." in `error`.
std::optional<std::vector<LatencyRow>> parseLatencies(const std::string &text,
                                                      const std::string &name,
                                                      std::string &error);

/// A collective, a FusedForm or "row_kernel".
bool isLatencyOp(const std::string &name);

/// The built-in rows.
const std::vector<LatencyRow> &getLatencies();

/// The rows of a card that a model rests on, out of all: the deployed ones,
/// with the shapes of other versions where their own rows are missing.
std::vector<LatencyRow> selectDeployed(const std::vector<LatencyRow> &all,
                                       const std::string &card);

} // namespace layline

#endif // LAYLINE_LIB_COST_LATENCYTABLES_H
