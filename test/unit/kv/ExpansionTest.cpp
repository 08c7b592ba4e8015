//===- ExpansionTest.cpp - tokens, regions, descriptors against loops -----===//
//
// What the runtime finds by arithmetic, found again token by token and byte by
// byte from what the rules say.
//
//===----------------------------------------------------------------------===//
#include "FakeMemory.h"
#include "RandomLayouts.h"

#include "kv/Binding.h"
#include "kv/Packing.h"
#include "kv/Regions.h"
#include "kv/Tokens.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <set>

using namespace layline::kv;
using layline::runtime::Error;

namespace {

/// Items are dealt out one by one.
bool holds(const TokenPart &part, const Request &request, std::int64_t token) {
  std::int64_t begin = 0, end = request.tokens;
  if (part.of == TokenPart::Of::Chunk) {
    begin = request.chunk.begin;
    end = request.chunk.end;
  }
  if (token < begin || token >= end)
    return false;
  std::int64_t item = (token - begin) / part.unit;
  std::int64_t items = (end - begin + part.unit - 1) / part.unit;
  // The run that an item is in, of `runs` as equal as they can be.
  auto runOf = [&](std::int64_t runs) {
    std::int64_t first = 0;
    for (std::int64_t run = 0;; ++run) {
      first += items / runs + (run < items % runs ? 1 : 0);
      if (item < first)
        return run;
    }
  };
  switch (part.kind) {
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::PageNumber: // which, a page table says
    return true;
  case TokenPart::Kind::Room:
    return request.room % part.parts == part.index;
  case TokenPart::Kind::Cyclic:
    return item % part.parts == part.index;
  case TokenPart::Kind::Contiguous:
    return runOf(part.parts) == part.index;
  case TokenPart::Kind::Zigzag: {
    std::int64_t run = runOf(2 * part.parts);
    return std::min(run, 2 * part.parts - 1 - run) == part.index;
  }
  }
  return false;
}

TokenPart makePart(bool resides) {
  TokenPart part;
  part.kind = *rc::gen::elementOf(std::vector<TokenPart::Kind>{
      TokenPart::Kind::Whole, TokenPart::Kind::Contiguous,
      TokenPart::Kind::Zigzag, TokenPart::Kind::Cyclic,
      TokenPart::Kind::Cyclic});
  if (!resides && seldom(5))
    part.kind = TokenPart::Kind::Room;
  if (part.kind == TokenPart::Kind::Whole)
    return part;
  part.parts = upTo(1, 5);
  part.index = upTo(0, part.parts - 1);
  part.unit = pick({1, 1, 2, 3, 4, 7});
  if (!resides && seldom(3))
    part.of = TokenPart::Of::Chunk;
  return part;
}

Request makeRequest(std::int64_t most) {
  Request request;
  request.tokens = upTo(0, most);
  request.chunk.begin = upTo(0, request.tokens);
  request.chunk.end = upTo(request.chunk.begin, request.tokens);
  request.isLast = request.chunk.end == request.tokens;
  request.room = upTo(0, 9);
  return request;
}

/// Byte of the target by byte of the source, of all layers.
using Bytes = std::multimap<std::uint64_t, std::uint64_t>;

Bytes expand(const Binding &binding) {
  Bytes bytes;
  binding.forEachBlock(
      0, binding.countDescriptors(),
      [&](std::uint64_t source, std::uint64_t target, std::uint64_t length) {
        for (std::uint64_t i = 0; i < length; ++i)
          bytes.insert({source + i, target + i});
      });
  return bytes;
}

struct Arrays {
  explicit Arrays(std::int64_t count)
      : source(count), target(count), bytes(count) {}
  std::vector<std::uint64_t> source, target, bytes;
};

/// One plane of one layer and head, everywhere.
Plan makeSimplePlan(std::int64_t rowBytes, std::int64_t pageTokens,
                    std::int64_t layers = 1) {
  Plan plan;
  plan.profile = "test";
  Plane plane{"latent", "u8", 1, rowBytes, false, 0, {}};
  for (std::int64_t i = 0; i < layers; ++i)
    plane.layers.push_back(i);
  Rank rank;
  rank.layers = {plane.layers};
  Side side;
  side.pageTokens = pageTokens;
  side.buffers = {{"latent", "kv", pageTokens * rowBytes}};
  side.planes = {{0, pageTokens * rowBytes, 0, rowBytes, rowBytes, 1}};
  side.ranks = {rank};
  plan.planes = {plane};
  plan.source = plan.target = side;
  Move move;
  move.planes = {0};
  move.layers = {{0, 0, layers}};
  Transfer transfer;
  transfer.moves = {move};
  plan.transfers = {transfer};
  plan.responders = {{0}};
  return plan;
}

std::string bindError(const Plan &plan, const Request &request,
                      const RankMemory &source, const RankMemory &target) {
  try {
    Binding binding(plan, request, 0, 0, source, target);
  } catch (const Error &error) {
    CHECK(error.status() == LAYLINE_BAD_ARGUMENT);
    return error.what();
  }
  return "bound";
}

} // namespace

