// NCCL's functions over FakeGpu: what a group of calls sends and receives is
// matched at its end, as NCCL does it.
#include "FakeGpu.h"

#include <cstring>
#include <deque>
#include <map>

namespace layline::test {
namespace {

constexpr NcclResult kInvalidUsage = 5;

struct Comm {
  int clique = 0, rank = 0;
};
struct Part {
  Comm comm;
  int peer = 0;
  void *data = nullptr;
  std::size_t bytes = 0;
  Stream stream = nullptr;
};

struct State {
  int cliques = 0, depth = 0;
  std::map<NcclComm, Comm> comms;
  std::deque<Part> sends, receives;
};
State &state() {
  static State instance;
  return instance;
}

std::size_t bytesOf(std::size_t count, NcclType type) {
  return type == NcclType::Int8 ? count : count * 4;
}

NcclResult endGroup() {
  State &s = state();
  if (--s.depth > 0)
    return 0;
  while (!s.receives.empty()) {
    Part receive = s.receives.front();
    s.receives.pop_front();
    auto send = s.sends.begin();
    while (send != s.sends.end() &&
           !(send->comm.clique == receive.comm.clique &&
             send->comm.rank == receive.peer &&
             send->peer == receive.comm.rank))
      ++send;
    if (send == s.sends.end() || send->bytes != receive.bytes)
      return kInvalidUsage; // NCCL would hang
    Part part = *send;
    s.sends.erase(send);
    runTransfer(part.stream, receive.stream,
                [=] { std::memcpy(receive.data, part.data, receive.bytes); });
  }
  bool areAllReceived = s.sends.empty();
  s.sends.clear();
  return areAllReceived ? 0 : kInvalidUsage;
}

NcclResult put(std::deque<Part> &to, void *data, std::size_t count,
               NcclType type, int peer, NcclComm comm, Stream stream) {
  if (state().depth == 0)
    return kInvalidUsage;
  to.push_back(
      {state().comms.at(comm), peer, data, bytesOf(count, type), stream});
  return 0;
}

} // namespace

Nccl fakeNccl() {
  state() = {};
  Nccl nccl;
  nccl.initAll = [](NcclComm *comms, int devices, const int *) {
    State &s = state();
    for (int rank = 0; rank < devices; ++rank) {
      comms[rank] = reinterpret_cast<NcclComm>(s.comms.size() + 1);
      s.comms[comms[rank]] = {s.cliques, rank};
    }
    ++s.cliques;
    return 0;
  };
  nccl.destroy = [](NcclComm) { return 0; };
  nccl.abort = [](NcclComm) { return 0; };
  nccl.groupStart = [] {
    ++state().depth;
    return 0;
  };
  nccl.groupEnd = [] { return endGroup(); };
  // Of times only: values stay as they are.
  nccl.allReduce = [](const void *, void *, std::size_t, NcclType, int,
                      NcclComm, Stream stream) {
    runTransfer(stream, stream, [] {});
    return state().depth > 0 ? 0 : kInvalidUsage;
  };
  nccl.send = [](const void *data, std::size_t count, NcclType type, int peer,
                 NcclComm comm, Stream stream) {
    return put(state().sends, const_cast<void *>(data), count, type, peer, comm,
               stream);
  };
  nccl.receive = [](void *data, std::size_t count, NcclType type, int peer,
                    NcclComm comm, Stream stream) {
    return put(state().receives, data, count, type, peer, comm, stream);
  };
  nccl.errorString = [](NcclResult) { return "told by the fake NCCL"; };
  return nccl;
}

} // namespace layline::test
