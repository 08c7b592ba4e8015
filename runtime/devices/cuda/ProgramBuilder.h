// Turns steps into commands and the bytes that kernels read their parameters
// from. Building is done twice with the same result: first to learn how many
// bytes are needed, then with the addresses of the memory that was made. A
// later run of the same program builds the bytes again, since pasts and caches
// change.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_PROGRAMBUILDER_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_PROGRAMBUILDER_H

#include "devices/cuda/Program.h"
#include "devices/cuda/RankView.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace layline::runtime::cuda {

/// Memory of one card that a program was built for. Sizes are those that the
/// build found.
struct ProgramMemory {
  Address faults = 0;     ///< a local::FaultRecord
  Address parameters = 0; ///< [parameterBytes]
  std::size_t parameterBytes = 0;
  Address scratch = 0; ///< each stream's own, one behind another
  std::vector<std::size_t> scratchBytes; ///< by stream
  Address taps = 0;
  std::size_t tapBytes = 0;
};

/// One launch of a kernel that takes `const Params *ofRank`, for some ranks of
/// a card: its grid's y.
struct CardLaunch {
  const char *symbol = "";
  unsigned blocks = 1; ///< of each rank
  unsigned threads = 128;
  bool waitsForRanks = false; ///< KernelLaunch
};

class Groups;

class ProgramBuilder {
public:
  /// All must outlive the builder. `ranks`: of this process; `shapes`: of all
  /// of the plan. `memory`: by card.
  ProgramBuilder(std::vector<RankView> &ranks,
                 const std::vector<RankShape> &shapes,
                 const std::vector<std::unique_ptr<Card>> &cards,
                 const Groups &groups, std::vector<ProgramMemory> &memory);

  /// What follows belongs to this top-level step.
  void begin(const Step &step, std::size_t number);

  /// Of this process.
  std::vector<RankView> &ranks() { return ranks_; }
  /// Of any rank.
  const RankShape &shapeOf(std::int64_t rank) const {
    return shapes_[static_cast<std::size_t>(rank)];
  }
  const Groups &groups() const { return groups_; }
  const CardRun &run() const { return *ranks_.front().run; }
  std::size_t cards() const { return cards_.size(); }
  Card &card(std::size_t number) { return *cards_[number]; }
  std::size_t stream() const { return stream_; }

