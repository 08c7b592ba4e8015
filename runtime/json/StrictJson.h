// JSON text to a document, with what a checked format needs beyond the grammar:
// a key given twice is an error (nlohmann/json would keep the last one), and
// nesting is bounded, so that recursion over the document is safe.
#ifndef LAYLINE_RUNTIME_JSON_STRICTJSON_H
#define LAYLINE_RUNTIME_JSON_STRICTJSON_H

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace layline::runtime {

/// Deepest nesting that a plan or a safetensors header may have.
inline constexpr int kMaxJsonDepth = 64;

/// False on failure, with one line in `error` that says where and what.
bool parseStrictJson(std::string_view text, nlohmann::json &document,
                     std::string &error);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_JSON_STRICTJSON_H
