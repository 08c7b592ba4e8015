#include "json/StrictJson.h"

#include <set>
#include <stdexcept>
#include <vector>

using nlohmann::json;

namespace layline::runtime {
namespace {

// nlohmann's message starts with "[json.exception.parse_error.101] ", which
// tells a reader of the message nothing.
std::string withoutPrefix(const char *what) {
  std::string text = what;
  std::size_t end = text.find("] ");
  return text.rfind("[json.", 0) == 0 && end != std::string::npos
             ? text.substr(end + 2)
             : text;
}

} // namespace

bool parseStrictJson(std::string_view text, json &document,
                     std::string &error) {
  std::vector<std::set<std::string>> keys;
  auto check = [&](int depth, json::parse_event_t event, json &value) {
    using Event = json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxJsonDepth)
        throw std::length_error("nested deeper than " +
                                std::to_string(kMaxJsonDepth) + " levels");
      if (event == Event::object_start)
        keys.emplace_back();
    } else if (event == Event::object_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      const std::string &key = value.get_ref<const std::string &>();
      if (!keys.back().insert(key).second)
        throw std::invalid_argument("key '" + key +
                                    "' stands twice in one object");
    }
    return true;
  };
  try {
    document = json::parse(text.begin(), text.end(), check);
    return true;
  } catch (const std::exception &exception) {
    error = withoutPrefix(exception.what());
  }
  return false;
}

} // namespace layline::runtime
