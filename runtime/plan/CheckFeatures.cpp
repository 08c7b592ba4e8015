#include "plan/Check.h"

#include "plan/StepContract.h"

#include <algorithm>

namespace layline::runtime {
namespace {

/// Values of attributes that came after format 1.0.
const char *featureOf(const StepAttributes &attrs, const AttributeSpec &spec) {
  if (spec.name == std::string_view("function") &&
      attrs.function == Function::Sigmoid)
    return "columns";
  if (spec.name == std::string_view("style") &&
      attrs.style == RopeStyle::InterleavedToHalf)
    return "latent_attention";
  return spec.feature;
}

bool isRequired(const Plan &plan, const char *feature) {
  return std::find(plan.features.begin(), plan.features.end(), feature) !=
         plan.features.end();
}

void checkWeight(const Plan &plan, const Weight &weight) {
  if (weight.period != 0 && !isRequired(plan, "periodic_rows"))
    invalid("weight '", weight.id,
            "' has a period; 'requires' does not list the feature "
            "'periodic_rows'");
  if ((weight.storedStack || weight.isTransposed) &&
      !isRequired(plan, "stored_layouts"))
    invalid("weight '", weight.id,
            "' is stored as a stack or transposed; 'requires' does not list "
            "the feature 'stored_layouts'");
}

void checkStep(const Plan &plan, const Variant &variant, const Step &step) {
  auto need = [&](const char *feature, const auto &...what) {
    if (!feature || isRequired(plan, feature))
      return;
    StepContract{plan, variant, step}.fail(
        what..., "; 'requires' does not list the feature '", feature, "'");
  };
  const StepKindInfo &info = step.info();
  need(info.feature, "is of this kind");
  for (std::size_t i = 0; i < info.args.size(); ++i)
    if (!step.args[i].empty())
      need(info.args[i].feature, "has the argument '", info.args[i].name, "'");
  for (std::size_t i = 0; i < info.attributes.size(); ++i)
    if (step.attrs.given >> i & 1)
      need(featureOf(step.attrs, info.attributes[i]), "has this '",
           info.attributes[i].name, "'");
}

} // namespace

void checkFeatures(const Plan &plan, Findings &findings) {
  for (const Weight &weight : plan.weights)
    findings.of([&] { checkWeight(plan, weight); });
  for (const Variant &variant : plan.variants)
    for (const Step &step : variant.steps) {
      findings.of([&] { checkStep(plan, variant, step); });
      for (const Step &inner : step.body)
        findings.of([&] { checkStep(plan, variant, inner); });
    }
}

} // namespace layline::runtime
