//===- GpuBenchTable.h - what layline-gpu-bench prints ----------*- C++ -*-===//
//
// The words of the table between the bench, which writes it, and calibration,
// which reads it (Calibration.h):
//
//   # layline-gpu-bench: MACHINE
//   # more of it
//   op,ranks,bytes,us,algorithm
//   all_reduce,4,1048576,21.5,layline_one_shot:one_card
//   # end: 1 rows
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_COST_GPUBENCHTABLE_H
#define LAYLINE_COST_GPUBENCHTABLE_H

#include <cstddef>
#include <string>

namespace layline::gpubench {

/// How the first line begins.
inline constexpr const char *kTitle = "# layline-gpu-bench";
inline constexpr const char *kColumns = "op,ranks,bytes,us,algorithm";
/// Behind the name of an algorithm: all ranks were on one card.
inline constexpr const char *kOneCard = ":one_card";

/// The last line, without which a file was cut.
inline std::string end(std::size_t rows) {
  return "# end: " + std::to_string(rows) + " rows";
}

} // namespace layline::gpubench

#endif // LAYLINE_COST_GPUBENCHTABLE_H
