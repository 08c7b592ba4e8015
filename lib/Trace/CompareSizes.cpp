//===- CompareSizes.cpp - operators' sizes against the plan's -------------===//
#include "Covers.h"
#include "layline/Trace/PlanFit.h"
#include <algorithm>

using namespace layline::trace;

const char *layline::trace::getName(SizedFact fact) {
  static constexpr const char *names[kNumSizedFacts] = {
      "the width of rows",
      "a rank's part of the attention",
      "a rank's KV heads",
      "a rank's part of the MLP",
      "a rank's part of the shared experts",
      "the number of experts",
      "the vocabulary",
      "the ranks of a group"};
  return names[static_cast<size_t>(fact)];
}

namespace {

// Engines pad columns for the tiles of their kernels: 64 (vLLM's vocabulary),
// 256 (FlashInfer's MXFP4 experts). Every rank's part may be padded.
constexpr int64_t kPaddings[] = {8, 16, 32, 64, 128, 256};
constexpr size_t kMostShown = 3;

/// `expected` columns, and what they may be padded to.
std::vector<int64_t> paddedSizes(int64_t expected, int64_t parts = 1) {
  std::vector<int64_t> sizes = {expected};
  for (int64_t padding : kPaddings) {
    int64_t to = padding * parts;
    int64_t padded = (expected + to - 1) / to * to;
    if ((padded - expected) * 8 < expected)
      sizes.push_back(padded);
  }
  return sizes;
}

bool isPadded(int64_t found, int64_t expected) {
  std::vector<int64_t> sizes = paddedSizes(expected);
  return std::count(sizes.begin(), sizes.end(), found) > 0;
}

/// Heads and their width of the first tensor of [rows, heads, width].
struct HeadSizes {
  int64_t heads, width;
};
std::optional<HeadSizes> firstHeads(const HostOperator &op) {
  if (op.dims.empty() || op.dims.front().size() != 3)
    return std::nullopt;
  return HeadSizes{op.dims.front()[1], op.dims.front()[2]};
}

std::string by(int64_t a, int64_t b) {
  return std::to_string(a) + " x " + std::to_string(b);
}

class SizeComparer {
public:
  explicit SizeComparer(const Mapping &mapping) : mapping(mapping) {
    for (int i = 0; i < kNumSizedFacts; ++i)
      evidence[i].fact = static_cast<SizedFact>(i);
  }

  std::vector<SizeEvidence> run() {
    for (size_t i = 0; i < mapping.assignments.size(); ++i)
      if (mapping.assignments[i].role == Role::Does)
        if (const HostOperator *op =
                mapping.trace->operatorOf(mapping.trace->events[i])) {
          event = i;
          compare(*op);
        }
    std::vector<SizeEvidence> told;
    for (SizeEvidence &own : evidence)
      if (own.fits + own.conflicts > 0)
        told.push_back(std::move(own));
    return told;
  }

private:
  void compare(const HostOperator &op) {
    const ExpectedStep &first = *mapping.firstStepOf(event),
                       &last = *mapping.stepOf(event);
    if (first.work == Work::Product)
      compareProduct(op, first);
    else if (isCollective(first.work))
      compareCollective(op, first);
    else if (first.work == Work::Attention || first.work == Work::CacheAppend)
      compareHeads(op, first);
    // Norms of heads and latents are called with shapes of many kinds.
    else if (last.work == Work::Norm && last.module != "qk_norm" &&
             last.module != "latent_proj" && last.module != "indexer")
      if (int64_t width = normWidth(op); width > 0)
        note(SizedFact::RowWidth, isPadded(width, last.inFeatures), last.place,
             std::to_string(width) + " columns",
             std::to_string(last.inFeatures));
  }

  void note(SizedFact fact, bool fits, const std::string &place,
            const std::string &found, const std::string &expected) {
    SizeEvidence &own = evidence[static_cast<size_t>(fact)];
    ++(fits ? own.fits : own.conflicts);
    if (!fits && own.first.size() < kMostShown)
      own.first.push_back({event, place, found, expected});
  }

