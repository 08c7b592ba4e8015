//===- WorkedTest.cpp - worked cases of real models -----------------------===//
//
// Numbers of each case were worked out by hand from the layouts, some of them
// measured by others (named where they are). Batches, descriptors, bytes and
// work requests are counted each.
//
//===----------------------------------------------------------------------===//
#include "KVModels.h"

#include "layline/KV/Planner.h"
#include "layline/KV/Report.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>

using namespace layline::kv;

namespace {

Model makeHeads(std::int64_t layers, std::int64_t heads) {
  return layline::kv::makeHeads("heads", layers, heads);
}

/// DeepSeek-V3.2 and GLM-5: latents of 512 + 64, index keys of 128.
Model makeSparse(std::int64_t layers) {
  return makeLatents("sparse", layers, countLayers(layers));
}

struct Case {
  Plan plan;
  MigrationTraffic traffic;
};

Case measure(const Model &model, const char *from, const char *to,
             Profile profile, std::int64_t tokens = 4096,
             SenderRule senders = SenderRule::All,
             PageOrder pages = PageOrder::Contiguous, std::int64_t chunk = 0,
             std::int64_t packBelow = 16384) {
  PlanOptions options;
  options.profile = profile;
  options.senders = senders;
  options.packBelow = packBelow;
  Case result;
  result.plan =
      planMigration(model, parseSideSpec(from), parseSideSpec(to), options);
  TrafficOptions request;
  request.tokens = tokens;
  request.chunk = chunk;
  request.pages = pages;
  result.traffic = measureTraffic(result.plan, request);
  return result;
}

constexpr Profile kCompat = Profile::SGLangCompat;
constexpr Profile kOptimised = Profile::Optimised;
constexpr PageOrder kFragmented = PageOrder::Fragmented;

/// The part of a case that goes with every chunk, or with the last one.
Case keep(Case found, bool isWithLastChunk, std::int64_t tokens,
          PageOrder pages = PageOrder::Contiguous) {
  std::vector<Transfer> kept;
  for (Transfer &transfer : found.plan.transfers)
    if (transfer.isWithLastChunk == isWithLastChunk)
      kept.push_back(transfer);
  found.plan.transfers = kept;
  TrafficOptions request;
  request.tokens = tokens;
  request.pages = pages;
  found.traffic = measureTraffic(found.plan, request);
  return found;
}

void requireCounts(const Traffic &found, std::int64_t batches,
                   std::int64_t descriptors, std::int64_t bytes) {
  CHECK(found.batches == batches);
  CHECK(found.descriptors == descriptors);
  CHECK(found.bytes == bytes);
}

} // namespace

TEST_CASE("Qwen3-30B, prefill tp 1 x cp 4 to decode tp 4") {
  Model model = makeHeads(48, 4);
  SECTION("all cp ranks send, as SGLang does") {
    Case found = measure(model, "tp1,cp4", "tp4", kCompat);
    REQUIRE(found.traffic.pairs.size() == 16);
    for (const PairTraffic &pair : found.traffic.pairs) {
      requireCounts(pair.traffic, 96, 98304, 25165824);
      CHECK(pair.traffic.largestBatch == 1024);
      CHECK(pair.traffic.largestBatchBytes == 262144);
      CHECK(pair.traffic.blockBytes == 256);
      CHECK(pair.traffic.sourceStep == 1024);
      CHECK(pair.traffic.targetStep == 256);
    }
    requireCounts(found.traffic.total, 1536, 1572864, 402653184);
    for (const std::vector<int> &responders : found.plan.responders)
      CHECK(responders == std::vector<int>{0, 1, 2, 3});
  }
  SECTION("cp rank 0 sends") {
    Case found =
        measure(model, "tp1,cp4", "tp4", kCompat, 4096, SenderRule::First);
    REQUIRE(found.traffic.pairs.size() == 4);
    for (const PairTraffic &pair : found.traffic.pairs) {
      requireCounts(pair.traffic, 96, 393216, 100663296);
      CHECK(pair.traffic.largestBatchBytes == 1 << 20);
    }
    requireCounts(found.traffic.total, 384, 1572864, 402653184);
    CHECK(found.traffic.imbalance == Approx(4));
  }
  SECTION("packed: the same bytes, 1/1024 of the descriptors") {
    Case found = measure(model, "tp1,cp4", "tp4", kOptimised);
    for (const PairTraffic &pair : found.traffic.pairs) {
      requireCounts(pair.traffic, 1, 96, 25165824);
      CHECK(pair.traffic.workRequests == 384);
    }
    CHECK(found.traffic.total.workRequests == 6144);
    CHECK(found.traffic.total.bytes == 402653184);
    CHECK(found.traffic.imbalance == Approx(1));
  }
}

