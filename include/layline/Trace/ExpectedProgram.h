//===- ExpectedProgram.h - what a launch plan says must run -----*- C++ -*-===//
//
// The steps of one forward pass in an order that engines launch them in, with
// what is needed to recognise them: the kind of work, the place in the model,
// and sizes. It is read out of plan.json; a model's config is compiled first.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TRACE_EXPECTEDPROGRAM_H
#define LAYLINE_TRACE_EXPECTEDPROGRAM_H

#include "layline/Trace/KernelFamilies.h"

namespace layline::trace {

/// What a step of a plan does, as coarse as kernels tell it apart.
enum class Work : uint8_t {
  StepInputs, ///< before the first step: positions, page tables, copies
  Embedding,
  AllReduce,
  ReduceScatter,
  AllGather,
  Broadcast,
  Dispatch,
  Combine,
  Product,
  Norm,
  Rope,
  CacheAppend,
  Attention,
  Indexer,
  Activation,
  Router,
  Experts,
  Add,
  Quantize,
  Columns,     ///< slices and joins
  Elementwise, ///< bias, scale, cast, ...
  Sampling     ///< behind the last step
};
const char *getName(Work work);
bool isCollective(Work work);

struct ExpectedStep {
  std::string id; ///< of the plan: "s12.0"; empty before and behind its steps
  Work work = Work::Elementwise;
  std::string kind;   ///< of the plan: "all_reduce"
  std::string place;  ///< "layer.3.o_proj"
  int64_t layer = -1; ///< -1: none
  /// Part of a layer: "input_norm", "qkv", "rope", "attention_core", "o_proj",
  /// "boundary", "router", "experts", "mlp", ...
  std::string module;
  /// The place whose sum is paid here and what follows it up to the norm that
  /// reads it: "layer.3.o_proj"; empty outside of boundaries.
  std::string boundary;
  /// Product: this rank's features. Norm: width of a row, in both.
  int64_t inFeatures = -1, outFeatures = -1;
  /// Product: number of the group of products that read the same value; -1 if
  /// alone.
  int64_t siblings = -1;
  /// Collective: elements of one row of the whole value and its ranks.
  int64_t columns = -1, ranks = -1;
  /// Collective: not over all rows, but of columns of each (logits).
  bool gathersColumns = false;
  int64_t elementBytes = 0; ///< of a collective's values
  /// Attention: this rank's query heads; store of keys or values: its KV heads.
  /// -1: none, as of latent keys.
  int64_t heads = -1, headWidth = -1;
  /// Attention with latent keys: some of its products may be kernels of their
  /// own.
  bool isLatent = false;
  /// How much is missed if no kernel does it, 1: surely one does.
  double weight = 0;
};

struct ExpectedProgram {
  std::string variant; ///< of the plan: "v0"
  int64_t minTokens = 0, maxTokens = 0;
  /// How the steps are ordered: "plan", "products together", ...
  std::string order;
  int64_t layers = 0;
  /// The first is StepInputs, the last Sampling.
  std::vector<ExpectedStep> steps;
};

/// Every variant of a plan, in every order that engines are known to take where
/// that is another one: products of one value together and one rotation for
/// queries and keys; shared experts before the routed ones. `name` is for
/// messages. Throws TraceError if the loader refuses the plan.
std::vector<ExpectedProgram> expectPrograms(const std::string &planText,
                                            const std::string &name);

} // namespace layline::trace

#endif // LAYLINE_TRACE_EXPECTEDPROGRAM_H
