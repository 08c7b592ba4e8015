//===- PlanFileTest.cpp - kv.json written, read, cut short and changed ----===//
#include "FakeMemory.h"
#include "KVModels.h"
#include "PlanEquality.h"
#include "RandomLayouts.h"

#include "kv/ParsePlan.h"
#include "layline/KV/PlanJSON.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <optional>
#include <random>

using namespace layline::kv;
using layline::runtime::Error;
using nlohmann::json;

namespace {

/// 4 layers of 4 heads; index keys too if it is latent.
Plan makePlan(const std::string &source, const std::string &target,
              bool isLatent = false, Profile profile = Profile::Optimised) {
  Model model = makeHeads("small", 4, 4);
  model.headDim = 2;
  if (isLatent) {
    model = makeLatents("small", 4, {1, 3});
    model.latentRank = 8;
    model.ropeDim = 0;
    model.indexDim = 4;
  }
  return layline::kv::makePlan(model, source, target, profile);
}

std::optional<Plan> planRandomly() {
  LayoutPair pair = makeLayoutPair();
  PlanOptions options = makePlanOptions();
  options.profile = seldom(2) ? Profile::SGLangCompat : Profile::Optimised;
  try {
    return planMigration(pair.model, parseSideSpec(pair.source),
                         parseSideSpec(pair.target), options);
  } catch (const Error &) {
    return std::nullopt;
  }
}

/// What is read can be bound, or the binding says why not.
void bindAll(const Plan &plan) {
  for (const Transfer &transfer : plan.transfers) {
    FakeMemory source(plan.source, transfer.source, 80, 1 << 20);
    FakeMemory target(plan.target, transfer.target, 80, 1 << 30);
    try {
      Binding binding(plan, {61, {0, 61}, true, 0, 3}, transfer.source,
                      transfer.target, source.memory, target.memory);
      std::int64_t left = 200;
      for (std::int64_t i = 0; i < binding.countDescriptors() && left; ++i) {
        std::uint64_t a, b, bytes;
        binding.fill(i, 1, &a, &b, &bytes);
        --left;
      }
    } catch (const Error &error) {
      REQUIRE(std::string(error.what()).size() > 10);
    }
  }
}

/// The message of reading a changed plan.
std::string readChanged(const json &document) {
  try {
    parsePlan(document.dump(), "kv.json");
  } catch (const Error &error) {
    return error.what();
  }
  return "accepted";
}

/// A number, a word or a list somewhere in the document.
json &pickPlace(json &document, std::mt19937_64 &random) {
  json *place = &document;
  while (place->is_structured() && !place->empty() && random() % 8) {
    auto element = place->begin();
    std::advance(element, random() % place->size());
    place = &*element;
  }
  return *place;
}

void change(json &document, std::mt19937_64 &random) {
  json &place = pickPlace(document, random);
  static const std::int64_t numbers[] = {
      -1,        0,        1, 2, 3, 5, 64, 1 << 20, std::int64_t(1) << 40,
      INT64_MAX, INT64_MIN};
  switch (random() % 6) {
  case 0:
    place = json();
    break;
  case 1:
    place = "word";
    break;
  case 2:
    if (place.is_array() && !place.empty())
      place.erase(random() % place.size());
    else if (place.is_object() && !place.empty())
      place.erase(std::next(place.begin(), random() % place.size()).key());
    break;
  case 3:
    if (place.is_array() && !place.empty())
      place.push_back(place[random() % place.size()]);
    break;
  default:
    if (place.is_number_integer() && random() % 2)
      place = place.get<std::int64_t>() + (random() % 2 ? 1 : -1);
    else
      place = numbers[random() % std::size(numbers)];
  }
}

} // namespace

TEST_CASE("plan file: what is written is read back") {
  std::int64_t planned = 0;
  bool isGood = rc::check("equal plans", [&] {
    std::optional<Plan> plan = planRandomly();
    if (!plan)
      return;
    ++planned;
    std::string text = toJSON(*plan);
    Plan read = parsePlan(text, "kv.json");
    RC_ASSERT(read == *plan);
    RC_ASSERT(toJSON(read) == text);
  });
  CHECK(isGood);
  CHECK(planned > 10);
}

