// What kernels take: plain structs that the host fills and passes by value.
//
// Units: sizes of rows are elements, spans are bytes, times are nanoseconds.
// Pointers are of the device that runs the kernel, of peers' memory as that
// device maps it; nothing here owns anything. A vector is 16 bytes. Rows are
// contiguous, their width is a multiple of 8 elements and they begin at
// addresses that are a multiple of 16.
#ifndef LAYLINE_RUNTIME_KERNELS_PARAMS_H
#define LAYLINE_RUNTIME_KERNELS_PARAMS_H

#include <cstdint>

#if defined(__CUDACC__)
#define LAYLINE_EVERYWHERE __host__ __device__ __forceinline__
#else
#define LAYLINE_EVERYWHERE inline
#endif

namespace layline::kernels {

enum class DType : std::uint8_t { BF16, F16, F32 };

enum class NormKind : std::uint8_t { None, Rms, Layer };

/// As in a plan's `activation` steps; runtime/devices/cpu/Functions.h has the
/// formulas' sources.
enum class Function : std::uint8_t {
  None,
  Silu,
  Gelu,
  GeluTanh,
  Relu,
  Sigmoid
};

/// What shares a scale when rows are quantized.
enum class ScaleKind : std::uint8_t {
  None,   ///< rows stay as they are
  Tensor, ///< all rows; the scale is given
  Row,
  Group ///< `groupSize` neighbouring features of a row
};

/// Where the rows of a kernel come from.
enum class Input : std::uint8_t {
  Own,           ///< this rank's rows, complete
  Owed,          ///< addends on every rank, summed in rank order
  OwedMulticast, ///< the same, summed by the switch in its order
};

/// Where its results go.
enum class Output : std::uint8_t {
  Own,               ///< this rank's rows stay on it
  Everyone,          ///< stored into every rank's memory
  EveryoneMulticast, ///< the same, replicated by the switch
};

/// The balanced block of `rank`: with q, r = divmod(rows, ranks) the first r
/// ranks hold q + 1 rows. The `block` ranges of a plan are these.
struct RowBlock {
  std::int64_t begin, size;
};
LAYLINE_EVERYWHERE RowBlock row_block(std::int64_t rows, std::int64_t ranks,
                                      std::int64_t rank) {
  std::int64_t each = rows / ranks, more = rows % ranks;
  return {rank * each + (rank < more ? rank : more), each + (rank < more)};
}

/// The flags of a workspace that a wait can end at.
enum class FlagKind : std::uint32_t {
  None,
  Entry,       ///< a peer's block has begun
  Exit,        ///< ... has done all it does with this rank's memory
  OneShotWord, ///< a vector of a mailbox
  Ready,       ///< a rank lets the owner of a broadcast write to it
  Chunk        ///< a chunk is complete
};

/// The first wait that took too long. All zero until then; a kernel that finds
/// it set leaves without doing anything, for its peers have left too.
struct SpinError {
  std::uint32_t kind;  ///< a FlagKind
  std::uint32_t rank;  ///< that waited
  std::uint32_t block; ///< of its grid
  std::uint32_t flag;  ///< the peer, or the number of the chunk
  std::uint32_t epoch; ///< that it waited for
  std::uint32_t seen;  ///< what was there
};

/// How long to wait, and where to say that it was too long.
struct Watch {
  SpinError *error;
  std::uint64_t limit; ///< nanoseconds; 0: for ever
};

/// Blocks of equal number on all ranks of a group wait for one another.
///
/// The epoch counts a block's launches. It lies in memory, not among the
/// arguments, so that a replayed graph counts on; a counter for each block, so
/// that grids may differ from launch to launch (on all ranks alike).
/// `maxBlocks` bounds the grid.
template <int P> struct PeerFlags {
  std::uint32_t *flags[P]; ///< symmetric: [2][maxBlocks][P]
  std::uint32_t *epochs;   ///< own: [maxBlocks]
  std::uint32_t maxBlocks;
  std::uint32_t rank;
  Watch watch;
};

/// Row-wise work, in this order; pointers may be null, factors 1.
///
///   x = sum of the addends, or the row                           in f32
///   x = (norm of x if innerWeight, else x + bias) * innerScale
///   x = x + residual                                    -> residualOut
///   y = norm of x                                         kind by template
///   y = function(y) * gate * scale                    function by template
///                                                       -> values
///   q = y / scale of the row or group                 -> payload, scales
///
/// Every output is rounded once, from f32. Statistics are taken in f32 over the
/// whole row: thread i of b sums its vectors i, i + b, ... in their order, then
/// come a butterfly over the lanes of a warp and the warps in their order.
struct RowOperands {
  const void *bias;        ///< [H]
  const void *innerWeight; ///< [H]; the inner norm is an RMS norm
  const void *residual;    ///< own rows [.., H]
  void *residualOut;       ///< own rows; may be `residual`
  const void *weight;      ///< [H]
  const void *normBias;    ///< [H], of a layer norm
  const void *gate;        ///< own rows
  const float *tensorScale;
  float innerScale, scale;
  float eps, weightOffset; ///< the weight is used as weightOffset + w
  std::int32_t groupSize;
};

/// With Output::Own entry [rank] is this rank's own rows; else all entries are
/// the whole tensors on the ranks. Null: that output is not wanted.
template <int P> struct RowOutputs {
  void *values[P];
  std::uint8_t *payload[P]; ///< FP8, [.., H]
  float *scales[P];         ///< [.., 1 or H / groupSize]
  /// With Output::EveryoneMulticast, in place of all.
  void *multicastValues;
  std::uint8_t *multicastPayload;
  float *multicastScales;
};

/// row_collective: reduce_scatter, row-wise work and all_gather, or a part of
/// that.
template <int P> struct RowParams {
  PeerFlags<P> peers;
  const void *addends[P];       ///< symmetric: [tokens][H]; Input::Owed
  const void *multicastAddends; ///< Input::OwedMulticast
  const void *rows;             ///< own rows; Input::Own
  std::int64_t tokens;          ///< of all ranks
  std::int32_t width;           ///< H
  RowOperands operands;
  RowOutputs<P> out;
};

/// What a rank keeps for its one_shot launches; all zero at first.
struct OneShotState {
  std::uint32_t epoch;
  std::uint32_t arrived; ///< blocks of this launch that are done
  std::uint64_t vectors; ///< that the last launch put into each mailbox
};

/// one_shot: all_reduce of few rows, then row-wise work, by every rank on all
/// rows. Every rank has a mailbox for each sender, three times.
template <int P> struct OneShotParams {
  void *boxes[P];        ///< symmetric: [3][P][capacity] vectors, poisoned
  std::int64_t capacity; ///< vectors; tokens * H must fit
  OneShotState *state;   ///< own
  std::uint32_t rank;
  Watch watch;
  const void *addends; ///< own: [tokens][H]
  std::int64_t tokens;
  std::int32_t width;
  RowOperands operands; ///< of all rows
  RowOutputs<1> out;    ///< own
};

/// What mailboxes are filled with before their first use: negative zeros, in
/// words of two 16-bit numbers or of one float.
constexpr std::uint32_t kPoison16 = 0x80008000U, kPoison32 = 0x80000000U;

/// broadcast: from one rank into the memory of all, chunk by chunk.
template <int P> struct BroadcastParams {
  PeerFlags<P> ready;      ///< [1][maxBlocks][P] is used
  std::uint32_t *chunk[P]; ///< symmetric: [maxChunks]
  std::uint32_t *uses;     ///< own: [maxChunks], how often each was sent
  const void *from;        ///< on the root
  void *to[P];             ///< symmetric
  std::int64_t bytes;      ///< a multiple of 16
  std::int64_t chunkBytes; ///< a multiple of 16
  std::uint32_t root;
};

/// gather_rows: all_gather of rows of bytes.
template <int P> struct GatherParams {
  PeerFlags<P> peers;
  const void *rows;      ///< own rows [..][rowBytes]
  std::int64_t tokens;   ///< of all ranks
  std::int64_t rowBytes; ///< a multiple of 16, or of 4 by words
  void *out[P];          ///< symmetric: [tokens][rowBytes]; Output::Everyone
  void *multicastOut;    ///< Output::EveryoneMulticast
};

/// paged_rows: rows of tokens between pages and a contiguous buffer, of several
/// planes (layers; keys and values) that have one page table. They are moved by
/// 16 bytes, where their size, the strides and all addresses are multiples of
/// that, else by 4, which they are in any case.
struct PagedRowsParams {
  void *const *pools;        ///< [planes], first byte of the wanted columns
  const std::int32_t *pages; ///< of token t: pages[t / pageTokens]
  std::int32_t pageTokens;
  std::int64_t pageStride;  ///< bytes from page to page
  std::int64_t tokenStride; ///< bytes from token to token of a page
  std::int64_t rowBytes;    ///< that are moved of a token
  std::int64_t firstToken, tokens;
  std::int32_t planes;
  void *packed; ///< [planes][tokens][rowBytes], perhaps a peer's
  /// Tokens of a chunk; one block moves a chunk of one plane.
  std::int64_t chunkTokens;
  /// Where chunk c of plane l says that it is there: [planes][chunks], of the
  /// rank that reads them; or null.
  std::uint32_t *chunkFlags;
  std::uint32_t epoch; ///< that it says
  Watch watch;
};

/// rope: rotates the first `rotary` features of each head by the row's
/// position.
enum class RopeStyle : std::uint8_t {
  Half,             ///< pairs (i, i + rotary / 2)
  Interleaved,      ///< pairs (2i, 2i + 1)
  InterleavedToHalf ///< takes pairs (2i, 2i + 1), gives (i, i + rotary / 2)
};
template <int P> struct RopeParams {
  PeerFlags<P> peers;
  const void *rows;              ///< own rows [.., heads, headWidth]
  const std::int64_t *positions; ///< global positions of the own rows
  const double *halfTurns;       ///< [rotary / 2], a position's angles / pi
  float attentionFactor;
  std::int64_t tokens; ///< of all ranks
  std::int32_t heads, headWidth, rotary;
  /// As RowOutputs::values; may be `rows` unless pairs change their places.
  void *out[P];
};

/// sort_by_expert, permute_rows and merge_experts: the local side of a mixture.
/// A choice is a row and one of its `chosen` experts; an id outside
/// [firstExpert, firstExpert + experts) is no choice of this rank's.
struct ExpertParams {
  const std::int32_t *ids; ///< [tokens][chosen]
  std::int64_t tokens;
  std::int32_t chosen, firstExpert, experts;
  /// Row of each choice among those sorted by expert, or -1: [tokens][chosen].
  /// Choices of an expert keep the order of their rows.
  std::int64_t *places;
  std::int64_t
      *offsets;     ///< first row of each expert and the end: [experts + 1]
  const void *rows; ///< [tokens][H]
  void *sorted;     ///< [offsets[experts]][H]
  std::int32_t width;
  const void *results;  ///< [offsets[experts]][H]
  const float *weights; ///< [tokens][chosen]
  const void *shared;   ///< [tokens][H] that is added, or null
  float scale;          ///< of the weighted sum
  void *merged;         ///< [tokens][H]
};

} // namespace layline::kernels

#endif // LAYLINE_RUNTIME_KERNELS_PARAMS_H
