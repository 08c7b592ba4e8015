#include "devices/cuda/Nccl.h"

#include "devices/cuda/SharedLibrary.h"
#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

const Nccl *replacement = nullptr;

template <typename Pointer>
void resolve(void *handle, const char *library, const char *symbol,
             Pointer &member) {
  void *address = findSymbol(handle, symbol);
  if (!address)
    fail(LAYLINE_REFUSED_FEATURE, "NCCL: ", library, " has no '", symbol,
         "'; NCCL 2.14 or later is expected");
  member = reinterpret_cast<Pointer>(address);
}

} // namespace

Nccl openNccl(const char *library) {
  std::string error;
  void *handle = openLibrary(library, error);
  if (!handle)
    fail(LAYLINE_REFUSED_FEATURE,
         "NCCL is needed for a group whose cards cannot reach one another's "
         "memory, and is not here: ",
         error);
  Nccl result;
#define LAYLINE_RESOLVE(member, symbol, parameters)                            \
  resolve(handle, library, symbol, result.member);
  LAYLINE_NCCL(LAYLINE_RESOLVE)
#undef LAYLINE_RESOLVE
  resolve(handle, library, "ncclGetErrorString", result.errorString);
  return result;
}

const Nccl &nccl() {
  if (replacement)
    return *replacement;
  static const Nccl opened = openNccl("libnccl.so.2");
  return opened;
}

void replaceNccl(const Nccl *nccl) { replacement = nccl; }

void checkNccl(NcclResult result, const char *call, const std::string &what) {
  if (result != kNcclSuccess && result != kNcclInProgress)
    fail(LAYLINE_RUN_FAILURE, what, ": ", call, " says ",
         nccl().errorString(result));
}

} // namespace layline::runtime::cuda
