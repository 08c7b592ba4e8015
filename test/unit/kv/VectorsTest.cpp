//===- VectorsTest.cpp - what public engines expect of each other ---------===//
//
// data/vectors.json holds inputs and results of unit tests of public engines,
// and of their rules. Where an executed engine is wrong the right value stands
// as `expected` and what it gave as `wheel_result`. Every vector must be taken
// by the check of its group.
//
//===----------------------------------------------------------------------===//
#include "FakeMemory.h"

#include "kv/Binding.h"
#include "kv/EngineTables.h"
#include "kv/Packing.h"
#include "layline/KV/Planner.h"
#include "layline/KV/Report.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <fstream>
#include <functional>
#include <map>
#include <numeric>
#include <set>

using namespace layline::kv;
using Json = nlohmann::json;
using Numbers = std::vector<std::int64_t>;

namespace {

using Kind = TokenPart::Kind;
using Of = TokenPart::Of;

/// Blocks (source, target, bytes) relative to the buffers.
using Blocks = std::vector<std::array<std::int64_t, 3>>;

struct Relayout {
  std::vector<std::int32_t> sourcePages, targetPages;
  std::int64_t sourcePageTokens = 1, targetPageTokens = 1;
  TokenPart sourceTokens, targetTokens;
  std::int64_t rowBytes = 1;
  Grain grain = Grain::Token;
  Request request;
  std::vector<TokenPart> share;

