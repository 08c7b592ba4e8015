//===- Program.h - what all ranks of a mesh compute -------------*- C++ -*-===//
//
// The neutral form in which the exact check takes programs: a list of ops over
// global values with layouts, the same for all ranks (SPMD). A program without
// axes runs on one device. Front ends build it from MLIR or from a launch plan;
// nothing here has to be well formed: what does not fit is reported as a fault
// of the op when it would run.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_EXACT_PROGRAM_H
#define LAYLINE_EXACT_PROGRAM_H

#include "layline/Exact/Field.h"
#include "layline/Support/Expr.h"
#include "layline/Support/Partition.h"
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace layline::exact {

/// A mesh axis. A rank is the row-major index over the axes of the program.
struct Axis {
  std::string name;
  int64_t size = 1;
};

/// The segments of `items` items that coordinate `coordinate` of `ranks` holds,
/// in local order.
using SegmentFunction = std::function<std::vector<Segment>(
    int64_t items, int64_t ranks, int64_t coordinate)>;

/// One split of a dimension over an axis.
struct Link {
  unsigned axis = 0;
  std::shared_ptr<const SegmentFunction> segments;
  /// Links of equal identity deal out items alike; it only saves work.
  Digest identity;
};
Link makeLink(unsigned axis, const Partition &partition);
/// For expressions of a plan. Copy the link where the same split is meant.
Link makeLink(unsigned axis, SegmentFunction segments);

/// Where one dimension lives. Of extent n it has n / unit items. The outermost
/// link deals out all of them, an inner one the items of its parent's part on
/// that rank: segments are positions within it. No links: held whole.
struct DimLayout {
  std::vector<Link> links;
  int64_t unit = 1; ///< elements per item
  /// The local extent is at least this (in elements of the dimension), with
  /// padding behind what the rank holds.
  std::optional<Expr> pad;
};

enum class ElementClass { Float, Integer };

using ValueId = unsigned;

struct Value {
  std::string name; ///< for messages, may be empty
  /// Global extents: constants, or expressions in "tokens" and "past".
  std::vector<Expr> shape;
  std::vector<DimLayout> dims; ///< as many as shape; missing ones are whole
  std::vector<unsigned> owes;  ///< axes over which a sum is still to be taken
  ElementClass elements = ElementClass::Float;
};

enum class OpKind {
  Input,           ///< () -> x; `role`, `input`
  Weight,          ///< () -> w; `weight`
  Embedding,       ///< ids [T], table [V, H] -> [T, H]
  Norm,            ///< x, w, bias? -> y; `function` rms or layer, `eps`, ...
  RowSquares,      ///< x [T, D] -> sum of x^2 [T, 1]
  NormBy,          ///< x [T, D], statistics [T, 1], w [D] -> y; `eps`, `width`
  Linear,          ///< x [.., I], w [O, I], bias [O]? -> [.., O]
  SplitHeads,      ///< [T, heads * width] -> [T, heads, width]
  MergeHeads,      ///< [T, heads, width] -> [T, heads * width]
  Rope,            ///< x [T, heads, width], positions [T] -> y; `rope`
  Cache,           ///< rows [T, ..] -> [past + T, ..]; `layer`, `plane`
  Attention,       ///< q, keys, values, positions, key positions, sinks [h]?
                   ///< -> [T, h, d]
  LatentAttention, ///< q nope, q rope, latent, rope key, key up, value up,
                   ///< positions, key positions, selection [T, k]?
                   ///< -> [T, h, d]
  Indexer,         ///< q [T, h, d], keys [S, d], weights [T, h], positions,
                   ///< key positions -> rows [T, k], scores [T, k]
  Activation,      ///< x -> f(x); `function`, `softcap` of that one
  GatedActivation, ///< gate, up -> f(gate) * up; `function`
  Router,          ///< logits [T, E], bias [E]? -> ids [T, k], weights [T, k]
  Experts,         ///< x, ids, weights, gate, up, down, gate bias and up bias
                   ///< [E, F] or none -> y; `function`, `limit`, ...
  AddExpertBias,   ///< x, ids, weights, bias [E, O] -> y
  Add,             ///< x, y, ... -> sum
  Mul,             ///< x, y, ... -> product
  AddBias,         ///< x [.., O], bias [O] -> y
  Scale,           ///< x -> `factor` * x
  Cast,            ///< x -> y; `from`, `to`
  Quantize,        ///< x [.., D] -> values [.., D], scales [.., G]; `format`
  Dequantize,      ///< values [.., D], scales [.., G] -> x; G divides D
  SliceColumns,    ///< x [.., D] -> its columns from `begin` on
  ConcatColumns,   ///< x [.., D1], y [.., D2], ... -> [.., D1 + D2 + ...]
  RowScale,        ///< x [.., D], scales [.., 1] -> y
  Pad,             ///< x -> x with the result's padding of `dim`, garbage in it
  Unpad,           ///< x -> x without padding of `dim`
  Slice,           ///< own part of `dim`, held whole along `axes`
  AllReduce,       ///< over `axes`
  ReduceScatter,   ///< the sum over `axes`, own part of `dim`
  AllGather,       ///< all parts of `dim` over `axes`
  Broadcast,       ///< the value of coordinate `root` of `axes`
  Dispatch,        ///< rows x, ids, weights -> the same on the ranks along
                   ///< `axes` that have one of a row's `experts`
  Combine,         ///< rows y as dispatched, ids before -> their sum, own rows
  Relabel,         ///< local data, position by position, as another value
};
/// "linear", "all_reduce", ...
const char *kindName(OpKind kind);

struct RopeTable {
  struct Numbers {
    std::vector<double> inverseFrequencies; ///< one a pair of features
    double factor = 1;
  };
  bool isInterleaved = false; ///< pairs (2i, 2i+1), else (i, i + rotary / 2)
  /// Interleaved pairs come out as (i, i + rotary / 2).
  bool isReordered = false;
  Numbers numbers;
  /// Used for all rows of a step whose largest position is >= longAbove.
  std::optional<Numbers> longNumbers;
  int64_t longAbove = 0;
};

/// A tensor of the checkpoint, or a window of its first dimension, or the stack
/// of one tensor per expert (then the value has the expert in front).
struct StoredTensor {
  std::string key;
  std::vector<int64_t> shape; ///< as stored, without the expert
  std::optional<Segment> rows;
  bool isStacked = false;
  int64_t period = 0;        ///< `rows` of every so many stored rows; 0: once
  bool isOneTensor = false;  ///< that has all experts
  bool isTransposed = false; ///< stored [columns, rows]; `shape` is not
};

enum class InputRole {
  Ids,       ///< entries of the vocabulary
  Positions, ///< base + past + row
  Values     ///< anything; told apart by `input`
};

/// What an op needs besides its operands; a kind reads its own ones. All are
/// part of what its functions depend on.
struct Attributes {
  InputRole role = InputRole::Values;
  std::string input;
  StoredTensor weight;
  /// rms, layer; silu, gelu, ...; softmax, sigmoid (router).
  std::string function;
  std::string format;   ///< Quantize
  std::string from, to; ///< Cast: bf16, f16, f32, f64, f8E4M3FN, ...
  double eps = 0;
  double weightOffset = 0;
  int64_t width = 0; ///< NormBy: features that the norm is over
  double factor = 1; ///< Scale; Attention: of the scores; Router: of weights
  std::shared_ptr<const RopeTable> rope;
  int64_t layer = 0; ///< Cache: -1 for the cache of positions
  std::string plane; ///< Cache: key, value, positions
  bool isCausal = true;
  std::optional<int64_t> window;
  double softcap = 0; ///< Attention: of the scores, 0: none
  int64_t topK = 0;
  int64_t experts = 0; ///< Dispatch, Combine: in blocks on the ranks
  bool renormalize = false;
  int64_t groups = 0; ///< Router: of experts; 0: none
  int64_t chosenGroups = 0;
  std::string groupScore;      ///< max, top2_sum
  std::optional<double> limit; ///< Experts: of gate, and of up on both sides
  double alpha = 1;            ///< Experts: silu's
  double upOffset = 0;         ///< Experts
  int64_t begin = 0;           ///< SliceColumns
  unsigned dim = 0;
  std::vector<unsigned> axes;
  int64_t root = 0;
};

struct Op {
  OpKind kind = OpKind::Input;
  Attributes attrs;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::string place;    ///< of the model: "layer.0.q_proj"
  std::string location; ///< of the source, for messages
  /// Recorded names of the results, compared between programs; may be empty
  /// or shorter than results.
  std::vector<std::string> names;
};

/// A cache as the step leaves it.
struct CacheContent {
  int64_t layer = 0;
  std::string plane;
  ValueId value = 0; ///< result of a Cache op
};

struct Program {
  std::vector<Axis> axes;
  std::vector<Value> values;
  std::vector<Op> ops;
  std::vector<ValueId> outputs;
  std::vector<CacheContent> caches;

  /// Sizes of at least 1, and no more ranks than anybody has.
  bool hasSensibleMesh() const;
  int64_t ranks() const;
  std::vector<int64_t> coordinates(int64_t rank) const;
  /// The ranks that differ from `rank` in `over` only, itself included, in
  /// row-major order of their coordinates there.
  std::vector<int64_t> group(int64_t rank,
                             const std::vector<unsigned> &over) const;

  ValueId addValue(Value value);
  /// Appends an op; its results are values that were added before.
  Op &addOp(OpKind kind, std::vector<ValueId> operands,
            std::vector<ValueId> results, Attributes attrs = {});
};

} // namespace layline::exact

#endif // LAYLINE_EXACT_PROGRAM_H
