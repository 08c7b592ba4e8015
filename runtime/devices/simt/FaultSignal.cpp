#include "devices/simt/FaultSignal.h"

#include "devices/simt/MachineState.h"

#include <sstream>
#include <ucontext.h>

using namespace layline::simt;

namespace {

__thread const void *faultAddress = nullptr;

/// Where a CUDA thread goes on after a fault: on its own stack, from the top,
/// as what was there is given up.
void failAtFault() {
  MachineState &state = *machine;
  {
    std::ostringstream out;
    out << state.describe(*state.current);
    Failure failure = Failure::Access;
    if (state.stacks.isGuard(faultAddress)) {
      failure = Failure::Kernel;
      out << " needs more than the " << StackPool::stackBytes / 1024
          << " KiB of stack of an emulated thread";
    } else {
      out << " reads or writes, not through the platform layer, "
          << state.memory.describe(faultAddress);
      if (state.memory.isMulticast(faultAddress))
        out << "; a multicast address takes multimem only";
    }
    state.setFailure(failure, out.str());
  }
  // The run has failed: nobody goes on with this thread.
  state.toScheduler();
}

void onFault(int number, siginfo_t *info, void *context) {
  bool isOurs = machine && machine->current;
  if (isOurs) {
    forgetFrames(machine->current->fiber.stack);
    char *top = machine->current->fiber.stack + StackPool::stackBytes - 64;
    faultAddress = info->si_addr;
    auto *registers = static_cast<ucontext_t *>(context);
#if defined(__x86_64__)
    // As after a call: 8 below a multiple of 16.
    registers->uc_mcontext.gregs[REG_RSP] =
        reinterpret_cast<greg_t>(top - sizeof(void *));
    registers->uc_mcontext.gregs[REG_RIP] =
        reinterpret_cast<greg_t>(&failAtFault);
    return;
#elif defined(__aarch64__)
    registers->uc_mcontext.sp = reinterpret_cast<unsigned long>(top);
    registers->uc_mcontext.pc = reinterpret_cast<unsigned long>(&failAtFault);
    return;
#else
    (void)top;
    (void)registers;
#endif
  }
  // The instruction faults again, with the default action.
  std::signal(number, SIG_DFL);
}

} // namespace

FaultSignal::FaultSignal() : stack_(std::size_t(64) << 10) {
  stack_t stack{};
  stack.ss_sp = stack_.data();
  stack.ss_size = stack_.size();
  sigaltstack(&stack, &stackBefore_);
  struct sigaction action {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &segvBefore_);
  sigaction(SIGBUS, &action, &busBefore_);
}

FaultSignal::~FaultSignal() {
  sigaction(SIGSEGV, &segvBefore_, nullptr);
  sigaction(SIGBUS, &busBefore_, nullptr);
  sigaltstack(&stackBefore_, nullptr);
}
