#include "devices/cuda/SharedLibrary.h"

#include <dlfcn.h>

namespace layline::runtime::cuda {

void *openLibrary(const char *name, std::string &error) {
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    error = reason ? reason : std::string(name) + ": cannot be opened";
  }
  return library;
}

void *findSymbol(void *library, const char *symbol) {
  return dlsym(library, symbol);
}

} // namespace layline::runtime::cuda