TEST_CASE("plan file: every cut is an error") {
  std::string text = toJSON(makePlan("tp2,cp2,page4", "tp4,page4"));
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    try {
      parsePlan(text.substr(0, length), "kv.json");
      FAIL("a file cut to " << length << " bytes is accepted");
    } catch (const Error &error) {
      CHECK(error.status() == LAYLINE_UNREADABLE_FILE);
    }
  }
}

TEST_CASE("plan file: changed files are refused, or can be bound") {
  std::mt19937_64 random(5);
  std::int64_t refused = 0, accepted = 0;
  const Plan plans[] = {
      makePlan("tp2,cp2,page4", "tp4,page4"),
      makePlan("tp4,page4", "tp2,page4", false, Profile::SGLangCompat),
      makePlan("tp2,cp2,layersplit,interleave", "tp4", true),
      makePlan("tp4,pp1+3,page8", "tp4,dcp4,page4", true)};
  for (int i = 0; i < 300; ++i) {
    json document = json::parse(toJSON(plans[i % std::size(plans)]));
    change(document, random);
    std::optional<Plan> plan;
    try {
      plan = parsePlan(document.dump(), "kv.json");
      ++accepted;
    } catch (const Error &error) {
      ++refused;
      INFO(error.what());
      CHECK(std::string(error.what()).find("'kv.json': ") == 0);
      CHECK(error.status() != LAYLINE_INTERNAL);
    }
    if (plan)
      bindAll(*plan);
  }
  CHECK(refused > 150);
  CHECK(accepted > 10);
}

TEST_CASE("plan file: bytes changed anywhere do no harm") {
  std::mt19937_64 random(6);
  std::string text = toJSON(makePlan("tp2,cp2,page4", "tp4,page4"));
  for (int i = 0; i < 1000; ++i) {
    std::string other = text;
    for (int k = 0; k < 1 + i % 3; ++k)
      other[random() % other.size()] = static_cast<char>(random() % 256);
    try {
      bindAll(parsePlan(other, "kv.json"));
    } catch (const Error &error) {
      CHECK(error.status() != LAYLINE_INTERNAL);
    }
  }
}