TEST_CASE("expansion: tokens of several rules at once") {
  CHECK(rc::check("as dealt out one by one", [] {
    Request request = makeRequest(90);
    std::vector<TokenPart> parts;
    for (std::int64_t i = upTo(1, 3); i > 0; --i)
      parts.push_back(makePart(false));
    std::int64_t begin = upTo(0, request.tokens);
    std::int64_t end = upTo(begin, request.tokens);
    std::vector<std::int64_t> expected, found;
    for (std::int64_t token = begin; token < end; ++token)
      if (std::all_of(parts.begin(), parts.end(), [&](const TokenPart &part) {
            return holds(part, request, token);
          }))
        expected.push_back(token);
    std::vector<Interval> within;
    if (begin < end)
      within.push_back({begin, end});
    std::int64_t before = -1;
    for (const TokenRun &run : selectTokens(parts, request, within)) {
      RC_ASSERT(run.first > before);
      before = run.first;
      for (std::int64_t i = 0; i < run.count; ++i)
        for (std::int64_t k = 0; k < run.length; ++k)
          found.push_back(run.first + i * run.step + k);
    }
    std::sort(found.begin(), found.end());
    RC_ASSERT(found == expected);
  }));
}

TEST_CASE("expansion: slots are counted from a part's first token") {
  CHECK(rc::check("as dealt out one by one", [] {
    Request request = makeRequest(90);
    TokenPart part = makePart(true);
    std::int64_t slot = 0;
    for (std::int64_t token = 0; token < request.tokens; ++token)
      if (holds(part, request, token))
        RC_ASSERT(getSlot(part, request, token) == slot++);
    RC_ASSERT(countTokens(part, request) == slot);
  }));
}

