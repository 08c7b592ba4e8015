//===- CostModel.h - microseconds of a step on a target ---------*- C++ -*-===//
//
// How long a collective, a fused kernel, a row kernel or a GEMM takes, and how
// well that is known. docs/cost-model.md has the formulas, where the tables
// come from and what the model leaves out.
//
// Units: microseconds, bytes. `bytes` of a collective are those of the whole
// global tensor: what all ranks hold together of a scattered one, what each
// rank holds of a gathered or an owed one. Of an all_to_all they are what all
// ranks send together, their own parts included.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_COST_COSTMODEL_H
#define LAYLINE_COST_COSTMODEL_H

#include "layline/Cost/Capabilities.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// From best to worst.
enum class Confidence {
  Measured,     ///< a row of a table
  Interpolated, ///< between two rows of one table
  Formula       ///< a closed form
};
const char *getName(Confidence confidence); ///< "measured", ...

struct Estimate {
  double us = 0;
  Confidence confidence = Confidence::Measured;
  /// What the number rests on, short: "aic h200_sxm vllm 0.24.0 vLLM_custom".
  std::string source;

  /// One after the other; a sum is as well known as its worst part.
  Estimate &operator+=(const Estimate &other);
};
Estimate operator+(Estimate a, const Estimate &b);

enum class Collective { AllReduce, ReduceScatter, AllGather, AllToAll };
const char *getName(Collective collective); ///< "all_reduce", ...

/// One algorithm of a collective and its time.
struct Candidate {
  std::string algorithm; ///< "vllm 0.24.0 vLLM_custom_graph"
  Estimate estimate;
};

struct FusedShape {
  FusedForm form = FusedForm::AllReduceEpilogue;
  int64_t reduceBytes = 0; ///< of the whole tensor that is reduced, or 0
  int64_t gatherBytes = 0; ///< of the whole tensor that is gathered, or 0
  /// What the epilogue reads and writes in memory beyond what the collective
  /// itself moves (residual, gate, scales), on the rank with most rows.
  int64_t localReadBytes = 0;
  int64_t localWriteBytes = 0;
};

/// Whether kernels are launched from a CUDA graph or one by one: a kernel of
/// few rows takes as long as its launch.
enum class LaunchMode { Graph, Eager };
/// "graph" or "eager".
std::optional<LaunchMode> findLaunchMode(const std::string &name);

struct CostModelOptions {
  std::string target; ///< a name of knownTargets()
  /// Path of a file that `layline calibrate` wrote, or empty. Its curves take
  /// the place of the built-in ones of the same collective and ranks.
  std::string calibrationFile;
  /// Path of a file in place of the built-in list of kernels, or empty.
  std::string capabilityFile;
  LaunchMode launch = LaunchMode::Graph;
};

/// Immutable; copies share the tables.
class CostModel {
public:
  /// Nothing on failure, with a message in `error` that says where, what was
  /// found and what was expected.
  static std::optional<CostModel> create(const CostModelOptions &options,
                                         std::string &error);

  /// The fastest algorithm that the target has. A group of one rank costs
  /// nothing.
  Estimate collective(Collective collective, int64_t bytes,
                      int64_t ranks) const;
  /// Every algorithm, the fastest first.
  std::vector<Candidate> collectiveCandidates(Collective collective,
                                              int64_t bytes,
                                              int64_t ranks) const;

  /// The fastest kernel of that form. Infinite, with the reason as its source,
  /// if the target has none for that many ranks and bytes.
  Estimate fused(const FusedShape &shape, int64_t ranks) const;
  std::vector<Candidate> fusedCandidates(const FusedShape &shape,
                                         int64_t ranks) const;

  /// One memory-bound kernel: norm, add, activation, quantise, copy.
  Estimate rowKernel(int64_t readBytes, int64_t writeBytes) const;
  /// m rows times a k x n weight. Bytes are those of one element.
  Estimate gemm(int64_t m, int64_t n, int64_t k, int weightBytes,
                int activationBytes) const;
  /// What a kernel takes at least.
  double launchOverheadUs() const;

  const std::string &target() const;
  const Capabilities &capabilities() const;

  struct Tables; // the insides
private:
  explicit CostModel(std::shared_ptr<const Tables> insides)
      : tables(std::move(insides)) {}

  std::shared_ptr<const Tables> tables;
};

} // namespace layline

#endif // LAYLINE_COST_COSTMODEL_H