  /// One launch a card. `fill(rank, parameters)` returns how many blocks the
  /// rank has work for; a card without any is not launched.
  template <typename P, typename Fill>
  void kernel(const char *symbol, const Fill &fill) {
    addKernels<P>(symbol, fill, /*waitsForRanks=*/false);
  }
  /// One whose blocks wait for other ranks: as many blocks as `fill` says, all
  /// on the card at once.
  template <typename P, typename Fill>
  void waitingKernel(const char *symbol, const Fill &fill) {
    addKernels<P>(symbol, fill, /*waitsForRanks=*/true);
  }
  /// Of some ranks of a card, with a grid that is given: `fill(rank,
  /// parameters)`.
  template <typename P, typename Fill>
  void launch(std::size_t card, const std::vector<const RankView *> &ranks,
              const CardLaunch &launch, const Fill &fill) {
    static_assert(std::is_trivially_copyable_v<P>, "is copied as bytes");
    std::size_t at = reserve(card, sizeof(P) * ranks.size(), alignof(P));
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      P parameters{};
      fill(*ranks[r], parameters);
      std::memcpy(&bytes_[card][at + r * sizeof(P)], &parameters, sizeof(P));
    }
    addLaunch(card, launch, at, ranks.size());
  }
  /// A kernel of one rank that the engine's function does instead if it will:
  /// `isDone(stream)` says whether it has. `fill` as for kernel().
  template <typename P, typename Fill>
  void engine(const RankView &rank, const char *symbol,
              std::function<bool(Stream)> isDone, const Fill &fill) {
    static_assert(std::is_trivially_copyable_v<P>, "is copied as bytes");
    P parameters{};
    std::size_t at = reserve(rank.cardNumber, sizeof(P), alignof(P));
    std::int64_t blocks = fill(rank, parameters);
    std::memcpy(&bytes_[rank.cardNumber][at], &parameters, sizeof(P));
    if (blocks > 0)
      addEngine(rank.cardNumber, symbol, at, blocks, std::move(isDone));
  }
  /// The product of one rank.
  void product(const RankView &rank, const Step &step, const Product &product,
               Address input, Address weight, Address output);
  /// Bytes of one card's memory to another place of it.
  void copy(const RankView &rank, Address from, Address to, std::size_t bytes);
  /// Work of NCCL, of one rank's stream.
  void nccl(const RankView &rank, std::function<void(Stream)> work);

  /// Where an array of the card's parameter memory lies that has these values.
  template <typename T>
  T *table(std::size_t card, const std::vector<T> &values) {
    static_assert(std::is_trivially_copyable_v<T>, "is copied as bytes");
    std::size_t bytes = values.size() * sizeof(T);
    std::size_t at = reserve(
        card, bytes, std::max<std::size_t>(alignof(T), kTableAlignment));
    if (bytes != 0)
      std::memcpy(&bytes_[card][at], values.data(), bytes);
    return reinterpret_cast<T *>(memory_[card].parameters + at);
  }
  /// Memory that this step alone uses.
  Address scratch(const RankView &rank, std::size_t bytes);
  /// Memory that is kept until the next run.
  Address tap(const RankView &rank, std::size_t bytes);
  local::FaultPlace faultPlace(const RankView &rank) const;

  /// Commands of the step so far, and what those from one on are, each once:
  /// "layline_group_barrier+layline_move", "cublasLt".
  std::size_t size() const { return commands_.back().commands.size(); }
  std::string kernelsFrom(std::size_t command) const;

  /// What was built: the needed sizes are set in `memory`.
  std::vector<CommandGroup> takeCommands() { return std::move(commands_); }
  const std::vector<std::byte> &bytes(std::size_t card) const {
    return bytes_[card];
  }

private:
  static constexpr std::size_t kTableAlignment = 16;

  template <typename P, typename Fill>
  void addKernels(const char *symbol, const Fill &fill, bool waitsForRanks) {
    static_assert(std::is_trivially_copyable_v<P>, "is copied as bytes");
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      std::vector<RankView *> &here = ofCard_[c];
      std::size_t at = reserve(c, sizeof(P) * here.size(), alignof(P));
      std::int64_t blocks = 0;
      for (std::size_t r = 0; r < here.size(); ++r) {
        P parameters{};
        blocks = std::max(blocks, std::int64_t(fill(*here[r], parameters)));
        std::memcpy(&bytes_[c][at + r * sizeof(P)], &parameters, sizeof(P));
      }
      if (blocks > 0)
        addKernel(c, symbol, at, blocks, waitsForRanks);
    }
  }

  std::size_t reserve(std::size_t card, std::size_t bytes,
                      std::size_t alignment);
  void addKernel(std::size_t card, const char *symbol, std::size_t parameters,
                 std::int64_t blocks, bool waitsForRanks);
  void addEngine(std::size_t card, const char *symbol, std::size_t parameters,
                 std::int64_t blocks, std::function<bool(Stream)> isDone);
  /// Of blocks that do not wait: no more than are of use.
  unsigned blocksOn(std::size_t card, std::int64_t blocks) const;
  void addLaunch(std::size_t card, const CardLaunch &launch,
                 std::size_t parameters, std::size_t ranks);
  Command &add(std::size_t card, Command::Kind kind);

  std::vector<RankView> &ranks_;
  const std::vector<RankShape> &shapes_;
  const std::vector<std::unique_ptr<Card>> &cards_;
  const Groups &groups_;
  std::vector<ProgramMemory> &memory_;
  std::vector<std::vector<RankView *>> ofCard_;
  std::vector<std::vector<std::byte>> bytes_;           ///< by card
  std::vector<std::vector<std::size_t>> scratchOfStep_; ///< [card][stream]
  std::vector<CommandGroup> commands_;
  std::size_t stream_ = 0;
  std::int32_t number_ = 0;
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_PROGRAMBUILDER_H
