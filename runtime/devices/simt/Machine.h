// An emulator of the ranks' GPUs on one OS thread: every CUDA thread is a
// fiber, every rank has streams of launches, and a seeded scheduler decides who
// runs next. It checks what a GPU leaves unsaid: who may see which store,
// whether blocks that wait for one another are resident, whether an access is
// in bounds.
//
//   simt::Machine machine(2, simt::Options{});
//   float *x = machine.allocate<float>(0, 64, "x");
//   machine.launch(0, {"scale", {4}, {128}}, [=] { scale(x, 64); });
//   simt::Report report = machine.run();
//   if (!report.ok()) ... report.text
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_MACHINE_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_MACHINE_H

#include "devices/simt/DeviceCalls.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace layline::simt {

struct Options {
  /// 0: round robin. Else the next thread is drawn, by this seed: the same seed
  /// gives the same run.
  std::uint64_t seed = 0;
  /// Blocks of a grid begin in random order; CUDA promises none.
  bool randomDispatch = false;
  /// Chance of a switch at an access to memory.
  unsigned yieldPercent = 0;
  /// Chance that a thread is held at an access until no other can go on.
  unsigned starvePerTenThousand = 0;
  /// Stores of global memory wait in a buffer of their block and reach memory
  /// in random order, 16-byte ones of st_relaxed_v4 word by word, until a
  /// release or a fence orders them.
  bool storeBuffers = false;
  /// Looks for accesses to the same bytes, one of them a store, that no
  /// synchronization orders, whatever the schedule.
  bool raceCheck = false;
  /// multimem adds the ranks in an order drawn anew each time; else in rank
  /// order. A switch promises none.
  bool randomReductionOrder = false;
  /// When every thread only spins, lets virtualTime jump so that bounded spins
  /// end. Else that is a deadlock and ends the run.
  bool expireSpins = false;

  /// Of one rank, over all its streams.
  unsigned residentBlocks = 64;
  unsigned residentThreads = 16384;
  /// Bytes of shared memory a block may have; sm_90's and sm_100's 227 KiB.
  std::size_t sharedBytesPerBlock = 227 * 1024;
};

struct Launch {
  std::string kernel;
  Index3 grid, block;
  std::size_t dynamicSharedBytes = 0;
  /// All blocks become resident together; refused if they never can.
  bool cooperative = false;
  /// May begin as soon as the launch before it in the stream has triggered
  /// (griddep_launch_dependents), not only when it is complete.
  bool programmatic = false;
};

enum class Failure {
  None,
  Deadlock,   ///< nobody can go on
  Access,     ///< memory out of bounds, of the wrong kind, misaligned
  Scope,      ///< ranks that meet at a flag of gpu scope
  Divergence, ///< threads that meet in different barriers or warp operations
  Launch,     ///< a launch that the device refuses
  Kernel,     ///< an exception, a stack overflow
  Race        ///< the run went on to its end: results may be right
};
const char *nameOf(Failure failure);

/// Of all launches of one kernel name on one rank. Bytes are those that the
/// kernel asked for.
struct Counters {
  std::uint64_t launches = 0, blocks = 0;
  std::uint64_t localReadBytes = 0, localWriteBytes = 0;
  std::uint64_t peerReadBytes = 0, peerWriteBytes = 0;
  /// Through multicast addresses, counted once at who asks.
  std::uint64_t multicastReadBytes = 0, multicastWriteBytes = 0;
  /// By ld_relaxed_v4 and ld_volatile_v4, which spin: depends on the schedule.
  std::uint64_t polledBytes = 0;
  /// Stores and updates of flags; to peers those on another rank's memory, a
  /// multicast one once.
  std::uint64_t localFlagWrites = 0, peerFlagWrites = 0,
                multicastFlagWrites = 0;
  /// Depends on the schedule.
  std::uint64_t flagReads = 0;
  std::uint64_t fences = 0, blockBarriers = 0, warpOperations = 0;
};

struct Report {
  Failure failure = Failure::None;
  /// Names rank, kernel, block, thread; empty if all went well.
  std::string text;
  /// Whose thread or launch failed; -1 where it is nobody's, as of a deadlock.
  int rank = -1;
  /// Pairs of accesses found by raceCheck.
  std::uint64_t races = 0;
  std::uint64_t switches = 0;
  bool ok() const { return failure == Failure::None; }
};

struct MachineState;

class Machine {
public:
  Machine(int ranks, const Options &options);
  ~Machine();
  Machine(const Machine &) = delete;
  Machine &operator=(const Machine &) = delete;

  int ranks() const;

  /// Memory of a rank that only its own kernels may access, filled with 0xff
  /// bytes. The machine owns it.
  template <typename T>
  T *allocate(int rank, std::size_t count, const std::string &name) {
    return static_cast<T *>(
        allocateBytes(rank, count * sizeof(T), name, false));
  }
  /// One buffer on every rank, which every rank may access.
  template <typename T>
  std::vector<T *> allocateSymmetric(std::size_t count,
                                     const std::string &name) {
    std::vector<T *> all;
    for (int rank = 0; rank < ranks(); ++rank)
      all.push_back(
          static_cast<T *>(allocateBytes(rank, count * sizeof(T), name, true)));
    return all;
  }
  /// Memory that the caller owns and that outlives the machine's runs.
  void registerMemory(int rank, void *memory, std::size_t bytes,
                      const std::string &name, bool isSymmetric);
  void unregisterMemory(void *memory);
  /// An address range for multimem over one symmetric buffer of each rank, all
  /// of `bytes`. A plain access to it is an error.
  void *makeMulticast(const std::vector<void *> &replicas, std::size_t bytes,
                      const std::string &name);
  /// The same at an address that the caller has reserved, until
  /// unregisterMemory().
  void registerMulticast(void *address, const std::vector<void *> &replicas,
                         std::size_t bytes, const std::string &name);

  /// Appends to a stream of the rank. `body` calls the kernel with its
  /// arguments, once for each thread.
  void launch(int rank, const Launch &launch, std::function<void()> body,
              int stream = 0);
  /// An event that is done when all before it in the stream is.
  int recordEvent(int rank, int stream);
  /// What is appended to the stream later waits for the event, of any rank.
  void waitEvent(int rank, int stream, int event);

  /// Takes places of blocks away from a rank, as another program's kernel on
  /// its multiprocessors does; 0 gives them back.
  void stealResidency(int rank, unsigned blocks);
  /// Blocks of so many threads that fit on a rank together, nothing stolen.
  unsigned maxResidentBlocks(unsigned threadsPerBlock) const;

  /// Runs until all streams are empty or something fails. After a failure other
  /// than Race every later run fails the same.
  Report run();

  /// Since the machine was made.
  Counters counters(int rank, const std::string &kernel) const;

private:
  void *allocateBytes(int rank, std::size_t bytes, const std::string &name,
                      bool isSymmetric);

  std::unique_ptr<MachineState> state_;
};

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_MACHINE_H
