#include "plan/StepKind.h"

#include "plan/StepContracts.h"

#include <algorithm>
#include <array>

namespace layline::runtime {
namespace {

using Takes = ArgSpec::Takes;
using Element = ArgSpec::Element;

ArgSpec in(const char *name, Element element = Element::Float) {
  return {name, Takes::Buffer, element, false, false, false};
}
ArgSpec out(const char *name, Element element = Element::Float) {
  return {name, Takes::Buffer, element, true, false, false};
}
ArgSpec weight(const char *name, bool isOptional = false) {
  return {name, Takes::Weight, Element::Float, false, isOptional, false};
}
ArgSpec later(const char *name, const char *feature) {
  return {name, Takes::Weight, Element::Float, false, true, false, feature};
}
ArgSpec cache(const char *name, Element element = Element::Float) {
  return {name, Takes::Cache, element, false, false, false};
}
ArgSpec inputs() {
  return {"inputs", Takes::Buffer, Element::Float, false, false, true};
}

constexpr bool kCollective = true;
constexpr bool kInPlace = true;
constexpr const char *kColumns = "columns", *kRouting = "routing",
                     *kSinks = "attention_sinks", *kLatent = "latent_attention",
                     *kSoftcap = "softcap", *kRowStatistics = "row_statistics";

/// In the order of the enum and of docs/plan-format.md.
const std::array<StepKindInfo, kStepKinds> &table() {
  static const std::array<StepKindInfo, kStepKinds> kinds = {{
      {StepKind::Embedding,
       "embedding",
       {in("ids", Element::Integer), weight("weight"), out("output")},
       {},
       false,
       false,
       checkEmbedding},
      {StepKind::Norm,
       "norm",
       {in("input"), weight("weight"), weight("bias", true), out("output")},
       {{"norm"}, {"eps"}, {"weight_offset", true}},
       false,
       kInPlace,
       checkNorm},
      {StepKind::Linear,
       "linear",
       {in("input"), weight("weight"), weight("bias", true), out("output")},
       {},
       false,
       false,
       checkLinear},
      {StepKind::Rope,
       "rope",
       {in("input"),
        in("positions", Element::Integer),
        {"table", Takes::Table, Element::Any, false, false, false},
        out("output")},
       {{"style"}, {"rotary"}},
       false,
       kInPlace,
       checkRope},
      {StepKind::CacheAppend,
       "cache_append",
       {in("input", Element::Any),
        {"cache", Takes::Cache, Element::Any, true, false, false}},
       {},
       false,
       false,
       checkCacheAppend},
      {StepKind::Attention,
       "attention",
       {in("query"), cache("keys"), cache("values"),
        in("positions", Element::Integer),
        cache("key_positions", Element::Integer), later("sinks", kSinks),
        out("output")},
       {{"scale"},
        {"causal"},
        {"window", true},
        {"softcap", true, kSoftcap},
        {"heads"},
        {"kv_heads"}},
       false,
       false,
       checkAttention},
      {StepKind::Activation,
       "activation",
       {in("input"), out("output")},
       {{"function"}},
       false,
       kInPlace,
       checkRowwise},
      {StepKind::GatedActivation,
       "gated_activation",
       {in("gate"), in("up"), out("output")},
       {{"function"}},
       false,
       kInPlace,
       checkGatedActivation},
      {StepKind::Router,
       "router",
       {in("logits"), later("bias", kRouting), out("ids", Element::Integer),
        out("weights")},
       {{"top_k"},
        {"scoring"},
        {"renormalize"},
        {"scale", true},
        {"groups", true, kRouting},
        {"chosen_groups", true, kRouting},
        {"group_score", true, kRouting}},
       false,
       false,
       checkRouter},
      {StepKind::Experts,
       "experts",
       {in("input"), in("ids", Element::Integer), in("weights"), weight("gate"),
        weight("up"), weight("down"), later("gate_bias", kRouting),
        later("up_bias", kRouting), out("output")},
       {{"function"},
        {"limit", true, kRouting},
        {"alpha", true, kRouting},
        {"up_offset", true, kRouting}},
       false,
       false,
       checkExperts},
      {StepKind::Add,
       "add",
       {inputs(), out("output")},
       {},
       false,
       kInPlace,
       checkAdd},
      {StepKind::AddBias,
       "add_bias",
       {in("input"), weight("bias"), out("output")},
       {},
       false,
       kInPlace,
       checkAddBias},
      {StepKind::Mul,
       "mul",
       {inputs(), out("output")},
       {},
       false,
       kInPlace,
       checkMul},
      {StepKind::Scale,
       "scale",
       {in("input"), out("output")},
       {{"factor"}},
       false,
       kInPlace,
       checkLinearElementwise},
      {StepKind::Cast,
       "cast",
       {in("input", Element::Any), out("output", Element::Any)},
       {},
       false,
       kInPlace,
       checkCast},
      {StepKind::Slice,
       "slice",
       {in("input", Element::Any), out("output", Element::Any)},
       {{"dim"}, {"range"}},
       false,
       false,
       checkSlice},
      {StepKind::AllReduce,
       "all_reduce",
       {in("input"), out("output")},
       {{"group"}},
       kCollective,
       kInPlace,
       checkAllReduce},
      {StepKind::ReduceScatter,
       "reduce_scatter",
       {in("input"), out("output")},
       {{"group"}, {"dim"}, {"range"}},
       kCollective,
       false,
       checkReduceScatter},
      {StepKind::AllGather,
       "all_gather",
       {in("input", Element::Any), out("output", Element::Any)},
       {{"group"}, {"dim"}, {"range"}},
       kCollective,
       false,
       checkAllGather},
      {StepKind::Broadcast,
       "broadcast",
       {in("input", Element::Any), out("output", Element::Any)},
       {{"group"}, {"root"}},
       kCollective,
       kInPlace,
       checkBroadcast},
      {StepKind::Fused,
       "fused",
       {{"inputs", Takes::Any, Element::Any, false, false, true},
        {"outputs", Takes::Any, Element::Any, true, false, true}},
       {{"kernel"}},
       false,
       kInPlace,
       checkFused},
      {StepKind::SliceColumns,
       "slice_columns",
       {in("input"), out("output")},
       {{"begin"}},
       false,
       false,
       checkSliceColumns,
       kColumns},
      {StepKind::ConcatColumns,
       "concat_columns",
       {inputs(), out("output")},
       {},
       false,
       false,
       checkConcatColumns,
       kColumns},
      {StepKind::RowScale,
       "row_scale",
       {in("input"), in("scales"), out("output")},
       {},
       false,
       kInPlace,
       checkRowScale,
       kColumns},
      {StepKind::AddExpertBias,
       "add_expert_bias",
       {in("input"), in("ids", Element::Integer), in("weights"), weight("bias"),
        out("output")},
       {},
       false,
       kInPlace,
       checkAddExpertBias,
       kRouting},
      {StepKind::LatentAttention,
       "latent_attention",
       {in("query_nope"),
        in("query_rope"),
        cache("latent"),
        cache("rope_key"),
        weight("key_up"),
        weight("value_up"),
        in("positions", Element::Integer),
        cache("key_positions", Element::Integer),
        {"selection", Takes::Buffer, Element::Integer, false, true},
        out("output")},
       {{"scale"}, {"causal"}, {"heads"}},
       false,
       false,
       checkLatentAttention,
       kLatent},
      {StepKind::Indexer,
       "indexer",
       {in("query"), cache("keys"), in("weights"),
        in("positions", Element::Integer),
        cache("key_positions", Element::Integer),
        out("selection", Element::Integer), out("scores")},
       {{"top_k"}, {"scale"}, {"causal"}},
       false,
       false,
       checkIndexer,
       kLatent},
      {StepKind::Softcap,
       "softcap",
       {in("input"), out("output")},
       {{"cap"}},
       false,
       kInPlace,
       checkRowwise,
       kSoftcap},
      {StepKind::RowSquares,
       "row_squares",
       {in("input"), out("output")},
       {},
       false,
       false,
       checkRowSquares,
       kRowStatistics},
      {StepKind::NormBy,
       "norm_by",
       {in("input"), in("statistics"), weight("weight"), out("output")},
       {{"eps"}, {"width"}},
       false,
       kInPlace,
       checkNormBy,
       kRowStatistics},
  }};
  return kinds;
}

} // namespace

int StepKindInfo::argument(std::string_view argument) const {
  for (std::size_t i = 0; i < args.size(); ++i)
    if (args[i].name == argument)
      return static_cast<int>(i);
  return -1;
}

const StepKindInfo &infoOf(StepKind kind) {
  return table()[static_cast<std::size_t>(kind)];
}

const StepKindInfo *findStepKind(std::string_view name) {
  const auto &kinds = table();
  auto found =
      std::find_if(kinds.begin(), kinds.end(),
                   [&](const StepKindInfo &info) { return info.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

} // namespace layline::runtime
