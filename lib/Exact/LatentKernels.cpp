//===- LatentKernels.cpp - latent attention and its indexer ---------------===//
#include "Kernels.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

namespace {

/// Of every query row the key rows that it sees, in the order of the keys or of
/// its selection.
std::vector<std::vector<int64_t>> findVisible(const KernelCall &call,
                                              const LocalTensor &positions,
                                              const LocalTensor &keyPositions,
                                              const LocalTensor *selection) {
  std::vector<std::vector<int64_t>> rows(positions.count());
  int64_t keys = keyPositions.count();
  for (size_t t = 0; t < rows.size(); ++t) {
    auto see = [&](int64_t s) {
      if (isVisible(call.attrs(), int64_t(positions.data()[t]),
                    int64_t(keyPositions.data()[s])))
        rows[t].push_back(s);
    };
    int64_t chosen = selection ? selection->dim(1) : keys;
    for (int64_t i = 0; i < chosen; ++i) {
      int64_t s = i;
      if (selection) {
        Element row = selection->data()[t * chosen + i];
        if (row >= Element(keys))
          continue; // none
        s = int64_t(row);
      }
      see(s);
    }
  }
  return rows;
}

/// [rows, outs] = x [rows, in] times w [outs, in].
LocalTensor::Data project(const LocalTensor &x, const Element *w,
                          int64_t outs) {
  int64_t rows = x.dim(0), in = x.dim(1);
  LocalTensor::Data y(rows * outs);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t o = 0; o < outs; ++o)
      y[r * outs + o] = dotProduct(x.data() + r * in, w + o * in, in);
  return y;
}

} // namespace

void exact::latentAttentionKernel(KernelCall &call) {
  const LocalTensor &nope = call.in(0), &rope = call.in(1),
                    &latent = call.in(2), &ropeKey = call.in(3),
                    &keyUp = call.in(4), &valueUp = call.in(5);
  const LocalTensor *selection =
      call.operands.size() > 8 ? &call.in(8) : nullptr;
  const DimPart &heads = call.part({0, 1});
  int64_t rows = nope.dim(0), count = nope.dim(1), width = nope.dim(2),
          rotary = rope.dim(2), in = latent.dim(1);
  int64_t valid = int64_t(heads.labels.size());
  if (!call.require(valid > 0 || count == 0,
                    "the rank's heads are all padding") ||
      !call.require(keyUp.dim(0) == valid * width,
                    "key_up is not that of the rank's heads"))
    return;
  int64_t outs = call.part({-1, 2}).size();
  if (!call.require(valueUp.dim(0) == valid * outs,
                    "value_up is not that of the rank's heads"))
    return;
  std::vector<std::vector<int64_t>> visible =
      findVisible(call, call.in(6), call.in(7), selection);
  // A selection is longer than a run; so the function knows that there is one.
  Hasher function("latent attention");
  function.add(call.attrs().factor)
      .add(uint64_t(call.attrs().isCausal))
      .add(uint64_t(selection != nullptr));
  LocalTensor::Data data(rows * count * outs);
  std::vector<DotProduct> numerators;
  for (int64_t h = 0; h < count; ++h) {
    if (h >= valid) {
      // Whatever a kernel gives for padding means nothing.
      for (int64_t t = 0; t < rows; ++t)
        for (int64_t i = 0; i < outs; ++i) {
          int64_t at = (t * count + h) * outs + i;
          data[at] = garbage(call, at);
        }
      continue;
    }
    LocalTensor::Data keys =
        project(latent, keyUp.data() + h * width * in, width);
    LocalTensor::Data values =
        project(latent, valueUp.data() + h * outs * in, outs);
    std::vector<Element> denominators(rows);
    for (int64_t t = 0; t < rows; ++t) {
      const Element *q = nope.data() + (t * count + h) * width;
      const Element *r = rope.data() + (t * count + h) * rotary;
      numerators.assign(outs, {});
      for (int64_t s : visible[t]) {
        Element score = add(dotProduct(q, keys.data() + s * width, width),
                            dotProduct(r, ropeKey.data() + s * rotary, rotary));
        Element e = Hasher(function).add(score).element();
        denominators[t] = add(denominators[t], e);
        for (int64_t i = 0; i < outs; ++i)
          numerators[i].add(e, values[s * outs + i]);
      }
      for (int64_t i = 0; i < outs; ++i)
        data[(t * count + h) * outs + i] = numerators[i].get();
    }
    invertAll(denominators);
    for (int64_t t = 0; t < rows; ++t)
      for (int64_t i = 0; i < outs; ++i) {
        Element &y = data[(t * count + h) * outs + i];
        y = mul(y, denominators[t]);
      }
  }
  call.set({rows, count, outs}, std::move(data));
}

void exact::indexerKernel(KernelCall &call) {
  const LocalTensor &query = call.in(0), &keys = call.in(1),
                    &weights = call.in(2);
  int64_t rows = query.dim(0), heads = query.dim(1), width = query.dim(2);
  int64_t taken = call.part({-1, 1}).size();
  const Expr &topK = call.sampled.program->values[call.op.results[0]].shape[1];
  if (!call.require(topK.isConstant(call.attrs().topK),
                    "the results are not top_k wide"))
    return;
  std::vector<std::vector<int64_t>> visible =
      findVisible(call, call.in(3), call.in(4), nullptr);
  Hasher function("indexer relu");
  function.add(uint64_t(call.attrs().isCausal))
      .add(uint64_t(call.attrs().topK));
  Element scale = constantElement(call.attrs().factor);
  LocalTensor::Data selection(rows * taken), scores(rows * taken);
  for (int64_t t = 0; t < rows; ++t) {
    std::vector<std::pair<Element, int64_t>> ranking;
    for (int64_t s : visible[t]) {
      Element score = 0;
      for (int64_t h = 0; h < heads; ++h) {
        Element dot = dotProduct(query.data() + (t * heads + h) * width,
                                 keys.data() + s * width, width);
        score = add(score, mul(weights.data()[t * heads + h],
                               Hasher(function).add(dot).element()));
      }
      // The larger first, then the lower row.
      ranking.emplace_back(kPrime - mul(score, scale), s);
    }
    std::sort(ranking.begin(), ranking.end());
    for (int64_t k = 0; k < taken; ++k) {
      bool isThere = k < int64_t(ranking.size());
      selection[t * taken + k] = isThere ? Element(ranking[k].second) : kNoRow;
      scores[t * taken + k] = isThere ? kPrime - ranking[k].first : 0;
    }
  }
  call.set({rows, taken}, std::move(selection), 0);
  call.set({rows, taken}, std::move(scores), 1);
}
