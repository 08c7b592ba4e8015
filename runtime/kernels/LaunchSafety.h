// What the host sees to before it launches kernels that wait for other ranks:
// that all their blocks fit, that all ranks launch the same, that no two of one
// communicator are under way together. Host code without CUDA.
//
// Functions that can fail return false with a message in `error`: what was
// found and what was expected.
#ifndef LAYLINE_RUNTIME_KERNELS_LAUNCHSAFETY_H
#define LAYLINE_RUNTIME_KERNELS_LAUNCHSAFETY_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace layline::kernels {

/// What cudaOccupancyMaxActiveBlocksPerMultiprocessor says of a kernel and a
/// block size, and the device's multiprocessors.
struct Occupancy {
  std::int64_t blocksPerMultiprocessor = 0, multiprocessors = 0;
};

/// Blocks that are left to kernels of others. NVIDIA's user-buffer kernels of
/// NCCL 2.30 (contrib/nccl_ubx) leave as many.
constexpr std::int64_t kResidencyMargin = 16;

/// Blocks that a kernel which waits may have: those that are resident together,
/// less the margin. False where none are left: such a device cannot run it.
bool residentBlocks(const Occupancy &occupancy, std::int64_t margin,
                    std::uint32_t &blocks, std::string &error);

/// Whether all ranks, in their order, say the same of what must be equal (see
/// digestOf in Catalogue.h); names the first that does not.
bool checkAgreement(const std::string &group,
                    const std::vector<std::uint64_t> &digests,
                    std::string &error);

/// The product of sizes that are not negative; false above 2^63 - 1.
bool multiplySizes(const std::vector<std::int64_t> &sizes,
                   std::int64_t &product, std::string &error);

/// One collective at a time of each communicator. On one stream launches follow
/// one another; two streams would meet in the same flags, and in an order that
/// differs between ranks. Safe to be called from several threads.
class CollectiveOrder {
public:
  /// Of a launch: 1, 2, ... over all communicators; 0 is none.
  using Ticket = std::uint64_t;

  /// Before a launch. False while launches of the communicator on other streams
  /// are not complete, unless `stream` has waited for an event behind all of
  /// them: `waitedFor` is the last of those.
  bool begin(const std::string &communicator, std::uint64_t stream,
             const std::string &kernel, Ticket waitedFor, Ticket &ticket,
             std::string &error);
  /// The launch and those before it on its stream are complete.
  void complete(Ticket ticket);

private:
  /// The last of its stream, behind which all others of it are complete.
  struct Launch {
    Ticket ticket;
    std::string kernel;
  };

  std::mutex mutex_;
  Ticket last_ = 0;
  /// By communicator and stream.
  std::map<std::pair<std::string, std::uint64_t>, Launch> underWay_;
};

/// A workspace for each communicator on each stream, made at the first use:
/// groups that share ranks, or streams, must not share flags.
template <typename Workspace> class WorkspaceTable {
public:
  /// `make` returns a Workspace. The reference lives as long as the table.
  template <typename Make>
  Workspace &at(const std::string &communicator, std::uint64_t stream,
                Make make) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Workspace> &entry = entries_[{communicator, stream}];
    if (!entry)
      entry = std::make_unique<Workspace>(make());
    return *entry;
  }

private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint64_t>, std::unique_ptr<Workspace>>
      entries_;
};

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_LAUNCHSAFETY_H