TEST_CASE("expansion: a pair's bytes against a loop over tokens and heads") {
  std::int64_t pairs = 0;
  bool isGood = rc::check("every byte, once, from where it lies", [&] {
    LayoutPair layouts = makeLayoutPair();
    PlanOptions options = makePlanOptions();
    options.profile = seldom(2) ? Profile::SGLangCompat : Profile::Optimised;
    Plan plan;
    try {
      plan = planMigration(layouts.model, parseSideSpec(layouts.source),
                           parseSideSpec(layouts.target), options);
    } catch (const Error &) {
      return;
    }
    // Whole pages: a multiple of all sizes of pages. Else any chunk of it.
    Request request;
    request.tokens = 24 * upTo(1, 3);
    request.chunk = {0, request.tokens};
    request.room = upTo(0, 5);
    bool movesPages = plan.policy.roundsToPages;
    for (const Transfer &transfer : plan.transfers)
      for (const Move &move : transfer.moves)
        movesPages |= move.grain == Grain::Page;
    if (!movesPages) {
      request.chunk.begin = upTo(0, request.tokens);
      if (seldom(2)) {
        request.chunk.end = upTo(request.chunk.begin, request.tokens);
        request.isLast = false;
      }
      request.prefix = upTo(0, request.tokens);
      request.prefix -= request.prefix % plan.policy.prefixUnit;
    }
    if (plan.transfers.empty())
      return;
    const Transfer &chosen = plan.transfers[upTo(
        0, static_cast<std::int64_t>(plan.transfers.size()) - 1)];
    FakeMemory source(plan.source, chosen.source, 72, 1 << 20);
    FakeMemory target(plan.target, chosen.target, 72, 1 << 30);
    auto shuffle = [](std::vector<std::int32_t> &table) {
      std::mt19937 random(static_cast<unsigned>(upTo(0, 1000)));
      std::shuffle(table.begin(), table.end(), random);
    };
    shuffle(source.table);
    shuffle(target.table);
    Binding binding(plan, request, chosen.source, chosen.target, source.memory,
                    target.memory);
    const Rank &from = plan.source.ranks[chosen.source];
    const Rank &to = plan.target.ranks[chosen.target];
    Bytes expected;
    auto add = [&](const Transfer &transfer, const Move &move, int number) {
      if (transfer.isWithLastChunk && !request.isLast)
        return;
      const Plane &plane = plan.planes[number];
      const Placement &a = plan.source.planes[number];
      const Placement &b = plan.target.planes[number];
      std::int64_t tokens = plane.isState ? 1 : request.tokens;
      std::int64_t begin =
          plane.window ? std::max<std::int64_t>(0, tokens - plane.window) : 0;
      if (plan.policy.roundsToPages || move.grain == Grain::Page)
        begin -= begin % plan.target.pageTokens;
      std::int64_t end = tokens;
      if (!plane.isState) {
        begin = std::max(begin, request.prefix);
        if (!transfer.isWithLastChunk) {
          begin = std::max(begin, request.chunk.begin);
          end = request.chunk.end;
        }
      }
      std::int64_t sourceSlot = 0, targetSlot = 0;
      for (std::int64_t token = 0; token < tokens; ++token) {
        bool atSource = plane.isState || holds(from.tokens, request, token);
        bool atTarget = plane.isState || holds(to.tokens, request, token);
        Request one = request;
        if (transfer.isWithLastChunk)
          one.chunk.begin = 0;
        if (plane.isState) {
          one.tokens = one.chunk.end = 1;
          one.chunk.begin = 0;
        }
        auto isNumbered = [&](const Rank &rank) {
          return !plane.isState &&
                 rank.tokens.kind == TokenPart::Kind::PageNumber;
        };
        auto hasPage = [&](const Side &side, const Rank &rank,
                           const FakeMemory &memory) {
          return !isNumbered(rank) ||
                 memory.table[token / side.pageTokens] % rank.tokens.parts ==
                     rank.tokens.index;
        };
        if (atSource && atTarget && token >= begin && token < end &&
            hasPage(plan.source, from, source) &&
            hasPage(plan.target, to, target) && holds(move.share, one, token))
          for (const LayerRun &run : move.layers)
            for (std::int64_t i = 0; i < run.count; ++i)
              for (std::int64_t head = 0; head < move.heads; ++head)
                for (std::int64_t byte = 0; byte < plane.headBytes; ++byte) {
                  auto at = [&](const FakeMemory &memory, const Rank &rank,
                                std::int64_t buffer, const Placement &place,
                                std::int64_t slot, std::int64_t first,
                                std::int64_t size) {
                    std::int64_t page = memory.table[slot / size];
                    if (isNumbered(rank))
                      page /= rank.tokens.parts;
                    return memory.addresses[buffer] +
                           static_cast<std::uint64_t>(
                               page * place.pageBytes + place.offset +
                               slot % size * place.tokenStride +
                               (first + head) * place.headStride + byte);
                  };
                  expected.insert(
                      {at(source, from, run.source + i, a, sourceSlot,
                          move.sourceHead,
                          plane.isState ? 1 : plan.source.pageTokens),
                       at(target, to, run.target + i, b, targetSlot,
                          move.targetHead,
                          plane.isState ? 1 : plan.target.pageTokens)});
                }
        sourceSlot += atSource;
        targetSlot += atTarget;
      }
    };
    for (const Transfer &transfer : plan.transfers)
      if (transfer.source == chosen.source && transfer.target == chosen.target)
        for (const Move &move : transfer.moves)
          for (int plane : move.planes)
            add(transfer, move, plane);
    RC_ASSERT(expand(binding) == expected);
    RC_ASSERT(binding.countBytes() ==
              static_cast<std::int64_t>(expected.size()));
    pairs += !expected.empty();
  });
  CHECK(isGood);
  CHECK(pairs > 15);
}