TEST_CASE("equal tp sends pages") {
  Model model = makeHeads(48, 4);
  Case found = measure(model, "tp4", "tp4", kCompat);
  requireCounts(found.traffic.pairs[0].traffic, 1, 96, 96 << 20);
  found =
      measure(model, "tp4", "tp4", kCompat, 4096, SenderRule::All, kFragmented);
  requireCounts(found.traffic.pairs[0].traffic, 1, 6144, 6144 * 16384);
}

TEST_CASE("heads in front: one run of a page for each head") {
  Model model = makeHeads(48, 4);
  Case small = measure(model, "hnd,page16", "tp4,hnd,page16", kOptimised, 4096,
                       SenderRule::All, PageOrder::Contiguous, 0, 0);
  CHECK(small.traffic.byTarget[0].descriptors == 24576);
  CHECK(small.traffic.byTarget[0].bytes == 24576 * 4096);
  Case large = measure(model, "hnd,page64", "tp4,hnd,page64", kOptimised, 4096,
                       SenderRule::All, PageOrder::Contiguous, 0, 0);
  CHECK(large.traffic.byTarget[0].descriptors == 6144);
}

TEST_CASE("Qwen3-235B, tp 4 x cp 2 to tp 8: heads on two ranks") {
  Model model = makeHeads(94, 4);
  Case found = measure(model, "tp4,cp2", "tp8", kCompat);
  requireCounts(found.traffic.pairs[0].traffic, 188, 385024, 98566144);
  // Each prefill rank serves two decode ranks.
  std::vector<int> served;
  for (const PairTraffic &pair : found.traffic.pairs)
    if (pair.source == 1)
      served.push_back(pair.target);
  CHECK(served == std::vector<int>{2, 3});
  // Rows of one head lie side by side on both sides. Whoever has the head twice
  // gets it whole from one of the two cp ranks.
  found = measure(model, "tp4,cp2", "tp8", kOptimised);
  CHECK(found.traffic.pairs[0].traffic.descriptors == 188);
  CHECK(found.traffic.total.packedBytes == 0);
  CHECK(found.traffic.imbalance == Approx(1));
}

TEST_CASE("replicated heads of a source are sent once") {
  Model model = makeHeads(48, 4);
  CHECK(measure(model, "tp8", "tp2", kCompat).traffic.total.bytes == 805306368);
  CHECK(measure(model, "tp8", "tp2", kOptimised).traffic.total.bytes ==
        402653184);
}

