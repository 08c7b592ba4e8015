// NCCL's functions over FakeGpu: what a group of calls sends and receives is
// matched at its end, as NCCL does it. Between processes messages are files of
// a folder that the communicator's id names.
#include "FakeGpu.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <unistd.h>
#include <vector>

namespace layline::test {
namespace {

namespace fs = std::filesystem;

constexpr NcclResult kInvalidUsage = 5;

/// Its members in this process, and how to reach the others.
struct Clique {
  fs::path folder; ///< made when somebody is in another process
  int members = 0;
  std::set<int> here;
  std::map<std::pair<int, int>, int> messages; ///< so far, [from, to]
  bool isAborted = false;

  fs::path message(int from, int to) {
    int number = messages[{from, to}]++;
    return folder / (std::to_string(from) + "-" + std::to_string(to) + "-" +
                     std::to_string(number));
  }
};
struct Comm {
  std::string id;
  int rank = 0;
  bool isFinal = false; ///< nothing of it is under way
};
struct Part {
  Comm comm;
  int peer = 0;
  void *data = nullptr;
  std::size_t bytes = 0;
  Stream stream = nullptr;
};
/// One of a group that goes to another process, or comes from it.
struct Remote {
  fs::path file;
  void *data = nullptr;
  std::size_t bytes = 0;
};

struct State {
  int ids = 0, depth = 0;
  std::uintptr_t handles = 0;
  std::map<std::string, Clique> cliques;
  std::map<NcclComm, Comm> comms;
  std::vector<Part> sends, receives;
};
State &state() {
  static State instance;
  return instance;
}

std::size_t bytesOf(std::size_t count, NcclType type) {
  return type == NcclType::Int8 ? count : count * 4;
}

/// Seen whole, or not at all.
void write(const Remote &part) {
  fs::path half = part.file.string() + ".part";
  std::ofstream(half, std::ios::binary)
      .write(static_cast<const char *>(part.data),
             static_cast<std::streamsize>(part.bytes));
  fs::rename(half, part.file);
}

void read(const Remote &part) {
  std::ifstream(part.file, std::ios::binary)
      .read(static_cast<char *>(part.data),
            static_cast<std::streamsize>(part.bytes));
  fs::remove(part.file);
}

/// The remote parts of one group: all is sent once the streams have come there,
/// then all must have come.
void addRemote(std::vector<Remote> sends, std::vector<Remote> receives,
               const std::set<std::string> &ids) {
  bool isSent = false;
  runOutside([=]() mutable {
    for (const std::string &id : ids)
      if (state().cliques[id].isAborted)
        return true;
    if (!isSent)
      std::for_each(sends.begin(), sends.end(), write);
    isSent = true;
    for (const Remote &part : receives)
      if (!fs::exists(part.file))
        return false;
    std::for_each(receives.begin(), receives.end(), read);
    return true;
  });
}

/// Removes a part that is there from the list of what is expected.
bool take(std::vector<Part> &parts, const Part &receive, Part &found) {
  auto part = std::find_if(parts.begin(), parts.end(), [&](const Part &send) {
    return send.comm.id == receive.comm.id && send.comm.rank == receive.peer &&
           send.peer == receive.comm.rank;
  });
  if (part == parts.end())
    return false;
  found = *part;
  parts.erase(part);
  return true;
}

NcclResult endGroup() {
  State &s = state();
  if (--s.depth > 0)
    return 0;
  std::vector<Part> sends = std::move(s.sends),
                    receives = std::move(s.receives);
  s.sends.clear();
  s.receives.clear();
  std::vector<Remote> sent, received;
  std::set<std::string> ids;
  for (const Part &receive : receives) {
    Clique &clique = s.cliques[receive.comm.id];
    if (clique.here.count(receive.peer) == 0) {
      received.push_back({clique.message(receive.peer, receive.comm.rank),
                          receive.data, receive.bytes});
      ids.insert(receive.comm.id);
      continue;
    }
    Part part;
    if (!take(sends, receive, part) || part.bytes != receive.bytes)
      return kInvalidUsage; // NCCL would hang
    runTransfer(part.stream, receive.stream,
                [=] { std::memcpy(receive.data, part.data, receive.bytes); });
  }
  for (const Part &send : sends) {
    Clique &clique = s.cliques[send.comm.id];
    if (clique.here.count(send.peer) != 0)
      return kInvalidUsage; // nobody receives it
    sent.push_back(
        {clique.message(send.comm.rank, send.peer), send.data, send.bytes});
    ids.insert(send.comm.id);
  }
  if (!ids.empty())
    addRemote(std::move(sent), std::move(received), ids);
  return ids.empty() ? kNcclSuccess : kNcclInProgress;
}

NcclResult put(std::vector<Part> &to, void *data, std::size_t count,
               NcclType type, int peer, NcclComm comm, Stream stream) {
  if (state().depth == 0)
    return kInvalidUsage;
  to.push_back(
      {state().comms.at(comm), peer, data, bytesOf(count, type), stream});
  return 0;
}

NcclComm newComm(const std::string &id, int members, int rank) {
  State &s = state();
  Clique &clique = s.cliques[id];
  clique.members = members;
  clique.here.insert(rank);
  auto comm = reinterpret_cast<NcclComm>(++s.handles);
  s.comms[comm] = {id, rank, false};
  acquiredByNccl();
  return comm;
}

std::string newId() {
  return (fs::temp_directory_path() /
          ("layline-nccl-" + std::to_string(getpid()) + "-" +
           std::to_string(++state().ids)))
      .string();
}

/// Whether all members have joined; those of other processes leave a file.
bool isComplete(Clique &clique, const Comm &comm) {
  if (static_cast<int>(clique.here.size()) == clique.members)
    return true;
  clique.folder = comm.id;
  fs::create_directories(clique.folder);
  std::ofstream(clique.folder / ("joined-" + std::to_string(comm.rank)));
  for (int member = 0; member < clique.members; ++member)
    if (!fs::exists(clique.folder / ("joined-" + std::to_string(member))))
      return false;
  return true;
}

void drop(NcclComm comm) {
  State &s = state();
  s.cliques[s.comms.at(comm).id].isAborted = true;
  s.comms.erase(comm);
  releasedByNccl();
}

#define LAYLINE_ENTER(symbol)                                                  \
  if (NcclResult failed = 0; !enterNccl(symbol, failed))                       \
    return failed;

} // namespace

Nccl fakeNccl() {
  state() = {};
  Nccl nccl;
  nccl.uniqueId = [](NcclId *id) -> NcclResult {
    LAYLINE_ENTER("ncclGetUniqueId");
    *id = {};
    newId().copy(id->bytes, sizeof id->bytes - 1);
    return kNcclSuccess;
  };
  nccl.initRank = [](NcclComm *comm, int members, NcclId id, int member,
                     NcclConfig *config) -> NcclResult {
    LAYLINE_ENTER("ncclCommInitRankConfig");
    if (config->magic != 0xcafebeef || config->size != 24 ||
        config->blocking != 0)
      return kInvalidUsage;
    *comm = newComm(id.bytes, members, member);
    return kNcclInProgress;
  };
  nccl.initAll = [](NcclComm *comms, int devices, const int *) -> NcclResult {
    LAYLINE_ENTER("ncclCommInitAll");
    std::string id = newId();
    for (int rank = 0; rank < devices; ++rank)
      comms[rank] = newComm(id, devices, rank);
    // Calls of these wait, and destroying them does.
    for (int rank = 0; rank < devices; ++rank)
      state().comms.at(comms[rank]).isFinal = true;
    return kNcclSuccess;
  };
  nccl.finalize = [](NcclComm comm) -> NcclResult {
    LAYLINE_ENTER("ncclCommFinalize");
    state().comms.at(comm).isFinal = true;
    return kNcclInProgress;
  };
  nccl.destroy = [](NcclComm comm) -> NcclResult {
    NcclResult ignored = 0;
    enterNccl("ncclCommDestroy", ignored, /*canFail=*/false);
    // NCCL would wait for the others.
    if (!state().comms.at(comm).isFinal)
      return kInvalidUsage;
    drop(comm);
    return kNcclSuccess;
  };
  nccl.abort = [](NcclComm comm) {
    NcclResult ignored = 0;
    enterNccl("ncclCommAbort", ignored, /*canFail=*/false);
    drop(comm);
    return kNcclSuccess;
  };
  nccl.asyncError = [](NcclComm comm, NcclResult *error) -> NcclResult {
    State &s = state();
    const Comm &of = s.comms.at(comm);
    *error = isComplete(s.cliques[of.id], of) ? kNcclSuccess : kNcclInProgress;
    if (NcclResult failed = 0; !enterNccl("NCCL's network", failed))
      *error = failed;
    return kNcclSuccess;
  };
  nccl.groupStart = [] {
    ++state().depth;
    return kNcclSuccess;
  };
  nccl.groupEnd = []() -> NcclResult {
    NcclResult failed = 0;
    bool isGood = enterNccl("ncclGroupEnd", failed);
    NcclResult ended = endGroup();
    return isGood ? ended : failed;
  };
  // Of times only: values stay as they are.
  nccl.allReduce = [](const void *, void *, std::size_t, NcclType, int,
                      NcclComm, Stream stream) {
    runTransfer(stream, stream, [] {});
    return state().depth > 0 ? kNcclSuccess : kInvalidUsage;
  };
  nccl.send = [](const void *data, std::size_t count, NcclType type, int peer,
                 NcclComm comm, Stream stream) -> NcclResult {
    LAYLINE_ENTER("ncclSend");
    return put(state().sends, const_cast<void *>(data), count, type, peer, comm,
               stream);
  };
  nccl.receive = [](void *data, std::size_t count, NcclType type, int peer,
                    NcclComm comm, Stream stream) -> NcclResult {
    LAYLINE_ENTER("ncclRecv");
    return put(state().receives, data, count, type, peer, comm, stream);
  };
  nccl.errorString = [](NcclResult) { return "told by the fake NCCL"; };
  return nccl;
}

} // namespace layline::test