TEST_CASE("expansion: any range, any alignment, many and few") {
  // Pages of 8 rows in runs, in a row, and shuffled: steps and flat lists.
  for (std::int64_t pageTokens : {8, 1})
    for (bool isShuffled : {false, true}) {
      Plan plan = makeSimplePlan(24, pageTokens, 3);
      plan.transfers[0].moves[0].grain = Grain::Token;
      constexpr std::int64_t kTokens = 200000;
      std::int64_t pages = kTokens / pageTokens;
      FakeMemory source(plan.source, 0, pages, 1 << 20);
      FakeMemory target(plan.target, 0, pages, 1 << 30);
      if (isShuffled)
        std::shuffle(source.table.begin(), source.table.end(), std::mt19937(4));
      Binding binding(plan, {kTokens, {0, kTokens}}, 0, 0, source.memory,
                      target.memory);
      REQUIRE(binding.countDescriptors() == 3 * kTokens);
      Arrays expected(3 * kTokens);
      for (std::int64_t layer = 0; layer < 3; ++layer)
        for (std::int64_t token = 0; token < kTokens; ++token) {
          std::int64_t page = source.table[token / pageTokens];
          std::int64_t i = layer * kTokens + token;
          expected.source[i] =
              source.addresses[layer] +
              static_cast<std::uint64_t>(
                  (page * pageTokens + token % pageTokens) * 24);
          expected.target[i] =
              target.addresses[layer] + static_cast<std::uint64_t>(token * 24);
          expected.bytes[i] = 24;
        }
      std::mt19937 random(5);
      for (std::int64_t count : std::initializer_list<std::int64_t>{
               1, 2, 7, 64, 4095, 300000, 3 * kTokens}) {
        std::int64_t first =
            count == 3 * kTokens ? 0 : random() % (3 * kTokens - count);
        std::int64_t shift = random() % 4;
        Arrays found(count + 8);
        binding.fill(first, count, found.source.data() + shift,
                     found.target.data() + (shift + 1) % 4,
                     found.bytes.data() + (shift + 2) % 4);
        auto isEqual = [&](const std::vector<std::uint64_t> &is,
                           const std::vector<std::uint64_t> &should,
                           std::int64_t at) {
          return std::equal(is.begin() + at, is.begin() + at + count,
                            should.begin() + first) &&
                 std::all_of(is.begin(), is.begin() + at,
                             [](std::uint64_t v) { return v == 0; }) &&
                 std::all_of(is.begin() + at + count, is.end(),
                             [](std::uint64_t v) { return v == 0; });
        };
        INFO("descriptors " << first << " + " << count << ", pages of "
                            << pageTokens << ", shuffled " << isShuffled);
        CHECK(isEqual(found.source, expected.source, shift));
        CHECK(isEqual(found.target, expected.target, (shift + 1) % 4));
        CHECK(isEqual(found.bytes, expected.bytes, (shift + 2) % 4));
      }
    }
}

TEST_CASE("expansion: regions do not grow with the request") {
  for (std::int64_t tokens : {64, 4096, 1 << 20}) {
    Plan plan = makeSimplePlan(256, 64, 2);
    plan.source.planes[0].tokenStride = 1024; // of which 256 bytes are moved
    plan.source.planes[0].pageBytes = plan.source.buffers[0].pageBytes =
        64 * 1024;
    FakeMemory source(plan.source, 0, tokens / 64, 1 << 20);
    FakeMemory target(plan.target, 0, tokens / 64, 1 << 30);
    Binding binding(plan, {tokens, {0, tokens}}, 0, 0, source.memory,
                    target.memory);
    CHECK(binding.countRegions() == 2);
    CHECK(binding.countDescriptors() == 2 * tokens);
  }
}

