// Runs of row_collective and one_shot on emulated ranks, and what they must
// give.
#ifndef LAYLINE_TEST_KERNELS_HARNESS_ROWS_H
#define LAYLINE_TEST_KERNELS_HARNESS_ROWS_H

#include "harness/Cluster.h"
#include "kernels/platform/Numeric.h"

#include <random>

namespace layline::kernels::test {

using device::bf16;
using device::f16;
using device::from_float;
using device::to_float;

/// One kernel on one kind of rows, several launches one after another on the
/// same buffers: before each a kernel on the same stream writes its inputs,
/// after each one copies its results away.
struct RowCase {
  Variant variant;
  Problem problem;
  LaunchShape shape;
  int launches = 2;
  float eps = 1e-6F, weightOffset = 0, innerScale = 1, scale = 1;

  bool isOneShot() const { return variant.family == Family::OneShot; }
  /// Rows that `rank` does the row-wise work of.
  RowBlock rowsOf(int rank) const {
    return isOneShot() ? RowBlock{0, problem.tokens}
                       : row_block(problem.tokens, variant.ranks, rank);
  }
  /// Of which every rank gets all.
  bool reachesAll() const {
    return isOneShot() || variant.output != Output::Own;
  }
  int scaleColumns() const {
    return variant.scales == ScaleKind::Row ? 1
           : variant.scales == ScaleKind::Group
               ? static_cast<int>(problem.width / problem.groupSize)
               : 0;
  }
};

/// What such a kernel is used for: with bias, residual or gate.
Problem problemOf(const Variant &variant, std::int64_t tokens,
                  std::int64_t width);
/// With a shape whose threads hold several vectors each where rows are wide.
RowCase caseOf(const Variant &variant, const Problem &problem,
               unsigned maxGrid = 3);

template <typename T> struct RowInputs {
  /// [launch][rank]: all rows of addends, or the rank's own rows.
  std::vector<std::vector<std::vector<T>>> rows;
  std::vector<std::vector<std::vector<T>>> gates; ///< [launch][rank], own rows
  /// Of all rows. What a rank reads of it are its rows.
  std::vector<T> residual;
  std::vector<T> bias, innerWeight, weight, normBias;
  float tensorScale = 0;
};

/// [launch][rank]; of own rows, or of all where every rank gets all.
template <typename T> struct RowResults {
  std::vector<std::vector<std::vector<T>>> values;
  std::vector<std::vector<std::vector<std::uint8_t>>> payload;
  std::vector<std::vector<std::vector<float>>> scales;
  std::vector<std::vector<std::vector<T>>> residual; ///< own rows
  /// [rank], of all launches of a run; empty where nothing ran.
  std::vector<simt::Counters> counters;
};

/// Numbers of many sizes; `salt` makes runs differ.
template <typename T>
RowInputs<T> makeInputs(const RowCase &rowCase, std::uint32_t salt);

/// In float32, every sum in the order that RowOperands states: the kernel's
/// bits.
template <typename T>
RowResults<T> expectOrdered(const RowCase &rowCase, const RowInputs<T> &inputs);

/// What a fault changes outside the kernel; production values are the defaults.
struct LaunchFaults {
  bool cooperative = true;
  /// Consumer kernels do not wait for what is before them on their stream.
  bool consumerWaits = true;
  /// Every second launch is on a stream of its own.
  bool twoStreams = false;
  /// Results are stored through plain pointers to the multicast range.
  bool storesToMulticast = false;
};

/// Runs `function`, a void(*)(const Params<P>).
template <typename T, int P>
simt::Report runRows(Cluster &cluster, const RowCase &rowCase,
                     const RowInputs<T> &inputs, void (*function)(),
                     RowResults<T> &results, const LaunchFaults &faults = {});

/// Launches of different kernels and sizes, one after another in one workspace.
template <typename T> struct SequenceStep {
  RowCase rowCase;
  RowInputs<T> inputs;
  void (*function)();
};
template <typename T, int P>
simt::Report runSequence(Cluster &cluster,
                         const std::vector<SequenceStep<T>> &steps,
                         std::vector<RowResults<T>> &results,
                         const LaunchFaults &faults = {});

/// The same with P of the case, on a new cluster, of the catalogue's kernel.
template <typename T>
simt::Report runCatalogue(const RowCase &rowCase, const RowInputs<T> &inputs,
                          const simt::Options &options, RowResults<T> &results);

WorkspaceNeed needOf(const RowCase &rowCase);

/// The first place where two results differ, or nothing.
template <typename T>
std::string differenceOf(const RowResults<T> &got, const RowResults<T> &want);
/// The first number that is farther from the exact one than float32 and one
/// rounding can be (BoundRows.cpp), or nothing.
template <typename T>
std::string outsideOf(const RowCase &rowCase, const RowInputs<T> &inputs,
                      const RowResults<T> &got);
/// What the emulator counted on a rank and the formula does not state, or
/// nothing.
template <typename T>
std::string miscountOf(const RowCase &rowCase, const RowResults<T> &got);
/// The first value that ranks do not agree on, or nothing.
template <typename T>
std::string disagreementOf(const RowCase &rowCase, const RowResults<T> &got);

} // namespace layline::kernels::test

#endif // LAYLINE_TEST_KERNELS_HARNESS_ROWS_H
