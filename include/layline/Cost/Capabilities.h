//===- Capabilities.h - the fused kernels that a target has -----*- C++ -*-===//
//
// What a kernel library offers on a target, as data: data/capabilities/
// <target>.json, of the form data/schema/capabilities.v1.schema.json. Built in
// for every target; a user's file takes the place of the built-in one.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_COST_CAPABILITIES_H
#define LAYLINE_COST_CAPABILITIES_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline {

/// What one launch does, by what crosses the wire in it.
enum class FusedForm {
  /// all_reduce, then row-wise ops; every rank does all rows (one-shot,
  /// two-shot).
  AllReduceEpilogue,
  /// reduce_scatter, row-wise ops on own rows, all_gather.
  ReduceScatterEpilogueAllGather,
  /// reduce_scatter, row-wise ops; the rows stay where they are.
  ReduceScatterEpilogue,
  /// Row-wise ops on own rows, all_gather.
  EpilogueAllGather,
  /// Several all_gathers of one group in one launch.
  GroupedAllGather
};

/// As in a capability file: "reduce_scatter_epilogue_all_gather".
const char *getName(FusedForm form);
std::optional<FusedForm> findFusedForm(const std::string &name);

/// What a planner wants in one launch.
struct FusedNeed {
  FusedForm form = FusedForm::AllReduceEpilogue;
  /// The row-wise ops in order, by the names of a capability file: "add",
  /// "norm", "quantize", "scale", "activation", "rope".
  std::vector<std::string> ops;
  /// One for each "norm" of `ops`: "rms", "layer", "rms_offset" (a weight that
  /// is used as 1 + w).
  std::vector<std::string> norms;
  std::string dtype; ///< of the rows on the wire: "bf16", "f16", "f32"
  int64_t hidden = 0;
  int64_t ranks = 0;
  int64_t bytes = 0; ///< of the whole tensor on the wire; 0: any
  /// A norm's value and its quantised form both leave the kernel.
  bool normAndQuantized = false;
};

struct FusedKernel {
  std::string name;
  std::string source; ///< where its limits were read
  FusedForm form = FusedForm::AllReduceEpilogue;
  std::vector<std::string> epilogue; ///< ops it may run, any number of each
  std::vector<std::string> norms;
  std::vector<std::string> dtypes;
  std::vector<int64_t> ranks; ///< empty: any
  int64_t hiddenMultiple = 1; ///< elements
  int64_t maxHidden = 0;      ///< elements; 0: no limit
  int64_t minBytes = 0;       ///< of the whole tensor on the wire
  int64_t maxBytes = 0;       ///< 0: no limit
  /// `maxBytes` of some group sizes, in place of it.
  std::vector<std::pair<int64_t, int64_t>> maxBytesOfRanks;
  int64_t maxNorms = 0; ///< norms in one launch
  bool emitsNormAndQuant = false;
  bool needsMulticast = false;
  /// Of an AllReduceEpilogue: every rank sends all it has to every other, in
  /// place of parts to their owners and back.
  bool oneShot = false;
  /// Its measured curve in the latency tables, or empty.
  std::string algorithm;

  int64_t maxBytesFor(int64_t numRanks) const;
};

struct KernelMatch {
  const FusedKernel *kernel = nullptr; ///< of the Capabilities that was asked
  std::string reason; ///< if there is none: "no kernel of h100x8 ..."

  explicit operator bool() const { return kernel; }
};

struct Capabilities {
  std::string target;
  bool multicast = false; ///< the fabric adds and multicasts
  std::vector<FusedKernel> kernels;

  /// The first kernel that does all of it, else why none does: what the kernel
  /// lacks that meets most of the need.
  KernelMatch find(const FusedNeed &need) const;
};

/// Null with a message that names the file, the key, what was found and what
/// was expected. `name` stands for the text in messages.
std::optional<Capabilities> parseCapabilities(const std::string &text,
                                              const std::string &name,
                                              std::string &error);

/// The built-in file of a target.
std::optional<Capabilities> getCapabilities(const std::string &target,
                                            std::string &error);

} // namespace layline

#endif // LAYLINE_COST_CAPABILITIES_H
