// The ranks of a group on one card or on several, for tests and the bench: as
// device cuda has them, all ranks of a card in one launch, parameters from an
// array in its memory, one workspace that launches follow one another in.
#ifndef LAYLINE_TEST_KERNELS_CUDA_CARDGROUP_H
#define LAYLINE_TEST_KERNELS_CUDA_CARDGROUP_H

#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/Launch.h"
#include "devices/cuda/SymmetricMemory.h"
#include "kernels/FusedKernels.h"
#include "kernels/plan/LaunchParams.h"

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace layline::test {

/// The first cards of a machine, and a stream on each. Throws Error.
class CardSet {
public:
  explicit CardSet(int count);

  std::size_t size() const { return cards_.size(); }
  runtime::cuda::Card &operator[](std::size_t card) const {
    return *cards_[card];
  }
  const runtime::cuda::OwnedStream &stream(std::size_t card) const {
    return streams_[card];
  }
  /// Blocks of a kernel that each of `ranks` ranks may have, all resident
  /// together: the fullest card's, less the margin that device cuda leaves.
  std::int64_t blocksOfRank(const char *symbol, int threads, int ranks) const;

private:
  std::vector<std::unique_ptr<runtime::cuda::Card>> cards_;
  std::vector<runtime::cuda::OwnedStream> streams_;
};

int countCards();

/// What of a kernel's launch does not depend on the ranks.
struct GroupShape {
  unsigned blocks = 1; ///< of each rank
  unsigned threads = 128;
  unsigned planes = 1; ///< the grid's z
  bool waits = false;  ///< for other ranks: cooperative
};

class CardGroup {
public:
  /// Ranks are dealt out over the cards in blocks. `cards` must outlive the
  /// group. A wait in a kernel ends after so many nanoseconds.
  CardGroup(const CardSet &cards, int ranks, std::uint64_t waitNanoseconds);

  int ranks() const { return static_cast<int>(cardOf_.size()); }
  const runtime::cuda::Card &card(int rank) const {
    return cards_[cardOf_[static_cast<std::size_t>(rank)]];
  }

  // ---- Memory; at least a vector, since kernels without rows read none ------

  runtime::cuda::SymmetricMemory
  symmetric(std::int64_t bytes, const char *what,
            runtime::cuda::Multicast multicast =
                runtime::cuda::Multicast::Never) const;
  /// Of a rank's card, every byte 0xff: a NaN, and an index of nothing.
  runtime::cuda::Address room(int rank, std::int64_t bytes, const char *what);
  template <typename E>
  E *upload(int rank, const std::vector<E> &values, const char *what) {
    const auto bytes = static_cast<std::int64_t>(values.size() * sizeof(E));
    runtime::cuda::Address at = room(rank, bytes, what);
    if (bytes != 0)
      runtime::cuda::copyIn(card(rank), at, values.data(),
                            values.size() * sizeof(E), what);
    return reinterpret_cast<E *>(at);
  }
  template <typename E>
  std::vector<E> download(int rank, runtime::cuda::Address from,
                          std::int64_t count) const {
    std::vector<E> values(static_cast<std::size_t>(count));
    if (count > 0)
      runtime::cuda::copyOut(card(rank), values.data(), from,
                             values.size() * sizeof(E), "results");
    return values;
  }

  // ---- The workspace --------------------------------------------------------

  /// All flags zero, all mailboxes empty as those of `mailboxes` are.
  void makeWorkspace(const kernels::WorkspaceNeed &need,
                     kernels::DType mailboxes);
  runtime::WorkspaceAddresses workspaceOf(int rank) const;
  /// What the first rank that waited in vain wrote down: "rank 1, block 0
  /// waited 10 s for the exit flag of peer 0 to come to epoch 3, found 2"; ""
  /// if none did.
  std::string late() const;

  // ---- Launches -------------------------------------------------------------

  /// One launch: its parameters lie on the cards.
  class Launch {
  public:
    /// On the streams of the cards; nothing is waited for.
    void enqueue() const;

  private:
    friend class CardGroup;
    struct OnCard {
      const runtime::cuda::Card *card;
      runtime::cuda::Stream stream;
      runtime::cuda::KernelFunction function;
      runtime::cuda::Address parameters;
      unsigned ranks;
    };
    const char *symbol_ = "";
    GroupShape shape_;
    std::vector<OnCard> cards_;
  };

  /// `params` by rank. Throws Error where the blocks would not be resident.
  template <typename Params>
  Launch prepare(const char *symbol, const GroupShape &shape,
                 const std::vector<Params> &params) {
    std::vector<const void *> of;
    for (const Params &each : params)
      of.push_back(&each);
    return prepare(symbol, shape, of, sizeof(Params));
  }
  /// On a rank's own card, in its stream.
  void enqueueCopy(int rank, runtime::cuda::Address to,
                   runtime::cuda::Address from, std::int64_t bytes) const;
  /// Until all streams are empty.
  void synchronize(const std::string &what) const;

private:
  Launch prepare(const char *symbol, const GroupShape &shape,
                 const std::vector<const void *> &params, std::size_t bytes);

  const CardSet &cards_;
  const std::uint64_t waitNanoseconds_;
  std::vector<std::size_t> cardOf_; ///< by rank
  std::deque<runtime::cuda::DeviceMemory> memory_;
  kernels::Workspace layout_;
  std::uint32_t maxBlocks_ = 0;
  runtime::cuda::SymmetricMemory workspace_;
  std::vector<runtime::cuda::Address> own_; ///< by rank
};

/// Calls `run` with the number of ranks as a constant.
template <typename Run> auto forRanks(int ranks, const Run &run) {
  switch (ranks) {
  case 1:
    return run(std::integral_constant<int, 1>());
  case 2:
    return run(std::integral_constant<int, 2>());
  case 3:
    return run(std::integral_constant<int, 3>());
  case 4:
    return run(std::integral_constant<int, 4>());
  default:
    return run(std::integral_constant<int, 8>());
  }
}

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_CARDGROUP_H
