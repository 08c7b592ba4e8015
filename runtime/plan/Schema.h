// JSON Schema validation of a plan; the schema is built into the library.
#ifndef LAYLINE_RUNTIME_PLAN_SCHEMA_H
#define LAYLINE_RUNTIME_PLAN_SCHEMA_H

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace layline::runtime {

/// Text of data/schema/launch_plan.v1.schema.json.
extern const char kLaunchPlanSchema[];

/// Removes every key that begins with "x-"; readers ignore them.
void removeExtensions(nlohmann::json &document);

/// What contradicts the schema, one line each; empty if nothing does. The
/// document must be without extension keys.
std::vector<std::string> validateAgainstSchema(const nlohmann::json &document);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_SCHEMA_H