TEST_CASE("expansion: rounds of a packed part against block by block") {
  bool isGood = rc::check("the same rounds and descriptors", [] {
    Plan plan = makeSimplePlan(pick({8, 24}), pick({1, 4, 8}), 2);
    Transfer &transfer = plan.transfers[0];
    transfer.packing = *rc::gen::elementOf(std::vector<Packing>{
        Packing::None, Packing::Source, Packing::Target, Packing::Both});
    transfer.moves[0].grain = seldom(2) ? Grain::Token : Grain::Free;
    std::int64_t tokens = upTo(1, 60);
    FakeMemory source(plan.source, 0, 60, 1 << 20);
    FakeMemory target(plan.target, 0, 60, 1 << 30);
    std::mt19937 random(static_cast<unsigned>(upTo(0, 100)));
    if (seldom(2))
      std::shuffle(source.table.begin(), source.table.end(), random);
    if (seldom(2))
      std::shuffle(target.table.begin(), target.table.end(), random);
    Binding binding(plan, {tokens, {0, tokens}}, 0, 0, source.memory,
                    target.memory);
    const Part &part = binding.getParts().front();
    std::int64_t slotBytes = upTo(24, 400), limit = pick({0, 1, 1, 2, 5});
    std::int64_t largest = 0;
    binding.forEachBlock(0, binding.countDescriptors(),
                         [&](std::uint64_t, std::uint64_t, std::uint64_t n) {
                           largest = std::max<std::int64_t>(largest, n);
                         });
    slotBytes += largest;
    PackedBinding packed(binding, part, slotBytes, limit);

    std::vector<Round> expected;
    std::uint64_t sourceEnd = 0, targetEnd = 0;
    std::int64_t number = 0;
    binding.forEachBlock(
        0, binding.countDescriptors(),
        [&](std::uint64_t a, std::uint64_t b, std::uint64_t n) {
          auto bytes = static_cast<std::int64_t>(n);
          bool isNew =
              expected.empty() || expected.back().bytes + bytes > slotBytes;
          bool joins = (packed.packsAtSource() || a == sourceEnd) &&
                       (packed.packsAtTarget() || b == targetEnd);
          if (!isNew && !joins && limit && expected.back().descriptors == limit)
            isNew = true;
          if (isNew)
            expected.push_back({number, 0, 0, 0});
          ++expected.back().blocks;
          expected.back().bytes += bytes;
          expected.back().descriptors += isNew || !joins;
          sourceEnd = a + n;
          targetEnd = b + n;
          ++number;
        });
    RC_ASSERT(packed.getRounds().size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const Round &round = packed.getRounds()[i];
      RC_ASSERT(round.firstBlock == expected[i].firstBlock);
      RC_ASSERT(round.blocks == expected[i].blocks);
      RC_ASSERT(round.bytes == expected[i].bytes);
      RC_ASSERT(round.descriptors == expected[i].descriptors);
      std::vector<Descriptor> sent;
      packed.getDescriptors(round, 1 << 10, 1 << 12, sent);
      RC_ASSERT(static_cast<std::int64_t>(sent.size()) == round.descriptors);
      std::uint64_t bytes = 0;
      for (const Descriptor &descriptor : sent)
        bytes += descriptor.bytes;
      RC_ASSERT(static_cast<std::int64_t>(bytes) == round.bytes);
    }
  });
  CHECK(isGood);
}

