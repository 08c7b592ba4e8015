#include "devices/cuda/BlasLt.h"

#include "devices/cuda/SharedLibrary.h"
#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

const BlasLt *replacement = nullptr;

template <typename Pointer>
void resolve(void *handle, const char *library, const char *symbol,
             Pointer &member) {
  void *address = findSymbol(handle, symbol);
  if (!address)
    fail(LAYLINE_REFUSED_FEATURE, "cuBLASLt: ", library, " has no '", symbol,
         "'; cuBLAS 12 or 13 is expected");
  member = reinterpret_cast<Pointer>(address);
}

BlasLt openAny() {
  std::string error;
  for (const char *name : {"libcublasLt.so.13", "libcublasLt.so.12"})
    if (openLibrary(name, error))
      return openBlasLt(name);
  return openBlasLt("libcublasLt.so.13");
}

} // namespace

BlasLt openBlasLt(const char *library) {
  std::string error;
  void *handle = openLibrary(library, error);
  if (!handle)
    fail(LAYLINE_REFUSED_FEATURE,
         "cuBLASLt is needed for matrix products on a CUDA device and is not "
         "here: ",
         error);
  BlasLt result;
#define LAYLINE_RESOLVE(member, symbol, parameters)                            \
  resolve(handle, library, symbol, result.member);
  LAYLINE_BLASLT(LAYLINE_RESOLVE)
#undef LAYLINE_RESOLVE
  resolve(handle, library, "cublasLtGetStatusName", result.statusName);
  return result;
}

const BlasLt &blasLt() {
  if (replacement)
    return *replacement;
  static const BlasLt opened = openAny();
  return opened;
}

void replaceBlasLt(const BlasLt *blasLt) { replacement = blasLt; }

void checkBlas(BlasStatus status, const char *call, const std::string &what) {
  if (status != 0)
    fail(LAYLINE_RUN_FAILURE, what, ": ", call, " says ",
         blasLt().statusName(status));
}

} // namespace layline::runtime::cuda
