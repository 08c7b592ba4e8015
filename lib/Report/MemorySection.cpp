//===- MemorySection.cpp - what a rank holds ------------------------------===//
#include "Sections.h"
#include <algorithm>
#include <cctype>

using namespace layline;
using namespace layline::report;

/// "model.layers.*.self_attn.q_proj.weight": numbers of layers and experts are
/// one name's.
static std::string withoutNumbers(const std::string &key) {
  std::string text;
  for (size_t i = 0; i < key.size(); ++i) {
    bool begins = i == 0 || key[i - 1] == '.';
    if (begins && std::isdigit(static_cast<unsigned char>(key[i]))) {
      size_t end = key.find_first_not_of("0123456789", i);
      if (end == std::string::npos || key[end] == '.') {
        text += '*';
        i = std::min(end, key.size()) - 1;
        continue;
      }
    }
    text += key[i];
  }
  return text;
}

ordered_json layline::report::memoryJSON(const PlanTexts &texts) {
  const runtime::Plan &plan = texts.plan;
  struct Kind {
    int64_t count = 0, bytes = 0;
    bool isWhole = true;
  };
  std::vector<std::pair<std::string, Kind>> kinds;
  std::map<std::string, size_t> known;
  int64_t total = 0;
  for (const runtime::Weight &weight : plan.weights) {
    std::string name = withoutNumbers(weight.key);
    // Windows of one stored tensor are weights of their own.
    auto [found, isNew] = known.try_emplace(name, kinds.size());
    if (isNew)
      kinds.push_back({name, {}});
    Kind &kind = kinds[found->second].second;
    ++kind.count;
    kind.bytes += weight.bytesPerRank;
    total += weight.bytesPerRank;
    for (const runtime::DimLayout &dim : weight.layout.dims)
      kind.isWhole &= !dim.isSplit();
  }
  ordered_json own = {{"weights", ordered_json::array()},
                      {"weight_bytes", total}};
  for (const auto &[name, kind] : kinds)
    own["weights"].push_back({{"name", name},
                              {"count", kind.count},
                              {"bytes", kind.bytes},
                              {"whole", kind.isWhole}});
  std::vector<int64_t> first(plan.axes.size(), 0);
  std::vector<runtime::Part> parts = plan.parts(plan.tokens.max, first);
  runtime::Environment environment;
  environment.tokens = plan.tokens.max;
  environment.coordinates = first.data();
  environment.parts = parts.data();
  std::vector<std::pair<std::string, int64_t>> planes;
  int64_t perToken = 0;
  for (const runtime::Cache &cache : plan.caches) {
    runtime::Layout layout = cache.layout;
    layout.dims.erase(layout.dims.begin());
    int64_t bytes =
        runtime::elements(localShape(runtime::constantShape(cache.rowShape),
                                     layout, environment)) *
        runtime::dtypeBytes(cache.dtype);
    perToken += bytes;
    auto found =
        std::find_if(planes.begin(), planes.end(), [&](const auto &plane) {
          return plane.first == cache.plane;
        });
    if (found == planes.end())
      planes.emplace_back(cache.plane, bytes);
    else
      found->second += bytes;
  }
  own["cache_bytes_per_token"] = perToken;
  own["caches"] = ordered_json::array();
  for (const auto &[plane, bytes] : planes)
    own["caches"].push_back({{"plane", plane}, {"bytes", bytes}});
  return own;
}
