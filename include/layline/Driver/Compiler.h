//===- Compiler.h - a model's config to a verified launch plan --*- C++ -*-===//
#ifndef LAYLINE_DRIVER_COMPILER_H
#define LAYLINE_DRIVER_COMPILER_H

#include "layline/Cost/WireBytes.h"
#include "layline/Driver/Proofs.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace layline {

struct CompileRequest {
  std::string config; ///< path of config.json
  /// Ranks of the two mesh axes: the mesh has tp * cp cards. Engines that count
  /// "TP" over all cards of a replica call that product tp_size; `tp` is what
  /// is left of it for heads: attention TP = tp_size / DP / CP.
  int64_t tp = 1, cp = 1;
  /// Of the tp ranks, those that share out whole experts: 1 (each has a part of
  /// every expert) or tp.
  int64_t ep = 1;
  std::string cpSplit = "zigzag"; ///< contiguous, interleave, interleave:I
  std::string target = "cpu";
  int64_t minTokens = 1, maxTokens = 8192;
  std::string boundaries = "auto";   ///< auto, rows, whole
  std::string activations = "model"; ///< Import/Activations.h
  /// How experts on several ranks get their rows: auto, gathered, dispatched.
  std::string experts = "auto";
  /// Paths of a calibration and of a list of fused kernels, or empty.
  std::string calibration, kernels;
  std::string launch = "graph"; ///< graph, eager
  /// Places of the model to explain: "layer.0.o_proj"; and at which token
  /// counts: if none, both ends of every variant and its middle.
  std::vector<std::string> explain;
  std::vector<int64_t> explainTokens;
  int64_t memoryLimit = 0; ///< bytes of weights of a rank; 0: none
  /// Chains of products whose weights every rank holds whole, that they may run
  /// by rows (see docs/rationale.md): "never"; "auto", where that pays and the
  /// memory allows it; "all"; or names, "down_proj,shared_down_proj". Empty:
  /// auto if there is a memory limit, else never.
  std::string replicate;
  bool even = false; ///< refuse parts of different sizes
  bool fuse = true;  ///< false: separate steps, as a baseline
  /// The process ends soon after: memory is left to the system, which takes it
  /// back faster than it is freed piece by piece.
  bool endsProcess = false;
  std::optional<std::string> dumpDir; ///< write the IR after each phase there
};

enum class CompileStatus {
  Good,
  Refused,  ///< a good input that cannot be compiled so, or a failed proof
  Malformed ///< unreadable or contradictory input, bad request
};

/// A kind of weight and what it takes on the rank that holds most of it.
struct WeightReport {
  std::string name; ///< "q_a_proj"
  int64_t count = 0, bytes = 0;
  bool isReplicated = false; ///< every rank holds all of it
};

/// Chains of products whose weights every rank could hold whole.
struct ReplicationReport {
  std::string name; ///< of the product that owes: "down_proj"
  int64_t count = 0;
  /// Of all of them: in parts on the rank that holds most, and whole.
  int64_t splitBytes = 0, wholeBytes = 0;
  /// Microseconds of a step at best, attention left out; none if not weighed.
  struct Step {
    int64_t tokens;
    double split, whole;
  };
  std::vector<Step> steps;
  bool isTaken = false;
  std::string reason;
};

/// What a variant's boundaries cost at a token count, in microseconds: see
/// docs/cost-model.md for the baselines.
struct PriceReport {
  int64_t tokens = 0;
  double today = 0, unfused = 0, chosen = 0;
  double products = 0; ///< that no plan changes, by the roofline
  std::string confidence;
  int64_t phases = 0, phasesToday = 0, launches = 0, launchesToday = 0;
};

/// A gather of rows, and how wide it is.
struct GatherReport {
  std::string value;
  int64_t rowBytes = 0;
  /// Of what the sum before it paid; 0 if there is none.
  int64_t sumRowBytes = 0;
};

/// How long a phase took, in milliseconds.
struct PhaseTime {
  std::string phase;
  double milliseconds;
};

/// One place where the plain tensor-parallel program reduces.
struct SiteReport {
  std::string id;
  bool applied = false;
  std::string was, became; ///< "reduce_scatter + add + norm + all_gather"
  std::string reason;
  /// Bytes that the rank sending most sends, at the variant's largest count.
  WireByteCount before, after;
};

struct ArenaReport {
  std::string id;
  int64_t bytes; ///< of the plan
  int64_t bound; ///< no plan of the same lifetimes needs less
};

/// Gathers that are there with and without a rewrite: keys, values and what the
/// program returns, over the ranks that share the tokens.
struct ContextGathers {
  int64_t count = 0;
  /// That the rank sending most sends in direct exchange, at the variant's
  /// largest count: its part to each of the others.
  int64_t bytes = 0;
};

struct VariantReport {
  std::string id, boundaries, reason;
  int64_t minTokens = 0, maxTokens = 0;
  std::vector<SiteReport> sites;
  std::vector<ArenaReport> arenas;
  ContextGathers contextGathers;
  std::vector<PriceReport> prices;
  std::vector<GatherReport> gathers;
  int64_t steps = 0;

  int64_t applied() const;
};

struct Compilation {
  CompileStatus status = CompileStatus::Good;
  /// Diagnostics in order, each a line or more. Remarks and notes of a good
  /// compilation are here too.
  std::string messages;
  std::string plan;      ///< plan.json
  std::string decisions; ///< decisions.json
  std::string proof;     ///< proof.json
  std::vector<std::string> assumptions;
  std::string modelType;
  /// How norms, branches and residual of a layer go together: "pre_norm", ...
  std::string blockTemplate;
  int64_t layers = 0, hidden = 0, heads = 0, kvHeads = 0, experts = 0;
  std::string dtype;
  int64_t weightBytes = 0; ///< on the rank that holds most
  std::vector<WeightReport> weights;
  std::vector<ReplicationReport> replication;
  std::string explanation; ///< of `CompileRequest::explain`
  std::vector<VariantReport> variants;
  std::vector<ProofRecord> proofs;
  std::vector<PhaseTime> times;
};

/// Imports, places, plans, proves, lowers and prints. Writes nothing but the
/// IR dumps.
Compilation compile(const CompileRequest &request);

} // namespace layline

#endif // LAYLINE_DRIVER_COMPILER_H
