// The kernels of device 'cuda', compiled for the emulator.
#include "FakeGpu.h"
#include "kernels/FusedKernels.h"
#include "kernels/PagedRows.cuh"
#include "kernels/local/LocalKernels.cuh"

namespace layline::test {
namespace {

/// Kernels of the catalogue take their parameters by value; on cards they are
/// entries that read them from an array, by the rank that is the grid's y.
template <typename Params> KernelBody bodyOf(void (*function)()) {
  auto *kernel = reinterpret_cast<void (*)(const Params)>(function);
  return [kernel](Address parameters) {
    kernel(reinterpret_cast<const Params *>(parameters)[blockIdx.y]);
  };
}

template <template <int> class Params>
KernelBody bodyOf(const kernels::Kernel &kernel) {
  switch (kernel.variant.ranks) {
  case 1:
    return bodyOf<Params<1>>(kernel.function);
  case 2:
    return bodyOf<Params<2>>(kernel.function);
  case 3:
    return bodyOf<Params<3>>(kernel.function);
  case 4:
    return bodyOf<Params<4>>(kernel.function);
  default:
    return bodyOf<Params<8>>(kernel.function);
  }
}

/// On cards the planes are the grid's z.
template <kernels::PagedCopy kCopy> void pagedRows(Address parameters) {
  simt::checkLaunchBounds(kernels::kCopyThreads);
  kernels::run_paged_rows<kCopy, kernels::Sound>(
      reinterpret_cast<const kernels::PagedRowsParams *>(
          parameters)[blockIdx.y],
      blockIdx.z);
}

KernelBody bodyOf(const kernels::Kernel &kernel) {
  using kernels::Family;
  switch (kernel.variant.family) {
  case Family::RowCollective:
    return bodyOf<kernels::RowParams>(kernel);
  case Family::OneShot:
    return bodyOf<kernels::OneShotParams>(kernel);
  case Family::Rope:
    return bodyOf<kernels::RopeParams>(kernel);
  case Family::Broadcast:
    return bodyOf<kernels::BroadcastParams>(kernel);
  case Family::GatherRows:
    return bodyOf<kernels::GatherParams>(kernel);
  case Family::PackPages:
    return pagedRows<kernels::PagedCopy::Pack>;
  case Family::ScatterPages:
    return pagedRows<kernels::PagedCopy::Scatter>;
  case Family::SortByExpert:
  case Family::PermuteRows:
  case Family::MergeExperts:
    return bodyOf<kernels::ExpertParams>(kernel.function);
  }
  return {};
}

void addFused(std::map<std::string, KernelBody> &to) {
  for (const kernels::FusedKernel &fused : kernels::fusedKernels()) {
    std::string error;
    if (const kernels::Kernel *kernel =
            kernels::findKernel(fused.variant, error))
      to[fused.symbol] = bodyOf(*kernel);
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
