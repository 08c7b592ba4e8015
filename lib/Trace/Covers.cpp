//===- Covers.cpp - which steps one kernel may do -------------------------===//
#include "Covers.h"
#include <algorithm>

using namespace layline::trace;

namespace {

class CoverFinder {
public:
  explicit CoverFinder(const ExpectedProgram &program)
      : steps(program.steps), covers(kNumFamilies) {}

  std::vector<std::vector<Cover>> find() {
    for (size_t i = 1; i + 1 < steps.size(); ++i)
      addFrom(static_cast<int32_t>(i));
    return std::move(covers);
  }

private:
  void add(Family family, int32_t first, int32_t last, float cost) {
    covers[static_cast<size_t>(family)].push_back({first, last, cost});
  }
  const ExpectedStep &at(int32_t i) const { return steps[i]; }
  bool isWork(int32_t i, Work work) const {
    return i < static_cast<int32_t>(steps.size()) && steps[i].work == work;
  }

  void addFrom(int32_t i) {
    switch (at(i).work) {
    case Work::Embedding:
      add(Family::Gather, i, i, 0);
      add(Family::Elementwise, i, i, 0.1f);
      break;
    case Work::AllReduce:
      add(Family::AllReduce, i, i, 0);
      if (int32_t norm = findNorm(i + 1); norm > 0) {
        int32_t last = isWork(norm + 1, Work::Quantize) ? norm + 1 : norm;
        add(Family::AllReduceNorm, i, last, 0);
        if (last > norm)
          add(Family::AllReduceNorm, i, norm, 0);
      }
      break;
    case Work::ReduceScatter:
      add(Family::ReduceScatter, i, i, 0);
      if (int32_t norm = findNorm(i + 1); norm > 0) {
        // A sandwich has a norm behind the add too; the gather is the last.
        for (int32_t last = norm + 1; continuesBoundary(last, i); ++last)
          if (isWork(last, Work::AllGather))
            add(Family::RSNormAG, i, last, 0);
      }
      break;
    case Work::AllGather:
      add(Family::AllGather, i, i, 0);
      break;
    case Work::Broadcast:
      add(Family::Broadcast, i, i, 0);
      break;
    case Work::Dispatch:
      add(Family::Dispatch, i, i, 0);
      add(Family::AllToAll, i, i, 0);
      break;
    case Work::Combine:
      add(Family::Combine, i, i, 0);
      add(Family::AllToAll, i, i, 0);
      break;
    case Work::Product:
      addProducts(i);
      break;
    case Work::Norm:
      addNorms(i);
      break;
    case Work::Rope:
      for (int32_t last = i; continuesRun(i, last, Work::Rope); ++last)
        if (isWork(last, Work::Rope))
          add(Family::Rope, i, last, 0);
      break;
    case Work::CacheAppend:
      for (int32_t last = i; continuesRun(i, last, Work::CacheAppend); ++last)
        if (isWork(last, Work::CacheAppend))
          add(Family::KVStore, i, last, at(i).layer < 0 ? 0.1f : 0);
      break;
    case Work::Attention:
      add(Family::Attention, i, i, 0);
      if (at(i).isLatent)
        add(Family::Gemm, i, i, 0.3f);
      break;
    case Work::Indexer:
      add(Family::Indexer, i, i, 0);
      break;
    case Work::Activation:
      add(Family::Activation, i, i, 0);
      add(Family::Elementwise, i, i, 0.2f);
      break;
    case Work::Router:
      add(Family::Router, i, i, 0);
      break;
    case Work::Experts:
      add(Family::MoeGemm, i, i, 0);
      add(Family::MoePermute, i, i, 0);
      add(Family::MoeFinalize, i, i, 0.1f);
      add(Family::Gemm, i, i, 0.5f);
      break;
    case Work::Add:
      add(Family::Add, i, i, 0);
      add(Family::Elementwise, i, i, 0.05f);
      addAddNorm(i);
      break;
    case Work::Quantize:
      add(Family::Quantize, i, i, 0);
      break;
    case Work::Columns:
      add(Family::Concat, i, i, 0);
      add(Family::Copy, i, i, 0.01f);
      break;
    case Work::Elementwise:
      for (Family family : {Family::Mul, Family::Cast, Family::Elementwise,
                            Family::Add, Family::Reduce})
        add(family, i, i, 0.01f);
      addAddNorm(i);
      break;
    case Work::StepInputs:
    case Work::Sampling:
      break;
    }
  }

  /// Of steps that work on elements of one boundary, or of none.
  bool continuesBoundary(int32_t i, int32_t first) const {
    return i < static_cast<int32_t>(steps.size()) &&
           at(i).boundary == at(first).boundary;
  }

  /// The norm that adds and other elementwise steps from `i` on lead to; -1 if
  /// something else comes first.
  int32_t findNorm(int32_t i) const {
    while (isWork(i, Work::Add) || isWork(i, Work::Elementwise))
      ++i;
    return isWork(i, Work::Norm) ? i : -1;
  }

  /// `last` is of the work that began at `first`, or cuts values for it.
  bool continuesRun(int32_t first, int32_t last, Work work) const {
    return last < static_cast<int32_t>(steps.size()) &&
           at(last).layer == at(first).layer &&
           (at(last).work == work || at(last).work == Work::Columns);
  }

