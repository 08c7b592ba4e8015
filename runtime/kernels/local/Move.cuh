// What goes from one place to another: rows of the embedding, slices, columns,
// and the collectives of ranks that share a card, where the launches of
// one stream are the only order that is needed.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_MOVE_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_MOVE_CUH

#include "kernels/local/Numbers.cuh"

namespace layline::local {

/// The run that has the item with this number, counted over all runs.
__device__ __forceinline__ const MoveRun *
runOf(const MoveRun *runs, std::int64_t count, std::int64_t item) {
  std::int64_t low = 0, high = count - 1;
  while (low < high) {
    std::int64_t middle = (low + high + 1) / 2;
    if (device::ld(&runs[middle].before) <= item)
      low = middle;
    else
      high = middle - 1;
  }
  return runs + low;
}

__device__ __forceinline__ void move(const MoveParams &p) {
  std::int64_t total = p.outer * p.items * p.inner;
  for (std::int64_t i = firstOfThread(); i < total; i += strideOfGrid()) {
    std::int64_t inner = i % p.inner;
    std::int64_t item = i / p.inner % p.items;
    std::int64_t outer = i / p.inner / p.items;
    const MoveRun *run = runOf(p.runs, p.runCount, item);
    item -= device::ld(&run->before);
    std::int64_t from = (outer * device::ld(&run->sourceItems) +
                         device::ld(&run->from) + item) *
                            p.inner +
                        inner;
    std::int64_t to =
        (outer * p.outputItems + device::ld(&run->to) + item) * p.inner + inner;
    std::int32_t source = device::ld(&run->source);
    const void *first = device::ld(p.sources + (source < 0 ? 0 : source));
    if (p.integerBytes != 0) {
      device::st(static_cast<std::int64_t *>(p.output.data) + to,
                 device::ld(static_cast<const std::int64_t *>(first) + from));
      continue;
    }
    float value = load(p.type, first, from);
    if (source == kAllSources)
      for (int s = 1; s < p.sourceCount; ++s)
        value += load(p.type, device::ld(p.sources + s), from);
    store(p.output, to, value);
  }
}

/// A rank has zeros for ids of other ranks' rows: the output owes the sum.
__device__ __forceinline__ void embedding(const EmbeddingParams &p) {
  for (std::int64_t t = blockIdx.x; t < p.rows; t += gridDim.x) {
    std::int64_t id = device::ld(p.ids + t);
    if ((id < 0 || id >= p.vocabulary) && threadIdx.x == 0)
      report(p.fault, Fault::TokenOutsideVocabulary, t, id);
    bool isHere = id >= p.first && id < p.first + p.held;
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      store(p.output, t * p.width + i,
            isHere ? load(p.table, (id - p.first) * p.width + i) : 0.0F);
  }
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_MOVE_CUH
