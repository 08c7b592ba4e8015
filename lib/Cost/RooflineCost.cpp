//===- RooflineCost.cpp - row kernels and GEMMs ---------------------------===//
#include "Tables.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

using namespace layline;

// Share of the data sheet's bandwidth that a norm reaches: 3.06 of 3.35 TB/s,
// the slope of TokenWeave's norm from 256 MiB to 512 MiB of rows on H100.
static constexpr double kMemoryShare = 0.91;

// Time of a kernel beside its memory traffic. Eager: where the same norm's line
// meets 0 bytes (7.8 us are measured for 8 rows). In a graph: what norms of a
// B200 trace take beyond their traffic (4.6 us for 10 MB, 6.4 us for 20 MB);
// whole all_reduces of few bytes take 2.5 to 3.5 us there.
static constexpr double kEagerUs = 7.6, kGraphUs = 3.2;
static constexpr double kCpuUs = 1;

// Share of the peak that the inner loop of a large GEMM reaches.
static constexpr double kMatrixShare = 0.75;

/// Parts of the output that a multiprocessor computes at a time; smaller ones
/// reuse less of what they load.
struct Tile {
  int64_t rows, columns;
  double share;
};
static constexpr Tile kTiles[] = {
    {128, 256, 1}, {128, 128, 1}, {64, 128, 0.9}, {16, 128, 0.25}};
static constexpr int64_t kLeastSum = 512; ///< of a split sum

double CostModel::Tables::memoryBytesPerUs() const {
  return hardware.memoryTBs * 1e6 * kMemoryShare;
}

double CostModel::Tables::launchFloorUs() const {
  if (target.cards == 0)
    return kCpuUs;
  return launch == LaunchMode::Graph ? kGraphUs : kEagerUs;
}

double CostModel::launchOverheadUs() const { return tables->launchFloorUs(); }

Estimate CostModel::rowKernel(int64_t readBytes, int64_t writeBytes) const {
  int64_t bytes = readBytes + writeBytes;
  if (bytes <= 0)
    return {0, Confidence::Measured, "nothing to do"};
  // The built-in table was taken outside graphs; a user's is taken as it is.
  for (const LatencyRow *row : tables->findRows("row_kernel", 1))
    if (row->curve.covers(bytes) && (row->use == LatencyRow::Use::Calibrated ||
                                     tables->launch == LaunchMode::Eager))
      return estimateOf(*row, bytes);
  char source[64];
  std::snprintf(source, sizeof source, "%.1f us + bytes at %.2f TB/s",
                tables->launchFloorUs(), tables->memoryBytesPerUs() / 1e6);
  return {tables->launchFloorUs() + double(bytes) / tables->memoryBytesPerUs(),
          Confidence::Formula, source};
}

/// The larger of arithmetic and memory traffic. Arithmetic goes by tiles of the
/// output, one a multiprocessor and wave: few rows leave multiprocessors idle
/// unless the sum is split among them too.
Estimate CostModel::gemm(int64_t m, int64_t n, int64_t k, int weightBytes,
                         int activationBytes) const {
  if (m <= 0 || n <= 0 || k <= 0)
    return {0, Confidence::Measured, "nothing to do"};
  auto ceilDiv = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const Hardware &card = tables->hardware;
  int width = std::max(weightBytes, activationBytes);
  double flopsPerUs = (width == 1   ? card.tflops8
                       : width == 2 ? card.tflops16
                                    : card.tflops16 / 2) *
                      1e6 * kMatrixShare;

  double arithmetic = std::numeric_limits<double>::infinity();
  for (const Tile &tile : kTiles) {
    int64_t tiles = ceilDiv(m, tile.rows) * ceilDiv(n, tile.columns);
    int64_t splits = std::clamp<int64_t>(card.multiprocessors / tiles, 1,
                                         std::max<int64_t>(k / kLeastSum, 1));
    int64_t waves = ceilDiv(tiles * splits, card.multiprocessors);
    double flops =
        2.0 * double(tile.rows * tile.columns) * double(k) / double(splits);
    arithmetic = std::min(arithmetic, double(waves * card.multiprocessors) *
                                          flops / (flopsPerUs * tile.share));
  }

  double bytes = double(m) * double(k) * activationBytes +
                 double(k) * double(n) * weightBytes +
                 double(m) * double(n) * std::max(activationBytes, 2);
  double memory = bytes / tables->memoryBytesPerUs();
  bool byMemory = memory > arithmetic;
  return {tables->launchFloorUs() + std::max(arithmetic, memory),
          Confidence::Formula,
          byMemory ? "roofline, memory" : "roofline, arithmetic"};
}
