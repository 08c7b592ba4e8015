// The list of all kernels, and those that move bytes whatever they mean.
#include "Instances.cuh"

namespace layline::kernels {

template <int P> static void addBroadcast(KernelList &list) {
  Variant variant;
  variant.family = Family::Broadcast;
  variant.ranks = P;
  addKernel(list, variant, broadcast<P, kCopyThreads>);
}

template <int P> static void addGather(KernelList &list) {
  constexpr auto all = Output::Everyone, bySwitch = Output::EveryoneMulticast;
  Variant variant;
  variant.family = Family::GatherRows;
  variant.ranks = P;
  variant.output = all;
  addKernel(list, variant, gather_rows<P, all, false, kCopyThreads>);
  variant.byElement = true;
  addKernel(list, variant, gather_rows<P, all, true, kCopyThreads>);
  variant.byElement = false;
  variant.output = bySwitch;
  addKernel(list, variant, gather_rows<P, bySwitch, false, kCopyThreads>);
}

template <int P> static void addGroupOfBytes(KernelList &list) {
  addBroadcast<P>(list);
  addGather<P>(list);
}

void addByteKernels(KernelList &list) {
  addGroupOfBytes<2>(list);
  addGroupOfBytes<3>(list);
  addGroupOfBytes<4>(list);
  addGroupOfBytes<8>(list);
  Variant variant;
  variant.family = Family::PackPages;
  addKernel(list, variant, paged_rows<PagedCopy::Pack, kCopyThreads>);
  variant.family = Family::ScatterPages;
  addKernel(list, variant, paged_rows<PagedCopy::Scatter, kCopyThreads>);
  variant.family = Family::SortByExpert;
  addKernel(list, variant, sort_by_expert<kCopyThreads>);
}

const std::vector<Kernel> &getKernels() {
  static const KernelList kernels = [] {
    KernelList list;
    addBF16Kernels(list);
    addBF16QuantKernels(list);
    addF16Kernels(list);
    addF32Kernels(list);
    addByteKernels(list);
    return list;
  }();
  return kernels;
}

} // namespace layline::kernels
