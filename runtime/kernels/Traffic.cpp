// docs/kernels.md states the formulas beside those of the planner
// (include/layline/Cost/WireBytes.h).
#include "kernels/Traffic.h"

#include <algorithm>

namespace layline::kernels {

bool Traffic::operator==(const Traffic &o) const {
  return localRead == o.localRead && localWrite == o.localWrite &&
         peerRead == o.peerRead && peerWrite == o.peerWrite &&
         multicastRead == o.multicastRead &&
         multicastWrite == o.multicastWrite && localFlags == o.localFlags &&
         peerFlags == o.peerFlags;
}

Traffic &Traffic::operator+=(const Traffic &o) {
  localRead += o.localRead;
  localWrite += o.localWrite;
  peerRead += o.peerRead;
  peerWrite += o.peerWrite;
  multicastRead += o.multicastRead;
  multicastWrite += o.multicastWrite;
  localFlags += o.localFlags;
  peerFlags += o.peerFlags;
  return *this;
}

namespace {

constexpr std::int64_t kFlagBytes = sizeof(std::uint32_t);
constexpr std::int64_t kVector = 16; ///< bytes

/// Vectors of a row's width that all rows share.
std::int64_t sharedVectors(const Variant &variant, const Problem &problem) {
  return problem.hasBias + problem.hasInnerNorm +
         (variant.norm != NormKind::None) + problem.hasNormBias;
}

/// What RowOperands reads and writes of `rows` rows beside the rows themselves.
void addOperands(const Variant &variant, const Problem &problem,
                 const LaunchShape &shape, std::int64_t rows,
                 Traffic &traffic) {
  std::int64_t rowBytes = problem.width * bytesOf(variant.dtype);
  std::int64_t read =
      sharedVectors(variant, problem) + problem.hasResidual + problem.hasGate;
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

/// Own rows once, into all ranks' memory; as a row_collective without work.
static Traffic gatherRows(const Variant &variant, const Problem &problem,
                          const LaunchShape &shape, std::int64_t rank) {
  Traffic traffic;
  std::int64_t bytes =
      row_block(problem.tokens, variant.ranks, rank).size * problem.width;
  traffic.localRead += bytes;
  if (variant.output == Output::EveryoneMulticast) {
    traffic.multicastWrite += bytes;
  } else {
    traffic.localWrite += bytes;
    traffic.peerWrite += (variant.ranks - 1) * bytes;
  }
  addMeetings(variant, shape, traffic);
  return traffic;
}

Traffic trafficOf(const Variant &variant, const Problem &problem,
                  const LaunchShape &shape, std::int64_t rank) {
  if (variant.family == Family::GatherRows)
    return gatherRows(variant, problem, shape, rank);
  return variant.family == Family::OneShot
             ? oneShot(variant, problem, shape)
             : rowCollective(variant, problem, shape, rank);
}

std::int64_t rereadBytes(const Variant &variant, const Problem &problem,
                         std::int64_t rows) {
  return std::max<std::int64_t>(rows - 1, 0) * sharedVectors(variant, problem) *
         problem.width * bytesOf(variant.dtype);
}

/// Every thread reads the row's position; angles are taken once a row.
Traffic trafficOf(const Variant &variant, const RopeRows &of,
                  const LaunchShape &shape, std::int64_t rank) {
  Traffic traffic;
  std::int64_t rows = row_block(of.tokens, variant.ranks, rank).size,
               bytes = rows * of.heads * of.headWidth * bytesOf(variant.dtype);
  traffic.localRead += rows * shape.block * std::int64_t(sizeof(std::int64_t));
  traffic.localRead += rows * of.rotary / 2 * std::int64_t(sizeof(double));
  traffic.localRead += bytes;
  traffic.localWrite += bytes;
  if (variant.output != Output::Own)
    traffic.peerWrite += (variant.ranks - 1) * bytes;
  addMeetings(variant, shape, traffic);
  return traffic;
}

/// Every thread reads the block's epoch and how often each of its chunks was
/// sent; one counts on.
Traffic trafficOf(const Variant &variant, const BroadcastBytes &sent,
                  const LaunchShape &shape, std::int64_t rank) {
  Traffic traffic;
  std::int64_t chunks = (sent.bytes + sent.chunkBytes - 1) / sent.chunkBytes;
  traffic.localRead += (shape.grid + chunks) * shape.block * kFlagBytes;
  traffic.localWrite += (shape.grid + chunks) * kFlagBytes;
  if (rank != sent.root) {
    traffic.peerFlags += shape.grid; // ready
    return traffic;
  }
  std::int64_t others = variant.ranks - 1;
  traffic.localRead += sent.bytes;
  traffic.localWrite += sent.inPlace ? 0 : sent.bytes;
  traffic.peerWrite += others * sent.bytes;
  traffic.peerFlags += others * chunks;
  return traffic;
}

/// Every thread reads the address of its plane's pages, and for each unit which
/// page it is in.
Traffic trafficOf(const Variant &variant, const PagedBytes &moved,
                  const LaunchShape &shape) {
  Traffic traffic;
  std::int64_t bytes = moved.planes * moved.tokens * moved.rowBytes;
  traffic.localRead +=
      moved.planes * shape.grid * shape.block * std::int64_t(sizeof(void *));
  traffic.localRead +=
      bytes / moved.unitBytes * std::int64_t(sizeof(std::int32_t));
  if (variant.family == Family::ScatterPages) {
    (moved.packedIsPeers ? traffic.peerRead : traffic.localRead) += bytes;
    traffic.localWrite += bytes;
    return traffic;
  }
  traffic.localRead += bytes;
  (moved.packedIsPeers ? traffic.peerWrite : traffic.localWrite) += bytes;
  if (moved.hasFlags)
    (moved.packedIsPeers ? traffic.peerFlags : traffic.localFlags) +=
        moved.planes *
        ((moved.tokens + moved.chunkTokens - 1) / moved.chunkTokens);
  return traffic;
}

/// An expert's block reads all ids twice: to count those before it, and to
/// place its own.
Traffic trafficOf(const Variant &variant, const ExpertRows &of,
                  const LaunchShape &shape) {
  constexpr std::int64_t kIndex = sizeof(std::int64_t);
  Traffic traffic;
  std::int64_t choices = of.tokens * of.chosen,
               rowBytes = of.width * bytesOf(variant.dtype),
               vectors = rowBytes / kVector;
  switch (variant.family) {
  case Family::SortByExpert:
    traffic.localRead +=
        shape.grid * 2 * choices * std::int64_t(sizeof(std::int32_t));
    traffic.localWrite += (choices + shape.grid + 1) * kIndex;
    break;
  case Family::PermuteRows: // every thread reads where its choice goes
    traffic.localRead += choices * shape.block * kIndex;
    traffic.localRead += of.placed * rowBytes;
    traffic.localWrite += of.placed * rowBytes;
    break;
  default: // merge_experts: place and weight of a choice for each vector
    traffic.localRead += choices * vectors * kIndex;
    traffic.localRead +=
        of.placed * (vectors * std::int64_t(sizeof(float)) + rowBytes);
    traffic.localRead += of.hasShared * of.tokens * rowBytes;
    traffic.localWrite += of.tokens * rowBytes;
    break;
  }
  return traffic;
}

} // namespace layline::kernels
