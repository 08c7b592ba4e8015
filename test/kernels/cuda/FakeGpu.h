// A CUDA driver and cuBLASLt that need no GPU: cards are ranks of the emulator,
// device memory is host memory that the emulator checks accesses to, kernels
// are the same source compiled for the host. Every call is recorded and any can
// be made to fail; what was acquired and not released is counted.
#ifndef LAYLINE_TEST_KERNELS_CUDA_FAKEGPU_H
#define LAYLINE_TEST_KERNELS_CUDA_FAKEGPU_H

#include "devices/cuda/BlasLt.h"
#include "devices/cuda/Driver.h"
#include "devices/cuda/Nccl.h"
#include "devices/simt/Machine.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace layline::test {

using namespace layline::runtime::cuda;

/// What a kernel does, given the address of its array of parameters.
using KernelBody = std::function<void(Address parameters)>;

struct FakeCards {
  int count = 1;
  int multiprocessors = 4;
  bool multicast = false;
  bool peers = true;
  /// Cards of so many reach one another; 0: all do.
  int island = 0;
  /// Which machine they are in: the same cards have the same one in every
  /// process.
  int machine = 0;
  std::size_t granularity = 4096;
  std::size_t multicastGranularity = 16384;
  /// cuMulticastCreate refuses although the cards say that they can.
  bool multicastRefused = false;
  /// Kernels that the images do not have; null: they have all.
  std::function<bool(const std::string &symbol)> lacks;
  /// Kernels that do something else than they are to, by symbol.
  std::map<std::string, KernelBody> replaced;
  simt::Options emulator;
};

/// So many cards, which are alike and reach one another. Threads take turns, or
/// are drawn by a seed that is not 0.
FakeCards cards(int count, unsigned seed = 0);
/// The same, and accesses to one place that nothing orders are errors.
FakeCards checkedCards(int count);

/// One call of the driver or cuBLASLt.
struct Call {
  std::string name;  ///< symbol
  std::size_t bytes; ///< that were asked for; 0 if none
};

/// Everything of one launch that the driver was told.
struct SeenLaunch {
  std::string kernel;
  unsigned grid[3], block[3];
  bool cooperative = false, programmatic = false, remoteDomain = false;
};

class FakeGpu {
public:
  /// Puts itself in the place of the driver and of cuBLASLt until it is
  /// destroyed. There may be one at a time.
  explicit FakeGpu(const FakeCards &cards = {});
  ~FakeGpu();
  FakeGpu(const FakeGpu &) = delete;
  FakeGpu &operator=(const FakeGpu &) = delete;

  const std::vector<Call> &calls() const { return calls_; }
  std::vector<std::string> callNames() const;
  std::size_t callsOf(const std::string &name) const;
  void forgetCalls() { calls_.clear(); }
  const std::vector<SeenLaunch> &launches() const { return launches_; }

  /// The `number`-th call from now on, from 0, of those that can fail returns
  /// `result`. Calls that release always succeed, as the driver's do.
  void failAt(std::size_t number, Result result);
  void failOn(const std::string &name, Result result) {
    failures_[name] = result;
  }
  /// What was created, mapped or bound and not given back, by kind.
  const std::map<std::string, int> &live() const { return live_; }
  int liveCount() const;

  /// Names of kernels and copies in the order in which their first threads
  /// began, and of a test's own work.
  const std::vector<std::string> &order() const { return order_; }
  /// Work of somebody else's in a stream, which takes its time: `name` is in
  /// order() when it is done.
  void runSlowly(Stream stream, const std::string &name, int looks = 50);
  /// Is shown the parameters of every launch of this kernel from now on, as it
  /// begins.
  void watch(const std::string &kernel, std::function<void(Address)> what) {
    watched_[kernel] = std::move(what);
  }
  /// The next graph of this card begins late, behind so many looks of somebody
  /// who waits.
  void delay(int card, int looks) { delays_[card] = looks; }
  /// Is done once, at the next call of this name and before it.
  void atCall(const std::string &name, std::function<void()> what) {
    atCalls_[name] = std::move(what);
  }

  /// First failure of the emulator, "" if all went well.
  const std::string &emulatorError() const { return emulatorError_; }

private:
  friend struct FakeCalls; // the functions of the tables

