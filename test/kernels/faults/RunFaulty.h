// Runs that faults and their sound neighbours share.
#ifndef LAYLINE_TEST_KERNELS_FAULTS_RUNFAULTY_H
#define LAYLINE_TEST_KERNELS_FAULTS_RUNFAULTY_H

#include "faults/Faults.h"
#include "harness/Rows.h"
#include "kernels/Instances.cuh"

namespace layline::kernels::test {

inline Outcome outcomeOf(const simt::Report &report,
                         const std::string &difference) {
  if (!report.ok())
    return {true, simt::nameOf(report.failure)};
  if (report.races)
    return {true, "race"};
  if (!difference.empty())
    return {true, "wrong: " + difference};
  return {};
}

/// P of all runs: with two ranks a peer's flag and one's own peer's are easily
/// taken for one another.
constexpr int kFaultRanks = 3;

template <typename Protocol, typename T = bf16,
          Output kOutput = Output::Everyone>
void (*rowKernel())() {
  return reinterpret_cast<void (*)()>(
      row_collective<T, kFaultRanks, Input::Owed, kOutput, Rms, kMaxThreads,
                     kVectorsPerThread<T>, Protocol>);
}
template <typename Protocol, typename T = bf16> void (*oneShotKernel())() {
  return reinterpret_cast<void (*)()>(one_shot<T, kFaultRanks, Rms, kMaxThreads,
                                               kVectorsPerThread<T>, Protocol>);
}

/// Rows that every rank has some of, one more than there are blocks for.
template <typename T = bf16>
RowCase faultCase(Family family = Family::RowCollective) {
  Variant variant;
  variant.family = family;
  variant.dtype = kDType<T>;
  variant.ranks = kFaultRanks;
  variant.norm = NormKind::Rms;
  if (family == Family::RowCollective) {
    variant.input = Input::Owed;
    variant.output = Output::Everyone;
  }
  Problem problem;
  problem.tokens = family == Family::OneShot ? 3 : 7;
  problem.width = 64;
  problem.hasResidual = problem.keepsResidual = true;
  RowCase rowCase = caseOf(variant, problem, 2);
  rowCase.launches = 4;
  return rowCase;
}

template <typename T>
Outcome runCase(const RowCase &rowCase, const RowInputs<T> &inputs, Mode mode,
                std::uint64_t seed, void (*function)(),
                const LaunchFaults &faults = {}, std::uint32_t firstEpoch = 0) {
  Cluster cluster(kFaultRanks, optionsOf(mode, seed, 2), needOf(rowCase));
  cluster.setEpochs(firstEpoch);
  RowResults<T> got;
  simt::Report report =
      runRows<T, kFaultRanks>(cluster, rowCase, inputs, function, got, faults);
  return outcomeOf(
      report,
      report.ok() ? differenceOf(got, expectOrdered(rowCase, inputs)) : "");
}

template <typename T>
Outcome runCase(const RowCase &rowCase, Mode mode, std::uint64_t seed,
                void (*function)(), const LaunchFaults &faults = {},
                std::uint32_t firstEpoch = 0) {
  return runCase<T>(rowCase,
                    makeInputs<T>(rowCase, static_cast<std::uint32_t>(seed)),
                    mode, seed, function, faults, firstEpoch);
}

/// The default run of a fault of row_collective.
template <typename Protocol>
Fault rowFault(const std::string &name, const std::string &what) {
  auto run = [](void (*function)()) {
    return [=](Mode mode, std::uint64_t seed) {
      return runCase<bf16>(faultCase(), mode, seed, function);
    };
  };
  return {name, "row_collective", what, run(rowKernel<Protocol>()),
          run(rowKernel<Sound>())};
}
template <typename Protocol>
Fault oneShotFault(const std::string &name, const std::string &what) {
  auto run = [](void (*function)()) {
    return [=](Mode mode, std::uint64_t seed) {
      return runCase<bf16>(faultCase(Family::OneShot), mode, seed, function);
    };
  };
  return {name, "one_shot", what, run(oneShotKernel<Protocol>()),
          run(oneShotKernel<Sound>())};
}

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_FAULTS_RUNFAULTY_H
