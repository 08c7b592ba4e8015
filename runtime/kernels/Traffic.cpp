// What a launch moves, by its formula. docs/kernels.md states them beside those
// of the planner (include/layline/Cost/WireBytes.h).
#include "kernels/Catalogue.h"

namespace layline::kernels {

bool Traffic::operator==(const Traffic &o) const {
  return localRead == o.localRead && localWrite == o.localWrite &&
         peerRead == o.peerRead && peerWrite == o.peerWrite &&
         multicastRead == o.multicastRead &&
         multicastWrite == o.multicastWrite && localFlags == o.localFlags &&
         peerFlags == o.peerFlags;
}

namespace {

constexpr std::int64_t kFlagBytes = sizeof(std::uint32_t);

/// What RowOperands reads and writes of `rows` rows beside the rows themselves.
void addOperands(const Variant &variant, const Problem &problem,
                 const LaunchShape &shape, std::int64_t rows,
                 Traffic &traffic) {
  std::int64_t rowBytes = problem.width * bytesOf(variant.dtype);
  std::int64_t read = problem.hasBias + problem.hasInnerNorm +
                      problem.hasResidual + problem.hasGate +
                      (variant.norm != NormKind::None) + problem.hasNormBias;
  traffic.localRead += rows * read * rowBytes;
  traffic.localWrite += rows * problem.keepsResidual * rowBytes;
  if (variant.scales == ScaleKind::Tensor) // by every thread
    traffic.localRead += rows * shape.block * std::int64_t(sizeof(float));
}

/// Bytes of the results of a row.
std::int64_t resultBytes(const Variant &variant, const Problem &problem) {
  std::int64_t bytes =
      problem.wantsValues ? problem.width * bytesOf(variant.dtype) : 0;
  if (variant.scales != ScaleKind::None)
    bytes += problem.width; // one byte an element
  std::int64_t scales = variant.scales == ScaleKind::Row ? 1
                        : variant.scales == ScaleKind::Group
                            ? problem.width / problem.groupSize
                            : 0;
  return bytes + scales * std::int64_t(sizeof(float));
}

/// Two meetings: a flag on each rank, the own one too, by each block; the
/// threads that set them read the block's epoch, one counts it on.
void addMeetings(const Variant &variant, const LaunchShape &shape,
                 Traffic &traffic) {
  if (variant.ranks == 1)
    return;
  traffic.localFlags += 2 * shape.grid;
  traffic.peerFlags += 2 * shape.grid * (variant.ranks - 1);
  traffic.localRead += shape.grid * variant.ranks * kFlagBytes;
  traffic.localWrite += shape.grid * kFlagBytes;
}

Traffic rowCollective(const Variant &variant, const Problem &problem,
                      const LaunchShape &shape, std::int64_t rank) {
  Traffic traffic;
  std::int64_t rows = row_block(problem.tokens, variant.ranks, rank).size;
  std::int64_t bytes = rows * problem.width * bytesOf(variant.dtype);
  std::int64_t others = variant.ranks - 1;
  switch (variant.input) {
  case Input::Own:
    traffic.localRead += bytes;
    break;
  case Input::Owed: // its rows of every rank's addends
    traffic.localRead += bytes;
    traffic.peerRead += others * bytes;
    break;
  case Input::OwedMulticast: // the sums
    traffic.multicastRead += bytes;
    break;
  }
  std::int64_t results = rows * resultBytes(variant, problem);
  switch (variant.output) {
  case Output::Own:
    traffic.localWrite += results;
    break;
  case Output::Everyone:
    traffic.localWrite += results;
    traffic.peerWrite += others * results;
    break;
  case Output::EveryoneMulticast:
    traffic.multicastWrite += results;
    break;
  }
  addOperands(variant, problem, shape, rows, traffic);
  addMeetings(variant, shape, traffic);
  return traffic;
}

/// `filled`: what the launch before put into a mailbox is emptied; the formula
/// is of launches of equal size, one after another. What is polled is not
/// counted: it depends on who waits for whom.
Traffic oneShot(const Variant &variant, const Problem &problem,
                const LaunchShape &shape) {
  Traffic traffic;
  if (problem.tokens == 0)
    return traffic;
  std::int64_t rows = problem.tokens;
  std::int64_t bytes = rows * problem.width * bytesOf(variant.dtype);
  traffic.localRead += bytes;
  traffic.localWrite += bytes; // into the own mailbox
  traffic.peerWrite += (variant.ranks - 1) * bytes;
  traffic.localWrite += variant.ranks * bytes; // emptied
  traffic.localWrite += rows * resultBytes(variant, problem);
  addOperands(variant, problem, shape, rows, traffic);
  // Every thread reads the count of launches and what the last one filled;
  // every block arrives, the last one counts on.
  traffic.localRead += std::int64_t(shape.grid) * shape.block * 12;
  traffic.localFlags += shape.grid;
  traffic.localWrite += 16;
  return traffic;
}

} // namespace

Traffic trafficOf(const Variant &variant, const Problem &problem,
                  const LaunchShape &shape, std::int64_t rank) {
  return variant.family == Family::OneShot
             ? oneShot(variant, problem, shape)
             : rowCollective(variant, problem, shape, rank);
}

} // namespace layline::kernels
