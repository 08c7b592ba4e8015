// One call at a time uses an engine: others are turned away, and the run that
// is under way does not notice.
#ifndef LAYLINE_TEST_KERNELS_HOOKS_ONECALL_H
#define LAYLINE_TEST_KERNELS_HOOKS_ONECALL_H

#include <string>

namespace layline::test {

/// Calls an engine on this device from another thread, and from a callback,
/// while it runs. Failures are Catch's, of the thread that calls this.
void checkOneCallAtATime(const std::string &device);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_HOOKS_ONECALL_H
