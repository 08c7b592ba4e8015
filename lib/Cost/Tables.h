//===- Tables.h - the insides of a cost model -------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_COST_TABLES_H
#define LAYLINE_LIB_COST_TABLES_H

#include "Hardware.h"
#include "LatencyTables.h"
#include "layline/Cost/CostModel.h"
#include "layline/Cost/Targets.h"

namespace layline {

struct CostModel::Tables {
  Target target;
  Hardware hardware;
  Capabilities capabilities;
  LaunchMode launch = LaunchMode::Graph;
  /// Deployed rows of the target's card, and the calibrated ones.
  std::vector<LatencyRow> rows;

  /// Rows of an op and group size; calibrated ones alone where there are any.
  std::vector<const LatencyRow *> findRows(const std::string &op,
                                           int64_t ranks) const;
  const LatencyRow *findRow(const std::string &op, int64_t ranks,
                            const std::string &algorithm) const;

  std::vector<Candidate> collective(Collective collective, int64_t bytes,
                                    int64_t ranks) const;
  std::vector<Candidate> fused(const FusedShape &shape, int64_t ranks) const;

  /// Bytes a microsecond that a kernel without reuse reaches.
  double memoryBytesPerUs() const;
  double launchFloorUs() const;

private:
  std::vector<Candidate> onTable(Collective collective, int64_t bytes,
                                 int64_t ranks) const;
  std::vector<Candidate> fromOtherRanks(Collective collective, int64_t bytes,
                                        int64_t ranks) const;
  Estimate acrossNodes(Collective collective, int64_t bytes,
                       int64_t ranks) const;
  Estimate closedForm(Collective collective, int64_t bytes,
                      int64_t ranks) const;
  Estimate fusedBy(const FusedKernel &kernel, const FusedShape &shape,
                   int64_t ranks) const;
  Estimate scatterGatherBy(const FusedKernel &kernel, const FusedShape &shape,
                           int64_t ranks) const;
  Estimate reduceAllBy(const FusedKernel &kernel, int64_t bytes,
                       int64_t ranks) const;
};

/// An estimate of a row's curve, with the row as its source.
Estimate estimateOf(const LatencyRow &row, int64_t bytes);

/// An all_reduce in one step, every rank to every other, and the row-wise ops
/// behind it. On 8 H200 it is as fast as all_reduce and norm at 256 KiB and 4.3
/// us slower at 512 KiB (vLLM issue 44079), which a start of 3.7 us and 235
/// GB/s of a link of 450 GB/s meet.
double oneShotUs(int64_t bytes, int64_t ranks, double linkGBs);

/// Measured and interpolated ones first, each kind by time.
void sortCandidates(std::vector<Candidate> &candidates);

} // namespace layline

#endif // LAYLINE_LIB_COST_TABLES_H
