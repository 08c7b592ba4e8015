//===- KernelFamilies.h - what kind of work a kernel does -------*- C++ -*-===//
#ifndef LAYLINE_TRACE_KERNELFAMILIES_H
#define LAYLINE_TRACE_KERNELFAMILIES_H

#include "layline/Trace/Trace.h"
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace layline::trace {

/// Kernels that do the same kind of work, whoever wrote them.
enum class Family : uint8_t {
  Unknown,
  // Communication.
  AllReduce,
  ReduceScatter,
  AllGather,
  AllToAll,
  Broadcast,
  Dispatch, ///< rows to the ranks of their experts, with what prepares it
  Combine,
  AllReduceNorm, ///< all-reduce, residual add and norm in one kernel
  RSNormAG,      ///< reduce-scatter, add, norm and all-gather in one kernel
  // Products.
  Gemm,
  GemmReduce, ///< sums the parts of a product that was split
  MoeGemm,    ///< of many experts
  // Attention.
  Attention,
  AttentionMerge, ///< joins parts of keys
  Indexer,        ///< scores and choice of keys
  Rope,
  KVStore,
  // Rows.
  Norm,     ///< may add the residual first
  AddNorm,  ///< adds the residual first
  NormRope, ///< norms of heads, then the rotation
  Activation,
  Quantize,
  Add,
  Mul,
  Cast,
  Concat,
  Elementwise, ///< another function of elements
  Copy,        ///< by a kernel
  Fill,
  Reduce,
  // Mixtures of experts.
  Router,
  MoePermute, ///< local: rows by expert, or back
  MoeFinalize,
  // Before and behind the layers.
  Gather, ///< rows by number: embedding, rows that logits are asked for
  StepInputs,
  Sampling,
  // Copies by the driver.
  MemcpyHtoD,
  MemcpyDtoH,
  MemcpyDtoD,
  Memset
};
constexpr int kNumFamilies = static_cast<int>(Family::Memset) + 1;

/// "all_reduce"; as the data file spells it.
const char *getName(Family family);
std::optional<Family> findFamily(std::string_view name);

/// What shares are listed by: "communication", "dense GEMM", ...
const char *getShareGroup(Family family);

/// Whether ranks exchange data in it.
bool isCommunication(Family family);
/// Whether it only prepares or moves what a step before or behind it works on:
/// copies, fills, quantisation, other elementwise kernels.
bool isAuxiliary(Family family);

/// The name of a kernel to compare with: demangled if it is mangled, without
/// what profilers add (data/kernels/README.md).
std::string normaliseName(const std::string &name);

/// Patterns and their families; what matches none is unknown.
class KernelFamilies {
public:
  /// The rows that are built in.
  static KernelFamilies builtIn();
  /// Rows of a CSV text (data/kernels/README.md), before those already there.
  /// Throws TraceError that names `file` and the line.
  void addFront(const std::string &text, const std::string &file);

  struct Match {
    Family family = Family::Unknown;
    std::string pattern, source; ///< of the row that decided
  };
  Match classify(const std::string &name) const;

  /// Of every name of a trace, by its index.
  std::vector<Match> classify(const DeviceTrace &trace) const;

private:
  struct Row {
    Family family;
    std::string pattern, source;
    std::vector<std::string> pieces; ///< between the stars
    bool fromBegin = false, toEnd = false;
  };
  static bool matches(const Row &row, std::string_view name);
  std::vector<Row> rows;
};

} // namespace layline::trace

#endif // LAYLINE_TRACE_KERNELFAMILIES_H
