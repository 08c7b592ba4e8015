// The compiled kernels, as fat binaries of all architectures.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_KERNELIMAGES_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_KERNELIMAGES_H

#include <string>
#include <vector>

namespace layline::runtime::cuda {

struct KernelImage {
  std::string name; ///< of the source file, without .cu
  const unsigned char *data = nullptr;
};

/// Of the build; empty if there was no CUDA toolkit.
const std::vector<KernelImage> &kernelImages();
/// What cards load: kernelImages(), or what a test put in its place (null: no
/// more).
const std::vector<KernelImage> &imagesInUse();
void replaceKernelImages(const std::vector<KernelImage> *images);
/// The toolkit that compiled them, or why none did.
const char *kernelImagesReason();

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_KERNELIMAGES_H
