//===- PlaceNameTest.cpp - the names that the importer gives places -------===//
#include "layline/Support/PlaceName.h"
#include <catch2/catch.hpp>

using namespace layline;

TEST_CASE("a place is a layer and a name") {
  PlaceName place = parsePlaceName("layer.17.o_proj");
  CHECK(place.layer == 17);
  CHECK(place.name == "o_proj");
  // Sites that are paid together are named for the first.
  place = parsePlaceName("layer.0.o_proj+layer.0.down_proj");
  CHECK(place.layer == 0);
  CHECK(place.name == "o_proj+layer.0.down_proj");
}

TEST_CASE("what has no layer is a name as it stands") {
  for (const char *text :
       {"final_norm", "", "layer.", "layer.x.norm", "layer.3", "layer.3.",
        "layer.-1.norm", "layers.3.norm", "layer.99999999999999999999.norm"}) {
    PlaceName place = parsePlaceName(text);
    CHECK(place.layer == -1);
    CHECK(place.name == text);
  }
}
