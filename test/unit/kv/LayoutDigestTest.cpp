//===- LayoutDigestTest.cpp - keys of pages in stores ---------------------===//
//
// Stores that left owners or stages out of their keys gave pages of one layout
// to another (sglang#37122, pegaflow#367).
//
//===----------------------------------------------------------------------===//
#include "KVModels.h"

#include "kv/CheckCompletion.h"
#include "kv/LayoutDigest.h"
#include "kv/Sha256.h"

#include <catch2/catch.hpp>

#include <map>
#include <set>

using namespace layline::kv;
using Catch::Matchers::Contains;

namespace {

/// A plan with nothing but its source.
Plan makeSource(const Model &model, const std::string &text) {
  SideSpec spec = parseSideSpec(text);
  Plan plan;
  plan.model = model.name;
  plan.planes = makePlanes(model, spec.dtype);
  plan.source = makeSide(model, spec, plan.planes);
  return plan;
}

/// Of what a rank keeps of its first buffer, as one.
std::string getDigest(const Model &model, const std::string &spec,
                      std::size_t rank = 0) {
  Plan plan = makeSource(model, spec);
  return getLayoutDigests(plan, plan.source).at(rank).at(0);
}

/// Of one page.
std::string getPageDigest(const Model &model, const std::string &spec,
                          std::size_t rank, std::int64_t layer) {
  Plan plan = makeSource(model, spec);
  return getLayoutDigest(plan, plan.source, plan.source.ranks.at(rank), 0,
                         {layer});
}

} // namespace

TEST_CASE("sha-256: the examples of FIPS 180-4 and lengths around a block") {
  CHECK(getSha256("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb4"
                            "10ff61f20015ad");
  CHECK(getSha256("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495"
                         "991b7852b855");
  CHECK(getSha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(getSha256(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  std::set<std::string> digests;
  for (std::size_t length = 0; length < 200; ++length)
    digests.insert(getSha256(std::string(length, 'x')));
  CHECK(digests.size() == 200);
}

TEST_CASE("digests: layouts that differ have different keys") {
  const Model model = makeSmall();
  Model renamed = model, wider = model, window = model;
  renamed.name = "other";
  wider.headDim = 4;
  window.window = 8;
  window.windowLayers = window.kvLayers;
  window.kvLayers.clear();
  // Rank 0 of each keeps other bytes in a page, or others of the request.
  std::map<std::string, std::string> digests = {
      {"heads", getDigest(model, "tp1,page4")},
      {"another model", getDigest(renamed, "tp1,page4")},
      {"wider heads", getDigest(wider, "tp1,page4")},
      {"a window", getDigest(window, "tp1,page4")},
      {"another page", getDigest(model, "tp1,page8")},
      {"heads in front", getDigest(model, "tp1,page4,hnd")},
      {"another type", getDigest(model, "tp1,page4,f16")},
      {"fewer bytes", getDigest(model, "tp1,page4,fp8")},
      {"half of the heads", getDigest(model, "tp2,page4")},
      {"the other half", getDigest(model, "tp2,page4", 1)},
      {"a quarter", getDigest(model, "tp4,page4")},
      {"stage 0", getDigest(model, "tp1,pp2,page4")},
      {"stage 1", getDigest(model, "tp1,pp2,page4", 1)},
      {"every second page", getDigest(model, "tp1,cp2,pagesplit,page4")},
      {"the others", getDigest(model, "tp1,cp2,pagesplit,page4", 1)},
      {"tokens of a zigzag", getDigest(model, "tp1,cp2,cpstore,page4")},
      {"tokens of a half",
       getDigest(model, "tp1,cp2,cpstore,contiguous,page4")},
      {"latents", getDigest(makeSmallLatents(2, false), "tp1,page4")},
      {"latents and index",
       getDigest(makeSmallLatents(2, true), "tp1,page4,fp8")},
      {"owner of layer 0", getDigest(makeSmallLatents(2, false),
                                     "tp1,cp2,layersplit,interleave,page4")},
      {"owner of layer 1", getDigest(makeSmallLatents(2, false),
                                     "tp1,cp2,layersplit,interleave,page4", 1)},
      {"dcp", getDigest(makeSmallLatents(2, false), "tp2,dcp2,page4")},
      {"dcp in runs",
       getDigest(makeSmallLatents(2, false), "tp2,dcp2:2,page4")},
  };
  std::map<std::string, std::string> known;
  for (const auto &[name, digest] : digests) {
    CHECK(digest.size() == 64);
    auto [entry, isNew] = known.try_emplace(digest, name);
    INFO(name << " and " << entry->second);
    CHECK(isNew);
  }
}

TEST_CASE("digests: equal bytes have equal keys, whatever they are called") {
  const Model model = makeSmall();
  std::string one = getDigest(model, "tp1,page4");
  CHECK(getDigest(model, "page4,tp1,nhd") == one);
  CHECK(getDigest(model, "tp1,page4,bf16") == one);
  // Gathered over cp, and copies: every rank keeps all of it.
  for (std::size_t rank = 0; rank < 4; ++rank)
    CHECK(getDigest(model, "tp1,cp4,page4", rank) == one);
  // Two heads on four ranks.
  Model two = model;
  two.kvHeads = 2;
  CHECK(getDigest(two, "tp4,page4", 0) == getDigest(two, "tp4,page4", 1));
  CHECK(getDigest(two, "tp4,page4", 1) != getDigest(two, "tp4,page4", 2));
}

TEST_CASE("digests: a page is of one layer, whoever owns others") {
  const Model model = makeSmallLatents(4, false);
  std::string page = getPageDigest(model, "tp1,page4", 0, 2);
  CHECK(getPageDigest(model, "tp1,page4", 0, 3) != page);
  // A page of layer 2 has the same bytes at its stage and at its owner.
  CHECK(getPageDigest(model, "tp1,pp2,page4", 1, 2) == page);
  CHECK(getPageDigest(model, "tp1,cp2,layersplit,interleave,page4", 1, 2) ==
        page);
}

TEST_CASE("digests: one that is not of the layout is found") {
  Plan plan = makePlan(makeSmall(), "tp2,page4", "tp4,page4");
  REQUIRE(findCompletionFault(plan).empty());
  SECTION("of another rank") {
    plan.sourceDigests[1] = plan.sourceDigests[0];
    CHECK_THAT(findCompletionFault(plan),
               Contains("digests.source[1][0]: is '" +
                        plan.sourceDigests[0][0] +
                        "'; pages of buffer 'k' of "
                        "this rank are '"));
  }
  SECTION("a layout that was changed behind it") {
    plan.target.pageTokens = 2;
    CHECK_THAT(findCompletionFault(plan), Contains("digests.target[0][0]"));
  }
  SECTION("none") {
    plan.targetDigests.pop_back();
    CHECK_THAT(findCompletionFault(plan),
               Contains("digests.target: has 3 lists; one for each of 4"));
  }
}
