//===- Sweep.h - many models, cards and numbers of ranks priced -*- C++ -*-===//
//
// No header of LLVM or MLIR is included here: the command-line tool is a plain
// C++ program.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_DRIVER_SWEEP_H
#define LAYLINE_DRIVER_SWEEP_H

#include <cstdint>
#include <string>
#include <vector>

namespace layline {

struct SweepRequest {
  std::vector<std::string> configs; ///< paths of config.json
  std::vector<int64_t> tp = {1, 2, 4, 8};
  std::vector<std::string> targets;
  std::vector<int64_t> tokens = {1, 64, 512, 4096};
  std::string launch = "graph";
  std::string calibration, kernels; ///< paths, or empty
  int64_t memoryLimit = 0;          ///< bytes of weights of a rank; 0: none
  unsigned threads = 0;             ///< 0: as many as the machine has
};

/// One model on one kind of card with one number of ranks, at one token count.
struct SweepRow {
  std::string config, modelType, blockTemplate, target;
  int64_t tp = 1, tokens = 0;
  /// Why there is no plan, or empty. The numbers below are then 0.
  std::string refusal;
  int64_t weightBytes = 0;     ///< of a rank
  int64_t replicatedBytes = 0; ///< of these, what every rank holds
  /// Microseconds of a step's boundaries: all_reduce and separate kernels; the
  /// chosen sharding unfused; the chosen plan.
  double today = 0, unfused = 0, chosen = 0;
  double fixed = 0; ///< products, by the roofline; without attention
  std::string confidence;
  int64_t sites = 0, sitesByRows = 0, phases = 0, launches = 0;
};

/// Rows in the order of configs, targets, ranks and tokens, whatever the number
/// of threads. `error` is not empty if the request itself is wrong.
std::vector<SweepRow> sweep(const SweepRequest &request, std::string &error);

} // namespace layline

#endif // LAYLINE_DRIVER_SWEEP_H