TEST_CASE("expansion: what is given is checked") {
  Plan plan = makeSimplePlan(16, 4, 2);
  FakeMemory source(plan.source, 0, 4, 1 << 20);
  FakeMemory target(plan.target, 0, 4, 1 << 30);
  const Request good{13, {0, 13}};
  auto error = [&](const Request &request) {
    return bindError(plan, request, source.memory, target.memory);
  };
  CHECK(error(good) == "bound");
  CHECK(error({INT64_MAX, {0, INT64_MAX}}) ==
        "the request has 9223372036854775807 tokens; 0 to 1099511627776 are "
        "expected");
  CHECK(error({-1, {0, 0}}).find("the request has -1 tokens") == 0);
  CHECK(error({13, {5, 3}}) ==
        "the chunk is [5, 3); a part of the request's [0, 13) is expected");
  CHECK(error({13, {INT64_MIN, 13}}).find("the chunk is [") == 0);
  CHECK(error({13, {0, 12}}) ==
        "the last chunk ends at token 12; the request's end at 13 is expected");
  CHECK(error({13, {0, 13}, true, 14}) ==
        "the target has 14 tokens already; 0 to the request's 13 are expected");
  CHECK(error({13, {0, 13}, true, 0, -1}) ==
        "the room is -1; 0 or more is expected");
  CHECK(error({17, {0, 17}}) ==
        "page table 'kv' of source rank 0: has 4 pages; the tokens need 5");
  // Entries that no token needs are not looked at.
  source.table[3] = -5;
  CHECK(error({12, {0, 12}}) == "bound");
  CHECK(error(good) == "page table 'kv' of source rank 0: entry 3 is page -5; "
                       "0 to 2147483647 are expected");
  source.table = {0, 3, 1, 3};
  CHECK(error(good) == "page table 'kv' of source rank 0: page 3 stands at "
                       "entry 1 and again at 3");
  source.table = {0, INT32_MAX, 1, INT32_MAX};
  CHECK(error(good) == "page table 'kv' of source rank 0: page 2147483647 "
                       "stands at entry 1 and again at 3");
  source.table = {3, 1, 0, 2};
  target.table = {9, 9, 9, 9};
  CHECK(error({4, {0, 4}}) == "bound");
  CHECK(error(good) == "page table 'kv' of target rank 0: page 9 stands at "
                       "entry 0 and again at 1");
  target.table = {9, 1, 2, 3};
  target.memory.poolPages = {9};
  CHECK(error(good) == "page table 'kv' of target rank 0: entry 0 is page 9; 0 "
                       "to 8 are expected");
  target.memory.poolPages = {-3};
  CHECK(error(good) == "page table 'kv' of target rank 0: a pool of -3 pages "
                       "is given; 0 or more is expected");
  target.memory.poolPages = {10, 10};
  CHECK(error(good) == "target rank 0: sizes of 2 pools are given; one for "
                       "each of 1 tables is expected");
  target.memory.poolPages = {10};
  CHECK(error(good) == "bound");
  target.memory.tables[0].pages = nullptr;
  CHECK(error(good) ==
        "page table 'kv' of target rank 0: is null; 4 pages are expected");
  target.memory.tables[0].pages = target.table.data();
  target.memory.tables.push_back(target.memory.tables[0]);
  CHECK(error(good) ==
        "target rank 0: 2 page tables are given; 1 are expected");
  target.memory.tables.pop_back();
  target.addresses[1] = 0;
  CHECK(error(good) == "target rank 0: the address of buffer 1 is 0");
  target.addresses[1] = UINT64_MAX - 639;
  CHECK(error(good) == "target buffer at 18446744073709550976 of 640 bytes "
                       "ends behind the last address");
  target.addresses[1] = UINT64_MAX - 640;
  CHECK(error(good) == "bound");
  target.memory.buffers = nullptr;
  CHECK(error(good) == "target rank 0: the list of buffer addresses is null");
}

TEST_CASE("expansion: sizes near the end of 64 bits") {
  // 4,096 pages of 2^50 bytes are 2^62: what one layer may have, not two.
  for (std::int64_t layers : {1, 2}) {
    Plan plan = makeSimplePlan(std::int64_t(1) << 50, 1, layers);
    FakeMemory source(plan.source, 0, 4096, 1 << 20);
    FakeMemory target(plan.target, 0, 4096, 1 << 30);
    source.addresses.assign(layers, 1 << 20);
    target.addresses.assign(layers, 1 << 30);
    CHECK(bindError(plan, {4096, {0, 4096}}, source.memory, target.memory) ==
          (layers == 1 ? "bound"
                       : "more than 4611686018427387904 bytes are moved"));
    source.table[7] = 4096;
    CHECK(bindError(plan, {4096, {0, 4096}}, source.memory, target.memory) ==
          "page table 'kv' of source rank 0: entry 7 is page 4096; 0 to 4095 "
          "are expected");
  }
  Plan plan = makeSimplePlan(16, 4);
  FakeMemory memory(plan.source, 0, 4, 1 << 20);
  auto split = [&](std::int64_t parts, std::int64_t unit) {
    plan.source.ranks[0].tokens = {TokenPart::Kind::Cyclic, parts, 0, unit,
                                   TokenPart::Of::Request};
    return bindError(plan, {13, {0, 13}}, memory.memory, memory.memory);
  };
  CHECK(split(1 << 20, std::int64_t(1) << 40) ==
        "a split of the tokens repeats only after 1152921504606846976 tokens; "
        "at most 4194304 are expected");
  plan.target.ranks[0].tokens = {TokenPart::Kind::Cyclic, 2097143, 0, 1,
                                 TokenPart::Of::Request};
  CHECK(split(4194301, 1) ==
        "splits of the tokens repeat together only after 8796048982043 tokens; "
        "at most 4194304 are expected");
}