  void addProducts(int32_t i) {
    int32_t last = i;
    // One kernel for all is usual: where nothing else tells, it is that.
    float apart =
        at(i).siblings >= 0 && at(i - 1).siblings == at(i).siblings ? 0.01f : 0;
    for (;; ++last) {
      add(Family::Gemm, i, last, apart);
      if (at(i).siblings < 0 || !isWork(last + 1, Work::Product) ||
          at(last + 1).siblings != at(i).siblings)
        break;
    }
    // Their activation, or the choice of experts, in the same kernel.
    if (isWork(last + 1, Work::Activation) || isWork(last + 1, Work::Router))
      add(Family::Gemm, i, last + 1, 0.2f);
  }

  void addAddNorm(int32_t i) {
    int32_t norm = findNorm(i);
    if (norm < 0 || std::none_of(steps.begin() + i, steps.begin() + norm,
                                 [](const ExpectedStep &step) {
                                   return step.work == Work::Add;
                                 }))
      return;
    add(Family::AddNorm, i, norm, 0);
    add(Family::Norm, i, norm, 0.05f);
  }

  void addNorms(int32_t i) {
    add(Family::Norm, i, i, 0);
    // The add may have been done by the collective.
    add(Family::AddNorm, i, i, 0.4f);
    // Norms of queries and keys, or of both latents, in one kernel.
    for (int32_t last = i + 1;
         isWork(last, Work::Norm) || isWork(last, Work::Columns); ++last)
      if (isWork(last, Work::Norm) && at(last).module == at(i).module &&
          at(last).layer == at(i).layer)
        add(Family::Norm, i, last, 0.2f);
    if (at(i).module == "qk_norm")
      for (int32_t last = i + 1;
           isWork(last, Work::Norm) || isWork(last, Work::Rope) ||
           isWork(last, Work::Columns);
           ++last)
        if (isWork(last, Work::Rope))
          add(Family::NormRope, i, last, 0);
    // As many norms follow an add within a sandwich as there are.
    addNormAddNorm(i);
  }

  /// norm -> add -> norm in one kernel.
  void addNormAddNorm(int32_t i) {
    if (!isWork(i + 1, Work::Add) || at(i + 1).boundary != at(i).boundary)
      return;
    if (int32_t norm = findNorm(i + 1); norm > 0)
      add(Family::AddNorm, i, norm, 0.1f);
  }

  const std::vector<ExpectedStep> &steps;
  std::vector<std::vector<Cover>> covers;
};

} // namespace

std::vector<std::vector<Cover>>
layline::trace::findCovers(const ExpectedProgram &program) {
  return CoverFinder(program).find();
}

float layline::trace::continueCost(Family family, const ExpectedStep &step) {
  switch (step.work) {
  case Work::Attention:
    if (family == Family::Attention || family == Family::AttentionMerge)
      return 0;
    return family == Family::Gemm && step.isLatent ? 0.3f : -1;
  case Work::Router:
    return family == Family::Router ? 0.01f : -1;
  case Work::Experts:
    if (family == Family::Router || family == Family::MoeGemm ||
        family == Family::MoePermute || family == Family::MoeFinalize ||
        family == Family::Activation)
      return 0.01f;
    return family == Family::Gemm ? 0.3f : -1;
  case Work::Rope:
    return family == Family::Rope ? 0.05f : -1;
  case Work::CacheAppend:
    return family == Family::KVStore ? 0.05f : -1;
  case Work::Indexer:
    return family == Family::Indexer ? 0 : -1;
  case Work::Dispatch:
    return family == Family::Dispatch || family == Family::AllToAll ? 0.05f
                                                                    : -1;
  case Work::Combine:
    return family == Family::Combine || family == Family::AllToAll ? 0.05f : -1;
  default:
    return -1;
  }
}

std::optional<ProductSizes>
layline::trace::productSizes(const HostOperator &op) {
  // addmm(bias, rows, matrix); mm(rows, matrix); linear(rows, matrix^T).
  std::vector<const std::vector<int64_t> *> matrices;
  for (const std::vector<int64_t> &dims : op.dims)
    if (dims.size() >= 2)
      matrices.push_back(&dims);
  if (matrices.size() < 2 || matrices[1]->size() != 2)
    return std::nullopt;
  int64_t in = matrices[0]->back(), a = (*matrices[1])[0],
          b = (*matrices[1])[1];
  if (op.name == "aten::linear" || (in == b && in != a))
    std::swap(a, b);
  if (a != in)
    return std::nullopt;
  return ProductSizes{in, b};
}

int64_t layline::trace::normWidth(const HostOperator &op) {
  if (op.name.find("norm") == std::string::npos)
    return -1;
  // The weight has one dimension, that of a row.
  for (const std::vector<int64_t> &dims : op.dims)
    if (dims.size() == 1)
      return dims[0];
  return -1;
}

Fit layline::trace::fitSizes(const ExpectedProgram &program, const Cover &cover,
                             const HostOperator *op) {
  if (!op)
    return Fit::Unknown;
  const ExpectedStep &first = program.steps[cover.first];
  if (first.work == Work::Product) {
    std::optional<ProductSizes> sizes = productSizes(*op);
    if (!sizes)
      return Fit::Unknown;
    int64_t out = 0;
    for (int32_t i = cover.first; i <= cover.last; ++i)
      if (program.steps[i].work == Work::Product)
        out += program.steps[i].outFeatures;
    return sizes->in == first.inFeatures && sizes->out == out ? Fit::Sizes
                                                              : Fit::Differs;
  }
  const ExpectedStep &last = program.steps[cover.last];
  if (last.work == Work::Norm) {
    int64_t width = normWidth(*op);
    return width < 0                  ? Fit::Unknown
           : width == last.inFeatures ? Fit::Sizes
                                      : Fit::Differs;
  }
  return Fit::Unknown;
}
