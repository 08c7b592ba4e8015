//===- MoEKernels.cpp - router, experts and their biases ------------------===//
#include "Kernels.h"
#include <algorithm>
#include <iterator>
#include <map>

using namespace layline;
using namespace layline::exact;

namespace {

/// What one row of logits chooses. Elements have no order that means anything:
/// the larger number is the better one, for everybody.
class Choice {
public:
  Choice(KernelCall &call)
      : attrs(call.attrs()), experts(call.part({0, 1})),
        numExperts(call.sampled.program->values[call.op.operands[0]]
                       .shape[1]
                       .constant()),
        bias(call.operands.size() > 1 ? &call.in(1) : nullptr),
        function("router") {
    // Of groups only some may be run; so the function knows all there is.
    function.add(attrs.function)
        .add(attrs.factor)
        .add(uint64_t(attrs.groups))
        .add(uint64_t(attrs.chosenGroups))
        .add(attrs.groupScore);
  }

  Element score(const Element *logits, int64_t e) const {
    return Hasher(function).add(logits[e]).element();
  }
  /// The stored experts, the best first.
  std::vector<int64_t> order(const Element *logits, int64_t count) const;

private:
  int64_t groupOf(int64_t e) const {
    int64_t label =
        e < int64_t(experts.offsets.size()) ? experts.offsets[e] : e;
    return label / std::max<int64_t>(1, numExperts / attrs.groups);
  }
  void dropGroups(std::vector<int64_t> &order,
                  const std::vector<Element> &merits) const;

  const Attributes &attrs;
  const DimPart &experts;
  int64_t numExperts;
  const LocalTensor *bias;
  Hasher function;
};

/// Experts of the groups that are not chosen go behind all others: where only
/// some experts are run, there may be too few in those chosen.
void Choice::dropGroups(std::vector<int64_t> &order,
                        const std::vector<Element> &merits) const {
  std::map<int64_t, std::vector<Element>> best; // by group, largest first
  for (int64_t e : order)
    best[groupOf(e)].push_back(merits[e]);
  std::vector<std::pair<Element, int64_t>> ranking;
  for (auto &[group, values] : best) {
    Element merit = values[0];
    if (attrs.groupScore == "top2_sum" && values.size() > 1)
      merit = add(merit, values[1]);
    // The larger first, then the lower number.
    ranking.emplace_back(kPrime - merit, group);
  }
  std::sort(ranking.begin(), ranking.end());
  ranking.resize(std::min(ranking.size(), size_t(attrs.chosenGroups)));
  auto isChosen = [&](int64_t e) {
    return std::any_of(ranking.begin(), ranking.end(), [&](const auto &entry) {
      return entry.second == groupOf(e);
    });
  };
  std::vector<int64_t> all = std::move(order);
  order.clear();
  for (bool chosen : {true, false})
    std::copy_if(all.begin(), all.end(), std::back_inserter(order),
                 [&](int64_t e) { return isChosen(e) == chosen; });
}

std::vector<int64_t> Choice::order(const Element *logits, int64_t count) const {
  std::vector<Element> merits(count);
  std::vector<int64_t> order(count);
  for (int64_t e = 0; e < count; ++e) {
    merits[e] = bias ? Hasher("biased score")
                           .add(score(logits, e))
                           .add(bias->data()[e])
                           .element()
                     : logits[e];
    order[e] = e;
  }
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return merits[a] != merits[b] ? merits[a] > merits[b] : a < b;
  });
  if (attrs.groups > 0)
    dropGroups(order, merits);
  return order;
}

} // namespace

void exact::routerKernel(KernelCall &call) {
  const Attributes &attrs = call.attrs();
  const LocalTensor &logits = call.in(0);
  const DimPart &experts = call.part({0, 1}), &slots = call.part({-1, 1});
  int64_t rows = logits.dim(0), count = logits.dim(1), taken = slots.size();
  const Expr &topK = call.sampled.program->values[call.op.results[0]].shape[1];
  if (!call.require(topK.isConstant(attrs.topK),
                    "the results are not top_k wide") ||
      !call.require(taken <= int64_t(experts.offsets.size()),
                    "more experts are taken than there are") ||
      !call.require(call.operands.size() < 2 || call.in(1).count() == count,
                    "there are not as many biases as experts"))
    return;
  bool isSoftmax = attrs.function == "softmax";
  Choice choice(call);
  Element factor = constantElement(attrs.factor);
  LocalTensor::Data ids(rows * taken), weights(rows * taken);
  std::vector<Element> sums(rows, 1);
  for (int64_t t = 0; t < rows; ++t) {
    const Element *x = logits.data() + t * count;
    std::vector<int64_t> order = choice.order(x, count);
    Element all = 0, chosen = 0;
    for (int64_t e = 0; isSoftmax && e < count; ++e)
      all = add(all, choice.score(x, e));
    for (int64_t k = 0; k < taken; ++k) {
      // A device numbers the experts by their place in the row it holds.
      size_t e = order[k];
      ids[t * taken + k] = e < experts.offsets.size() ? experts.offsets[e] : e;
      Element score = choice.score(x, order[k]);
      weights[t * taken + k] = mul(score, factor);
      chosen = add(chosen, score);
    }
    if (attrs.renormalize)
      sums[t] = chosen;
    else if (isSoftmax)
      sums[t] = all;
  }
  invertAll(sums);
  for (int64_t i = 0; i < rows * taken; ++i)
    weights[i] = mul(weights[i], sums[i / taken]);
  call.set({rows, taken}, std::move(ids), 0);
  call.set({rows, taken}, std::move(weights), 1);
}

