// The kernels of device 'cuda', compiled for the emulator.
#include "FakeGpu.h"
#include "kernels/FusedKernels.h"
#include "kernels/local/LocalKernels.cuh"

namespace layline::test {
namespace {

/// Kernels of the catalogue take their parameters by value; on cards they are
/// entries that read them from an array, by the rank that is the grid's y.
template <typename Params> KernelBody bodyOfParams(void (*function)()) {
  auto *kernel = reinterpret_cast<void (*)(const Params)>(function);
  return [kernel](Address parameters) {
    kernel(reinterpret_cast<const Params *>(parameters)[blockIdx.y]);
  };
}
template <template <int> class Params, int P>
KernelBody bodyOf(void (*function)()) {
  return bodyOfParams<Params<P>>(function);
}

template <template <int> class Params>
KernelBody bodyOf(const kernels::Kernel &kernel) {
  switch (kernel.variant.ranks) {
  case 1:
    return bodyOf<Params, 1>(kernel.function);
  case 2:
    return bodyOf<Params, 2>(kernel.function);
  case 3:
    return bodyOf<Params, 3>(kernel.function);
  case 4:
    return bodyOf<Params, 4>(kernel.function);
  default:
    return bodyOf<Params, 8>(kernel.function);
  }
}

void addFused(std::map<std::string, KernelBody> &to) {
  for (const kernels::FusedKernel &fused : kernels::fusedKernels()) {
    std::string error;
    const kernels::Kernel *kernel = kernels::findKernel(fused.variant, error);
    if (!kernel)
      continue;
    if (fused.variant.family == kernels::Family::RowCollective)
      to[fused.symbol] = bodyOf<kernels::RowParams>(*kernel);
    else if (fused.variant.family == kernels::Family::OneShot)
      to[fused.symbol] = bodyOf<kernels::OneShotParams>(*kernel);
    else if (fused.variant.family == kernels::Family::GatherRows)
      to[fused.symbol] = bodyOf<kernels::GatherParams>(*kernel);
    else if (fused.variant.family == kernels::Family::Broadcast)
      to[fused.symbol] = bodyOf<kernels::BroadcastParams>(*kernel);
    else if (fused.variant.family == kernels::Family::Rope)
      to[fused.symbol] = bodyOf<kernels::RopeParams>(*kernel);
    else if (fused.variant.family == kernels::Family::SortByExpert ||
             fused.variant.family == kernels::Family::PermuteRows ||
             fused.variant.family == kernels::Family::MergeExperts)
      to[fused.symbol] = bodyOfParams<kernels::ExpertParams>(kernel->function);
  }
}

} // namespace

const std::map<std::string, KernelBody> &emulatedKernels() {
  static const std::map<std::string, KernelBody> kernels = [] {
    std::map<std::string, KernelBody> all = {
#define LAYLINE_ENTRY(symbol, params, function)                                \
  {#symbol, [](Address parameters) {                                           \
     symbol(reinterpret_cast<const local::params *>(parameters));              \
   }},
        LAYLINE_LOCAL_KERNELS(LAYLINE_ENTRY)
#undef LAYLINE_ENTRY
    };
    addFused(all);
    return all;
  }();
  return kernels;
}

} // namespace layline::test
