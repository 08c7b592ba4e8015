//===- StepKinds.cpp - what each kind of step takes -----------------------===//
#include "dialects/Launch/StepKinds.h"
#include "dialects/Launch/Launch.h"
#include "llvm/ADT/STLExtras.h"
#include <array>

using namespace layline::launch;
using llvm::StringLiteral;

const RoleSpec *StepKindInfo::findRole(llvm::StringRef name) const {
  auto *found = llvm::find_if(roles, [&](auto &r) { return r.name == name; });
  return found == roles.end() ? nullptr : found;
}

const KindAttrSpec *StepKindInfo::findAttr(llvm::StringRef name) const {
  auto *found = llvm::find_if(attrs, [&](auto &a) { return a.name == name; });
  return found == attrs.end() ? nullptr : found;
}

static RoleSpec in(StringLiteral name, Element element = Element::Float) {
  return {name, Takes::Buffer, element};
}
static RoleSpec out(StringLiteral name, Element element = Element::Float) {
  return {name, Takes::Buffer, element, /*isOutput=*/true};
}
static RoleSpec weight(StringLiteral name, bool isOptional = false) {
  return {name, Takes::Weight, Element::Float, /*isOutput=*/false, isOptional};
}
/// A weight that readers of 1.0 do not know.
static RoleSpec later(StringLiteral name, StringLiteral feature) {
  return {name,
          Takes::Weight,
          Element::Float,
          /*isOutput=*/false,
          /*isOptional=*/true,
          /*isList=*/false,
          feature};
}
static RoleSpec cache(StringLiteral name, Element element,
                      bool isOutput = false) {
  return {name, Takes::Cache, element, isOutput};
}
static RoleSpec list(StringLiteral name, Takes takes, Element element,
                     bool isOutput = false) {
  return {name,           takes, element, isOutput, /*isOptional=*/false,
          /*isList=*/true};
}

static constexpr StringLiteral kColumns = "columns", kRouting = "routing",
                               kSinks = "attention_sinks",
                               kLatent = "latent_attention",
                               kSoftcap = "softcap",
                               kRowStatistics = "row_statistics",
                               kQuantized = "quantized_rows",
                               kExpertParallel = "expert_parallel";

static constexpr auto kInteger = Element::Integer;
static constexpr auto kAny = Element::Any;