  Blocks find() const {
    std::vector<TokenPart> parts = share;
    parts.push_back(sourceTokens);
    parts.push_back(targetTokens);
    std::vector<TokenRun> runs = selectTokens(
        parts, request,
        {{std::max(request.prefix, request.chunk.begin), request.chunk.end}});
    auto check = [&](const TokenPart &part, std::int64_t page,
                     const std::vector<std::int32_t> &pages) {
      if (findPages(runs, request, part, page).end >
          static_cast<std::int64_t>(pages.size()))
        throw std::out_of_range("a page is missing");
    };
    check(sourceTokens, sourcePageTokens, sourcePages);
    check(targetTokens, targetPageTokens, targetPages);
    Placement source{0, sourcePageTokens * rowBytes, 0, rowBytes, rowBytes, 1};
    Placement target{0, targetPageTokens * rowBytes, 0, rowBytes, rowBytes, 1};
    auto table = [](const std::vector<std::int32_t> &pages) {
      return PageTable{pages.data(), static_cast<std::int64_t>(pages.size())};
    };
    Blocks blocks;
    for (const Region &region : findRegions(
             runs, request,
             {&sourceTokens, table(sourcePages), sourcePageTokens, &source, 0},
             {&targetTokens, table(targetPages), targetPageTokens, &target, 0},
             1, rowBytes, grain))
      for (std::int64_t j = 0; j < region.outer; ++j)
        for (std::int64_t i = 0; i < region.inner; ++i)
          blocks.push_back(
              {region.source + j * region.sourceJump + i * region.sourceStep,
               region.target + j * region.targetJump + i * region.targetStep,
               region.bytes});
    return blocks;
  }
};

Request makeRequest(std::int64_t tokens) {
  Request request;
  request.tokens = tokens;
  request.chunk = {0, tokens};
  return request;
}

Model makeHeads(std::int64_t layers, std::int64_t heads,
                std::int64_t headBytes) {
  Model model;
  model.name = "heads";
  model.layers = layers;
  model.dtype = "u8";
  model.kvHeads = heads;
  model.headDim = headBytes;
  model.kvLayers.resize(layers);
  std::iota(model.kvLayers.begin(), model.kvLayers.end(), 0);
  return model;
}

Model makeLatent(std::int64_t layers, std::int64_t bytes) {
  Model model = makeHeads(layers, 0, 0);
  model.latentRank = bytes;
  return model;
}

Plan makePlan(const Model &model, const std::string &from,
              const std::string &to, Profile profile,
              SenderRule senders = SenderRule::All) {
  PlanOptions options;
  options.profile = profile;
  options.senders = senders;
  return planMigration(model, parseSideSpec(from), parseSideSpec(to), options);
}

/// The move of a plane between two ranks, or none.
const Move *findMove(const Plan &plan, int source, int target, int plane) {
  for (const Transfer &transfer : plan.transfers)
    if (transfer.source == source && transfer.target == target)
      for (const Move &move : transfer.moves)
        if (move.planes.front() == plane)
          return &move;
  return nullptr;
}

std::vector<std::int32_t> toPages(const Json &list) {
  return list.get<std::vector<std::int32_t>>();
}

Numbers toTokens(const TokenPart &part, const Request &request) {
  Numbers tokens;
  for (const TokenRun &run : selectTokens({part}, request, {request.chunk}))
    for (std::int64_t i = 0; i < run.count; ++i)
      for (std::int64_t k = 0; k < run.length; ++k)
        tokens.push_back(run.first + i * run.step + k);
  return tokens;
}

//===----------------------------------------------------------------------===//
// Pages
//===----------------------------------------------------------------------===//

void checkPageMap(const Json &in, const Json &expected) {
  std::int64_t page = in["page_size"];
  std::vector<std::int64_t> slots;
  if (in["kv_indices"].is_string()) {
    REQUIRE(in["kv_indices"] == "arange(48)");
    slots.resize(48);
    std::iota(slots.begin(), slots.end(), 0);
  } else {
    slots = in["kv_indices"].get<Numbers>();
  }
  if (!slots.empty() && slots.front() % page) {
    // The engine's function takes a list that begins inside a page; no request
    // does.
    REQUIRE_THROWS(getPagesOfSlots(slots.data(), 1, page));
    return;
  }
  std::vector<std::int32_t> pages = getPagesOfSlots(
      slots.data(), static_cast<std::int64_t>(slots.size()), page);
  REQUIRE(Numbers(pages.begin(), pages.end()) == expected.get<Numbers>());
}

void checkPageCount(const Json &in, const Json &expected) {
  Request request = makeRequest(in["tokens"]);
  std::vector<TokenRun> runs =
      selectTokens({TokenPart()}, request, {request.chunk});
  REQUIRE(findPages(runs, request, TokenPart(), in["page_size"]).end ==
          expected);
}

void checkGroupRuns(const Json &in, const Json &expected) {
  Relayout move;
  move.sourcePages = toPages(in["src"]);
  move.targetPages = toPages(in["dst"]);
  // Unequal lengths are an error, also where the engine's function takes an
  // empty list for "nothing to send".
  if (move.sourcePages.size() != move.targetPages.size()) {
    move.request = makeRequest(static_cast<std::int64_t>(
        std::max(move.sourcePages.size(), move.targetPages.size())));
    REQUIRE_THROWS(move.find());
    return;
  }
  move.grain = Grain::Page;
  move.request =
      makeRequest(static_cast<std::int64_t>(move.sourcePages.size()));
  Json found = Json::array({Json::array(), Json::array()});
  for (const auto &[source, target, bytes] : move.find()) {
    Numbers from(bytes), to(bytes);
    std::iota(from.begin(), from.end(), source);
    std::iota(to.begin(), to.end(), target);
    found[0].push_back(from);
    found[1].push_back(to);
  }
  REQUIRE(found == expected);
}

void checkPageSplit(const Json &in, const Json &expected) {
  std::int64_t cp = in["cp_size"];
  Numbers pages = in["pages"].get<Numbers>();
  Request request = makeRequest(in["total_pages"]);
  if (in.contains("chunk"))
    request.chunk = {in["chunk"][0], in["chunk"][1]};
  auto take = [&](std::int64_t rank) {
    Numbers own;
    for (std::int64_t page :
         toTokens({Kind::Contiguous, cp, rank, 1, Of::Request}, request))
      own.push_back(page);
    return own;
  };
  if (!in.contains("cp_rank")) { // every rank's pages
    for (std::int64_t rank = 0; rank < cp; ++rank) {
      Numbers own;
      for (std::int64_t position : take(rank))
        own.push_back(pages[position]);
      REQUIRE(own == expected[rank].get<Numbers>());
    }
    return;
  }
  Numbers own = take(in["cp_rank"]), ids;
  for (std::int64_t position : own)
    ids.push_back(pages[position - request.chunk.begin]);
  REQUIRE(ids == expected[0].get<Numbers>());
  std::int64_t first = expected[1][0], end = expected[1][1];
  REQUIRE(static_cast<std::int64_t>(own.size()) == end - first);
  if (!own.empty())
    REQUIRE(own.front() == first);
}

/// Pages that are owned by the number that the allocator gave them.
void checkPageStripe(const Json &in, const Json &expected) {
  std::vector<std::int32_t> logical = toPages(in["logical_pages"]);
  auto take = [&](std::int64_t rank, std::int64_t ranks) {
    return selectStripedPages(
        logical.data(), static_cast<std::int64_t>(logical.size()), ranks, rank);
  };
  if (in.contains("shard_rank")) {
    StripedPages own = take(in["shard_rank"], in["shard_size"]);
    REQUIRE(Numbers(own.pages.begin(), own.pages.end()) ==
            expected[0].get<Numbers>());
    REQUIRE(own.positions == expected[1].get<Numbers>());
    return;
  }
  std::int64_t bytes = 0;
  for (std::int64_t ranks : in["cp_sizes"].get<Numbers>()) {
    Numbers counts;
    std::int64_t all = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      counts.push_back(
          static_cast<std::int64_t>(take(rank, ranks).pages.size()));
      all += counts.back();
    }
    if (ranks == 4)
      REQUIRE(counts == expected["per_rank_pages_cp4"].get<Numbers>());
    bytes = all * in["page_bytes"].get<std::int64_t>() *
            in["layers"].get<std::int64_t>();
    REQUIRE(bytes == expected["total_bytes"]);
  }
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

void checkHeadSlice(const Json &in, const Json &expected) {
  std::int64_t p = in["P"], d = in["D"];
  Model model = makeHeads(1, in["H"], 4);
  Plan plan = makePlan(model, "tp" + std::to_string(p),
                       "tp" + std::to_string(d), Profile::SGLangCompat);
  std::vector<std::pair<int, int>> pairs;
  if (in.contains("ranks")) {
    for (int r = 0; r < p; ++r)
      pairs.push_back({r, r});
  } else if (in.contains("src_ranks")) {
    for (int r : in["src_ranks"])
      pairs.push_back({r, in["dst_rank"]});
  } else {
    for (int r : in["dst_ranks"])
      pairs.push_back({in["src_rank"], r});
  }
  bool isAny = false;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const Move *move = findMove(plan, pairs[i].first, pairs[i].second, 0);
    // The engine's function answers for any pair; only pairs that talk to each
    // other count.
    if (!move)
      continue;
    isAny = true;
    REQUIRE(Json({move->sourceHead, move->heads, move->targetHead}) ==
            expected[i]);
  }
  REQUIRE(isAny);
}

