// Libraries that are opened when they are needed: none of NVIDIA's is a
// dependency of the build. They stay open to the end of the process.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_SHAREDLIBRARY_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_SHAREDLIBRARY_H

#include <string>

namespace layline::runtime::cuda {

/// Null and the linker's reason in `error` if it cannot be opened.
void *openLibrary(const char *name, std::string &error);
/// Null if there is none.
void *findSymbol(void *library, const char *symbol);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_SHAREDLIBRARY_H
