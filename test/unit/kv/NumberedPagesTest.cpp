//===- NumberedPagesTest.cpp - shared tables, tables behind a prefix ------===//
#include "FakeMemory.h"

#include "kv/Binding.h"
#include "kv/ParsePlan.h"
#include "layline/KV/PlanJSON.h"
#include "layline/KV/Planner.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using namespace layline::kv;
using layline::runtime::Error;

namespace {

/// Two layers of latents, rows of 8 bytes.
Plan makePlan(const char *source, const char *target) {
  Model model;
  model.name = "small";
  model.layers = 2;
  model.dtype = "bf16";
  model.latentRank = 4;
  model.kvLayers = {0, 1};
  PlanOptions options;
  options.packBelow = 0;
  return planMigration(model, parseSideSpec(source), parseSideSpec(target),
                       options);
}

Request makeRequest(std::int64_t tokens, std::int64_t prefix = 0) {
  Request request;
  request.tokens = tokens;
  request.chunk = {0, tokens};
  request.prefix = prefix;
  return request;
}

void setTable(FakeMemory &memory, std::vector<std::int32_t> pages,
              std::int64_t first = 0) {
  memory.table = std::move(pages);
  memory.memory.tables = {{memory.table.data(),
                           static_cast<std::int64_t>(memory.table.size()),
                           first}};
}

struct Block {
  std::uint64_t source = 0, target = 0, bytes = 0; ///< offsets in layer 0
  bool operator==(const Block &other) const {
    return source == other.source && target == other.target &&
           bytes == other.bytes;
  }
};

constexpr std::uint64_t kSource = 1 << 20, kTarget = 1 << 30;

std::vector<Block> bind(const Plan &plan, const Request &request, int from,
                        int to, const FakeMemory &source,
                        const FakeMemory &target) {
  Binding binding(plan, request, from, to, source.memory, target.memory);
  std::vector<Block> blocks;
  binding.forEachBlock(0, binding.countDescriptors() / 2,
                       [&](std::uint64_t a, std::uint64_t b, std::uint64_t n) {
                         blocks.push_back({a - kSource, b - kTarget, n});
                       });
  return blocks;
}

std::string errorOf(const Plan &plan, const Request &request, int from, int to,
                    const FakeMemory &source, const FakeMemory &target) {
  try {
    bind(plan, request, from, to, source, target);
  } catch (const Error &error) {
    CHECK(error.status() == LAYLINE_BAD_ARGUMENT);
    return error.what();
  }
  return "bound";
}

} // namespace

TEST_CASE("numbered pages: a rank sends the pages whose number is its own") {
  // Pages of 4 tokens, 32 bytes, on 3 ranks.
  Plan plan = makePlan("cp3,page4,pagenumber", "tp1,page4");
  FakeMemory source(plan.source, 1, 0, kSource);
  FakeMemory target(plan.target, 0, 0, kTarget);
  // Of rank 1: 7 (its page 2), 10 (3), 4 (1); the last page has 2 tokens.
  setTable(source, {3, 7, 10, 8, 0, 4});
  setTable(target, {0, 1, 2, 3, 4, 5});
  Request request = makeRequest(22);
  std::vector<Block> rank1 = {{64, 32, 64}, {32, 160, 16}};
  CHECK(bind(plan, request, 1, 0, source, target) == rank1);
  // 8 is page 2 of rank 2; 3 and 0 are pages 1 and 0 of rank 0.
  std::vector<Block> rank2 = {{64, 96, 32}},
                     rank0 = {{32, 0, 32}, {0, 128, 32}};
  CHECK(bind(plan, request, 2, 0, source, target) == rank2);
  CHECK(bind(plan, request, 0, 0, source, target) == rank0);
}

TEST_CASE("numbered pages: at the target, and on both sides") {
  Plan plan = makePlan("tp1,page4", "cp2,page2,pagenumber");
  FakeMemory source(plan.source, 0, 0, kSource);
  FakeMemory target(plan.target, 1, 0, kTarget);
  setTable(source, {2, 0});
  setTable(target, {1, 4, 7, 0});
  // Tokens 0 and 1 are in page 1, 4 and 5 in page 7: pages 0 and 3 of rank 1.
  std::vector<Block> blocks = {{64, 0, 16}, {0, 48, 16}};
  CHECK(bind(plan, makeRequest(8), 0, 1, source, target) == blocks);

  Plan both = makePlan("cp2,page2,pagenumber", "cp2,page2,pagenumber");
  setTable(source, {0, 2, 3, 5});
  // Rank 0 of the source has tokens 0 to 3, rank 1 of the target 0, 1, 4, 5.
  FakeMemory of(both.source, 0, 0, kSource);
  setTable(of, {0, 2, 3, 5});
  blocks = {{0, 0, 16}};
  CHECK(bind(both, makeRequest(8), 0, 1, of, target) == blocks);
}

