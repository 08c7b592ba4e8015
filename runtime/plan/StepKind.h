// The step kinds of format 1 in one table: their arguments, their attributes
// and what their layouts must be. Parsing, checking and execution all go
// through it, so that a kind is described once.
#ifndef LAYLINE_RUNTIME_PLAN_STEPKIND_H
#define LAYLINE_RUNTIME_PLAN_STEPKIND_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace layline::runtime {

struct StepContract;

enum class StepKind : std::uint8_t {
  Embedding,
  Norm,
  Linear,
  Rope,
  CacheAppend,
  Attention,
  Activation,
  GatedActivation,
  Router,
  Experts,
  Add,
  AddBias,
  Mul,
  Scale,
  Cast,
  Slice,
  AllReduce,
  ReduceScatter,
  AllGather,
  Broadcast,
  Fused,
  SliceColumns,
  ConcatColumns,
  RowScale,
  AddExpertBias,
  LatentAttention,
  Indexer,
  Softcap,
  RowSquares,
  NormBy,
  Quantize,
  Dequantize,
  Dispatch,
  Combine
};
inline constexpr std::size_t kStepKinds = 34;

enum class NormKind : std::uint8_t { Rms, Layer };
enum class RopeStyle : std::uint8_t { Half, Interleaved, InterleavedToHalf };
enum class Function : std::uint8_t { Silu, Gelu, GeluTanh, Relu, Sigmoid };
enum class Scoring : std::uint8_t { Softmax, Sigmoid };
enum class GroupScore : std::uint8_t { Max, Top2Sum };
enum class QuantFormat : std::uint8_t { Fp8E4M3, Fp8E5M2 };

/// The attributes of all kinds together; a kind reads those that its table
/// entry lists.
struct StepAttributes {
  /// Which attributes are there: bit i for place i of the kind's list.
  std::uint32_t given = 0;
  NormKind norm = NormKind::Rms;
  double eps = 0;
  double weightOffset = 0;
  std::int64_t width = 0;
  RopeStyle style = RopeStyle::Half;
  std::int64_t rotary = 0;
  double scale = 1;
  bool causal = true;
  std::optional<std::int64_t> window;
  std::optional<double> softcap; ///< of attention's scores
  std::int64_t heads = 0;
  std::int64_t kvHeads = 0;
  Function function = Function::Silu;
  std::int64_t topK = 0;
  Scoring scoring = Scoring::Softmax;
  bool renormalize = false;
  std::int64_t groups = 0; ///< of experts; 0: none
  std::int64_t chosenGroups = 0;
  GroupScore groupScore = GroupScore::Max;
  std::optional<double> limit;
  double alpha = 1;
  double upOffset = 0;
  double factor = 1;
  std::int64_t begin = 0;
  double cap = 0;
  QuantFormat format = QuantFormat::Fp8E4M3;
  std::int64_t groupSize = 0; ///< features with a scale of their own; 0: all
  std::int64_t dim = 0;
  int range = -1;
  int group = -1;
  std::int64_t root = 0;
  std::int64_t experts = 0;
  int kernel = -1;
};

struct ArgSpec {
  enum class Takes : std::uint8_t { Buffer, Weight, Cache, Table, Any };
  /// Float: not a narrow format, which only Quantized and Any take.
  enum class Element : std::uint8_t { Float, Integer, Quantized, Any };
  const char *name;
  Takes takes = Takes::Buffer;
  Element element = Element::Float;
  bool isOutput = false;
  bool isOptional = false;
  bool isList = false;
  /// What `requires` of a plan lists if a step has the argument.
  const char *feature = nullptr;
};

struct AttributeSpec {
  const char *name;
  bool isOptional = false;
  const char *feature = nullptr;
};

struct StepKindInfo {
  StepKind kind;
  const char *name;
  std::vector<ArgSpec> args;
  std::vector<AttributeSpec> attributes;
  bool isCollective = false;
  /// Whether an output may be the same buffer as an input.
  bool inPlace = false;
  /// Throws Error if layouts or shapes are not what the kind asks for.
  void (*check)(const StepContract &) = nullptr;
  /// Null for the kinds of format 1.0.
  const char *feature = nullptr;

  /// Position of an argument, -1 if the kind has none of that name.
  int argument(std::string_view argument) const;
};

const StepKindInfo &infoOf(StepKind kind);
/// Null for an unknown name.
const StepKindInfo *findStepKind(std::string_view name);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_STEPKIND_H