/// [send, source offset, target offset, length] of a block of one pair.
Json describeBlock(const Plan &plan, int source, int target) {
  FakeMemory from(plan.source, static_cast<int>(source), 64,
                  std::uint64_t(1) << 40);
  FakeMemory to(plan.target, static_cast<int>(target), 64,
                std::uint64_t(1) << 40);
  Binding binding(plan, makeRequest(64), source, target, from.memory,
                  to.memory);
  if (binding.countDescriptors() == 0)
    return Json({false});
  std::uint64_t s, t, bytes;
  binding.fill(0, 1, &s, &t, &bytes);
  std::int64_t page = plan.source.planes[0].pageBytes;
  std::int64_t targetPage = plan.target.planes[0].pageBytes;
  return Json({true, (s - from.memory.buffers[0]) % page,
               (t - to.memory.buffers[0]) % targetPage, bytes});
}

void checkFan(const Json &in, const Json &expected) {
  std::int64_t p = in["P"], d = in["D"], heads = in["H"];
  std::int64_t local = in["local_block"];
  // Heads in front: a block is a head of all tokens of a page.
  std::int64_t own = std::max<std::int64_t>(1, heads / p);
  Plan plan = makePlan(
      makeHeads(1, heads, local / own / 64), "hnd,tp" + std::to_string(p),
      "hnd,tp" + std::to_string(d), Profile::Optimised, SenderRule::First);
  REQUIRE(plan.source.planes[0].pageBytes == local);
  REQUIRE(plan.target.planes[0].pageBytes == in["remote_block"]);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    int rank = static_cast<int>(i);
    Json found =
        p > d ? describeBlock(plan, rank, static_cast<int>(rank / (p / d)))
              : describeBlock(plan, static_cast<int>(rank / (d / p)), rank);
    REQUIRE(found == expected[i]);
  }
}

