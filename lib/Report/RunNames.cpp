//===- RunNames.cpp - names and numbers of a recording --------------------===//
#include "RunNames.h"
#include "layline/Trace/KernelFamilies.h"
#include <filesystem>

using namespace layline;

std::string layline::report::shortKernelName(const std::string &name,
                                             size_t longest) {
  std::string normal = trace::normaliseName(name), text;
  int depth = 0;
  for (size_t i = 0; i < normal.size(); ++i) {
    if (normal.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      text += depth ? "" : "(anon)";
      continue;
    }
    depth += normal[i] == '<';
    // Arguments behind the name; a copy's direction is in brackets too.
    if (depth == 0 && normal[i] == '(' && !text.empty() &&
        normal.compare(0, 6, "Memcpy") != 0)
      break;
    if (depth == 0)
      text += normal[i];
    depth -= normal[i] == '>' && depth > 0;
  }
  return text.size() > longest ? text.substr(0, longest - 3) + "..." : text;
}

nlohmann::ordered_json layline::report::orNull(int64_t number) {
  return number < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(number);
}

std::string layline::report::fileName(const std::string &path) {
  return std::filesystem::path(path).filename().string();
}
