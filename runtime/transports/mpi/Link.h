// Messages between the processes of a run: what the transport asks of MPI, and
// nothing that knows of plans. The one implementation is a library of its own
// (plugin/MpiLink.cpp), so that the runtime needs no MPI to be built or loaded;
// tests have another one, between threads.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_MPI_LINK_H
#define LAYLINE_RUNTIME_TRANSPORTS_MPI_LINK_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace layline::runtime {

/// Failures are std::runtime_error. Functions are not called by two threads at
/// a time.
class Link {
public:
  /// Of one message that is on its way.
  using Request = void *;

  virtual ~Link() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Tags go from 0 to this.
  virtual int maxTag() const = 0;

  /// Both begin and return. The memory belongs to the message until test() has
  /// said that it is done. Messages of one tag between two ranks arrive in
  /// order.
  virtual Request send(int to, int tag, const void *data,
                       std::size_t bytes) = 0;
  virtual Request receive(int from, int tag, void *data, std::size_t room) = 0;
  /// Whether it is done; the request is then gone, and `bytes` is how many were
  /// received.
  virtual bool test(Request request, std::size_t &bytes) = 0;
  /// Gives one up; the request is gone. If its memory may still be read or
  /// written, the link is abandoned.
  virtual void cancel(Request request) = 0;
  /// Whether a message of this tag is here, from whom and how long.
  virtual bool probe(int tag, int &from, std::size_t &bytes) = 0;

  /// Whether the process of a rank is known to have ended. Of other machines
  /// nothing is known.
  virtual bool isGone(int rank) = 0;
  /// "process 4711 on node7"
  virtual std::string describe(int rank) const = 0;

  /// Messages are under way that nobody waits for any more: their memory may be
  /// written at any time, and the processes cannot part in order.
  virtual void abandon() = 0;
  virtual bool isAbandoned() const = 0;

  /// How many engines this process has made on the link.
  std::uint64_t engines = 0;
  /// Messages, by sender, that came for an engine that is not there yet.
  std::vector<std::pair<int, std::string>> unread;
};

/// The plugin's one function, `layline_open_link`. Starts MPI, which waits for
/// all processes of the run, at most `timeout` seconds; then the process ends
/// with a message, for MPI cannot be told to give up. Ends it at exit. Returns
/// null, with the reason in `error`, if it cannot.
using OpenLink = Link *(double timeout, std::string &error);

/// Changes with this header: a plugin of another build is not used.
inline constexpr char kOpenLinkSymbol[] = "layline_open_link_1";

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_MPI_LINK_H