TEST_CASE("computing over cp") {
  auto pairs = [](const std::vector<Interval> &own) {
    std::int64_t sum = 0;
    for (const Interval &i : own)
      sum += (i.end * (i.end + 1) - i.begin * (i.begin + 1)) / 2;
    return sum;
  };
  SideSpec zigzag = parseSideSpec("cp4"),
           contiguous = parseSideSpec("cp4,contiguous"),
           interleave = parseSideSpec("cp4,interleave");
  const std::int64_t expected[] = {524800, 1573376, 2621952, 3670528};
  const std::int64_t same[] = {512, 0, 512, 0};
  for (std::int64_t r = 0; r < 4; ++r) {
    CHECK(pairs(getComputed(zigzag, r, {0, 4096})) == 2097664);
    CHECK(pairs(getComputed(contiguous, r, {0, 4096})) == expected[r]);
    std::int64_t cyclic = pairs(getComputed(interleave, r, {0, 4096}));
    CHECK(cyclic >= 2096128);
    CHECK(cyclic <= 2099200);
    // What a rank both computes and sends, of contiguous quarters.
    std::int64_t both = 0;
    for (const Interval &i : getComputed(zigzag, r, {0, 4096}))
      both += std::max<std::int64_t>(0, std::min(i.end, (r + 1) * 1024) -
                                            std::max(i.begin, r * 1024));
    CHECK(both == same[r]);
  }
  auto counts = [&](std::int64_t tokens) {
    std::vector<std::int64_t> result;
    for (std::int64_t r = 0; r < 4; ++r) {
      result.push_back(0);
      for (const Interval &i : getComputed(zigzag, r, {0, tokens}))
        result.back() += i.end - i.begin;
    }
    return result;
  };
  using Counts = std::vector<std::int64_t>;
  CHECK(counts(4099) == Counts{1025, 1025, 1025, 1024});
  CHECK(counts(4103) == Counts{1025, 1026, 1026, 1026});
  CHECK(counts(9) == Counts{3, 2, 2, 2});
  // Too few for two segments a rank: nothing is split.
  CHECK(counts(7) == Counts{7, 7, 7, 7});
}

TEST_CASE("DeepSeek-V3.2 in fp8") {
  Model model = makeSparse(61);
  std::vector<Plane> planes = makePlanes(model, "fp8");
  CHECK(planes[0].headBytes == 656);
  CHECK(planes[1].headBytes + planes[2].headBytes == 132);
  SECTION("pages that follow one another, and pages that do not") {
    Case found = measure(model, "fp8", "fp8", kCompat);
    Case main = keep(found, false, 4096), index = keep(found, true, 4096);
    requireCounts(main.traffic.total, 1, 61, 163905536);
    CHECK(main.traffic.total.workRequests == 2501);
    requireCounts(index.traffic.total, 1, 61, 32980992);
    CHECK(index.traffic.total.workRequests == 488);
    main = keep(found, false, 4096, kFragmented);
    index = keep(found, true, 4096, kFragmented);
    requireCounts(main.traffic.total, 1, 3904, 163905536);
    CHECK(main.traffic.total.workRequests == 3904);
    requireCounts(index.traffic.total, 1, 3904, 32980992);
  }
  SECTION("a copy for each decode rank") {
    Case found = measure(model, "fp8", "tp8,fp8", kCompat);
    CHECK(found.traffic.total.bytes == 8 * (163905536 + 32980992));
  }
  SECTION("cp 8: shares of all tokens, the index from rank 0") {
    Case found = measure(model, "cp8,fp8", "fp8", kCompat);
    Case main = keep(found, false, 4096), index = keep(found, true, 4096);
    for (const PairTraffic &pair : main.traffic.pairs) {
      requireCounts(pair.traffic, 1, 61, 20488192);
      CHECK(pair.traffic.workRequests == 305);
    }
    REQUIRE(index.traffic.pairs.size() == 1);
    CHECK(index.traffic.pairs[0].source == 0);
  }
  SECTION("owners of layers send all tokens of theirs") {
    for (Profile profile : {kCompat, kOptimised}) {
      Case found =
          measure(model, "cp8,fp8,layersplit,interleave", "fp8", profile);
      REQUIRE(found.traffic.pairs.size() == 8);
      std::int64_t main = 0;
      for (const PairTraffic &pair : found.traffic.pairs) {
        std::int64_t layers = pair.source < 5 ? 8 : 7;
        CHECK(pair.traffic.descriptors == 2 * layers);
        CHECK(pair.traffic.bytes == layers * (2686976 + 540672));
        main += layers * 2686976;
      }
      CHECK(main == 163905536);
      CHECK(found.plan.source.ranks[5].layers[0].front() == 40);
    }
    // With pages apart an owner has more descriptors than a share of the
    // tokens.
    Case found =
        keep(measure(model, "cp8,fp8,layersplit,interleave", "fp8", kCompat),
             false, 4096, kFragmented);
    CHECK(found.traffic.bySource[0].descriptors == 512);
    CHECK(found.traffic.bySource[7].descriptors == 448);
    Case shares = keep(measure(model, "cp8,fp8", "fp8", kCompat), false, 4096,
                       kFragmented);
    CHECK(shares.traffic.bySource[0].descriptors == 488);
    found =
        keep(measure(model, "cp8,fp8,layersplit,interleave", "fp8", kCompat),
             false, 4096);
    CHECK(found.traffic.bySource[0].workRequests == 328);
    // Filtered by token it would lose 7 of 8 bytes: no such plan.
    REQUIRE_THROWS(measure(model, "cp8,fp8,layersplit,interleave", "fp8",
                           kOptimised, 4096, SenderRule::ByChunk));
  }
  SECTION("dcp 8: a row at a time, or packed; keys and scales lie apart") {
    Case found = measure(model, "tp8,fp8", "tp8,dcp8,fp8", kCompat);
    Case main = keep(found, false, 4096), index = keep(found, true, 4096);
    CHECK(main.traffic.byTarget[0].descriptors == 31232);
    CHECK(main.traffic.byTarget[0].bytes == 31232 * 656);
    CHECK(index.traffic.byTarget[0].descriptors == 62464);
    found = measure(model, "tp8,fp8", "tp8,dcp8,fp8", kOptimised);
    std::int64_t latent = 0;
    for (const Transfer &transfer : found.plan.transfers)
      latent += transfer.target == 0 && transfer.packing == Packing::Source;
    CHECK(latent > 0);
    // From each of the eight ranks that have them an eighth of the tokens: a
    // run of latents a layer, and of a page's keys and of its scales.
    CHECK(found.traffic.byTarget[0].descriptors == 61 * 8 + 2 * 61 * 8);
  }
}

