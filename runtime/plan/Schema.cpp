#include "plan/Schema.h"

#include <nlohmann/json.hpp>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace layline::runtime {
namespace {

using nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;

// valijson compiles the regular expression of every "patternProperties" again
// for every object it meets, which alone would take seconds for a large plan.
// The only pattern is ^x-, and those keys are gone from the document.
void removePatterns(json &schema) {
  if (schema.is_object())
    schema.erase("patternProperties");
  if (schema.is_structured())
    for (json &child : schema)
      removePatterns(child);
}

const valijson::Schema &launchPlanSchema() {
  static const std::unique_ptr<const valijson::Schema> schema = [] {
    json text = json::parse(kLaunchPlanSchema);
    removePatterns(text);
    auto parsed = std::make_unique<valijson::Schema>();
    valijson::SchemaParser().populateSchema(Adapter(text), *parsed);
    return parsed;
  }();
  return *schema;
}

// ["<root>", "[variants]", "[0]"] as variants[0].
std::string path(const std::vector<std::string> &context) {
  std::string text;
  for (std::string part : context) {
    if (part == "<root>")
      continue;
    bool isBracketed = part.size() > 2 && part.front() == '[';
    std::string name = isBracketed ? part.substr(1, part.size() - 2) : part;
    bool isIndex = name.find_first_not_of("0123456789") == std::string::npos;
    if (isIndex)
      text += "[" + name + "]";
    else
      text += (text.empty() ? "" : ".") + name;
  }
  return text.empty() ? "document" : text;
}

} // namespace

void removeExtensions(json &document) {
  if (document.is_object())
    for (auto entry = document.begin(); entry != document.end();)
      entry = entry.key().rfind("x-", 0) == 0 ? document.erase(entry)
                                              : std::next(entry);
  if (document.is_structured())
    for (json &child : document)
      removeExtensions(child);
}

std::vector<std::string> validateAgainstSchema(const json &document) {
  constexpr std::size_t kMaxFindings = 20;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  // Collecting results costs time at every node: only done when it failed.
  if (validator.validate(launchPlanSchema(), Adapter(document), nullptr))
    return {};
  valijson::ValidationResults results;
  validator.validate(launchPlanSchema(), Adapter(document), &results);
  // The innermost finding comes first; the enclosing ones only repeat it.
  std::vector<std::string> lines;
  valijson::ValidationResults::Error error;
  std::size_t depth = 0;
  while (lines.size() < kMaxFindings && results.popError(error)) {
    if (error.context.size() >= depth)
      lines.push_back(path(error.context) + ": " + error.description);
    depth = error.context.size();
  }
  return lines;
}

} // namespace layline::runtime
