// What a kernel on the emulator calls, through kernels/platform. Each call acts
// for the CUDA thread that runs; an error in it ends the run of the machine
// (Machine::run) with a text, and the call does not return.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_DEVICECALLS_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_DEVICECALLS_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace layline::simt {

struct Index3 {
  unsigned x = 1, y = 1, z = 1;
};

/// A place in the kernel's text.
struct Site {
  const char *file = "";
  int line = 0;
};

struct ThreadView {
  Index3 threadIndex, blockIndex, blockSize, gridSize;
  int rank = 0;
  bool watchesShared = false; ///< accesses to shared memory are looked at
};
/// The thread that runs. Not C++'s thread_local, which calls a function at each
/// use of what another file defines.
extern __thread const ThreadView *thisThread;

enum class Order : std::uint8_t { Relaxed, Acquire, Release, AcquireRelease };
enum class Scope : std::uint8_t { Gpu, Sys };
enum class Update : std::uint8_t { Add, Exchange, CompareExchange };
enum class Element : std::uint8_t { BF16, F16, F32 };
enum class WarpOp : std::uint8_t {
  ShuffleXor,
  Shuffle,
  ShuffleDown,
  ShuffleUp,
  Ballot,
  Sync
};

// ---- Global memory
// -------------------------------------------------------------

/// 1, 2, 4, 8 or 16 bytes, aligned to their size.
void loadPlain(void *to, const void *from, unsigned bytes);
void storePlain(void *to, const void *value, unsigned bytes);
/// 16 bytes as four relaxed accesses at system scope, which others may see one
/// by one. A load lets others run: it may be the body of a spin.
void loadFourWords(void *to, const void *from, const char *what);
void storeFourWords(void *to, const void *value);

std::uint32_t loadFlag(const std::uint32_t *flag, Order order, Scope scope);
void storeFlag(std::uint32_t *flag, std::uint32_t value, Order order,
               Scope scope);
/// Returns the value before. `expected` is CompareExchange's.
std::uint32_t updateFlag(std::uint32_t *flag, Update update,
                         std::uint32_t value, std::uint32_t expected,
                         Order order, Scope scope);
void fence(Scope scope);

// ---- Multicast addresses
// -------------------------------------------------------

/// Adds 16 bytes of numbers over the replicas in float32 and rounds once.
void multicastLoadReduce(void *to, const void *from, Element element);
void multicastReduce(void *to, const void *value, Element element);
/// 4, 8 or 16 bytes, the last as four words.
void multicastStore(void *to, const void *value, unsigned bytes);
void multicastStoreFlag(std::uint32_t *flag, std::uint32_t value, Order order);
void multicastAddFlag(std::uint32_t *flag, std::uint32_t value, Order order);

// ---- Shared memory
// -------------------------------------------------------------

struct SharedBlock {
  void *data;
  std::size_t bytes;
};
/// The block's array of this key: the same for all its threads, NaN at first.
SharedBlock sharedArray(const void *key, const char *name, std::size_t bytes);
/// The launch's dynamic shared memory.
SharedBlock dynamicShared(const char *name);
void watchShared(const void *address, unsigned bytes, bool isStore,
                 bool isAtomic);
[[noreturn]] void failShared(const char *name, std::size_t index,
                             std::size_t size);

/// An element of shared memory: reads and writes of it are seen.
template <typename T> class SharedElement {
public:
  explicit SharedElement(T *element) : element_(element) {}
  SharedElement(const SharedElement &) = default;

  operator T() const { // NOLINT: as an array's element is
    if (thisThread->watchesShared)
      watchShared(element_, sizeof(T), false, false);
    return *element_;
  }
  const SharedElement &operator=(T value) const {
    if (thisThread->watchesShared)
      watchShared(element_, sizeof(T), true, false);
    *element_ = value;
    return *this;
  }
  const SharedElement &operator=(const SharedElement &other) const {
    return *this = static_cast<T>(other);
  }
  const SharedElement &operator+=(T value) const {
    return *this = static_cast<T>(*this) + value;
  }

private:
  T *element_;
};

template <typename T> class SharedArray {
  static_assert(std::is_trivially_copyable_v<T>, "shared memory holds bytes");

public:
  SharedArray(const void *key, const char *name, std::size_t size)
      : data_(static_cast<T *>(sharedArray(key, name, size * sizeof(T)).data)),
        size_(size), name_(name) {}
  explicit SharedArray(const char *name) : name_(name) {
    SharedBlock block = dynamicShared(name);
    data_ = static_cast<T *>(block.data);
    size_ = block.bytes / sizeof(T);
  }

  template <typename I> SharedElement<T> operator[](I index) const {
    return SharedElement<T>(at(static_cast<std::size_t>(index)));
  }
  T add(std::size_t index, T value) const {
    T *element = at(index);
    watchShared(element, sizeof(T), true, true);
    T before = *element;
    *element = before + value;
    return before;
  }
  /// The array from `first` on.
  SharedArray operator+(std::size_t first) const {
    if (first > size_)
      failShared(name_, first, size_);
    SharedArray rest(*this);
    rest.data_ += first;
    rest.size_ -= first;
    return rest;
  }

private:
  T *at(std::size_t index) const {
    if (index >= size_)
      failShared(name_, index, size_);
    return data_ + index;
  }

  T *data_ = nullptr;
  std::size_t size_ = 0;
  const char *name_;
};

// ---- Threads of a block
// --------------------------------------------------------

/// Barrier 0 of all threads of the block that have not left; returns the sum of
/// their values.
unsigned syncBlock(unsigned value, Site site);
/// Barrier 1..15 of `threads` arrivals.
void namedBarrier(unsigned barrier, unsigned threads, bool waits);
std::uint64_t warpOperation(unsigned mask, std::uint64_t value, WarpOp op,
                            int argument);

template <typename T> T shuffle(unsigned mask, T value, WarpOp op, int by) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8,
                "a scalar of at most 8 bytes");
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = warpOperation(mask, word, op, by);
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

// ---- Launches, time
// ------------------------------------------------------------

/// What a kernel of blocks of at most `threads` begins with: fails the launch
/// if they are larger.
void checkLaunchBounds(unsigned threads);
void waitForPrerequisites();
void launchDependents();
/// Nanoseconds since the machine was made: one for each time that a thread is
/// chosen to run.
std::uint64_t virtualTime();

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_DEVICECALLS_H