TEST_CASE("Kimi K3's rows over dcp 8") {
  Model model = makeSparse(24);
  model.indexDim = 0;
  model.indexLayers.clear();
  Case found = measure(model, "tp8,fp8", "tp8,dcp8,fp8", kCompat, 56000);
  CHECK(found.traffic.byTarget[0].descriptors == 168000);
  CHECK(found.traffic.byTarget[0].bytes == 96768000);
}

TEST_CASE("work requests of 64 KiB with a tail of 16") {
  const std::pair<std::int64_t, std::int64_t> cases[] = {
      {256, 1},    {8448, 1},   {41984, 1},    {81920, 1},      {81921, 2},
      {335872, 5}, {540672, 8}, {2686976, 41}, {25165824, 384}, {0, 0}};
  for (auto [bytes, requests] : cases)
    CHECK(countWorkRequests(bytes) == requests);
}

TEST_CASE("what owners gain, against what was measured") {
  CHECK(getCapacityGain(61, 8, 1) == Approx(6.78).margin(0.005));
  CHECK(getCapacityGain(61, 4, 1) == Approx(3.59).margin(0.005));
  CHECK(getCapacityGain(78, 8, 1) == Approx(7.09).margin(0.005));
  CHECK(getCapacityGain(78, 4, 1) == Approx(3.71).margin(0.005));
  // sglang#29930, 78 layers, cp 8, fp8: 457,920 tokens in 26.22 GiB;
  // owned 23.83 GiB and a slot of 2.38 GiB for 3,247,296 tokens.
  double bytes = 0;
  for (const Plane &plane : makePlanes(makeSparse(78), "fp8"))
    bytes += static_cast<double>(plane.headBytes);
  const double gib = 1 << 30;
  CHECK(78 * bytes * 457920 / gib == Approx(26.22).margin(0.02));
  CHECK(10 * bytes * 3247296 / gib == Approx(23.83).margin(0.005));
  CHECK(bytes * 3247296 / gib == Approx(2.38).margin(0.005));
  CHECK(3247296.0 / 457920 == Approx(getCapacityGain(78, 8, 1)).margin(0.001));
}

