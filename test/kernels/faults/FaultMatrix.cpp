// Which mode of the emulator catches which planted fault of the kernels.
//
//   layline-kernel-faults            compares docs/generated/kernel-faults.md
//   layline-kernel-faults --update   writes it
//   layline-kernel-faults NAME       shows each run of one fault
//
// Fails too if a fault is caught in no mode, or a sound run in any.
#include "faults/Faults.h"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

namespace layline::kernels::test {

std::vector<Fault> allFaults() {
  std::vector<Fault> all;
  for (auto part : {rowFaults, launchFaults, oneShotFaults, byteFaults})
    for (Fault &fault : part())
      all.push_back(std::move(fault));
  return all;
}

} // namespace layline::kernels::test

using namespace layline::kernels::test;

namespace {

constexpr std::uint64_t kSeeds = 20;
/// Of the same run without the fault, which many faults share.
constexpr std::uint64_t kSoundSeeds = 4;

/// "all", "some" or nothing: counts would change with every change of the
/// emulator's scheduler.
std::string share(std::uint64_t caught) {
  return caught == kSeeds ? "all" : caught ? "some" : "";
}

std::string head() {
  std::ostringstream out;
  out << "<!-- Written by test/kernels/faults/FaultMatrix.cpp; do not edit. "
         "-->\n"
         "# Which mode of the emulator catches which fault of the kernels\n\n"
      << "Each fault breaks one rule of a kernel (`runtime/kernels/"
         "Protocol.cuh`) or of its launch. Runs of 3 ranks, "
      << kSeeds
      << " seeds in each mode: `all` or `some` of them end with an error of "
         "the emulator, a race, or results that differ from the ordered sum. "
         "The same runs without the fault pass in every mode. What the modes "
         "are: [kernels](../kernels.md).\n\n"
      << "| fault | kernel | what is broken |";
  for (Mode mode : kModes)
    out << " " << nameOf(mode) << " |";
  out << "\n|---|---|---|";
  for (std::size_t i = 0; i < std::size(kModes); ++i)
    out << "---|";
  out << "\n";
  return out.str();
}

/// A row of the table; counts what is wrong in `failures`.
std::string rowOf(const Fault &fault, int &failures, bool shows) {
  std::ostringstream out;
  out << "| " << fault.name << " | " << fault.kernel << " | " << fault.what
      << " |";
  std::uint64_t inAll = 0;
  for (Mode mode : kModes) {
    std::uint64_t caught = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Outcome outcome = fault.faulty(mode, seed);
      caught += outcome.isCaught;
      if (shows)
        std::printf("%s, seed %d: %s\n", nameOf(mode), static_cast<int>(seed),
                    outcome.isCaught ? outcome.how.c_str() : "not caught");
      if (seed > kSoundSeeds)
        continue;
      Outcome sound = fault.sound(mode, seed);
      if (sound.isCaught) {
        std::fprintf(stderr, "%s: without the fault, %s, seed %d: %s\n",
                     fault.name.c_str(), nameOf(mode), static_cast<int>(seed),
                     sound.how.c_str());
        ++failures;
      }
    }
    inAll += caught;
    out << " " << share(caught) << " |";
  }
  if (inAll == 0) {
    std::fprintf(stderr, "%s: caught in no mode\n", fault.name.c_str());
    ++failures;
  }
  out << "\n";
  return out.str();
}

} // namespace

int main(int argc, char **argv) {
  const std::string path = LAYLINE_KERNEL_FAULTS_PAGE;
  std::string option = argc > 1 ? argv[1] : "";
  int failures = 0;
  if (!option.empty() && option != "--update") {
    bool isKnown = false;
    for (const Fault &fault : allFaults())
      if (fault.name == option) {
        isKnown = true;
        std::printf("%s", rowOf(fault, failures, true).c_str());
      }
    if (!isKnown) {
      std::fprintf(stderr, "'%s' is no fault; those there are:\n", argv[1]);
      for (const Fault &fault : allFaults())
        std::fprintf(stderr, "  %s\n", fault.name.c_str());
      return 2;
    }
    return failures != 0;
  }
  std::string page = head();
  for (const Fault &fault : allFaults())
    page += rowOf(fault, failures, false);
  if (option == "--update") {
    std::ofstream(path) << page;
    return failures != 0;
  }
  std::ifstream file(path);
  std::string committed{std::istreambuf_iterator<char>(file), {}};
  if (committed != page) {
    std::fprintf(stderr,
                 "%s lags behind; run layline-kernel-faults --update. "
                 "It would be:\n%s",
                 path.c_str(), page.c_str());
    ++failures;
  }
  return failures != 0;
}
