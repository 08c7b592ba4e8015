#include "kernels/Catalogue.h"

#include <algorithm>
#include <limits>

namespace layline::kernels {

const char *nameOf(Family family) {
  switch (family) {
  case Family::RowCollective:
    return "row_collective";
  case Family::OneShot:
    return "one_shot";
  case Family::Rope:
    return "rope";
  case Family::Broadcast:
    return "broadcast";
  case Family::PackPages:
    return "pack_pages";
  case Family::ScatterPages:
    return "scatter_pages";
  case Family::SortByExpert:
    return "sort_by_expert";
  case Family::PermuteRows:
    return "permute_rows";
  case Family::MergeExperts:
    return "merge_experts";
  case Family::GatherRows:
    return "gather_rows";
  }
  return "";
}

const char *nameOf(DType dtype) {
  return dtype == DType::BF16 ? "bf16" : dtype == DType::F16 ? "f16" : "f32";
}

std::int64_t bytesOf(DType dtype) { return dtype == DType::F32 ? 4 : 2; }

static const char *nameOf(Input input) {
  return input == Input::Own    ? "own"
         : input == Input::Owed ? "owed"
                                : "owed(multicast)";
}
static const char *nameOf(Output output) {
  return output == Output::Own        ? "own"
         : output == Output::Everyone ? "everyone"
                                      : "everyone(multicast)";
}
static const char *nameOf(Function function) {
  static const char *const names[] = {"",          "silu", "gelu",
                                      "gelu_tanh", "relu", "sigmoid"};
  return names[static_cast<int>(function)];
}

bool Variant::operator==(const Variant &o) const {
  return family == o.family && dtype == o.dtype && ranks == o.ranks &&
         input == o.input && output == o.output && norm == o.norm &&
         function == o.function && scales == o.scales && style == o.style &&
         byElement == o.byElement;
}

Variant Variant::bySwitch() const {
  Variant result = *this;
  if (isOwed())
    result.input = Input::OwedMulticast;
  if (isForEveryone())
    result.output = Output::EveryoneMulticast;
  return result;
}

std::string Variant::name() const {
  std::string text = nameOf(family);
  bool hasType = family <= Family::Rope || family == Family::PermuteRows ||
                 family == Family::MergeExperts;
  if (hasType)
    text += std::string(" ") + nameOf(dtype);
  if (family <= Family::Broadcast || family == Family::GatherRows)
    text += " x" + std::to_string(ranks);
  if (family == Family::RowCollective || family == Family::Rope ||
      family == Family::GatherRows)
    text += std::string(" ") + nameOf(input) + "->" + nameOf(output);
  if (norm != NormKind::None)
    text += norm == NormKind::Rms ? " rms" : " layer";
  if (function != Function::None)
    text += std::string(" ") + nameOf(function);
  static const char *const scaleNames[] = {"", " fp8", " fp8:row",
                                           " fp8:group"};
  text += scaleNames[static_cast<int>(scales)];
  if (family == Family::Rope) {
    static const char *const styles[] = {" half", " interleaved",
                                         " interleaved_to_half"};
    text += styles[static_cast<int>(style)];
  }
  if (byElement)
    text += family == Family::Rope ? " by_element" : " by_word";
  return text;
}

bool checkProblem(const Variant &variant, const Problem &problem,
                  std::string &error) {
  auto refuse = [&](const std::string &what, std::int64_t found,
                    const std::string &expected) {
    error = variant.name() + ": " + what + " " + std::to_string(found) +
            ", expected " + expected;
    return false;
  };
  if (problem.tokens < 0)
    return refuse("tokens", problem.tokens, "none or more");
  bool isOfBytes = variant.family == Family::GatherRows;
  std::int64_t unit = variant.byElement ? 4 : 16;
  if (isOfBytes && (problem.width <= 0 || problem.width % unit != 0))
    return refuse("width", problem.width,
                  "a multiple of " + std::to_string(unit) + " bytes");
  if (!isOfBytes && (problem.width <= 0 || problem.width % 8 != 0))
    return refuse("width", problem.width, "a multiple of 8 elements");
  bool inRegisters = variant.family == Family::RowCollective ||
                     variant.family == Family::OneShot;
  if (inRegisters && problem.width > maxWidth(variant.dtype))
    return refuse("width", problem.width,
                  "at most " + std::to_string(maxWidth(variant.dtype)));
  if (variant.scales == ScaleKind::Group) {
    std::int64_t vector = 16 / bytesOf(variant.dtype),
                 vectors = problem.groupSize / vector;
    bool isPower = vectors > 0 && (vectors & (vectors - 1)) == 0;
    if (problem.groupSize % vector != 0 || !isPower || vectors > 32)
      return refuse("group size", problem.groupSize,
                    std::to_string(vector) + " times a power of two, at most " +
                        std::to_string(32 * vector));
    if (problem.width % problem.groupSize != 0)
      return refuse("width", problem.width,
                    "whole groups of " + std::to_string(problem.groupSize));
  }
  // Rows and mailboxes are counted in 64 bits.
  if (problem.tokens >
      std::numeric_limits<std::int64_t>::max() / 64 / problem.width)
    return refuse("tokens", problem.tokens,
                  "rows of " + std::to_string(problem.width) +
                      " whose bytes 63 bits count");
  return true;
}

LaunchShape shapeOf(const Variant &variant, const Problem &problem,
                    std::uint32_t residentBlocks) {
  LaunchShape shape;
  std::int64_t vectors = variant.family == Family::GatherRows
                             ? (problem.width + 15) / 16
                             : problem.width * bytesOf(variant.dtype) / 16;
  shape.block = static_cast<std::uint32_t>(std::clamp<std::int64_t>(
      (vectors + 31) / 32 * 32, 32, maxThreads(variant.family)));
  // A mailbox is for the rows of every rank, a collective for its own.
  std::int64_t rows = variant.family == Family::OneShot
                          ? problem.tokens
                          : row_block(problem.tokens, variant.ranks, 0).size;
  shape.grid = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(rows, 1, std::max(residentBlocks, 1U)));
  shape.cooperative = variant.waits();
  return shape;
}

