// The command line of layline-gpu-tests.
#ifndef LAYLINE_TEST_KERNELS_CUDA_GPUTESTS_H
#define LAYLINE_TEST_KERNELS_CUDA_GPUTESTS_H

#include "Matrix.h"

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace layline::test {

/// What a run needs of the machine; tests give an emulated one.
struct GpuTestsOn {
  bool isEmulated = false;
  /// The golden models through the device; the exit status, 0 if all are right.
  std::function<int()> runGolden;
  /// Ends the process if a cell takes much longer than its waits may; or none.
  CellWatch watch;
};

/// Exit status: 0, 1 if a cell failed or a card refused, 2 of a command line
/// that is none, 77 where there is no GPU or no kernel for it.
int runGpuTests(const std::vector<std::string> &arguments, const GpuTestsOn &on,
                std::ostream &out, std::ostream &error);

/// What of the command line is for the matrix, with isEmulated unset; false and
/// a message if it is none.
struct GpuTestsArguments {
  MatrixOptions matrix;
  bool wantsHelp = false, wantsList = false;
};
bool parseGpuTests(const std::vector<std::string> &arguments,
                   GpuTestsArguments &parsed, std::string &error);

} // namespace layline::test

#endif // LAYLINE_TEST_KERNELS_CUDA_GPUTESTS_H
