// The list of all kernels, and those that move bytes whatever they mean.
#include "Instances.cuh"

namespace layline::kernels {

template <int P> static void addBroadcast(KernelList &list) {
  Variant variant;
  variant.family = Family::Broadcast;
  variant.ranks = P;
  addKernel(list, variant, broadcast<P, kCopyThreads>);
}

void addByteKernels(KernelList &list) {
  addBroadcast<2>(list);
  addBroadcast<3>(list);
  addBroadcast<4>(list);
  addBroadcast<8>(list);
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
