//===- NCCLTests.h - what nccl-tests prints ---------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_COST_NCCLTESTS_H
#define LAYLINE_LIB_COST_NCCLTESTS_H

#include "layline/Cost/Calibration.h"

namespace layline {

/// The text of one or several runs of all_reduce_perf, reduce_scatter_perf,
/// all_gather_perf or alltoall_perf, one after the other.
std::optional<std::vector<MeasuredCurve>>
parseNCCLTests(const std::string &text, const std::string &file,
               const MeasurementOptions &options, std::string &error);

} // namespace layline

#endif // LAYLINE_LIB_COST_NCCLTESTS_H
