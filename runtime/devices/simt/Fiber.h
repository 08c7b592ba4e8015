// Stacks that one OS thread switches between.
#ifndef LAYLINE_RUNTIME_DEVICES_SIMT_FIBER_H
#define LAYLINE_RUNTIME_DEVICES_SIMT_FIBER_H

#include <cstddef>
#include <string>
#include <vector>

// Elsewhere, and where LAYLINE_SIMT_UCONTEXT is defined (the tests do), the C
// library switches: several times as slow, for it keeps signal masks.
#if defined(__x86_64__) && !defined(LAYLINE_SIMT_UCONTEXT)
#define LAYLINE_SIMT_ASSEMBLY 1
#else
#define LAYLINE_SIMT_ASSEMBLY 0
#include <ucontext.h>
#endif

namespace layline::simt {

/// A stack and where on it to go on.
struct Fiber {
#if LAYLINE_SIMT_ASSEMBLY
  void *stackPointer = nullptr;
#else
  ucontext_t context;
#endif
  /// Null for the OS thread's own stack.
  char *stack = nullptr;
  /// AddressSanitizer's: the stack's bounds and its shadow of locals.
  const void *bottom = nullptr;
  std::size_t size = 0;
  void *fakeStack = nullptr;
};

/// Stacks with a page below them that faults. A pool that ends leaves them to
/// the next one on its OS thread: mapping them costs more than a small run.
class StackPool {
public:
  StackPool() = default;
  ~StackPool();
  StackPool(const StackPool &) = delete;
  StackPool &operator=(const StackPool &) = delete;

  static constexpr std::size_t guardBytes = 4096;
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  static constexpr std::size_t stackBytes = 256 << 10;
#else
  static constexpr std::size_t stackBytes = 64 << 10;
#endif
#elif defined(__SANITIZE_ADDRESS__)
  static constexpr std::size_t stackBytes = 256 << 10;
#else
  static constexpr std::size_t stackBytes = 64 << 10;
#endif

  /// Null where the OS has none; `error` then says why.
  char *take(std::string &error);
  /// Whether guard pages are no mappings of their own, so that a process may
  /// have any number of stacks: Linux from 6.13 on.
  static bool guardsWithinMappings();
  /// Whether the address is in the guard page of a stack of this pool.
  bool isGuard(const void *address) const;

private:
  std::vector<char *> all_;
};

/// Frames in the stack's upper bytes were left without a return:
/// AddressSanitizer must not keep their red zones.
void forgetFrames(char *stack, std::size_t bytes = StackPool::stackBytes -
                                                   StackPool::guardBytes);
/// Makes `fiber` call `entry`, which must not return, when it is switched to.
void prepare(Fiber &fiber, char *stack, void (*entry)());
/// Goes on with `to`; returns when somebody switches to `from`. `isLast`:
/// nobody ever will.
void switchFiber(Fiber &from, Fiber &to, bool isLast);
/// What a fiber does first.
void fiberEntered(Fiber &self, Fiber &from);

} // namespace layline::simt

#endif // LAYLINE_RUNTIME_DEVICES_SIMT_FIBER_H
