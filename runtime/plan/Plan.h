// A launch plan in memory: docs/plan-format.md with ids resolved to indices.
// Nothing here decides anything; the checks are in Check*.cpp.
#ifndef LAYLINE_RUNTIME_PLAN_PLAN_H
#define LAYLINE_RUNTIME_PLAN_PLAN_H

#include "plan/Expr.h"
#include "plan/StepKind.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace layline::runtime {

enum class DType : std::uint8_t {
  BF16,
  F16,
  F32,
  F64,
  I32,
  I64,
  Fp8E4M3,
  Fp8E5M2
};
std::int64_t dtypeBytes(DType dtype);
const char *dtypeName(DType dtype);
inline bool isInteger(DType dtype) {
  return dtype == DType::I32 || dtype == DType::I64;
}

/// A narrow format: numbers only together with their scales.
inline bool isQuantized(DType dtype) {
  return dtype == DType::Fp8E4M3 || dtype == DType::Fp8E5M2;
}
/// The element type of a format's values.
DType dtypeOf(QuantFormat format);

struct Axis {
  std::string name;
  std::int64_t size = 1;
};

struct Group {
  std::string id;
  std::vector<int> axes;
  std::int64_t ranks = 1;
};

struct Symbol {
  std::int64_t min = 0;
  std::int64_t max = 0;
};

/// Item number j is begin + j or, of a strided segment,
/// begin + (j div block) * stride + j mod block.
struct Segment {
  Expr begin;
  Expr size;
  std::int64_t block = 0;
  std::int64_t stride = 0;
  bool isStrided() const { return stride > 0; }
};

/// Deals out a dimension, or what the range `within` gives to a rank, over the
/// ranks of an axis. A rank's items are those of its segments one after
/// another.
struct Range {
  enum class Kind : std::uint8_t {
    Block,
    Readers,
    Zigzag,
    Cyclic,
    FirstReaders,
    Routed
  };
  std::string id;
  int axis = 0;
  /// Of a nested range: the size of the range it lies within.
  Expr extent;
  Kind kind = Kind::Block;
  /// (First)Readers: number of query heads; Routed: of experts.
  std::int64_t of = 0;
  std::int64_t interleave = 0; ///< Cyclic: items that stay together
  /// An earlier range whose items are dealt out; -1: those of the dimension.
  int within = -1;
  std::vector<Segment> segments;

  bool isNested() const { return within >= 0; }
  /// Its items are KV heads, held by where their query heads are.
  bool hasQueryHeads() const {
    return kind == Kind::Readers || kind == Kind::FirstReaders;
  }
  /// A rank has a place for every row; of those that its experts were not
  /// chosen for nothing is there.
  bool isRouted() const { return kind == Kind::Routed; }
  /// Whether a rank's items are one run of the dimension.
  bool isContiguous() const {
    return !isNested() && segments.size() == 1 && !segments.front().isStrided();
  }
};
const char *kindName(Range::Kind kind);

/// Items of a rank as runs, in the rank's order. None is empty, and none goes
/// on where the one before ends.
using Items = std::vector<Part>;

/// One dimension of a layout: held whole (range < 0) or the rank's items of a
/// range, each of `unit` elements.
struct DimLayout {
  int range = -1;
  std::int64_t unit = 1;
  bool isSplit() const { return range >= 0; }
  bool operator==(const DimLayout &other) const {
    return range == other.range && (range < 0 || unit == other.unit);
  }
  bool operator!=(const DimLayout &other) const { return !(*this == other); }
};

struct Layout {
  std::vector<DimLayout> dims;
  std::vector<int> owes; ///< axes, ascending
  bool operator==(const Layout &other) const {
    return dims == other.dims && owes == other.owes;
  }
};

using ShapeExpr = std::vector<Expr>;
using Shape = std::vector<std::int64_t>;

struct Input {
  std::string id;
  DType dtype = DType::I64;
  ShapeExpr shape;
};

struct Cache {
  std::string id;
  std::int64_t layer = -1;
  std::string plane;
  DType dtype = DType::BF16;
  Shape rowShape;
  Layout layout;
};

struct RopeNumbers {
  double attentionFactor = 1;
  std::vector<double> invFreq;
};

struct Table {
  std::string id;
  RopeNumbers numbers;
  std::int64_t longAbove = 0;
  std::optional<RopeNumbers> longNumbers;
};

struct Weight {
  std::string id;
  std::string key;
  DType dtype = DType::BF16;
  Shape storedShape;
  std::optional<Part> rows;
  std::int64_t period = 0;   ///< `rows` of every so many stored rows; 0: once
  std::string stackName;     ///< empty: not one tensor of each
  bool storedStack = false;  ///< one tensor of all, first in its shape
  bool isTransposed = false; ///< stored [.., columns, rows]
  std::int64_t stackCount = 0;
  Shape shape;
  Layout layout;
  std::int64_t bytesPerRank = 0;
  bool isStack() const { return storedStack || !stackName.empty(); }
  /// The stored shape of one of a stack, rows first. Of a weight that has been
  /// checked.
  Shape storedMatrix() const;
  /// The safetensors keys of all stored tensors, in stacking order.
  std::vector<std::string> keys() const;
};

struct Flag {
  std::string id;
  int group = 0;
  std::vector<int> key; ///< axes whose coordinates choose the instance
};

struct Kernel {
  std::string id;
  std::vector<std::string> ops;
  int group = -1;
};

struct Arena {
  std::string id;
  std::int64_t bytes = 0;
};