  struct StreamState {
    int card = 0, number = 0;
  };
  struct EventState {
    int emulated = -1, card = 0;
    bool isTimed = false;
    bool isPending = false; ///< the stream has not come to it
    std::int64_t time = 0;  ///< when it was done, in events
  };
  struct Mapping {
    std::size_t bytes = 0;
    std::uint64_t allocation = 0;
    bool isAccessible = false;
  };
  struct AllocationState {
    int card = 0;
    std::size_t bytes = 0;
    int references = 1;
    bool isMulticast = false;
    std::vector<std::uint64_t> bound; ///< allocations
    std::size_t devices = 0;          ///< that a multicast range expects
    std::vector<int> added;
    std::byte *memory = nullptr;
  };
  using Work = std::function<void()>;

  static FakeGpu *current;

  Result enter(const char *name, std::size_t bytes = 0, bool canFail = true);
  void acquired(const char *kind) { ++live_[kind]; }
  void released(const char *kind) { --live_[kind]; }
  std::byte *newMemory(int card, std::size_t bytes, bool isSymmetric);
  void dropMemory(std::byte *memory);
  /// Puts a multicast range over the parts that are bound to it; false if not
  /// every card has one.
  bool mapMulticast(Address address, Mapping &mapping);
  /// Whose memory of newMemory() the address is in; -1: nobody's.
  int cardOf(Address address) const;

  /// Into the graph that is being captured, or into the stream.
  void submit(Stream stream, Work work);
  /// Something that other processes take part in: asked, once all before it is
  /// done, until it says that it is. Everything behind it waits, in whichever
  /// stream.
  void submitOutside(std::function<bool()> isDone);
  /// Goes on as far as possible; whether nothing waits any more.
  bool pump();
  /// One thread of the emulator runs it, in the stream's order.
  void runInStream(Stream stream, const char *what, Work work);
  void launchWork(Stream stream, const char *what, Work work);
  void launchKernel(const LaunchConfiguration &configuration,
                    const std::string &kernel, Address parameters);
  Result synchronize();
  Result runMachine();
  /// Copies between streams of two cards, each of which waits for the other.
  void transfer(Stream from, Stream to, Work copy);

  FakeCards cards_;
  simt::Machine machine_;
  Driver driver_;
  BlasLt blas_;
  Nccl nccl_;
  std::vector<Call> calls_;
  std::vector<SeenLaunch> launches_;
  std::vector<std::string> order_;
  std::map<int, int> delays_; ///< by card
  std::map<std::string, std::function<void(Address)>> watched_;
  std::map<std::string, std::function<void()>> atCalls_;
  std::map<std::string, Result> failures_;
  std::size_t failAfter_ = ~std::size_t(0);
  Result failWith_ = 0;
  std::map<std::string, int> live_;
  std::string emulatorError_;
  int currentCard_ = 0;
  struct Memory {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t count = 0;
    int card = -1;
  };
  std::map<std::byte *, Memory> memory_;
  std::map<Address, std::size_t> reserved_;
  std::map<Address, Mapping> mapped_;
  std::map<std::uint64_t, AllocationState> allocations_;
  std::uint64_t nextHandle_ = 1;
  std::map<Stream, StreamState> streams_;
  std::map<Event, EventState> events_;
  std::int64_t clock_ = 0;
  std::map<KernelFunction, std::string> functions_;
  std::vector<int> streamsOfCard_;
  struct Waiting {
    Work work;                    ///< or
    std::function<bool()> isDone; ///< of other processes
  };
  std::deque<Waiting> waiting_;
  std::vector<Work> *captured_ = nullptr;
  std::map<Graph, std::vector<Work>> graphs_;
  std::map<GraphExec, std::vector<Work>> executables_;
};

/// The kernels that the fake driver finds in every image, by symbol.
const std::map<std::string, KernelBody> &emulatedKernels();

/// The tables, over the FakeGpu that there is.
Driver fakeDriver();
BlasLt fakeBlasLt();
Nccl fakeNccl();

// What the table of cuBLASLt does to it.
bool enterBlas(const char *name, BlasStatus &status);
void acquiredByBlas(const char *kind);
void releasedByBlas(const char *kind, const char *name);
void runProduct(Stream stream, std::function<void()> work);
// And what that of NCCL does.
bool enterNccl(const char *name, NcclResult &result, bool canFail = true);
void acquiredByNccl();
void releasedByNccl();
void runTransfer(Stream from, Stream to, std::function<void()> copy);
void runOutside(std::function<bool()> isDone);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_FAKEGPU_H
