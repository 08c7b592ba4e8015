// The kernels that there are, and what each needs and costs: what the simt and
// the CUDA device launch fused steps by. Host code without CUDA.
//
// Units: bytes, elements of rows as said. Functions that can fail return false
// or null with a message in `error`: what was found and what was expected.
#ifndef LAYLINE_RUNTIME_KERNELS_CATALOGUE_H
#define LAYLINE_RUNTIME_KERNELS_CATALOGUE_H

#include "Params.h"

#include <cstdint>
#include <string>
#include <vector>

namespace layline::kernels {

enum class Family : std::uint8_t {
  RowCollective, ///< RowParams<ranks>
  OneShot,       ///< OneShotParams<ranks>
  Rope,          ///< RopeParams<ranks>
  Broadcast,     ///< BroadcastParams<ranks>
  PackPages,     ///< PagedRowsParams
  ScatterPages,
  SortByExpert, ///< ExpertParams
  PermuteRows,
  MergeExperts,
  GatherRows ///< GatherParams<ranks>
};
const char *nameOf(Family family); ///< "row_collective", ...
const char *nameOf(DType dtype);   ///< "bf16", "f16", "f32"
std::int64_t bytesOf(DType dtype);

/// One kernel as it was compiled. What a family does not have is at its
/// default.
struct Variant {
  Family family = Family::RowCollective;
  DType dtype = DType::BF16;
  int ranks = 1;
  Input input = Input::Own;
  Output output = Output::Own;
  NormKind norm = NormKind::None;
  Function function = Function::None;
  ScaleKind scales = ScaleKind::None;
  RopeStyle style = RopeStyle::Half;
  /// rope whose pairs are no whole vectors; gather_rows of rows that are none
  bool byElement = false;

  bool operator==(const Variant &other) const;
  /// "row_collective bf16 x8 owed->everyone rms"
  std::string name() const;
  /// Blocks wait for other ranks: the launch is cooperative, its grid resident
  /// and the same on all ranks.
  bool waits() const { return ranks > 1; }
  /// Addends of all ranks come in; results go out to all.
  bool isOwed() const { return input != Input::Own; }
  bool isForEveryone() const { return output != Output::Own; }
  /// The same by the switch: it sums what is owed and replicates what is for
  /// everyone. This one itself where it does neither.
  Variant bySwitch() const;
};

/// Largest block, and vectors of a thread: rows up to their product are taken.
constexpr int kMaxThreads = 512;
/// Largest block of kernels that keep no row in registers.
constexpr int kCopyThreads = 256;
constexpr int maxThreads(Family family) {
  return family == Family::RowCollective || family == Family::OneShot
             ? kMaxThreads
             : kCopyThreads;
}
constexpr int vectorsPerThread(DType dtype) {
  return dtype == DType::F32 ? 8 : 4; // 32 floats in registers either way
}
constexpr std::int64_t maxWidth(DType dtype) {
  return std::int64_t(kMaxThreads) * vectorsPerThread(dtype) *
         (dtype == DType::F32 ? 4 : 8);
}

/// A kernel that can be launched. `function` is a void(*)(Params<ranks>), by
/// the family's kind of parameters.
struct Kernel {
  Variant variant;
  void (*function)();
};

/// Those of this library. The device that the library was compiled for (the
/// emulator or CUDA) calls `function`.
const std::vector<Kernel> &getKernels();
/// Null with the kernels of that family in `error`.
const Kernel *findKernel(const Variant &variant, std::string &error);

/// What the rows are.
struct Problem {
  std::int64_t tokens = 0; ///< of all ranks
  std::int64_t width = 0;  ///< elements; of gather_rows bytes
  std::int64_t groupSize = 0;
  bool hasBias = false, hasInnerNorm = false, hasResidual = false;
  bool keepsResidual = false; ///< residualOut
  bool hasGate = false, hasNormBias = false;
  bool wantsValues = true;
};

/// Whether the kernel takes such rows.
bool checkProblem(const Variant &variant, const Problem &problem,
                  std::string &error);

/// The grid is that of the rank with most rows, so that it is the same on all.
struct LaunchShape {
  std::uint32_t grid = 0, block = 0;
  bool cooperative = false;
  bool operator==(const LaunchShape &other) const {
    return grid == other.grid && block == other.block &&
           cooperative == other.cooperative;
  }
};
/// `residentBlocks`: that fit on the device together at maxThreads(), after the
/// margin that is left to others. Of kernels of rows and gather_rows.
LaunchShape shapeOf(const Variant &variant, const Problem &problem,
                    std::uint32_t residentBlocks);

/// Bytes on each rank for the flags and mailboxes of the kernels of one group,
/// each protocol with its own, at offsets that are the same on all ranks. For
/// one stream: launches that may overlap need one each.
struct Workspace {
  /// Symmetric part: flags of row collectives and rope; flags of broadcasts;
  /// mailboxes.
  std::int64_t flags = 0, readyFlags = 0, chunkFlags = 0, boxes = 0;
  std::int64_t symmetricBytes = 0;
  /// Own part: epochs, uses of chunks, state of one_shot, the error.
  std::int64_t epochs = 0, readyEpochs = 0, uses = 0, state = 0, error = 0;
  std::int64_t ownBytes = 0;
  /// Vectors of a mailbox.
  std::int64_t boxCapacity = 0;
};
struct WorkspaceNeed {
  int ranks = 1;
  std::uint32_t maxBlocks = 0; ///< of any grid
  std::int64_t maxChunks = 0;
  std::int64_t maxOneShotBytes = 0; ///< tokens * width * bytes of an element
};
/// Makes it enough for such a launch too: a workspace is for all launches of a
/// plan.
void addNeed(WorkspaceNeed &need, const Variant &variant,
             const Problem &problem, const LaunchShape &shape);
/// Whether a workspace made for `need` is enough for the launch.
bool checkWorkspace(const WorkspaceNeed &need, const Variant &variant,
                    const Problem &problem, const LaunchShape &shape,
                    std::string &error);
/// False if it would not fit 63 bits.
bool planWorkspace(const WorkspaceNeed &need, Workspace &workspace,
                   std::string &error);

/// A number of everything that must be equal on all ranks of a group: kernel,
/// rows, grid, block, workspace. Ranks compare it before the first launch.
std::uint64_t digestOf(const Variant &variant, const Problem &problem,
                       const LaunchShape &shape);

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_CATALOGUE_H
