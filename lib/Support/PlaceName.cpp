//===- PlaceName.cpp - the names that the importer gives places -----------===//
#include "layline/Support/PlaceName.h"
#include <charconv>

using namespace layline;

PlaceName layline::parsePlaceName(std::string_view place) {
  constexpr std::string_view prefix = "layer.";
  const PlaceName whole = {-1, place};
  if (place.substr(0, prefix.size()) != prefix)
    return whole;
  const char *end = place.data() + place.size();
  int64_t layer = 0;
  auto [rest, error] =
      std::from_chars(place.data() + prefix.size(), end, layer);
  if (error != std::errc() || layer < 0 || rest == end || *rest != '.' ||
      rest + 1 == end)
    return whole;
  return {layer, place.substr(static_cast<size_t>(rest + 1 - place.data()))};
}