TEST_CASE("plan file: the message says where, what and what else") {
  const json plan = json::parse(toJSON(makePlan("tp2,page4", "tp4,page4")));
  const json latent = json::parse(
      toJSON(makePlan("tp2,page4", "tp2,page4", true, Profile::SGLangCompat)));
  struct Case {
    const char *message;
    const json *plan;
    const char *path;
    json value;
  };
  const Case cases[] = {
      {"'kv.json': format: is 'plan'; 'layline-kv' is expected", &plan,
       "/format", "plan"},
      {"'kv.json': version: is '2.0'; this reader knows '1.0' and '1.1'", &plan,
       "/version", "2.0"},
      {"'kv.json': features[0]: needs the feature 'striping', which this "
       "reader does not have",
       &plan,
       "/features",
       {"striping"}},
      {"'kv.json': document: has an unknown key 'extra'", &plan, "/extra", 1},
      {"'kv.json': planes[0].dtype: is 'int3'; 'f32', 'bf16', 'f16', 'fp8' or "
       "'u8' is expected",
       &plan, "/planes/0/dtype", "int3"},
      {"'kv.json': planes[1].layers[2]: is layer 1 behind layer 1; ascending "
       "layers are expected",
       &plan, "/planes/1/layers/2", 1},
      {"'kv.json': source.planes[0].buffer: is 'x'; there is no buffer of this "
       "name",
       &plan, "/source/planes/0/buffer", "x"},
      {"'kv.json': source.planes[0].heads: is 4; of 4 heads in 2 parts 2 at "
       "each rank are expected",
       &plan, "/source/planes/0/heads", 4},
      {"'kv.json': target.planes[1]: its last byte is at 19 of a page of 16 "
       "bytes",
       &plan, "/target/planes/1/offset", 4},
      {"'kv.json': target.planes[1]: tokens 2 bytes apart and heads 4 bytes "
       "apart, of 4 bytes each, lie on one another",
       &plan, "/target/planes/1/token_stride", 2},
      {"'kv.json': source.planes: 'index_key' and 'index_scale' lie on one "
       "another in the pages of buffer 'index'",
       &latent, "/source/planes/2/offset", 15},
      {"'kv.json': source.buffers[0].page_bytes: is 2199023255552; 1 to "
       "1099511627776 are expected",
       &plan, "/source/buffers/0/page_bytes", std::int64_t(1) << 41},
      {"'kv.json': source.ranks[1].head_index: is 2; 0 to 1 are expected",
       &plan, "/source/ranks/1/head_index", 2},
      {"'kv.json': source.ranks[1].layers[0]: has layer 9, which no plane of "
       "buffer 'k' has",
       &plan, "/source/ranks/1/layers/0/3", 9},
      {"'kv.json': target.ranks[0].tokens.index: is 3; 0 to 1 are expected",
       &plan,
       "/target/ranks/0/tokens",
       {{"kind", "cyclic"},
        {"parts", 2},
        {"index", 3},
        {"unit", 1},
        {"of", "request"}}},
      {"'kv.json': target.ranks[0].tokens: what resides at a rank cannot "
       "depend on the room; a part of the request is expected",
       &plan,
       "/target/ranks/0/tokens",
       {{"kind", "room"}, {"parts", 2}, {"index", 1}}},
      {"'kv.json': transfers[1].target: is 4; there are 4", &plan,
       "/transfers/1/target", 4},
      {"'kv.json': transfers[1].moves[0].source_head: heads 2 to 2 (1) of "
       "plane 'k' are moved; a source rank holds 2",
       &plan, "/transfers/1/moves/0/source_head", 2},
      {"'kv.json': transfers[1].moves[0]: takes head 0 of plane 'k' to where "
       "the target keeps head 1; the same head is expected",
       &plan, "/transfers/1/moves/0/source_head", 0},
      {"'kv.json': transfers[0].moves[0].layers[0]: takes 5 buffers from "
       "number 0 of the source; buffer 'k' has [0, 4) there",
       &plan, "/transfers/0/moves/0/layers/0/2", 5},
      {"'kv.json': transfers[0].moves[0].layers[0]: pairs layer 0 of the "
       "source with layer 1 of the target, for plane 'k'; the same layer is "
       "expected",
       &plan,
       "/transfers/0/moves/0/layers/0",
       {0, 1, 3}},
      {"'kv.json': transfers[0].moves[0].share.parts: is 0; 1 to 1048576 are "
       "expected",
       &plan,
       "/transfers/0/moves/0/share",
       {{"kind", "room"}, {"parts", 0}, {"index", 0}}},
      {"'kv.json': transfers[0].packing: needs slots, but policy.slot_bytes is "
       "0",
       &plan, "/policy/slot_bytes", 0},
      {"'kv.json': transfers[0]: source rank 0 sends to target rank 0, but is "
       "not one of its responders",
       &plan, "/responders/0", json::array()},
      {"'kv.json': responders[1]: is object; an array is expected", &plan,
       "/responders/1", json::object()},
      {"'kv.json': transfers[1].moves[0].planes: whole pages are moved, which "
       "hold 2 planes, in the plan's order; 1 are given",
       &latent,
       "/transfers/1/moves/0/planes",
       {"index_key"}},
      {"'kv.json': transfers[0].moves[0].grain: tokens are dealt out in runs "
       "of 6, so that pages of 4 are not whole; a multiple is expected",
       &latent,
       "/transfers/0/moves/0/share",
       {{"kind", "contiguous"},
        {"parts", 2},
        {"index", 0},
        {"unit", 6},
        {"of", "request"}}},
  };
  for (const Case &test : cases) {
    json changed = *test.plan;
    changed[json::json_pointer(test.path)] = test.value;
    CHECK(readChanged(changed) == test.message);
  }
  CHECK(readChanged(plan) == "accepted");
  CHECK(readChanged(latent) == "accepted");
  json pages = latent;
  pages["target"]["page_tokens"] = 2;
  CHECK(readChanged(pages) ==
        "'kv.json': transfers[0].moves[0].grain: pages of 4 tokens cannot be "
        "moved whole to pages of 2");
  json twice = plan;
  twice["planes"].push_back(twice["planes"][0]);
  CHECK(readChanged(twice) == "'kv.json': planes: has 'k' at 0 and again at 2");
  json order = plan;
  std::swap(order["transfers"][0], order["transfers"][3]);
  CHECK(readChanged(order).find("order by target, then source, is expected") !=
        std::string::npos);
}
