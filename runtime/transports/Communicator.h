// A group of ranks as one of its members sees it.
//
// A collective is: every member shows its buffer, each reads what it needs of
// the others', all let go. How the bytes get there is the transport's: between
// threads nothing is copied, between processes what is read is sent.
#ifndef LAYLINE_RUNTIME_TRANSPORTS_COMMUNICATOR_H
#define LAYLINE_RUNTIME_TRANSPORTS_COMMUNICATOR_H

#include "plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace layline::runtime {

/// Thrown in the ranks that wait when another one of the same process failed.
struct Aborted {};

class Communicator {
public:
  /// Of what member `owner` shows, the elements that member `reader` reads, as
  /// runs of which none is empty. Asked for by one of the two, of the other
  /// one; both must name the same elements in the same order.
  using Reads = std::function<Items(std::int64_t reader, std::int64_t owner)>;

  virtual ~Communicator() = default;
  Communicator(const Communicator &) = delete;
  Communicator &operator=(const Communicator &) = delete;

  std::int64_t size() const { return size_; }
  /// This rank's number in the group.
  std::int64_t member() const { return member_; }
  /// Whether everything that a member shows can be read: `reads` is not asked.
  virtual bool sharesMemory() const = 0;

  /// Shows `data` and waits until what the others show can be read. The memory
  /// must stay as it is until release() has returned. Throws Error, Aborted.
  template <typename Element, typename ReadsOf>
  void show(const Element *data, const ReadsOf &reads) {
    share(data, sizeof(Element), Reads(std::cref(reads)));
  }
  /// What a member showed; of another member only what this one `reads` is
  /// there. Valid between show() and release().
  template <typename Element> const Element *shown(std::int64_t member) const {
    return static_cast<const Element *>(
        shown_[static_cast<std::size_t>(member)]);
  }
  /// Says that this member has read, and waits until its own memory may be
  /// written again. Throws Error, Aborted.
  virtual void release() = 0;

protected:
  /// `shown` has a place for every member and outlives this.
  Communicator(std::int64_t member, std::int64_t size, const void *const *shown)
      : member_(member), size_(size), shown_(shown) {}

private:
  virtual void share(const void *data, std::size_t elementBytes,
                     const Reads &reads) = 0;

  std::int64_t member_, size_;
  const void *const *shown_;
};

/// All of `count` elements.
inline Items allOf(std::int64_t count) {
  return count > 0 ? Items{{0, count}} : Items();
}

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_TRANSPORTS_COMMUNICATOR_H