  static std::optional<SizedFact> factOf(const std::string &module) {
    if (module == "qkv" || module == "o_proj" || module == "latent_proj")
      return SizedFact::Attention;
    if (module == "mlp")
      return SizedFact::Mlp;
    if (module == "shared_experts")
      return SizedFact::SharedExperts;
    if (module == "router")
      return SizedFact::NumExperts;
    if (module == "logits")
      return SizedFact::Vocabulary;
    return std::nullopt;
  }

  void compareProduct(const HostOperator &op, const ExpectedStep &first) {
    std::optional<SizedFact> fact = factOf(first.module);
    std::optional<ProductSizes> sizes = productSizes(op);
    if (!fact || !sizes)
      return;
    const Assignment &own = mapping.assignments[event];
    const std::vector<ExpectedStep> &steps =
        mapping.programs[mapping.passes[own.pass].program].steps;
    int64_t out = 0;
    for (int32_t i = own.first; i <= own.last; ++i)
      if (steps[i].work == Work::Product)
        out += steps[i].outFeatures;
    // The rows' width is a fact of its own, so that only the other size tells
    // of experts and of the vocabulary.
    bool readsRows =
        fact == SizedFact::NumExperts || fact == SizedFact::Vocabulary;
    bool fits = isPadded(sizes->out, out) &&
                (readsRows || isPadded(sizes->in, first.inFeatures));
    note(*fact, fits, first.place,
         by(sizes->in, sizes->out) + " (" + op.name + ")",
         by(first.inFeatures, out));
  }

  void compareHeads(const HostOperator &op, const ExpectedStep &step) {
    bool isStore = step.work == Work::CacheAppend;
    // vllm::unified_attention(query, key, ..), reshape_and_cache(key, ..):
    // rows, heads, width. Latent keys have no heads.
    if (step.heads <= 0 ||
        op.name.find(isStore ? "cache" : "attention") == std::string::npos)
      return;
    if (std::optional<HeadSizes> sizes = firstHeads(op))
      note(isStore ? SizedFact::KVHeads : SizedFact::Attention,
           sizes->heads == step.heads && isPadded(sizes->width, step.headWidth),
           step.place,
           by(sizes->heads, sizes->width) + " heads (" + op.name + ")",
           by(step.heads, step.headWidth));
  }

  void compareCollective(const HostOperator &op, const ExpectedStep &step) {
    int64_t ranks = op.collective ? op.collective->ranks : -1;
    int64_t world = mapping.trace->worldSize;
    if (ranks > 0)
      note(SizedFact::Ranks, ranks == step.ranks, step.place,
           std::to_string(ranks) + " ranks", std::to_string(step.ranks));
    else if (world > 0 && step.ranks > world)
      note(SizedFact::Ranks, false, step.place,
           std::to_string(world) + " ranks in all", std::to_string(step.ranks));
    int64_t elements =
        calledElements(&op, step.work, ranks > 0 ? ranks : step.ranks);
    if (elements <= 0 || step.columns <= 0)
      return;
    int64_t tokens = mapping.passes[mapping.assignments[event].pass].tokens;
    bool knowsRows =
        !step.gathersColumns && tokens > 0 && elements % tokens == 0;
    SizedFact fact =
        step.gathersColumns ? SizedFact::Vocabulary : SizedFact::RowWidth;
    if (knowsRows) {
      note(fact, isPadded(elements / tokens, step.columns), step.place,
           std::to_string(elements / tokens) + " columns",
           std::to_string(step.columns));
      return;
    }
    // Rows that were asked for, or padded: some whole number of them.
    std::vector<int64_t> sizes =
        paddedSizes(step.columns, step.gathersColumns ? step.ranks : 1);
    note(fact,
         std::any_of(sizes.begin(), sizes.end(),
                     [&](int64_t size) { return elements % size == 0; }),
         step.place, std::to_string(elements) + " elements",
         "a multiple of " + std::to_string(step.columns));
  }

  const Mapping &mapping;
  size_t event = 0;
  SizeEvidence evidence[kNumSizedFacts];
};

} // namespace

std::vector<SizeEvidence> layline::trace::compareSizes(const Mapping &mapping) {
  return SizeComparer(mapping).run();
}