// ---- Workspace
// -----------------------------------------------------------------

namespace {

/// Offsets of arrays one after another, or that they do not fit.
class Layout {
public:
  std::int64_t add(std::int64_t count, std::int64_t each) {
    std::int64_t at = end, bytes = 0;
    overflows |= count < 0 || __builtin_mul_overflow(count, each, &bytes) ||
                 __builtin_add_overflow(bytes, kAlign - 1, &bytes) ||
                 __builtin_add_overflow(end, bytes / kAlign * kAlign, &end);
    return at;
  }
  std::int64_t bytes() const { return end; }
  bool isTooLarge() const { return overflows; }

private:
  /// Of what is mapped and of lines that different blocks write.
  static constexpr std::int64_t kAlign = 256;
  std::int64_t end = 0;
  bool overflows = false;
};

} // namespace

static std::int64_t oneShotBytes(const Variant &variant,
                                 const Problem &problem) {
  return variant.family == Family::OneShot
             ? problem.tokens * problem.width * bytesOf(variant.dtype)
             : 0;
}

void addNeed(WorkspaceNeed &need, const Variant &variant,
             const Problem &problem, const LaunchShape &shape) {
  need.ranks = std::max(need.ranks, variant.ranks);
  need.maxBlocks = std::max(need.maxBlocks, shape.grid);
  need.maxOneShotBytes =
      std::max(need.maxOneShotBytes, oneShotBytes(variant, problem));
}

bool checkWorkspace(const WorkspaceNeed &need, const Variant &variant,
                    const Problem &problem, const LaunchShape &shape,
                    std::string &error) {
  auto refuse = [&](const char *what, std::int64_t found, const char *room,
                    std::int64_t has) {
    error = variant.name() + ": " + what + " " + std::to_string(found) +
            ", expected at most the " + std::to_string(has) + " " + room +
            " of the workspace";
    return false;
  };
  if (variant.ranks > need.ranks)
    return refuse("ranks", variant.ranks, "ranks", need.ranks);
  if (shape.grid > need.maxBlocks)
    return refuse("blocks", shape.grid, "blocks", need.maxBlocks);
  std::int64_t bytes = oneShotBytes(variant, problem);
  if (bytes > need.maxOneShotBytes)
    return refuse("bytes of rows", bytes, "bytes of a mailbox",
                  need.maxOneShotBytes);
  return true;
}

bool planWorkspace(const WorkspaceNeed &need, Workspace &workspace,
                   std::string &error) {
  std::int64_t ranks = need.ranks, blocks = need.maxBlocks;
  if (ranks < 1 || ranks > 1 << 16 || blocks < 1) {
    error = "workspace of " + std::to_string(ranks) + " ranks and " +
            std::to_string(blocks) + " blocks, expected at least one of each";
    return false;
  }
  Layout symmetric, own;
  workspace.flags = symmetric.add(2 * blocks * ranks, sizeof(std::uint32_t));
  workspace.readyFlags = symmetric.add(blocks * ranks, sizeof(std::uint32_t));
  workspace.chunkFlags = symmetric.add(need.maxChunks, sizeof(std::uint32_t));
  workspace.boxCapacity =
      need.maxOneShotBytes / 16 + (need.maxOneShotBytes % 16 != 0);
  workspace.boxes = symmetric.add(workspace.boxCapacity, 3 * ranks * 16);
  workspace.symmetricBytes = symmetric.bytes();
  workspace.epochs = own.add(blocks, sizeof(std::uint32_t));
  workspace.readyEpochs = own.add(blocks, sizeof(std::uint32_t));
  workspace.uses = own.add(need.maxChunks, sizeof(std::uint32_t));
  workspace.state = own.add(1, sizeof(OneShotState));
  workspace.error = own.add(1, sizeof(SpinError));
  workspace.ownBytes = own.bytes();
  if (symmetric.isTooLarge() || own.isTooLarge()) {
    error = "workspace for " + std::to_string(need.maxOneShotBytes) +
            " bytes of one_shot rows and " + std::to_string(need.maxChunks) +
            " chunks on " + std::to_string(ranks) +
            " ranks, expected one whose bytes 63 bits count";
    return false;
  }
  return true;
}

std::uint64_t digestOf(const Variant &variant, const Problem &problem,
                       const LaunchShape &shape) {
  // FNV-1a over the words of it; names and sizes, no addresses.
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  auto add = [&](const void *data, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      hash = (hash ^ static_cast<const unsigned char *>(data)[i]) *
             0x100000001b3ULL;
  };
  std::string name = variant.name();
  add(name.data(), name.size());
  const std::int64_t numbers[] = {
      problem.tokens,        problem.width,        problem.groupSize,
      problem.hasBias,       problem.hasInnerNorm, problem.hasResidual,
      problem.keepsResidual, problem.hasGate,      problem.hasNormBias,
      problem.wantsValues,   shape.grid,           shape.block,
      shape.cooperative};
  add(numbers, sizeof numbers);
  return hash;
}

} // namespace layline::kernels
