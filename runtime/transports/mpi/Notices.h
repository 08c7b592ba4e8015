// What ranks tell one another beside the collectives: that one failed, or that
// it leaves, and why.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_MPI_NOTICES_H
#define LAYLINE_RUNTIME_TRANSPORTS_MPI_NOTICES_H

#include "transports/mpi/Link.h"

#include <cstdint>
#include <map>
#include <string>

namespace layline::runtime {

/// The tag of notices; no other message has it.
inline constexpr int kNoticeTag = 0;

/// The notices between the ranks of one engine.
class Notices {
public:
  /// `engine` numbers the engines of a process; all processes make theirs in
  /// the same order.
  Notices(Link &link, std::uint64_t engine) : link_(link), engine_(engine) {}

  /// Takes in what has come. Throws std::runtime_error.
  void receive();
  /// By rank: why it failed.
  const std::map<int, std::string> &failed() const { return failed_; }
  /// By rank: its last error when it left, "" if there was none.
  const std::map<int, std::string> &left() const { return left_; }

  /// Tell all other ranks, as far as they can be told within a second.
  void sendFailed(const std::string &why) noexcept { send(Kind::Failed, why); }
  void sendLeft(const std::string &why) noexcept { send(Kind::Left, why); }

private:
  enum class Kind : std::uint64_t { Failed, Left };
  void send(Kind kind, const std::string &why) noexcept;
  void tell(const std::string &message);

  Link &link_;
  std::uint64_t engine_;
  std::map<int, std::string> failed_, left_;
};

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_MPI_NOTICES_H