TEST_CASE("numbered pages: what is given is checked") {
  Plan plan = makePlan("cp3,page4,pagenumber", "tp1,page4");
  FakeMemory source(plan.source, 1, 0, kSource);
  FakeMemory target(plan.target, 0, 0, kTarget);
  setTable(target, {0, 1, 2});
  Request request = makeRequest(12);
  auto error = [&](std::vector<std::int32_t> pages) {
    setTable(source, std::move(pages));
    return errorOf(plan, request, 1, 0, source, target);
  };
  // Also what another rank keeps: the table is one.
  CHECK(error({3, -1, 5}) ==
        "page table 'kv' of source rank 1: entry 1 is page "
        "-1; 0 to 2147483647 are expected");
  CHECK(error({3, 4, 3}) ==
        "page table 'kv' of source rank 1: page 3 stands at "
        "entry 0 and again at 2");
  CHECK(error({3, 4}) ==
        "page table 'kv' of source rank 1: has 2 pages; the tokens need 3");
  // A rank's pool of 2 pages: 6 of the group.
  source.memory.poolPages = {2};
  CHECK(error({3, 4, 5}) == "bound");
  CHECK(error({3, 4, 6}) == "page table 'kv' of source rank 1: entry 2 is page "
                            "6; 0 to 5 are expected");
  source.memory.poolPages = {std::int64_t(1) << 62};
  CHECK(error({3, 4, 6}) == "bound");
}

TEST_CASE("numbered pages: in a plan's file") {
  Plan plan = makePlan("cp3,page4,pagenumber", "tp1,page4");
  std::string text = toJSON(plan);
  Plan read = parsePlan(text, "kv.json");
  CHECK(read.source.ranks[2].tokens == plan.source.ranks[2].tokens);
  CHECK(toJSON(read) == text);
  auto refuse = [&](const std::string &from, const std::string &to) {
    std::string edited = text;
    std::size_t at = edited.find(from);
    REQUIRE(at != std::string::npos);
    edited.replace(at, from.size(), to);
    try {
      parsePlan(edited, "kv.json");
    } catch (const Error &error) {
      return std::string(error.what());
    }
    return std::string("read");
  };
  CHECK(refuse(",\"page_number\"]", "]") ==
        "'kv.json': features: has no 'page_number', which ranks of the plan "
        "keep their tokens by");
  CHECK(refuse(",\"page_number\"]", ",\"page_colour\"]")
            .find("needs the feature 'page_colour'") != std::string::npos);
  plan.source.ranks[1].tokens.parts = 2;
  text = toJSON(plan);
  CHECK(refuse("3", "3").find("source.ranks[1].tokens.parts: is 2; the ranks "
                              "before it divide page numbers by 3") !=
        std::string::npos);
  plan.source.ranks[1].tokens.parts = 3;
  plan.transfers[0].moves[0].share = plan.source.ranks[0].tokens;
  text = toJSON(plan);
  CHECK(refuse("3", "3").find("transfers[0].moves[0].share.kind: is "
                              "'page_number'") != std::string::npos);
}

TEST_CASE("table behind a prefix: the same bytes as of the whole one") {
  Plan plan = makePlan("tp1,page4", "tp1,page2");
  FakeMemory source(plan.source, 0, 0, kSource);
  FakeMemory target(plan.target, 0, 0, kTarget);
  Request request = makeRequest(18, 9);
  setTable(source, {9, 4, 5, 6, 0});
  setTable(target, {8, 1, 7, 2, 0, 3, 4, 5, 6});
  std::vector<Block> whole = bind(plan, request, 0, 0, source, target);
  REQUIRE(whole.size() > 2);
  // Token 9 is in page 2 of 4 tokens and in page 4 of 2.
  setTable(source, {5, 6, 0}, 2);
  setTable(target, {0, 3, 4, 5, 6}, 4);
  CHECK(bind(plan, request, 0, 0, source, target) == whole);
  CHECK(findTablePages(plan, plan.source, plan.source.ranks[0], request, 0)
            .begin == 2);
  CHECK(findTablePages(plan, plan.target, plan.target.ranks[0], request, 0)
            .begin == 4);
  // Ranks count their own pages: of runs of 2 over 2 ranks, rank 1 has 8 of 18
  // tokens, and the first behind 9 is 10, its slot 4.
  Plan dcp = makePlan("tp1,page4", "tp2,dcp2:2,page2");
  PageSpan own = findTablePages(dcp, dcp.target, dcp.target.ranks[1],
                                makeRequest(18, 9), 0);
  CHECK(own.begin == 2);
  CHECK(own.end == 4);
}

TEST_CASE("table behind a prefix: tokens in front of it") {
  Plan plan = makePlan("tp1,page4", "tp1,page4");
  FakeMemory source(plan.source, 0, 0, kSource);
  FakeMemory target(plan.target, 0, 0, kTarget);
  setTable(target, {0, 1, 2, 3});
  auto error = [&](std::int64_t prefix, std::int64_t count,
                   std::int64_t first) {
    setTable(source, {7, 8, 9, 6}, first);
    source.memory.tables[0].count = count;
    return errorOf(plan, makeRequest(16, prefix), 0, 0, source, target);
  };
  CHECK(error(8, 2, 2) == "bound");
  CHECK(error(7, 3, 2) ==
        "page table 'kv' of source rank 0: begins with page 2 of the request; "
        "the tokens need it from page 1 on");
  CHECK(error(8, 1, 2) == "page table 'kv' of source rank 0: has 1 pages from "
                          "page 2 of the request on; the tokens need 2");
  CHECK(error(8, 2, -1) ==
        "page table 'kv' of source rank 0: begins with page -1 of the request; "
        "0 to 1099511627776 is expected");
  CHECK(error(8, 2, INT64_MAX).find("begins with page 9223372036854775807") !=
        std::string::npos);
  CHECK(error(16, 0, 4) == "bound"); // nothing is sent
}
