// One rank of a group whose members are other processes.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_MPI_MESSAGECOMMUNICATOR_H
#define LAYLINE_RUNTIME_TRANSPORTS_MPI_MESSAGECOMMUNICATOR_H

#include "transports/mpi/MessageTransport.h"

namespace layline::runtime {

/// Members are no communicators of MPI: making one is a collective that does
/// not end if a rank is missing. Messages of a group have tags of their own.
class MessageCommunicator final : public Communicator {
public:
  /// `ranks` by member; `number` of the group.
  MessageCommunicator(MessageTransport &transport, int number,
                      std::vector<std::int64_t> ranks, std::int64_t member);

  bool sharesMemory() const override { return false; }
  /// Nobody reads the memory of another process.
  void release() override {}

private:
  void share(const void *data, std::size_t elementBytes,
             const Reads &reads) override;
  int rankOf(std::int64_t member) const {
    return static_cast<int>(ranks_[static_cast<std::size_t>(member)]);
  }

  MessageTransport &transport_;
  int number_;
  std::vector<std::int64_t> ranks_;
  std::uint64_t sequence_ = 0;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_MPI_MESSAGECOMMUNICATOR_H
