#include "plan/Parse.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace layline::runtime {
namespace {

using Attrs = StepAttributes;
using Reader = void (*)(const Cursor &, const PlanNames &, Attrs &);

/// How each attribute is read; which kinds have it stands in the table of
/// kinds.
const std::map<std::string_view, Reader> &readers() {
  using C = const Cursor &;
  using N = const PlanNames &;
  static const std::map<std::string_view, Reader> table = {
      {"norm",
       [](C at, N, Attrs &a) {
         a.norm = choose<NormKind>(
             at, {{"rms", NormKind::Rms}, {"layer", NormKind::Layer}});
       }},
      {"eps", [](C at, N, Attrs &a) { a.eps = at.number(); }},
      {"weight_offset",
       [](C at, N, Attrs &a) { a.weightOffset = at.number(); }},
      {"width", [](C at, N, Attrs &a) { a.width = at.integer(); }},
      {"style",
       [](C at, N, Attrs &a) {
         a.style = choose<RopeStyle>(
             at, {{"half", RopeStyle::Half},
                  {"interleaved", RopeStyle::Interleaved},
                  {"interleaved_to_half", RopeStyle::InterleavedToHalf}});
       }},
      {"rotary", [](C at, N, Attrs &a) { a.rotary = at.integer(); }},
      {"scale", [](C at, N, Attrs &a) { a.scale = at.number(); }},
      {"causal", [](C at, N, Attrs &a) { a.causal = at.boolean(); }},
      {"window", [](C at, N, Attrs &a) { a.window = at.integer(); }},
      {"softcap", [](C at, N, Attrs &a) { a.softcap = at.number(); }},
      {"heads", [](C at, N, Attrs &a) { a.heads = at.integer(); }},
      {"kv_heads", [](C at, N, Attrs &a) { a.kvHeads = at.integer(); }},
      {"function",
       [](C at, N, Attrs &a) {
         a.function = choose<Function>(at, {{"silu", Function::Silu},
                                            {"gelu", Function::Gelu},
                                            {"gelu_tanh", Function::GeluTanh},
                                            {"relu", Function::Relu},
                                            {"sigmoid", Function::Sigmoid}});
       }},
      {"top_k", [](C at, N, Attrs &a) { a.topK = at.integer(); }},
      {"scoring",
       [](C at, N, Attrs &a) {
         a.scoring = choose<Scoring>(at, {{"softmax", Scoring::Softmax},
                                          {"sigmoid", Scoring::Sigmoid}});
       }},
      {"renormalize", [](C at, N, Attrs &a) { a.renormalize = at.boolean(); }},
      {"groups", [](C at, N, Attrs &a) { a.groups = at.integer(); }},
      {"chosen_groups",
       [](C at, N, Attrs &a) { a.chosenGroups = at.integer(); }},
      {"group_score",
       [](C at, N, Attrs &a) {
         a.groupScore = choose<GroupScore>(
             at, {{"max", GroupScore::Max}, {"top2_sum", GroupScore::Top2Sum}});
       }},
      {"limit", [](C at, N, Attrs &a) { a.limit = at.number(); }},
      {"alpha", [](C at, N, Attrs &a) { a.alpha = at.number(); }},
      {"up_offset", [](C at, N, Attrs &a) { a.upOffset = at.number(); }},
      {"factor", [](C at, N, Attrs &a) { a.factor = at.number(); }},
      {"begin", [](C at, N, Attrs &a) { a.begin = at.integer(); }},
      {"format",
       [](C at, N, Attrs &a) {
         a.format =
             choose<QuantFormat>(at, {{"fp8_e4m3", QuantFormat::Fp8E4M3},
                                      {"fp8_e5m2", QuantFormat::Fp8E5M2}});
       }},
      {"group_size", [](C at, N, Attrs &a) { a.groupSize = at.integer(); }},
      {"cap", [](C at, N, Attrs &a) { a.cap = at.number(); }},
      {"dim", [](C at, N, Attrs &a) { a.dim = at.integer(); }},
      {"range", [](C at, N n, Attrs &a) { a.range = n.ranges.resolve(at); }},
      {"group", [](C at, N n, Attrs &a) { a.group = n.groups.resolve(at); }},
      {"root", [](C at, N, Attrs &a) { a.root = at.integer(); }},
      {"experts", [](C at, N, Attrs &a) { a.experts = at.integer(); }},
      {"kernel",
       [](C at, N n, Attrs &a) { a.kernel = n.kernels.resolve(at); }}};
  return table;
}

} // namespace

void parseAttributes(const Cursor &step, const PlanNames &names, Step &into) {
  const StepKindInfo &info = into.info();
  auto isListed = [&](std::string_view key) {
    return std::any_of(
        info.attributes.begin(), info.attributes.end(),
        [&](const AttributeSpec &spec) { return spec.name == key; });
  };
  bool hasAttrs = step.has("attrs");
  if (hasAttrs)
    for (const auto &[key, value] : step.at("attrs").json().items())
      if (!isListed(key))
        step.at("attrs").fail("a '", info.name, "' step has no attribute '",
                              key, "'");
  for (std::size_t i = 0; i < info.attributes.size(); ++i) {
    const AttributeSpec &spec = info.attributes[i];
    if (!hasAttrs || !step.at("attrs").has(spec.name)) {
      if (spec.isOptional)
        continue;
      step.fail("a '", info.name, "' step needs the attribute '", spec.name,
                "'");
    }
    into.attrs.given |= std::uint32_t(1) << i;
    Cursor attrs = step.at("attrs");
    readers().at(spec.name)(attrs.at(spec.name), names, into.attrs);
  }
}

} // namespace layline::runtime