static std::array<StepKindInfo, getMaxEnumValForStepKind() + 1> makeTable() {
  using A = AttrType;
  RoleSpec input = in("input"), output = out("output");
  RoleSpec anyInput = in("input", kAny), anyOutput = out("output", kAny);
  RoleSpec addends = list("inputs", Takes::Buffer, Element::Float);
  RoleSpec selection = in("selection", kInteger);
  selection.isOptional = true;
  KindAttrSpec function{"function", A::String}, group{"group", A::Symbol},
      dim{"dim", A::Integer}, range{"range", A::Symbol};
  constexpr bool collective = true, isExtern = true;
  // In the order of the enum.
  return {{
      {{in("ids", kInteger), weight("weight"), output}, {}},
      {{input, weight("weight"), weight("bias", true), output},
       {{"norm", A::String}, {"eps", A::Number}, {"weight_offset", A::Number}}},
      {{input, weight("weight"), weight("bias", true), output},
       {},
       !collective,
       isExtern},
      {{input,
        in("positions", kInteger),
        {"table", Takes::Table, kAny},
        output},
       {{"style", A::String}, {"rotary", A::Integer}}},
      {{anyInput, cache("cache", kAny, /*isOutput=*/true)}, {}},
      {{in("query"), cache("keys", Element::Float),
        cache("values", Element::Float), in("positions", kInteger),
        cache("key_positions", kInteger), later("sinks", kSinks), output},
       {{"scale", A::Number},
        {"causal", A::Bool},
        {"window", A::Integer, true},
        {"softcap", A::Number, true, kSoftcap},
        {"heads", A::Integer},
        {"kv_heads", A::Integer}},
       !collective,
       isExtern},
      {{input, output}, {function}},
      {{in("gate"), in("up"), output}, {function}},
      {{in("logits"), later("bias", kRouting), out("ids", kInteger),
        out("weights")},
       {{"top_k", A::Integer},
        {"scoring", A::String},
        {"renormalize", A::Bool},
        {"scale", A::Number},
        {"groups", A::Integer, true, kRouting},
        {"chosen_groups", A::Integer, true, kRouting},
        {"group_score", A::String, true, kRouting}}},
      {{input, in("ids", kInteger), in("weights"), weight("gate"), weight("up"),
        weight("down"), later("gate_bias", kRouting),
        later("up_bias", kRouting), output},
       {function,
        {"limit", A::Number, true, kRouting},
        {"alpha", A::Number, true, kRouting},
        {"up_offset", A::Number, true, kRouting}},
       !collective,
       isExtern},
      {{addends, output}, {}},
      {{input, weight("bias"), output}, {}},
      {{addends, output}, {}},
      {{input, output}, {{"factor", A::Number}}},
      {{anyInput, anyOutput}, {}},
      {{anyInput, anyOutput}, {dim, range}},
      {{input, output}, {group}, collective},
      {{input, output}, {group, dim, range}, collective},
      {{anyInput, anyOutput}, {group, dim, range}, collective},
      {{anyInput, anyOutput}, {group, {"root", A::Integer}}, collective},
      {{list("inputs", Takes::Any, kAny),
        list("outputs", Takes::Any, kAny, true)},
       {{"kernel", A::Symbol}}},
      {{input, output},
       {{"begin", A::Integer}},
       !collective,
       !isExtern,
       kColumns},
      {{addends, output}, {}, !collective, !isExtern, kColumns},
      {{input, in("scales"), output}, {}, !collective, !isExtern, kColumns},
      {{input, in("ids", kInteger), in("weights"), weight("bias"), output},
       {},
       !collective,
       !isExtern,
       kRouting},
      {{in("query_nope"), in("query_rope"), cache("latent", Element::Float),
        cache("rope_key", Element::Float), weight("key_up"), weight("value_up"),
        in("positions", kInteger), cache("key_positions", kInteger), selection,
        output},
       {{"scale", A::Number}, {"causal", A::Bool}, {"heads", A::Integer}},
       !collective,
       isExtern,
       kLatent},
      {{in("query"), cache("keys", Element::Float), in("weights"),
        in("positions", kInteger), cache("key_positions", kInteger),
        out("selection", kInteger), out("scores")},
       {{"top_k", A::Integer}, {"scale", A::Number}, {"causal", A::Bool}},
       !collective,
       isExtern,
       kLatent},
      {{input, output}, {{"cap", A::Number}}, !collective, !isExtern, kSoftcap},
      {{input, output}, {}, !collective, !isExtern, kRowStatistics},
      {{input, in("statistics"), weight("weight"), output},
       {{"eps", A::Number}, {"width", A::Integer}},
       !collective,
       !isExtern,
       kRowStatistics},
      {{input, out("values", Element::Quantized), out("scales")},
       {{"format", A::String}, {"group_size", A::Integer, true}},
       !collective,
       !isExtern,
       kQuantized},
      {{in("values", Element::Quantized), in("scales"), output},
       {},
       !collective,
       !isExtern,
       kQuantized},
      {{input, in("ids", kInteger), in("weights"), output,
        out("output_ids", kInteger), out("output_weights")},
       {group, range, {"experts", A::Integer}},
       collective,
       !isExtern,
       kExpertParallel},
      {{input, in("ids", kInteger), output},
       {group, range, {"experts", A::Integer}},
       collective,
       !isExtern,
       kExpertParallel},
  }};
}

const StepKindInfo &layline::launch::getInfo(StepKind kind) {
  static const auto table = makeTable();
  return table[static_cast<uint32_t>(kind)];
}

/// Attributes of known names with values that came later.
static llvm::StringRef getFeature(llvm::StringRef attr, mlir::Attribute value) {
  struct Later {
    StringLiteral attr, value, feature;
  };
  static constexpr Later table[] = {{"function", "sigmoid", kColumns},
                                    {"style", "interleaved_to_half", kLatent}};
  auto text = llvm::dyn_cast<mlir::StringAttr>(value);
  for (const Later &later : table)
    if (text && attr == later.attr && text.getValue() == later.value)
      return later.feature;
  return "";
}

void layline::launch::addFeatures(StepOp step,
                                  llvm::SetVector<llvm::StringRef> &features) {
  auto add = [&](llvm::StringRef feature) {
    if (!feature.empty())
      features.insert(feature);
  };
  step.forEachLeaf([&](StepOp leaf) {
    const StepKindInfo &info = getInfo(leaf.getKind());
    add(info.feature);
    leaf.forEachArgument(
        [&](const Argument &argument) { add(argument.role->feature); });
    for (const KindAttrSpec &spec : info.attrs)
      if (mlir::Attribute value = leaf.getKindAttr(spec.name)) {
        add(spec.feature);
        add(getFeature(spec.name, value));
      }
  });
}