/// Whether every id is one that is run of operand `stack`. Rows that were not
/// dispatched to the rank have none.
static bool areExperts(KernelCall &call, const LocalTensor &ids, int stack) {
  for (int64_t i = 0; i < ids.count(); ++i)
    if (ids.data()[i] != kNoExpert &&
        !isSampled(call, call.op.operands[stack], ids.data()[i])) {
      call.fail("id " + std::to_string(ids.data()[i]) + " of row " +
                std::to_string(i / ids.dim(1)) + " is no expert");
      return false;
    }
  return true;
}

void exact::expertsKernel(KernelCall &call) {
  const Attributes &attrs = call.attrs();
  const LocalTensor &x = call.in(0), &ids = call.in(1), &weights = call.in(2),
                    &gate = call.in(3), &up = call.in(4), &down = call.in(5);
  const DimPart &experts = call.part({3, 0});
  int64_t rows = x.dim(0), slots = ids.dim(1);
  int64_t features = gate.dim(1), in = gate.dim(2), out = down.dim(1);
  if (!areExperts(call, ids, 3))
    return;
  Hasher function("activation"), cut("limit");
  function.add(attrs.function);
  // Without either it is the function of a gated activation.
  if (attrs.limit || attrs.alpha != 1)
    function.add(attrs.alpha).add(attrs.limit.value_or(0));
  cut.add(attrs.limit.value_or(0));
  Element offset = constantElement(attrs.upOffset);
  auto biased = [&](size_t operand, int64_t at, Element value) {
    return call.operands.size() > operand
               ? add(value, call.in(operand).data()[at])
               : value;
  };
  LocalTensor::Data data(rows * out);
  std::vector<Element> inner(features);
  for (int64_t t = 0; t < rows; ++t) {
    // Of a row that is not there comes what is none: whoever reads it differs.
    if (slots > 0 && ids.data()[t * slots] == kNoExpert) {
      for (int64_t o = 0; o < out; ++o)
        data[t * out + o] =
            Hasher("no row").add(x.digest).add(uint64_t(t * out + o)).element();
      continue;
    }
    for (int64_t k = 0; k < slots; ++k) {
      // Experts of other ranks are skipped: the result owes the sum.
      int64_t e = experts.find(int64_t(ids.data()[t * slots + k]));
      if (e < 0)
        continue;
      for (int64_t f = 0; f < features; ++f) {
        int64_t at = e * features + f;
        Element g = dotProduct(x.data() + t * in, gate.data() + at * in, in);
        Element u = dotProduct(x.data() + t * in, up.data() + at * in, in);
        g = biased(6, at, g);
        u = biased(7, at, u);
        if (attrs.limit)
          u = Hasher(cut).add(u).element();
        inner[f] = mul(Hasher(function).add(g).element(), add(u, offset));
      }
      for (int64_t o = 0; o < out; ++o) {
        Element y = dotProduct(
            inner.data(), down.data() + (e * out + o) * features, features);
        data[t * out + o] =
            add(data[t * out + o], mul(weights.data()[t * slots + k], y));
      }
    }
  }
  call.set({rows, out}, std::move(data));
}

void exact::addExpertBiasKernel(KernelCall &call) {
  const LocalTensor &x = call.in(0), &ids = call.in(1), &weights = call.in(2),
                    &bias = call.in(3);
  const DimPart &experts = call.part({3, 0});
  int64_t width = x.dim(1), slots = ids.dim(1);
  if (!areExperts(call, ids, 3))
    return;
  LocalTensor::Data data(x.values);
  for (int64_t i = 0; i < ids.count(); ++i) {
    int64_t e = experts.find(int64_t(ids.data()[i]));
    if (e < 0)
      continue; // of another rank: what is then missing is seen
    for (int64_t o = 0; o < width; ++o) {
      Element &y = data[i / slots * width + o];
      y = add(y, mul(weights.data()[i], bias.data()[e * width + o]));
    }
  }
  call.set(x.shape, std::move(data));
}
