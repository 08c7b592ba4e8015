// Kernels with one rule broken, and how each is run. Each fault has the same
// run without it, which must pass: what is caught is the fault, not the run.
#ifndef LAYLINE_TEST_KERNELS_FAULTS_FAULTS_H
#define LAYLINE_TEST_KERNELS_FAULTS_FAULTS_H

#include "harness/Cluster.h"

#include <functional>
#include <string>
#include <vector>

namespace layline::kernels::test {

/// How a run ended: with an error of the emulator, races, or wrong results.
struct Outcome {
  bool isCaught = false;
  std::string how;
};

using Run = std::function<Outcome(Mode, std::uint64_t seed)>;

struct Fault {
  std::string name;
  std::string kernel;
  std::string what; ///< is broken
  Run faulty, sound;
};

std::vector<Fault> rowFaults();
std::vector<Fault> launchFaults();
std::vector<Fault> oneShotFaults();
std::vector<Fault> byteFaults();
std::vector<Fault> allFaults();

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_FAULTS_FAULTS_H
