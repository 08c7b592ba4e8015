#include "devices/simt/Fiber.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LAYLINE_SIMT_ASAN 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LAYLINE_SIMT_ASAN 1
#endif

#if LAYLINE_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if LAYLINE_SIMT_ASSEMBLY
// Saves what the System V ABI asks a function to keep, exchanges the stacks and
// restores the same from the other one.
extern "C" void layline_simt_switch(void **save, void *to);
asm(R"(
.text
.globl layline_simt_switch
.hidden layline_simt_switch
.type layline_simt_switch,@function
layline_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size layline_simt_switch,.-layline_simt_switch
)");
#endif

namespace layline::simt {

namespace {

/// Of pools that have ended.
struct SpareStacks {
  std::vector<char *> stacks;
  ~SpareStacks() {
    for (char *stack : stacks)
      munmap(stack, StackPool::stackBytes);
  }
};
thread_local SpareStacks spare;
constexpr std::size_t mostSpare = 8192;

/// Makes a page fault within the mapping that it is in: Linux 6.13. Of other
/// protection it would be a mapping of its own, and with the stack above it two
/// of the 65530 that a process may have.
bool guardWithin(void *page) {
#ifdef __linux__
  constexpr int installGuard = 102; // MADV_GUARD_INSTALL, linux/mman.h
  return madvise(page, StackPool::guardBytes, installGuard) == 0;
#else
  (void)page;
  return false;
#endif
}

/// Null: errno says why.
char *mapStack() {
  void *memory = mmap(nullptr, StackPool::stackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  if (guardWithin(memory) ||
      mprotect(memory, StackPool::guardBytes, PROT_NONE) == 0)
    return static_cast<char *>(memory);
  int error = errno;
  munmap(memory, StackPool::stackBytes);
  errno = error;
  return nullptr;
}

} // namespace

/// Bytes at the upper end of a stack that are not used, by its address. Tops of
/// stacks would lie as far apart as stacks do, a power of two: all of them in
/// the same few sets of a cache.
static std::size_t colorOf(const char *stack) {
  constexpr std::size_t colors = 61, step = 192;
  return reinterpret_cast<std::uintptr_t>(stack) / StackPool::stackBytes %
         colors * step;
}

StackPool::~StackPool() {
  for (char *stack : all_)
    if (spare.stacks.size() < mostSpare)
      spare.stacks.push_back(stack);
    else
      munmap(stack, stackBytes);
}

char *StackPool::take(std::string &error) {
  char *stack = nullptr;
  if (spare.stacks.empty()) {
    stack = mapStack();
    if (!stack) {
      error = "no stack beside the " + std::to_string(all_.size()) + " of " +
              std::to_string(stackBytes / 1024) +
              " KiB that there are: " + std::strerror(errno);
      if (!guardsWithinMappings())
        error += "; each is two mappings, of which Linux lets a process have "
                 "vm.max_map_count";
      return nullptr;
    }
  } else {
    stack = spare.stacks.back();
    spare.stacks.pop_back();
    forgetFrames(stack); // of threads that a failed run gave up
  }
  all_.push_back(stack);
  return stack;
}

bool StackPool::guardsWithinMappings() {
  void *page = mmap(nullptr, guardBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED)
    return false;
  bool result = guardWithin(page);
  munmap(page, guardBytes);
  return result;
}

bool StackPool::isGuard(const void *address) const {
  auto at = reinterpret_cast<std::uintptr_t>(address);
  return std::any_of(all_.begin(), all_.end(), [at](const char *stack) {
    auto base = reinterpret_cast<std::uintptr_t>(stack);
    return at >= base && at < base + guardBytes;
  });
}

void forgetFrames(char *stack, std::size_t bytes) {
#if LAYLINE_SIMT_ASAN
  __asan_unpoison_memory_region(stack + StackPool::stackBytes - bytes, bytes);
#else
  (void)stack;
  (void)bytes;
#endif
}

void prepare(Fiber &fiber, char *stack, void (*entry)()) {
  // A thread that has left leaves the few frames that switched away.
  constexpr std::size_t lastFrames = 8192;
  const std::size_t color = colorOf(stack);
  forgetFrames(stack, lastFrames + color);
  fiber.stack = stack;
  fiber.bottom = stack;
  fiber.size = StackPool::stackBytes;
  fiber.fakeStack = nullptr;
#if LAYLINE_SIMT_ASSEMBLY
  // `ret` leaves the stack as a call does: 8 below a multiple of 16.
  auto **top =
      reinterpret_cast<void **>(stack + StackPool::stackBytes - 64 - color);
  *--top = nullptr;
  *--top = reinterpret_cast<void *>(entry);
  for (int saved = 0; saved < 6; ++saved)
    *--top = nullptr;
  fiber.stackPointer = top;
#else
  getcontext(&fiber.context);
  fiber.context.uc_stack.ss_sp = stack + StackPool::guardBytes;
  fiber.context.uc_stack.ss_size =
      StackPool::stackBytes - StackPool::guardBytes - color;
  fiber.context.uc_link = nullptr;
  makecontext(&fiber.context, entry, 0);
#endif
}

void switchFiber(Fiber &from, Fiber &to, bool isLast) {
#if LAYLINE_SIMT_ASAN
  __sanitizer_start_switch_fiber(isLast ? nullptr : &from.fakeStack, to.bottom,
                                 to.size);
#else
  (void)isLast;
#endif
#if LAYLINE_SIMT_ASSEMBLY
  layline_simt_switch(&from.stackPointer, to.stackPointer);
#else
  swapcontext(&from.context, &to.context);
#endif
#if LAYLINE_SIMT_ASAN
  __sanitizer_finish_switch_fiber(from.fakeStack, nullptr, nullptr);
#endif
}

void fiberEntered(Fiber &self, Fiber &from) {
  (void)self;
#if LAYLINE_SIMT_ASAN
  // Tells the bounds of the stack that was left: the OS thread's are not known
  // otherwise.
  __sanitizer_finish_switch_fiber(nullptr, &from.bottom, &from.size);
#else
  (void)from;
#endif
}

} // namespace layline::simt
