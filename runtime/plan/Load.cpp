#include "plan/Load.h"

#include "plan/Check.h"
#include "plan/Parse.h"
#include "plan/Schema.h"
#include "json/StrictJson.h"

#include <algorithm>

namespace layline::runtime {
namespace {

constexpr const char *kKnownFeatures[] = {
    "kv_cache",       "fused_steps",     "segmented_ranges", "columns",
    "routing",        "attention_sinks", "latent_attention", "periodic_rows",
    "softcap",        "stored_layouts",  "row_statistics",   "quantized_rows",
    "expert_parallel"};
constexpr std::int64_t kMajor = 1, kMinor = 2;

// Before the schema: a newer format may look different.
void checkVersion(const nlohmann::json &document) {
  Cursor root(document);
  if (!document.is_object())
    root.fail("is ", document.type_name(), "; an object is expected");
  if (root.at("schema").string() != "layline.launch_plan")
    root.at("schema").fail("is '", root.at("schema").string(),
                           "'; 'layline.launch_plan' is expected");
  Cursor version = root.at("version");
  if (!version.json().is_object())
    version.fail("is ", version.json().type_name(), "; an object is expected");
  if (std::int64_t major = version.at("major").integer(); major != kMajor)
    fail(LAYLINE_REFUSED_FEATURE, "version.major: is ", major,
         "; this reader knows ", kMajor);
  Cursor features = root.at("requires");
  if (!features.json().is_array())
    features.fail("is ", features.json().type_name(), "; an array is expected");
  for (std::size_t i = 0; i < features.size(); ++i) {
    const std::string &feature = features.at(i).string();
    if (std::find(std::begin(kKnownFeatures), std::end(kKnownFeatures),
                  feature) == std::end(kKnownFeatures))
      fail(LAYLINE_REFUSED_FEATURE, "requires[", i, "]: needs the feature '",
           feature, "', which this reader does not have");
  }
}

bool isNewer(const nlohmann::json &document) {
  const nlohmann::json &minor =
      document["version"].value("minor", nlohmann::json());
  return minor.is_number_integer() && minor.get<std::int64_t>() > kMinor;
}

std::vector<std::string> checkPlan(const Plan &plan) {
  Findings findings;
  checkFeatures(plan, findings);
  checkRanges(plan, findings);
  checkFlagKeys(plan, findings);
  checkVariants(plan, findings);
  checkFeatures(plan, findings);
  if (findings.empty())
    checkStorage(plan, findings);
  if (findings.empty())
    checkContracts(plan, findings);
  if (findings.empty())
    checkRouting(plan, findings);
  if (findings.empty())
    checkOrder(plan, findings);
  if (findings.empty())
    checkLifetimes(plan, findings);
  return findings.lines();
}

} // namespace

LoadedPlan loadPlan(std::string_view text, const std::string &name) {
  LoadedPlan loaded;
  auto found = [&](layline_status status, const std::string &line) {
    loaded.status = status;
    loaded.findings.push_back("'" + name + "': " + line);
  };
  try {
    nlohmann::json document;
    std::string problem;
    if (!parseStrictJson(text, document, problem)) {
      found(LAYLINE_UNREADABLE_FILE, "not a JSON document: " + problem);
      return loaded;
    }
    removeExtensions(document);
    checkVersion(document);
    for (const std::string &line : validateAgainstSchema(document))
      found(LAYLINE_INVALID_PLAN,
            line + (isNewer(document)
                        ? " (the plan is of a newer minor version)"
                        : ""));
    if (!loaded.findings.empty())
      return loaded;
    loaded.plan = parsePlan(document, name);
    for (const std::string &line : checkPlan(loaded.plan))
      found(LAYLINE_INVALID_PLAN, line);
  } catch (const Error &error) {
    found(error.status(), error.what());
  }
  return loaded;
}

} // namespace layline::runtime
