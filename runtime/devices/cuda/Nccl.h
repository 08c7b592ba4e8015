// NCCL as a table of function pointers: the collectives of groups whose cards
// cannot reach one another's memory, in one process or in several. Opened when
// such a group is made.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_NCCL_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_NCCL_H

#include "devices/cuda/DriverTypes.h"

#include <cstddef>
#include <string>

namespace layline::runtime::cuda {

using NcclResult = int; ///< ncclResult_t
inline constexpr NcclResult kNcclSuccess = 0;
/// Of communicators whose calls do not wait: the call goes on.
inline constexpr NcclResult kNcclInProgress = 7;
using NcclComm = struct NcclCommObject *; ///< ncclComm_t
inline constexpr int kNcclSum = 0;        ///< ncclRedOp_t
enum class NcclType : int {               ///< ncclDataType_t
  Int8 = 0,
  Int64 = 4,
  Float32 = 7,
  BFloat16 = 9
};

/// ncclUniqueId: by it the members of a communicator find one another.
struct NcclId {
  char bytes[128];
};
/// ncclConfig_t as NCCL 2.14 had it. Later ones have more members, and take
/// their defaults for those that `version` did not know.
struct NcclConfig {
  std::size_t size = sizeof(NcclConfig);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0; ///< calls return, and asyncError says when they are done
};
static_assert(sizeof(NcclConfig) == 24, "what NCCL 2.14 was built with");

/// X(member, symbol, parameters): nccl.h of NCCL 2.28, unchanged since 2.14.
#define LAYLINE_NCCL(X)                                                        \
  X(uniqueId, "ncclGetUniqueId", (NcclId * id))                                \
  X(initRank, "ncclCommInitRankConfig",                                        \
    (NcclComm * comm, int members, NcclId id, int member, NcclConfig *config)) \
  X(initAll, "ncclCommInitAll",                                                \
    (NcclComm * comms, int devices, const int *ordinals))                      \
  X(finalize, "ncclCommFinalize", (NcclComm comm))                             \
  X(destroy, "ncclCommDestroy", (NcclComm comm))                               \
  X(abort, "ncclCommAbort", (NcclComm comm))                                   \
  X(groupStart, "ncclGroupStart", ())                                          \
  X(groupEnd, "ncclGroupEnd", ())                                              \
  X(allReduce, "ncclAllReduce",                                                \
    (const void *send, void *receive, std::size_t count, NcclType type,        \
     int operation, NcclComm comm, Stream stream))                             \
  X(send, "ncclSend",                                                          \
    (const void *data, std::size_t count, NcclType type, int peer,             \
     NcclComm comm, Stream stream))                                            \
  X(receive, "ncclRecv",                                                       \
    (void *data, std::size_t count, NcclType type, int peer, NcclComm comm,    \
     Stream stream))                                                           \
  X(asyncError, "ncclCommGetAsyncError", (NcclComm comm, NcclResult * error))

struct Nccl {
#define LAYLINE_MEMBER(member, symbol, parameters)                             \
  NcclResult(*member) parameters = nullptr;
  LAYLINE_NCCL(LAYLINE_MEMBER)
#undef LAYLINE_MEMBER
  const char *(*errorString)(NcclResult) = nullptr;
};

/// libnccl.so.2, or what a test put in its place. Throws Error
/// (LAYLINE_REFUSED_FEATURE) that names what is missing.
const Nccl &nccl();
void replaceNccl(const Nccl *nccl);
/// From a library of any name, for tests.
Nccl openNccl(const char *library);

/// Throws Error (LAYLINE_RUN_FAILURE) if `result` is neither success nor that
/// the call goes on.
void checkNccl(NcclResult result, const char *call, const std::string &what);

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_NCCL_H