void checkRegionLengths(const Json &in, const Json &expected) {
  std::int64_t heads = in["H"], p = in["P"], d = in["D"];
  std::int64_t local = in["local_len"], remote = in["remote_len"];
  Model model =
      makeHeads(1, heads, remote / std::max<std::int64_t>(1, heads / d) / 64);
  Plan plan = makePlan(model, "tp" + std::to_string(p),
                       "tp" + std::to_string(d), Profile::Optimised);
  bool fits = plan.source.planes[0].pageBytes == local &&
              plan.target.planes[0].pageBytes == remote;
  REQUIRE(fits == expected.get<bool>());
}

void checkReplicatedWriter(const Json &in, const Json &expected) {
  for (auto [profile, senders] :
       {std::pair(Profile::SGLangCompat, SenderRule::All),
        std::pair(Profile::Optimised, SenderRule::First)}) {
    Plan plan =
        makePlan(makeLatent(1, 8), "tp" + std::to_string(in["P"].get<int>()),
                 "tp" + std::to_string(in["D"].get<int>()), profile, senders);
    std::set<int> writers;
    for (const Transfer &transfer : plan.transfers)
      writers.insert(transfer.source);
    REQUIRE(Json(writers) == expected["writers"]);
  }
}

//===----------------------------------------------------------------------===//
// Tokens over decode context ranks
//===----------------------------------------------------------------------===//

/// The engine's lists begin behind the prefix and the chunk's first page; ours
/// with the request.
Relayout makeDcp(const Json &in) {
  std::int64_t page = in["page"], dcp = in["dcp"];
  std::int64_t prefix = in.value("decode_prefix_len", 0);
  std::int64_t begin = prefix + in.value("src_page_offset", 0) * page;
  std::int64_t pages = static_cast<std::int64_t>(in["src_pages"].size());
  std::int64_t tokens = in.value("tokens", pages * page);
  Relayout move;
  move.sourcePageTokens = move.targetPageTokens = page;
  move.sourcePages.assign(begin / page, 99);
  for (std::int32_t id : toPages(in["src_pages"]))
    move.sourcePages.push_back(id);
  move.targetPages.assign(prefix / (page * dcp), 98);
  for (std::int32_t id : toPages(in["dst_pages"]))
    move.targetPages.push_back(id);
  move.targetTokens = {Kind::Cyclic, dcp, in["rank"], 1, Of::Request};
  move.request = makeRequest(begin + tokens);
  move.request.chunk.begin = begin;
  move.request.prefix = prefix;
  return move;
}

void checkDcpRelayout(const Json &in, const Json &expected) {
  Numbers source, target;
  for (const auto &[from, to, bytes] : makeDcp(in).find()) {
    REQUIRE(bytes == 1);
    source.push_back(from);
    target.push_back(to);
  }
  REQUIRE(Json({source, target}) == expected);
}

void checkDcpReject(const Json &in, const Json &expected) {
  if (in.contains("decode_prefix_len")) {
    // A prefix that ends inside a virtual page: the profile of that engine
    // refuses it, the other needs no such border.
    std::string dcp = std::to_string(in["dcp"].get<int>());
    std::string page = std::to_string(in["page"].get<int>());
    for (bool isCompat : {true, false}) {
      Plan plan =
          makePlan(makeLatent(1, 8), "tp" + dcp + ",page" + page,
                   "tp" + dcp + ",dcp" + dcp + ",page" + page,
                   isCompat ? Profile::SGLangCompat : Profile::Optimised);
      Request request = makeRequest(8);
      request.prefix = in["decode_prefix_len"];
      FakeMemory from(plan.source, static_cast<int>(0), 8,
                      std::uint64_t(1) << 40);
      FakeMemory to(plan.target, static_cast<int>(0), 8,
                    std::uint64_t(1) << 40);
      auto bind = [&] { Binding(plan, request, 0, 0, from.memory, to.memory); };
      if (isCompat)
        REQUIRE_THROWS(bind());
      else
        REQUIRE_NOTHROW(bind());
    }
    return;
  }
  REQUIRE(expected.is_string());
  REQUIRE_THROWS(makeDcp(in).find());
}

void checkDcpGroup(const Json &in, const Json &expected) {
  Relayout move = makeDcp(in);
  move.rowBytes = 8;
  Blocks raw = move.find();
  REQUIRE(raw.size() == expected["raw_runs"]);
  // Packed at the source: what is side by side at the target is one.
  std::int64_t packed = 0, end = -1;
  for (const auto &[source, target, bytes] : raw) {
    packed += target != end;
    end = target + bytes;
  }
  REQUIRE(packed == expected["packed_runs"]);
  REQUIRE(static_cast<std::int64_t>(raw.size()) == expected["packed_len"]);
}

