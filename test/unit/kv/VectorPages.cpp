//===- VectorPages.cpp - pages, by their runs and ranks -------------------===//
#include "VectorChecks.h"

#include "kv/EngineTables.h"

#include <numeric>

using namespace layline::kv;
using namespace layline::kv::vectors;

namespace {

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

} // namespace

Checks layline::kv::vectors::getPageChecks() {
  return {{"page_map", checkPageMap},
          {"page_count", checkPageCount},
          {"group_runs", checkGroupRuns},
          {"cp_page_split", checkPageSplit},
          {"page_stripe", checkPageStripe}};
}