struct Buffer {
  enum class Class : std::uint8_t {
    Activation,
    Symmetric,
    Input,
    Output,
    Register
  };
  std::string id;
  Class kind = Class::Activation;
  DType dtype = DType::BF16;
  ShapeExpr shape;
  Layout layout;
  int input = -1; ///< Class::Input
  int arena = -1; ///< all others
  std::int64_t offset = 0;
  std::int64_t bytes = 0;
  int firstStep = -1; ///< `live`, top-level step indices
  int lastStep = -1;
};

/// What an argument of a step names. Shape and layout are those of the view.
struct Operand {
  enum class Of : std::uint8_t { Buffer, Weight, Cache, Table };
  Of of = Of::Buffer;
  int index = -1;
  DType dtype = DType::BF16;
  ShapeExpr shape; ///< global; of a cache: [past + tokens, row_shape...]
  Layout layout;
};

struct Step {
  std::string id;
  StepKind kind = StepKind::Add;
  int stream = 0;
  std::string place; ///< in the model: "layer.0.q_proj", may be empty
  /// By output operand in the order of the arguments; empty, or "" for one that
  /// nobody asked for.
  std::vector<std::string> names;
  /// By position in the kind's argument list; absent optional ones are empty.
  std::vector<std::vector<Operand>> args;
  StepAttributes attrs;
  int flag = -1;
  std::vector<int> after; ///< top-level step indices
  std::vector<int> waits; ///< event numbers
  std::vector<int> signals;
  std::vector<Step> body;

  const StepKindInfo &info() const { return infoOf(kind); }
  /// The first name, for messages; "" if there is none.
  const std::string &name() const;
  /// Operands of an argument by name; empty if the optional one is absent.
  const std::vector<Operand> &list(const char *argument) const;
  /// The only operand of a required argument.
  const Operand &arg(const char *argument) const;
  const Operand *find(const char *argument) const;
  /// Whether the attribute is there.
  bool has(const char *attribute) const;
};

struct Output {
  std::string id;
  int buffer = -1;
};

struct Variant {
  std::string id;
  std::int64_t minTokens = 0;
  std::int64_t maxTokens = 0;
  std::vector<Arena> arenas;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<std::string> events; ///< names, by event number
  std::vector<Output> outputs;
};

struct Plan {
  std::string file; ///< for messages
  std::int64_t minorVersion = 0;
  std::vector<std::string> features; ///< that the plan requires
  DType dtype = DType::BF16;
  Symbol tokens;
  Symbol past;
  std::vector<Axis> axes;
  std::vector<Group> groups;
  std::vector<Range> ranges;
  std::vector<Input> inputs;
  std::vector<Cache> caches;
  std::vector<Table> tables;
  std::vector<Weight> weights;
  std::vector<Flag> flags;
  std::vector<Kernel> kernels;
  std::vector<std::string> streams;
  std::vector<Variant> variants;

  std::int64_t ranks() const;
  /// Whether `requires` lists it.
  bool hasFeature(std::string_view feature) const;
  /// Coordinates of a rank: row-major over the axes.
  std::vector<std::int64_t> coordinates(std::int64_t rank) const;

  /// For every range, how many items a rank has and where the first segment
  /// begins: all there is to know of a contiguous range. What `Environment`
  /// takes.
  std::vector<Part> parts(std::int64_t tokens,
                          const std::vector<std::int64_t> &coordinates) const;
  /// The same of one range.
  Part part(int range, std::int64_t tokens,
            const std::vector<std::int64_t> &coordinates) const;
  /// A rank's items as indices of the dimension that is split: where its local
  /// rows stand in the global value. Nested ranges are resolved.
  Items items(int range, std::int64_t tokens,
              const std::vector<std::int64_t> &coordinates) const;
  /// `environment` has the rank's coordinates and parts.
  Items items(int range, const Environment &environment) const;
  /// A rank's items as positions of what the range deals out: of a nested
  /// range, local rows of a value that is split by the range around it;
  /// otherwise as items() gives them. What slices, gathers and reduce-scatters
  /// move.
  Items ownItems(int range, std::int64_t tokens,
                 const std::vector<std::int64_t> &coordinates) const;
  Items ownItems(int range, const Environment &environment) const;
  /// The axes that an item's rank depends on: the range's and those of the
  /// ranges it lies within, innermost first. None for -1.
  std::vector<int> axesOf(int range) const;
  /// Number of items of the dimension that is split.
  const Expr &extentOf(int range) const;
  /// Calls `visit` for all coordinates of these axes; the others stay 0.
  void
  forEachSetting(const std::vector<int> &settings,
                 const std::function<void(const std::vector<std::int64_t> &)>
                     &visit) const;

  /// Null if no variant runs this many tokens.
  const Variant *variantFor(std::int64_t tokens) const;
  const std::string &operandId(const Variant &variant,
                               const Operand &operand) const;
};

/// The rank's shape of a tensor. Throws if a dimension is negative.
Shape localShape(const ShapeExpr &global, const Layout &layout,
                 const Environment &environment);
Shape globalShape(const ShapeExpr &global, const Environment &environment);
/// Product of the dimensions; throws on overflow.
std::int64_t elements(const Shape &shape);
ShapeExpr constantShape(const Shape &shape);
/// [past + tokens, row_shape...].
ShapeExpr cacheShape(const Cache &cache);

std::string print(const Shape &shape);
std::string print(const ShapeExpr &shape);
std::string print(const Layout &layout, const Plan &plan);
std::string printAxes(const std::vector<int> &axes, const Plan &plan);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_PLAN_H