void checkDcpPackBytes(const Json &in, const Json &expected) {
  std::int64_t dcp = in["dcp"], bytes = 0;
  std::int64_t most = countTokens({Kind::Cyclic, dcp, 0, 1, Of::Request},
                                  makeRequest(in["max_tokens"]));
  for (std::int64_t item : in["kv_item_lens"].get<Numbers>())
    bytes += dcp * most * (item / in["page"].get<std::int64_t>());
  REQUIRE(bytes == expected);
}

void checkDcpOffsets(const Json &in, const Json &expected) {
  Json source = Json::array(), target = Json::array();
  for (std::int64_t row : in["row_bytes"].get<Numbers>()) {
    Relayout move = makeDcp(in);
    move.rowBytes = row;
    Numbers from, to;
    for (const auto &[s, t, bytes] : move.find()) {
      from.push_back(s);
      to.push_back(t);
      REQUIRE(bytes == row);
    }
    source.push_back(from);
    target.push_back(to);
  }
  REQUIRE(source == expected["src_off"]);
  REQUIRE(target == expected["dst_off"]);
}

/// Which source ranks a target rank gets anything from.
Json getSources(const Plan &plan, int target) {
  std::set<int> sources;
  for (const Transfer &transfer : plan.transfers)
    if (transfer.target == target)
      sources.insert(transfer.source);
  return sources;
}

void checkDcpTargets(const Json &in, const Json &expected) {
  std::int64_t dcp = in["prefill_dcp"];
  // There dcp is an axis of its own, here it is part of tp.
  std::string from =
      "page16,tp" + std::to_string(in["prefill_tp"].get<std::int64_t>() * dcp) +
      ",dcp" + std::to_string(dcp);
  std::string to =
      "page16,tp" + std::to_string(in["decode_tp"].get<std::int64_t>()) +
      ",dcp" + std::to_string(in["decode_dcp"].get<std::int64_t>());
  Plan plan = makePlan(makeHeads(1, 2, 8), from, to, Profile::Optimised);
  for (std::size_t rank = 0; rank < expected.size(); ++rank)
    REQUIRE(getSources(plan, static_cast<int>(rank)) == expected[rank]);
}

void checkMlaSources(const Json &in, const Json &expected) {
  auto side = [](std::int64_t tp, std::int64_t dcp) {
    return "tp" + std::to_string(tp) +
           (dcp > 1 ? ",dcp" + std::to_string(dcp) : "");
  };
  std::int64_t dcp = in["local_dcp"];
  Plan plan =
      makePlan(makeLatent(1, 8), side(in["remote_tp"], in["remote_dcp"]),
               side(dcp, dcp), Profile::Optimised);
  REQUIRE(getSources(plan, in["local_dcp_rank"]) == expected);
}

void checkLocalLengths(const Json &in, const Json &expected) {
  std::int64_t world = in["world"];
  Json found = Json::array();
  for (std::int64_t tokens : in["seq_lens"].get<Numbers>()) {
    Numbers counts;
    for (std::int64_t rank = 0; rank < world; ++rank)
      counts.push_back(countTokens(
          {Kind::Cyclic, world, rank, in["interleave"], Of::Request},
          makeRequest(tokens)));
    found.push_back(counts);
  }
  REQUIRE(found == expected);
}

void checkSlotMapping(const Json &in, const Json &expected) {
  std::int64_t block = in["block"];
  Numbers table = in["block_table"].get<Numbers>();
  TokenPart part{Kind::Cyclic, in["world"], in["rank"], in["interleave"],
                 Of::Request};
  Numbers slots(expected.size(), -1);
  Request request = makeRequest(static_cast<std::int64_t>(expected.size()));
  for (std::int64_t token : toTokens(part, request)) {
    std::int64_t slot = getSlot(part, request, token);
    slots[token] = table[slot / block] * block + slot % block;
  }
  REQUIRE(Json(slots) == expected);
}

//===----------------------------------------------------------------------===//
// Layers, staging, canonical pages
//===----------------------------------------------------------------------===//

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
      makePlan(makeHeads(all, 2, 4), stages, "tp1", Profile::SGLangCompat);
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
  Model model =
      isLatent ? makeLatent(1, 64) : makeHeads(1, heads, isPacked ? 128 : 64);
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
          makePlan(makeHeads(1, 2, 8), "tp3", "tp1", Profile::Optimised));
    return;
  }
  // Runs of three tokens over pages of four are refused there; here a run may
  // end inside a page.
  Plan plan = makePlan(makeLatent(1, 8), "page4,tp2,dcp2:3", "page4",
                       Profile::Optimised);
  REQUIRE(plan.transfers.size() == 2);
}

