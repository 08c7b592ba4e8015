//===- Calibration.h - times that a user measured ---------------*- C++ -*-===//
//
// Output of nccl-tests or plain CSV -> curves -> a calibration file, which
// CostModel::create lays over the built-in tables. The file's form is
// data/schema/calibration.v1.schema.json.
//
// On failure functions return nothing, with "FILE:LINE: found .., expected .."
// in `error`.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_COST_CALIBRATION_H
#define LAYLINE_COST_CALIBRATION_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// Times of one algorithm of one op.
struct MeasuredCurve {
  std::string op; ///< a collective, a FusedForm or "row_kernel", by name
  int64_t ranks = 0;
  std::string algorithm;
  /// Bytes of the whole global tensor (of a row_kernel: read and written) ->
  /// us.
  std::map<int64_t, double> points;
};

struct Calibration {
  std::string target; ///< a name of knownTargets()
  std::string source; ///< what was measured, in the user's words
  std::string date;   ///< "2026-11-30"
  std::vector<MeasuredCurve> curves;
};

struct MeasurementOptions {
  /// The collective of an nccl-tests file that does not name its test.
  std::string op;
  /// For curves that name none.
  std::string algorithm = "nccl";
  bool inPlace = false; ///< nccl-tests' in-place columns, not out-of-place
};

/// Text that one or several nccl-tests programs printed, or a CSV whose first
/// line is "op,ranks,bytes,us" or "op,ranks,bytes,us,algorithm", or what
/// layline-gpu-bench printed: such a CSV between its first line, which names
/// the bench, and its last one, which counts the rows. Of repeated sizes the
/// median counts.
std::optional<std::vector<MeasuredCurve>>
parseMeasurements(const std::string &text, const std::string &file,
                  const MeasurementOptions &options, std::string &error);

/// Whether layline-gpu-bench had all ranks of the curve on one card, so that no
/// link is in its times: they are none of a target whose ranks have cards.
bool isOfOneCard(const MeasuredCurve &curve);

/// Curves of one op, ranks and algorithm from several files become one.
std::vector<MeasuredCurve>
mergeCurves(const std::vector<MeasuredCurve> &curves);

std::string printCalibration(const Calibration &calibration);
std::optional<Calibration> parseCalibration(const std::string &text,
                                            const std::string &file,
                                            std::string &error);

} // namespace layline

#endif // LAYLINE_COST_CALIBRATION_H
