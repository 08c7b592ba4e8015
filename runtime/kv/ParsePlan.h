// kv.json to a checked Plan. docs/kv.md has the format.
#ifndef LAYLINE_RUNTIME_KV_PARSEPLAN_H
#define LAYLINE_RUNTIME_KV_PARSEPLAN_H

#include "kv/Plan.h"

#include <string>
#include <string_view>

namespace layline::kv {

/// What the file says that it is. A later minor version only adds what its
/// `features` name.
inline constexpr const char *kFormat = "layline-kv";
inline constexpr const char *kVersion = "1.1";
/// Without the features: readiness, lifetimes, slots and digests follow from
/// the transfers.
inline constexpr const char *kFirstVersion = "1.0";
inline constexpr const char *kFeatures[] = {"readiness", "lifetimes",
                                            "relay_slots", "layout_digests"};
/// Further, of a plan of either version with ranks that keep pages by their
/// numbers.
inline constexpr const char *kPageNumberFeature = "page_number";

/// Reads and checks a plan. `name` stands for the text in messages. Throws
/// runtime::Error: where (a path into the document), what was found, what was
/// expected.
Plan parsePlan(std::string_view text, const std::string &name);

/// The same from a file.
Plan readPlan(const std::string &path);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PARSEPLAN_H