//===----------------------------------------------------------------------===//
// Computing
//===----------------------------------------------------------------------===//

std::vector<Interval> getZigzag(std::int64_t tokens, std::int64_t cp,
                                std::int64_t rank) {
  SideSpec spec = parseSideSpec("cp" + std::to_string(cp));
  return getComputed(spec, rank, {0, tokens});
}

void checkZigzag(const Json &in, const Json &expected) {
  std::int64_t cp = in["cp"], tokens = in["L"];
  Numbers counts, segments(2 * cp);
  Json spans = Json::array();
  for (std::int64_t rank = 0; rank < cp; ++rank) {
    std::vector<Interval> own = getZigzag(tokens, cp, rank);
    std::int64_t count = 0;
    Json span = Json::array();
    for (const Interval &interval : own) {
      count += interval.end - interval.begin;
      span.push_back({interval.begin, interval.end});
    }
    counts.push_back(count);
    spans.push_back(span);
    segments[rank] = own[0].end - own[0].begin;
    segments[2 * cp - 1 - rank] = own[1].end - own[1].begin;
  }
  REQUIRE(Json(counts) == expected["per_rank"]);
  if (expected.contains("segments"))
    REQUIRE(Json(segments) == expected["segments"]);
  if (expected.contains("spans"))
    REQUIRE(spans == expected["spans"]);
}

/// Requests with prefixes: each is dealt out by itself.
void checkZigzagBatch(const Json &in, const Json &expected) {
  std::int64_t cp = in["cp"];
  Numbers all = in["seq_lens"].get<Numbers>();
  Numbers extend = in["extend"].get<Numbers>();
  Numbers counts(cp);
  Json split = Json::array(), previous = Json::array(), next = Json::array();
  for (std::int64_t tokens : extend) {
    Numbers segments(2 * cp);
    for (std::int64_t rank = 0; rank < cp; ++rank) {
      std::vector<Interval> own = getZigzag(tokens, cp, rank);
      segments[rank] = own[0].end - own[0].begin;
      segments[2 * cp - 1 - rank] = own[1].end - own[1].begin;
      counts[rank] += segments[rank] + segments[2 * cp - 1 - rank];
    }
    for (std::int64_t segment : segments)
      split.push_back(segment);
  }
  // Keys that a rank's two segments see: to the segment's end, prefix included.
  for (std::int64_t rank = 0; rank < cp; ++rank) {
    Numbers first, second;
    for (std::size_t i = 0; i < extend.size(); ++i) {
      std::vector<Interval> own = getZigzag(extend[i], cp, rank);
      first.push_back(all[i] - extend[i] + own[0].end);
      second.push_back(all[i] - extend[i] + own[1].end);
    }
    previous.push_back(first);
    next.push_back(second);
  }
  REQUIRE(split == expected["split_list"]);
  REQUIRE(Json(counts) == expected["per_rank"]);
  REQUIRE(previous == expected["kv_len_prev"]);
  REQUIRE(next == expected["kv_len_next"]);
  // A rank's segments: those of the first halves of all requests, then of the
  // second halves.
  for (std::int64_t rank = 0; rank < cp; ++rank)
    REQUIRE(Json({rank, 2 * cp + rank, 2 * cp - 1 - rank, 4 * cp - 1 - rank}) ==
            expected["zigzag_index"][rank]);
}

void checkPadding(const Json &in, const Json &expected) {
  Numbers counts = in["per_rank"].get<Numbers>();
  std::int64_t tokens =
      std::accumulate(counts.begin(), counts.end(), std::int64_t(0));
  // The largest part, as Zigzag and Contiguous give it: the first rank's.
  std::int64_t largest = countTokens(
      {Kind::Zigzag, in["cp"], 0, 1, Of::Request}, makeRequest(tokens));
  REQUIRE(largest == expected);
}

void checkInterleave(const Json &in, const Json &expected) {
  std::int64_t cp = in["cp"];
  for (std::int64_t rank = 0; rank < cp; ++rank)
    REQUIRE(Json(toTokens({Kind::Cyclic, cp, rank, 1, Of::Request},
                          makeRequest(in["tokens"]))) == expected[rank]);
}

