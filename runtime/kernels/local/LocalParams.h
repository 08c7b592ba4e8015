// What the kernels that stay on one rank are given: one structure a kernel, an
// array of them a launch, one for each of the card's ranks (blockIdx.y). Filled
// by the host, read from global memory. Sizes are elements unless a name says
// bytes; all tensors are dense and row-major.
#ifndef LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALPARAMS_H
#define LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALPARAMS_H

#include "kernels/Params.h"

#include <cstdint>

namespace layline::local {

enum class NumberType : std::int32_t { F32, BF16, F16, E4M3, E5M2 };

constexpr std::int64_t numberBytes(NumberType type) {
  return type == NumberType::F32                               ? 4
         : type == NumberType::BF16 || type == NumberType::F16 ? 2
                                                               : 1;
}

/// Threads of a block of these kernels.
inline constexpr int kThreads = 128;

/// Floating-point numbers of a type that the launch decides.
struct Numbers {
  void *data = nullptr;
  NumberType type = NumberType::F32;
};

/// What a kernel found wrong with its data; the host reads it behind a run. The
/// first thread that finds something writes it.
enum class Fault : std::uint32_t {
  None,
  TokenOutsideVocabulary, ///< row, the id
  ExpertOutsideCount,     ///< row, the id
  RouterLogitNotANumber,  ///< row, which logit
  QuerySeesNoKey,         ///< row, its position
  SelectedNoKey,          ///< row, the key row that it names
  IndexerScoreNotANumber  ///< row, the key row
};

struct FaultRecord {
  std::uint32_t fault = 0;
  std::int32_t rank = 0;
  std::int32_t step = 0; ///< index in the variant's list of launches
  std::int32_t reserved = 0;
  std::int64_t row = 0;
  std::int64_t value = 0;
};

/// Where a launch says what it found.
struct FaultPlace {
  FaultRecord *record = nullptr;
  std::int32_t rank = 0;
  std::int32_t step = 0;
};

/// The members of a group meet: all launches in front of this one, on every
/// member, come before all behind it.
struct BarrierParams {
  /// By member, a device array: its flags, one of each member. Symmetric.
  std::uint32_t *const *flags = nullptr;
  std::uint32_t *epoch = nullptr; ///< own, counts meetings
  kernels::Watch watch = {};      ///< the error is the card's
  std::uint32_t member = 0, members = 1, rank = 0, reserved = 0;
};

enum class Function : std::int32_t { Silu, Gelu, GeluTanh, Relu, Sigmoid };

enum class ElementwiseOp : std::int32_t {
  Add,       ///< all inputs, in their order
  Mul,       ///< all inputs, in their order
  Scale,     ///< by `factor`
  Softcap,   ///< factor * tanh(x / factor)
  Activate,  ///< function(x)
  Gate,      ///< function(x0) * x1
  AddColumn, ///< x0[r, c] + x1[c], rows of `width`
  ScaleRow   ///< x0[r, c] * x1[r], rows of `width`
};

inline constexpr int kMaxInputs = 8;

struct ElementwiseParams {
  ElementwiseOp op = ElementwiseOp::Add;
  Function function = Function::Silu;
  Numbers inputs[kMaxInputs];
  std::int32_t inputCount = 1;
  float factor = 1;
  Numbers output;
  std::int64_t count = 0;
  std::int64_t width = 1;
};

/// `count` items of a dimension come from those at `from` of a member, and go
/// to those at `to`.
struct MoveRun {
  std::int64_t to = 0;
  std::int64_t from = 0;
  std::int64_t count = 0;
  std::int64_t before = 0;      ///< items of the runs in front of this one
  std::int64_t sourceItems = 0; ///< items of the source's dimension
  std::int32_t source = 0;      ///< index of the source; kAllSources: their sum
  std::int32_t reserved = 0;
};
inline constexpr std::int32_t kAllSources = -1;

/// Values seen as [outer, items, inner]: runs of items are copied, or summed
/// over all sources in their order. Slices, gathers, reductions.
struct MoveParams {
  const void *const *sources = nullptr; ///< device array
  std::int32_t sourceCount = 1;
  /// 8: integers, copied; else of `type`.
  std::int32_t integerBytes = 0;
  NumberType type = NumberType::F32;
  Numbers output;                ///< its type may be another one
  const MoveRun *runs = nullptr; ///< device array
  std::int64_t runCount = 0;
  std::int64_t items = 0; ///< of all runs
  std::int64_t outer = 1, inner = 1;
  std::int64_t outputItems = 0; ///< items of the output's dimension
};

/// Rows of a cache: item i of row r begins at element
///   page(r / pageRows) * pageStride + r % pageRows * rowStride + i *
///   itemStride
/// with page(j) = table[j], or j without a table (layline/hooks.h). pageRows 0:
/// all rows are in one page.
struct Pages {
  Numbers rows; ///< integers of 8 bytes have no type
  const std::int32_t *table = nullptr;
  std::int64_t pageRows = 0;
  std::int64_t pageStride = 0, rowStride = 0, itemStride = 0;
};

/// Rows behind those that a cache has.
struct AppendParams {
  const void *input = nullptr; ///< [rows, items, itemElements]
  NumberType type = NumberType::F32;
  std::int32_t integerBytes = 0; ///< 8: integers, copied; else of `type`
  Pages output;                  ///< its type may be another one
  std::int64_t first = 0;        ///< row of the cache
  std::int64_t rows = 0, items = 1, itemElements = 1;
};

struct EmbeddingParams {
  const std::int64_t *ids = nullptr; ///< [rows]
  Numbers table;                     ///< [held, width]
  Numbers output;                    ///< [rows, width]
  std::int64_t rows = 0, width = 0;
  std::int64_t first = 0, held = 0; ///< vocabulary rows of this rank
  std::int64_t vocabulary = 0;
  FaultPlace fault;
};

struct NormParams {
  Numbers input, output; ///< [rows, width]
  Numbers weight;        ///< [weightRows, width]; row r has weight r mod rows
  Numbers bias;          ///< [biasRows, width], or no data
  std::int64_t rows = 0, width = 0;
  std::int64_t weightRows = 1, biasRows = 1;
  float eps = 0, weightOffset = 0;
  std::int32_t isRms = 1;
};

/// Sums of squares of rows, or their use: x / sqrt(statistics / count + eps) *
/// weight.
struct RowSquaresParams {
  Numbers input;  ///< [rows, width]
  Numbers output; ///< [rows]
  std::int64_t rows = 0, width = 0;
};
struct NormByParams {
  Numbers input, output; ///< [rows, width]
  Numbers statistics;    ///< [rows]
  Numbers weight;        ///< [width]
  std::int64_t rows = 0, width = 0;
  float count = 1, eps = 0;
};

enum class RopeStyle : std::int32_t { Half, Interleaved, InterleavedToHalf };

struct RopeParams {
  Numbers input, output;                   ///< [rows, heads, width]
  const std::int64_t *positions = nullptr; ///< [rows]
  const double *halfTurns = nullptr;       ///< [rotary / 2], frequency / pi
  std::int64_t rows = 0, heads = 0, width = 0, rotary = 0;
  RopeStyle style = RopeStyle::Half;
  float attentionFactor = 1;
};

struct QuantizeParams {
  Numbers input, values; ///< [groups, width]
  Numbers scales;        ///< [groups]
  std::int64_t groups = 0, width = 0;
  /// Of the numbers; `values` may hold them in a wider type.
  NumberType format = NumberType::E4M3;
};
struct DequantizeParams {
  Numbers values, output; ///< [groups, width]
  Numbers scales;         ///< [groups]
  std::int64_t groups = 0, width = 0;
};

/// Keys and values of a rank's KV heads, which are the items of cached rows.
struct AttentionParams {
  Numbers query;                           ///< [rows, heads, width]
  Numbers output;                          ///< [rows, heads, valueWidth]
  Pages keys;                              ///< items of `width`
  Pages values;                            ///< items of `valueWidth`
  Numbers sinks;                           ///< [heads], or no data
  const std::int64_t *positions = nullptr; ///< [rows]
  Pages keyPositions;                      ///< integers
  std::int64_t rows = 0, heads = 0, width = 0, valueWidth = 0;
  std::int64_t keyRows = 0;
  std::int64_t headsPerKeyHead = 1; ///< global counts
  std::int64_t firstHead = 0, firstKeyHead = 0, firstValueHead = 0;
  float scale = 1;
  float softcap = 0;       ///< 0: none
  std::int64_t window = 0; ///< 0: none
  std::int32_t causal = 1;
  FaultPlace fault;
};
/// Widest key and value of a head that the kernel keeps on chip.
inline constexpr std::int64_t kMaxHeadWidth = 1024;

/// Attention of latent rows: head h of key row s is (key_up_h latent_s,
/// rope_key_s), its value is value_up_h latent_s. Cached rows have one item.
struct LatentAttentionParams {
  Numbers nope;                            ///< [rows, heads, width]
  Numbers rope;                            ///< [rows, heads, rotary]
  Pages latent;                            ///< items of `latentWidth`
  Pages ropeKey;                           ///< items of `rotary`
  Numbers keyUp;                           ///< [heads, width, latentWidth]
  Numbers valueUp;                         ///< [heads, valueWidth, latentWidth]
  Numbers output;                          ///< [rows, heads, valueWidth]
  const std::int64_t *positions = nullptr; ///< [rows]
  Pages keyPositions;                      ///< integers
  /// [rows, selected] key rows, below 0: none; or null: all keys.
  const std::int64_t *selection = nullptr;
  std::int64_t rows = 0, heads = 0, width = 0, rotary = 0, valueWidth = 0;
  std::int64_t latentWidth = 0, keyRows = 0, selected = 0;
  float scale = 1;
  std::int32_t causal = 1;
  FaultPlace fault;
};

/// The topK keys of each row with the largest sums over heads of
/// weight * scale * max(0, query . key).
struct IndexerParams {
  Numbers query;                           ///< [rows, heads, width]
  Pages keys;                              ///< items of `width`, one a row
  Numbers weights;                         ///< [rows, heads]
  const std::int64_t *positions = nullptr; ///< [rows]
  Pages keyPositions;                      ///< integers
  std::int64_t *selection = nullptr;       ///< [rows, topK]
  Numbers scores;                          ///< [rows, topK]
  /// [2, rows, topK]: the best so far, and with one more tile of keys. Scores
  /// are compared as they are, not as their type holds them.
  float *bestScores = nullptr;
  std::int64_t *bestKeys = nullptr;
  std::int64_t rows = 0, heads = 0, width = 0, keyRows = 0, topK = 0;
  float scale = 1;
  std::int32_t causal = 1;
  FaultPlace fault;
};

struct RouterParams {
  Numbers logits;              ///< [rows, experts]
  Numbers bias;                ///< [experts], or no data
  std::int64_t *ids = nullptr; ///< [rows, topK]
  Numbers weights;             ///< [rows, topK]
  std::int64_t rows = 0, experts = 0, topK = 0;
  std::int64_t groups = 0, chosenGroups = 0; ///< 0: none
  std::int32_t sigmoid = 0, renormalize = 0, top2Sum = 0;
  float scale = 1;
  FaultPlace fault;
};
/// Most experts that the kernel keeps on chip.
inline constexpr std::int64_t kMaxExperts = 1024;

/// What a rank holds of the experts, and what each does to a row:
/// down(function(gate x) * (up x + upOffset)).
struct ExpertWeights {
  Numbers gate, up;         ///< [held, inner, in]
  Numbers gateBias, upBias; ///< [held, inner], or no data
  Numbers down;             ///< [held, out, inner]
  std::int64_t in = 0, inner = 0, out = 0, held = 0;
  Function function = Function::Silu;
  float limit = 0; ///< 0: none
  float alpha = 1, upOffset = 0;
};

struct ExpertsParams : ExpertWeights {
  Numbers input;                     ///< [rows, in]
  const std::int64_t *ids = nullptr; ///< [rows, slots]
  Numbers weights;                   ///< [rows, slots]
  Numbers output;                    ///< [rows, out]
  /// [rows, inner]: of one slot at a time.
  float *scratch = nullptr;
  std::int64_t rows = 0, slots = 0;
  std::int64_t first = 0, experts = 0;
  std::int32_t isRouted = 0; ///< rows with the id -1 have no experts here
  FaultPlace fault;
};

/// A router's choices as kernels::ExpertParams has them.
struct ChoicesParams {
  const std::int64_t *ids = nullptr; ///< [rows, slots]
  Numbers weights;                   ///< [rows, slots]
  std::int32_t *narrowIds = nullptr; ///< [rows, slots]
  float *floats = nullptr;           ///< [rows, slots], of the weights
  std::int64_t rows = 0, slots = 0, experts = 0;
  FaultPlace fault;
};

/// Experts of rows that are sorted by them.
struct SortedExpertsParams : ExpertWeights {
  Numbers sorted;                        ///< [offsets[held], in]
  const std::int64_t *offsets = nullptr; ///< [held + 1], of the experts' rows
  Numbers results;                       ///< [offsets[held], out]
  float *scratch = nullptr;              ///< [offsets[held], inner]
};

/// Rows go to the members that have one of their experts, in balanced blocks
/// over the members: each member takes its own from where all are shown.
struct DispatchParams {
  const std::int64_t *const *ids = nullptr; ///< by member: [its rows, slots]
  const void *const *inputs = nullptr;      ///< by member: [its rows, width]
  const void *const *weights = nullptr;     ///< by member: [its rows, slots]
  NumberType inputType = NumberType::F32, weightType = NumberType::F32;
  /// A place for every row; one that does not come has the id -1 and no
  /// numbers.
  Numbers output, outputWeights;
  std::int64_t *outputIds = nullptr;
  /// `source`: the member whose rows they are, `from` on; `to`: their places.
  const MoveRun *runs = nullptr;
  std::int64_t runCount = 0, items = 0;
  std::int64_t width = 0, slots = 0, experts = 0, members = 1, member = 0;
  FaultPlace fault;
};

/// Back again: a row is the sum, in their order, of what the members that have
/// one of its experts made of it.
struct CombineParams {
  const void *const *inputs = nullptr; ///< by member: [all places, width]
  NumberType inputType = NumberType::F32;
  const std::int64_t *ids = nullptr; ///< [rows, slots]
  Numbers output;                    ///< [rows, width]
  /// `from`: places; `to`: rows of this member.
  const MoveRun *runs = nullptr;
  std::int64_t runCount = 0, items = 0;
  std::int64_t width = 0, slots = 0, experts = 0, members = 1;
};

struct ExpertBiasParams {
  Numbers input, output;             ///< [rows, width]
  const std::int64_t *ids = nullptr; ///< [rows, slots]
  Numbers weights;                   ///< [rows, slots]
  Numbers bias;                      ///< [experts, width]
  std::int64_t rows = 0, width = 0, slots = 0, experts = 0;
  FaultPlace fault;
};

} // namespace layline::local

#endif // LAYLINE_RUNTIME_KERNELS_LOCAL_LOCALPARAMS_H
