// Rows to the ranks of their experts and back, where each rank can read what
// the others show.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_ROUTING_CUH
#define LAYLINE_RUNTIME_KERNELS_LOCAL_ROUTING_CUH

#include "kernels/local/Move.cuh"

namespace layline::local {

/// Of experts in balanced blocks over members, the first of a member; of the
/// number of members, the number of experts.
__device__ __forceinline__ std::int64_t
firstExpertOf(std::int64_t experts, std::int64_t members, std::int64_t member) {
  std::int64_t quotient = experts / members, remainder = experts % members;
  return member * quotient + (member < remainder ? member : remainder);
}

__device__ __forceinline__ bool choosesAny(const std::int64_t *ids,
                                           std::int64_t slots,
                                           std::int64_t begin,
                                           std::int64_t end) {
  for (std::int64_t k = 0; k < slots; ++k) {
    std::int64_t id = device::ld(ids + k);
    if (id >= begin && id < end)
      return true;
  }
  return false;
}

/// A block a row of any member. Its owner says where an id is no expert's.
__device__ __forceinline__ void dispatch(const DispatchParams &p) {
  std::int64_t begin = firstExpertOf(p.experts, p.members, p.member),
               end = firstExpertOf(p.experts, p.members, p.member + 1);
  for (std::int64_t item = blockIdx.x; item < p.items; item += gridDim.x) {
    const MoveRun *run = runOf(p.runs, p.runCount, item);
    std::int64_t behind = item - device::ld(&run->before);
    std::int64_t row = device::ld(&run->from) + behind;
    std::int64_t place = device::ld(&run->to) + behind;
    std::int32_t member = device::ld(&run->source);
    const std::int64_t *ids = device::ld(p.ids + member) + row * p.slots;
    bool isHere = choosesAny(ids, p.slots, begin, end);
    const void *weights = device::ld(p.weights + member);
    for (std::int64_t k = threadIdx.x; k < p.slots; k += blockDim.x) {
      std::int64_t id = device::ld(ids + k);
      if (member == p.member && (id < 0 || id >= p.experts))
        report(p.fault, Fault::ExpertOutsideCount, row, id);
      device::st(p.outputIds + place * p.slots + k, isHere ? id : -1);
      store(p.outputWeights, place * p.slots + k,
            isHere ? load(p.weightType, weights, row * p.slots + k) : NAN);
    }
    const void *input = device::ld(p.inputs + member);
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x)
      store(p.output, place * p.width + i,
            isHere ? load(p.inputType, input, row * p.width + i) : NAN);
  }
}

/// A block a row of this member.
__device__ __forceinline__ void combine(const CombineParams &p) {
  for (std::int64_t item = blockIdx.x; item < p.items; item += gridDim.x) {
    const MoveRun *run = runOf(p.runs, p.runCount, item);
    std::int64_t behind = item - device::ld(&run->before);
    std::int64_t place = device::ld(&run->from) + behind;
    std::int64_t row = device::ld(&run->to) + behind;
    const std::int64_t *ids = p.ids + row * p.slots;
    for (std::int64_t i = threadIdx.x; i < p.width; i += blockDim.x) {
      float sum = 0;
      for (std::int64_t m = 0; m < p.members; ++m)
        if (choosesAny(ids, p.slots, firstExpertOf(p.experts, p.members, m),
                       firstExpertOf(p.experts, p.members, m + 1)))
          sum +=
              load(p.inputType, device::ld(p.inputs + m), place * p.width + i);
      store(p.output, row * p.width + i, sum);
    }
  }
}

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_ROUTING_CUH