void checkThdOrder(const Json &in, const Json &expected) {
  Numbers ends = in["cu"].get<Numbers>(), order;
  for (std::size_t i = 1; i < ends.size(); ++i)
    for (const Interval &interval :
         getZigzag(ends[i] - ends[i - 1], in["cp"], in["rank"]))
      for (std::int64_t k = interval.begin; k < interval.end; ++k)
        order.push_back(k);
  REQUIRE(Json(order) == expected);
}

void checkSliceCounts(const Json &in, const Json &expected) {
  Plan plan =
      makePlan(makeHeads(in["layers"], in["H"], in["head_bytes"].get<int>()),
               "tp1,cp4", "tp4", Profile::SGLangCompat);
  std::vector<std::int32_t> from(64), to(64);
  std::iota(from.begin(), from.end(), 3);
  std::iota(to.begin(), to.end(), 11);
  // Rank 1 of the four sends pages 16 to 31.
  int source = in["cp"][0], target = in["dst_rank"];
  FakeMemory sourceMemory(plan.source, static_cast<int>(source), 4096,
                          std::uint64_t(1) << 40);
  FakeMemory targetMemory(plan.target, static_cast<int>(target), 4096,
                          std::uint64_t(1) << 40);
  RankMemory s = sourceMemory.memory, t = targetMemory.memory;
  s.tables = {{from.data(), 64}};
  t.tables = {{to.data(), 64}};
  s.poolPages.clear();
  t.poolPages.clear();
  Binding binding(plan, makeRequest(in["tokens"]), source, target, s, t);
  REQUIRE(static_cast<std::int64_t>(binding.getBatches().size()) ==
          expected["batches"]);
  REQUIRE(binding.countDescriptors() == expected["descriptors"]);
  REQUIRE(binding.countBytes() == expected["bytes"]);
  std::uint64_t a, b, bytes;
  binding.fill(0, 1, &a, &b, &bytes);
  REQUIRE(a - s.buffers[0] == expected["first_src_off"]);
  REQUIRE(b - t.buffers[0] == expected["first_dst_off"]);
}

const std::map<std::string, std::function<void(const Json &, const Json &)>>
    kChecks = {{"page_map", checkPageMap},
               {"page_count", checkPageCount},
               {"group_runs", checkGroupRuns},
               {"cp_page_split", checkPageSplit},
               {"page_stripe", checkPageStripe},
               {"head_slice", checkHeadSlice},
               {"gqa_fanin", checkFan},
               {"gqa_fanout", checkFan},
               {"region_len_check", checkRegionLengths},
               {"replicated_writer", checkReplicatedWriter},
               {"dcp_relayout", checkDcpRelayout},
               {"dcp_reject", checkDcpReject},
               {"dcp_group", checkDcpGroup},
               {"dcp_pack_bytes", checkDcpPackBytes},
               {"dcp_offsets", checkDcpOffsets},
               {"dcp_tp_targets", checkDcpTargets},
               {"mla_dcp_sources", checkMlaSources},
               {"dcp_local_len", checkLocalLengths},
               {"slot_mapping", checkSlotMapping},
               {"pp_layer_slice", checkLayerSlice},
               {"pp_regions", checkStageRegions},
               {"pp_routes", checkStageRoutes},
               {"staging_grid", checkStagingGrid},
               {"staging_segments", checkStagingSegments},
               {"canonical_page", checkCanonical},
               {"canonical_refuse", checkCanonicalRefuse},
               {"zigzag", checkZigzag},
               {"zigzag_batch", checkZigzagBatch},
               {"moe_cp_pad", checkPadding},
               {"interleave", checkInterleave},
               {"thd_order", checkThdOrder},
               {"slice_counts", checkSliceCounts}};

} // namespace

TEST_CASE("vectors of public engines") {
  std::ifstream file(LAYLINE_SOURCE_DIR "/test/unit/kv/data/vectors.json");
  Json document = Json::parse(file);
  REQUIRE(document["vectors"].size() == 102);
  for (const Json &vector : document["vectors"]) {
    std::string id = vector["id"], group = vector["group"];
    INFO(vector.dump());
    auto check = kChecks.find(group);
    REQUIRE(check != kChecks.end());
    DYNAMIC_SECTION(id) { check->second(vector["input"], vector["expected"]); }
  }
}
