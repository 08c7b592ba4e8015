// The same amount of memory on every member of a group, each part mapped for
// all the members' cards, and, where the switch can, one multicast range over
// all parts: a store to it goes to every member, a load adds them.
//
// In one process an address is the same for every card (unified addressing), so
// that one mapping serves all. Other processes are given file descriptors.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_SYMMETRICMEMORY_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_SYMMETRICMEMORY_H

#include "devices/cuda/Card.h"

#include <cstddef>
#include <string>
#include <vector>

namespace layline::runtime::cuda {

/// Of a symmetric memory's multicast range.
enum class Multicast : std::uint8_t {
  Never,
  IfPossible ///< else unicast(): says why
};

class SymmetricMemory {
public:
  SymmetricMemory() = default;
  /// `cards`: of each member; several members may share a card. The cards must
  /// outlive the memory. No bytes: no memory. Throws Error naming `what`;
  /// nothing is left behind then.
  SymmetricMemory(const std::vector<Card *> &cards, std::size_t bytes,
                  Multicast multicast, const std::string &what);

  /// Member `own` of a group of processes, one member each: its part is made
  /// here, and `exchange` gives every member's file descriptor for the own one
  /// (which it may not keep; those that it returns are closed).
  /// No multicast range.
  using Exchange = std::vector<int> (*)(int descriptor, void *context);
  SymmetricMemory(Card &card, std::size_t own, std::size_t members,
                  std::size_t bytes, Exchange exchange, void *context,
                  const std::string &what);

  std::size_t members() const { return parts_.size(); }
  /// Usable bytes of each part: what was asked for, rounded up to what the
  /// cards can map.
  std::size_t bytes() const { return bytes_; }
  Address part(std::size_t member) const { return parts_[member]; }
  template <typename T> T *part(std::size_t member) const {
    return reinterpret_cast<T *>(parts_[member]);
  }
  /// 0: there is none, and whyUnicast() says why.
  Address multicast() const { return multicast_; }
  const std::string &whyUnicast() const { return whyUnicast_; }

private:
  Allocation create(const Card &card, int handleTypes, const std::string &what);
  Address map(Allocation memory, const std::vector<Card *> &cards,
              const std::string &what);
  void makeMulticast(const std::vector<Card *> &cards,
                     const std::vector<Allocation> &memory,
                     const std::string &what);

  std::size_t bytes_ = 0;
  std::size_t granularity_ = 1;
  std::vector<Address> parts_;
  Address multicast_ = 0;
  std::string whyUnicast_;
  Cleanup cleanup_;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_SYMMETRICMEMORY_H
