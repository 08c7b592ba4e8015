#include "transports/mpi/MpiPlugin.h"

#include "plan/Error.h"

#include <dlfcn.h>
#include <mutex>
#include <unistd.h>

namespace layline::runtime {
namespace {

constexpr char kLibrary[] = "liblayline_mpi.so";

/// The folder of the program or library that this code is in.
std::string ownFolder() {
  Dl_info info = {};
  if (!::dladdr(reinterpret_cast<const void *>(&mpiLink), &info) ||
      !info.dli_fname)
    return ".";
  std::string path = info.dli_fname;
  // Of a program it is the name that it was called by.
  char self[4096];
  if (::access(path.c_str(), R_OK) != 0 ||
      path.find('/') == std::string::npos) {
    ssize_t length = ::readlink("/proc/self/exe", self, sizeof self);
    if (length > 0)
      path.assign(self, static_cast<std::size_t>(length));
  }
  std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Link &open(double timeout) {
  std::string folder = ownFolder();
  void *library = nullptr;
  for (const std::string &path :
       {folder + "/" + kLibrary, folder + "/../lib/" + kLibrary}) {
    if (::access(path.c_str(), R_OK) != 0)
      continue;
    // Open MPI's own plugins look for its symbols among the global ones.
    library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (!library)
      fail(LAYLINE_REFUSED_FEATURE, "transport 'mpi': ", ::dlerror(),
           "; Open MPI is expected (Debian: openmpi-bin)");
    break;
  }
  if (!library && !(library = ::dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL)))
    fail(LAYLINE_REFUSED_FEATURE, "transport 'mpi': ", kLibrary,
         " is not found in '", folder, "', in '", folder,
         "/../lib' or where libraries are; it is built where Open MPI is "
         "installed (Debian: libopenmpi-dev)");
  auto *function =
      reinterpret_cast<OpenLink *>(::dlsym(library, kOpenLinkSymbol));
  if (!function)
    fail(LAYLINE_REFUSED_FEATURE, "transport 'mpi': ", kLibrary,
         " is of another version: it has no ", kOpenLinkSymbol);
  std::string error;
  Link *link = function(timeout, error);
  if (!link)
    fail(LAYLINE_REFUSED_FEATURE, "transport 'mpi': ", error);
  return *link;
}

} // namespace

Link &mpiLink(double timeout) {
  // Not destroyed: MPI ends with the process.
  static std::mutex mutex;
  static Link *link = nullptr;
  std::lock_guard<std::mutex> lock(mutex);
  if (!link)
    link = &open(timeout);
  return *link;
}

} // namespace layline::runtime