TEST_CASE(
    "the index's share is computed, and owners have unequal parts of it") {
  Model glm = makeSparse(78);
  // GLM-5.2: layers 0, 1, 2, 6, 10, ..., 74.
  glm.indexLayers = {0, 1, 2};
  for (std::int64_t layer = 6; layer < 78; layer += 4)
    glm.indexLayers.push_back(layer);
  REQUIRE(glm.indexLayers.size() == 21);
  auto share = getIndexShare(makePlanes(glm, "fp8"));
  REQUIRE(share);
  CHECK(share->perLayer == Approx(132.0 / 656));
  CHECK(share->overall == Approx(0.054).margin(0.0005));
  CHECK(getIndexShare(makePlanes(glm, "bf16"))->perLayer ==
        Approx(132.0 / 1152));
  CHECK_FALSE(getIndexShare(makePlanes(makeHeads(4, 4), "")));
  Case found = measure(glm, "cp8,fp8,layersplit,interleave", "fp8", kCompat);
  const std::int64_t expected[] = {4, 3, 2, 3, 2, 3, 2, 2};
  for (int owner = 0; owner < 8; ++owner) {
    CHECK(static_cast<std::int64_t>(
              found.plan.source.ranks[owner].layers[1].size()) ==
          expected[owner]);
    std::int64_t main = owner < 6 ? 26869760 : 24182784;
    CHECK(found.traffic.bySource[owner].bytes ==
          main + expected[owner] * 540672);
  }
}

TEST_CASE("exposed broadcasts") {
  CHECK(getExposed(1, 5, 3) == 3);
  CHECK(getExposed(1, 5, 6) == 1);
  CHECK(getExposed(2, 8, 0) == 10);
}

TEST_CASE("chunks of a request are sent by few ranks, or each by all") {
  Model model = makeHeads(1, 1);
  auto pages = [&](SenderRule senders, int rank) {
    // Pages that the rank sends of each of two chunks of 64.
    PlanOptions options;
    options.profile = kCompat;
    options.senders = senders;
    Plan plan = planMigration(model, parseSideSpec("cp4"), parseSideSpec("tp1"),
                              options);
    std::vector<std::int64_t> result;
    for (std::int64_t chunk : {0, 1}) {
      Request request;
      request.tokens = 8192;
      request.chunk = {chunk * 4096, (chunk + 1) * 4096};
      std::int64_t tokens = 0;
      for (const Transfer &transfer : plan.transfers)
        if (transfer.source == rank)
          for (const TokenRun &run : selectTokens({transfer.moves[0].share},
                                                  request, {request.chunk}))
            tokens += run.length * run.count;
      result.push_back(tokens / 64);
    }
    return result;
  };
  using Pages = std::vector<std::int64_t>;
  CHECK(pages(SenderRule::All, 0) == Pages{32, 0});
  CHECK(pages(SenderRule::All, 3) == Pages{0, 32});
  for (int rank : {0, 1, 2, 3})
    CHECK(pages(SenderRule::ByChunk, rank) == Pages{16, 16});
}

TEST_CASE("ranks of a tp x cp side, context by context") {
  // TensorRT-LLM numbers them tp * 2 + cp and lists them so: which part each
  // has is its cp, not its place in a list of pipeline stages.
  Side side = makeSide(makeHeads(1, 2), parseSideSpec("tp2,cp2,cpstore"),
                       makePlanes(makeHeads(1, 2), ""));
  std::vector<std::int64_t> numbers, parts;
  for (const Rank &rank : side.ranks) {
    numbers.push_back(rank.tp * 2 + rank.cp);
    parts.push_back(rank.tokens.index);
  }
  CHECK(numbers == std::vector<std::int64_t>{0, 2, 1, 3});
  CHECK(parts == std::vector<std::int64_t>{0, 0, 1, 1});
}
