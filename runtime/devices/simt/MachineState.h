// The emulator's insides: threads, blocks, grids, streams and who may run.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_MACHINESTATE_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_MACHINESTATE_H

#include "devices/simt/Fiber.h"
#include "devices/simt/Machine.h"
#include "devices/simt/Memory.h"
#include "devices/simt/RaceCheck.h"
#include "devices/simt/StoreBuffer.h"
#include "devices/simt/VectorClock.h"

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace layline::simt {

struct Block;
struct Grid;

/// Where a thread waits.
enum class Wait : std::uint8_t {
  None,
  Barrier,
  Warp,
  Prerequisites,
  Starved,
  Gone
};

struct Thread : ThreadView {
  Fiber fiber;
  Block *block = nullptr;
  unsigned index = 0; ///< in the block; lane and warp follow
  Wait wait = Wait::None;
  unsigned barrier = 0; ///< of Wait::Barrier
  Site site;            ///< of barrier 0
  /// The load it polls with, while it does nothing else.
  const void *spinAddress = nullptr;
  std::uint64_t spinValue = 0;
  const char *spin = nullptr;
  ThreadClock clock; ///< with raceCheck, as all clocks here

  unsigned lane() const { return index % 32; }
  unsigned warp() const { return index / 32; }
};

/// One meeting of lanes with the same mask.
struct WarpMeeting {
  unsigned mask = 0, arrived = 0;
  WarpOp op = WarpOp::Sync;
  /// Parity chooses the half of `values`: lanes may enter the next meeting
  /// before all have read this one.
  std::uint64_t generation = 0;
  std::array<std::array<std::uint64_t, 32>, 2> values{};
  VectorClock clock; ///< of lanes in a __syncwarp
};

struct BarrierState {
  unsigned arrived = 0;
  unsigned expected = 0; ///< 0: all threads that have not left
  unsigned sum = 0, result = 0;
  Site site;
  VectorClock clock; ///< of those that arrived
};

struct SharedMemory {
  const void *key = nullptr;
  const char *name = "";
  std::size_t bytes = 0;
  std::unique_ptr<char[]> data;
  std::unique_ptr<Shadow> shadow;
};

struct Block {
  Grid *grid = nullptr;
  unsigned index = 0;
  std::vector<Thread *> threads;
  unsigned alive = 0;
  bool hasTriggered = false;
  std::array<BarrierState, 16> barriers{};
  std::vector<std::vector<WarpMeeting>> warps;
  std::vector<SharedMemory> shared;
  std::size_t sharedBytes = 0;
  StoreBuffer stores;
};

struct Stream;

/// A launch in its stream.
struct Grid {
  Launch launch;
  std::function<void()> body;
  int rank = 0;
  Stream *stream = nullptr;
  Counters *counters = nullptr;
  const std::string *kernelName = nullptr; ///< the counters' key
  std::vector<unsigned> order;             ///< of dispatch
  std::size_t dispatched = 0, done = 0, triggered = 0;
  /// In the stream: 1, 2, ...
  std::uint64_t number = 0;
  /// All launches of the stream up to this one end before this one begins.
  std::uint64_t orderedAfter = 0;
  VectorClock startClock, endClock;
  std::vector<std::uint32_t> threadIds;

  std::size_t blocks() const { return order.size(); }
  unsigned threadsPerBlock() const {
    return launch.block.x * launch.block.y * launch.block.z;
  }
  bool isComplete() const { return done == blocks(); }
  /// Whether a programmatic launch may follow.
  bool letsDependentsGo() const { return triggered == blocks(); }
};

struct Event {
  bool isDone = false;
  VectorClock clock;
};

/// A launch, or an event to record or to wait for.
struct StreamItem {
  std::unique_ptr<Grid> grid;
  int record = -1, await = -1;
};

struct Stream {
  int number = 0;
  std::deque<StreamItem> queue;
  /// Oldest first; more than one only with programmatic launches.
  std::vector<std::unique_ptr<Grid>> running;
  /// Of all that is complete or was waited for.
  VectorClock clock;
  /// Of the last launch's start: where a programmatic one begins.
  VectorClock lastStart;
  std::uint64_t lastOrderedAfter = 0, started = 0;
  /// Thread ids for use again, with the number of the launch that had them.
  std::deque<std::pair<std::uint64_t, std::uint32_t>> freeIds;
  bool isEmpty() const { return queue.empty() && running.empty(); }
};

struct RankState {
  std::map<int, Stream> streams;
  std::vector<Block *> resident;
  unsigned residentThreads = 0;
  unsigned stolenBlocks = 0;
};

/// What was last written to a flag.
struct Location {
  int rank = -1; ///< of the writer; -1: none yet
  Scope scope = Scope::Sys;
  /// What a load with acquire learns, on the writer's rank and on others.
  VectorClock forRank, forPeers;
};

/// Which CUDA thread had an id from some time on.
struct IdOwner {
  std::uint32_t since = 0;
  const std::string *kernel = nullptr;
  int rank = 0;
  unsigned block = 0, thread = 0;
};

struct MachineState {
  MachineState(int rankCount, const Options &chosen);
  ~MachineState();

  Options options;
  Memory memory;
  std::vector<RankState> ranks;
  std::deque<Event> events;
  std::map<std::pair<int, std::string>, Counters> counters;
  Report report;

  // ---- Scheduler.cpp
  StackPool stacks;
  std::vector<std::unique_ptr<Thread>> allThreads; ///< owner
  std::vector<Thread *> freeThreads;
  Fiber scheduler;
  Thread *current = nullptr;
  std::vector<Thread *> ready, starved;
  std::size_t readyHead = 0; ///< of round robin
  std::uint64_t live = 0;
  /// Picks since something changed that another thread can see.
  std::uint64_t stalled = 0;
  std::uint64_t time = 0;
  unsigned expiries = 0;
  std::uint64_t randomState;

  std::uint64_t random();
  bool chance(std::uint64_t part, std::uint64_t whole) {
    return part != 0 && random() % whole < part;
  }
  void makeReady(Thread *thread) {
    thread->wait = Wait::None;
    ready.push_back(thread);
  }
  bool nobodyReady() const { return readyHead == ready.size(); }
  Thread *pick();
  void progress() { stalled = 0; }
  Report run();
  bool isGoingOn() const {
    return report.failure == Failure::None || report.failure == Failure::Race;
  }
  void runThread(Thread *thread);
  static void enterThread();
  bool resolveStall();

  // Of the thread that runs:
  void toScheduler();
  void waitFor(Wait wait);
  void yield();
  void mayYield() {
    if (options.yieldPercent | options.starvePerTenThousand)
      yieldAtRandom();
  }
  void yieldAtRandom();
  /// A load that may be the body of a spin.
  void poll(const void *address, std::uint64_t value, const char *what);
  /// Ends the run: does not return, as the thread's frames are unwound.
  [[noreturn]] void fail(Failure failure, const std::string &text);
  void setFailure(Failure failure, const std::string &text);

  // ---- Streams.cpp
  /// Something came or went since a dispatch found nothing to start.
  bool mayDispatch = true;
  void dispatch();
  bool dispatchStream(RankState &rank, Stream &stream);
  bool mayStart(const Stream &stream, const StreamItem &item) const;
  bool fits(const RankState &rank, const Grid &grid, std::size_t blocks) const;
  bool haveThreads(const Grid &grid);
  void startBlock(RankState &rank, Grid &grid);
  void retire(Block *block);
  void complete(Grid &grid);
  void wakeDependents(Grid &grid);
  bool hasWork() const;

  // ---- StoreBuffer.cpp, with storeBuffers
  std::size_t pendingStores = 0;
  void commit(const PendingStore &store);
  void bufferStore(void *to, const void *value, unsigned bytes);
  void sendOverlapping(const void *address, unsigned bytes);
  void releaseStores(Scope scope);
  void commitSomeStores();
  bool commitOneStore();
  void drainStores(Block &block);

  // ---- Synchronization.cpp
  std::unordered_map<std::uintptr_t, Location> locations;
  VectorClock hostClock; ///< of all earlier runs
  std::vector<std::vector<IdOwner>> idOwners;
  std::vector<std::uint32_t> idTimes;
  void beginRun();
  void beginGrid(Grid &grid);
  void endGrid(Grid &grid);
  void beginThread(Thread &thread);
  void endThread(Thread &thread);
  void noteAccess(const Buffer &buffer, const void *address, unsigned bytes,
                  AccessKind kind);
  /// Memory is no more: what its flags said is not said by those of memory that
  /// comes to lie at the same place.
  void forget(const void *memory);
  void noteAccess(Shadow &shadow, const void *address, unsigned bytes,
                  AccessKind kind, const char *sharedName);
  std::string ownerOf(Moment moment) const;
  void checkScope(const Buffer &buffer, const void *flag, Scope scope);
  void learnFrom(const void *flag, Order order, Scope scope);
  void publishAt(const void *flag, Order order, Scope scope, bool isUpdate);
  void noteFence(Scope scope);

  // ---- Barriers.cpp
  /// `currentWaits`: the thread that runs completed it and is one of those.
  void releaseBarrier(Block &block, unsigned number, bool currentWaits);
  void threadLeft(Thread *thread);

  // ---- Memory access, Access.cpp
  const Buffer &check(const void *address, unsigned bytes, const char *what);
  const Buffer &checkMulticast(const void *address, unsigned bytes,
                               const char *what);
  /// Memory as the thread that runs sees it, and its stores.
  void read(void *to, const void *from, unsigned bytes);
  void write(void *to, const void *value, unsigned bytes);
  /// 16 bytes of a rank's buffer as four relaxed accesses.
  void readWords(const Buffer &buffer, void *to, const void *from);
  void writeWords(const Buffer &buffer, void *to, const void *value,
                  AccessKind kind, unsigned bytes = 16);
  void writeFlag(const Buffer &buffer, std::uint32_t *flag, std::uint32_t value,
                 Order order, Scope scope);
  std::uint32_t changeFlag(const Buffer &buffer, std::uint32_t *flag,
                           Update update, std::uint32_t value,
                           std::uint32_t expected, Order order, Scope scope);

  // ---- Reports.cpp
  std::string describe(const Thread &thread) const;
  std::string deadlockText(const char *headline) const;
};

/// The machine whose run() is on this OS thread.
extern __thread MachineState *machine;

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_MACHINESTATE_H
