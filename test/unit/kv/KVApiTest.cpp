//===- KVApiTest.cpp - layline/kv.h as an engine calls it -----------------===//
#include "KVModels.h"

#include "layline/KV/PlanJSON.h"
#include "layline/kv.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

using namespace layline::kv;

namespace {

using PlanHandle =
    std::unique_ptr<layline_kv_plan, decltype(&layline_kv_plan_destroy)>;
using BindingHandle =
    std::unique_ptr<layline_kv_binding, decltype(&layline_kv_binding_destroy)>;
using PackingHandle =
    std::unique_ptr<layline_kv_packing, decltype(&layline_kv_packing_destroy)>;

#define OK(call)                                                               \
  do {                                                                         \
    INFO(#call);                                                               \
    layline_status status = (call);                                            \
    INFO(layline_kv_error());                                                  \
    REQUIRE(status == LAYLINE_OK);                                             \
  } while (false)

/// Qwen3-30B-A3B: 48 layers, 4 heads of 128 elements in bf16.
std::string makeQwenPlan(const char *source, const char *target,
                         Profile profile) {
  return toJSON(
      makePlan(makeHeads("qwen3-30b-a3b", 48, 4), source, target, profile));
}

PlanHandle load(const std::string &text) {
  layline_kv_plan *plan = nullptr;
  OK(layline_kv_plan_load_memory(text.data(), text.size(), "kv.json", &plan));
  return {plan, layline_kv_plan_destroy};
}

/// One chunk: the whole request.
layline_kv_request makeRequest(std::int64_t tokens) {
  return {sizeof(layline_kv_request), tokens, 0, tokens, 1, 0, 0};
}

/// What a rank gives: one table, addresses apart from each other.
struct Memory {
  Memory(const layline_kv_plan *plan, layline_kv_side side, std::int64_t rank,
         std::vector<std::int32_t> numbers, std::uint64_t first)
      : pages(std::move(numbers)) {
    layline_kv_rank_info info;
    OK(layline_kv_plan_rank(plan, side, rank, &info));
    for (std::int64_t i = 0; i < info.buffers; ++i)
      buffers.push_back(first + static_cast<std::uint64_t>(i) *
                                    (std::uint64_t(1) << 36));
    table = pages.data();
    count = static_cast<std::int64_t>(pages.size());
    memory = {sizeof(layline_kv_memory),
              buffers.data(),
              info.buffers,
              &table,
              &count,
              1,
              nullptr,
              nullptr};
  }
  Memory(const Memory &) = delete;

  std::vector<std::int32_t> pages;
  std::vector<std::uint64_t> buffers;
  const std::int32_t *table;
  std::int64_t count;
  layline_kv_memory memory;
};

std::vector<std::int32_t> makePages(std::int64_t count, std::int32_t first) {
  std::vector<std::int32_t> pages(count);
  std::iota(pages.begin(), pages.end(), first);
  return pages;
}

BindingHandle bind(const layline_kv_plan *plan,
                   const layline_kv_request &request, std::int64_t source,
                   std::int64_t target, const Memory &from, const Memory &to) {
  layline_kv_binding *binding = nullptr;
  OK(layline_kv_bind(plan, &request, source, target, &from.memory, &to.memory,
                     &binding));
  return {binding, layline_kv_binding_destroy};
}

struct Triples {
  explicit Triples(std::int64_t count)
      : source(count), target(count), bytes(count) {}
  std::vector<std::uint64_t> source, target, bytes;
  bool operator==(const Triples &other) const {
    return source == other.source && target == other.target &&
           bytes == other.bytes;
  }
};

Triples fill(const layline_kv_binding *binding, std::int32_t threads = 1) {
  layline_kv_counts counts;
  OK(layline_kv_binding_counts(binding, &counts));
  Triples all(counts.descriptors);
  OK(layline_kv_fill(binding, 0, counts.descriptors, all.source.data(),
                     all.target.data(), all.bytes.data(), threads));
  return all;
}

std::string errorOf(layline_status status, layline_status expected) {
  CHECK(status == expected);
  return layline_kv_error();
}

} // namespace

TEST_CASE("kv api: a plan answers what an engine asks") {
  PlanHandle plan =
      load(makeQwenPlan("tp1,cp4", "tp4,page64", Profile::SGLangCompat));
  layline_kv_plan_info info;
  OK(layline_kv_plan_get(plan.get(), &info));
  CHECK(std::string(info.model) == "qwen3-30b-a3b");
  CHECK(std::string(info.profile) == "sglang-compat");
  CHECK(info.planes == 2);
  CHECK(info.transfers == 16);
  CHECK(info.rounds_to_pages == 1);

  layline_kv_plane_info plane;
  OK(layline_kv_plan_plane(plan.get(), 1, &plane));
  CHECK(std::string(plane.name) == "v");
  CHECK(std::string(plane.dtype) == "bf16");
  CHECK(plane.heads == 4);
  CHECK(plane.head_bytes == 256);
  CHECK(plane.layers == 48);
  CHECK(plane.layer_ids[47] == 47);

  layline_kv_side_info side;
  OK(layline_kv_plan_side(plan.get(), LAYLINE_KV_SOURCE, &side));
  CHECK(std::string(side.spec) == "tp1,cp4");
  CHECK(side.page_tokens == 64);
  CHECK(side.ranks == 4);
  CHECK(side.tables == 1);
  const char *table = nullptr;
  OK(layline_kv_plan_table(plan.get(), LAYLINE_KV_TARGET, 0, &table));
  CHECK(std::string(table) == "kv");

  layline_kv_rank_info rank;
  OK(layline_kv_plan_rank(plan.get(), LAYLINE_KV_SOURCE, 3, &rank));
  CHECK(rank.cp == 3);
  CHECK(rank.buffers == 96);
  layline_kv_buffer_info buffer;
  OK(layline_kv_plan_buffer(plan.get(), LAYLINE_KV_TARGET, 2, 50, &buffer));
  CHECK(std::string(buffer.name) == "v");
  CHECK(buffer.layer == 2);
  CHECK(buffer.table == 0);
  CHECK(buffer.page_bytes == 64 * 256);

  std::int64_t first = -1, count = -1;
  OK(layline_kv_plan_pair(plan.get(), 2, 1, &first, &count));
  CHECK(count == 1);
  layline_kv_transfer_info transfer;
  OK(layline_kv_plan_transfer(plan.get(), first, &transfer));
  CHECK(transfer.source == 2);
  CHECK(transfer.target == 1);
  CHECK(transfer.batches_by_layer == 1);
  CHECK(transfer.packing == LAYLINE_KV_PACK_NOWHERE);

  std::int64_t ranks[2] = {-1, -1};
  OK(layline_kv_plan_responders(plan.get(), 0, ranks, 2, &count));
  CHECK(count == 4);
  CHECK(ranks[1] == 1);

  layline_kv_request request = makeRequest(4100);
  std::int64_t pages = -1;
  OK(layline_kv_plan_pages(plan.get(), &request, LAYLINE_KV_TARGET, 3, 0,
                           &pages));
  CHECK(pages == 65);
}

TEST_CASE("kv api: the seed pair") {
  PlanHandle plan =
      load(makeQwenPlan("tp1,cp4", "tp4,page64", Profile::SGLangCompat));
  Memory from(plan.get(), LAYLINE_KV_SOURCE, 1, makePages(64, 3), 1ull << 40);
  Memory to(plan.get(), LAYLINE_KV_TARGET, 2, makePages(64, 11), 1ull << 45);
  BindingHandle binding = bind(plan.get(), makeRequest(4096), 1, 2, from, to);
  plan.reset(); // the binding stands alone
  layline_kv_counts counts;
  OK(layline_kv_binding_counts(binding.get(), &counts));
  CHECK(counts.descriptors == 96 * 1024);
  CHECK(counts.batches == 96);
  CHECK(counts.parts == 1);
  CHECK(counts.bytes == 96 * 1024 * 256);
  CHECK(counts.regions == 96);
  std::vector<layline_kv_batch> batches(96);
  OK(layline_kv_binding_batches(binding.get(), 0, 96, batches.data()));
  CHECK(batches[5].first == 5 * 1024);
  CHECK(batches[5].descriptors == 1024);
  CHECK(batches[5].bytes == 1024 * 256);
  layline_kv_part part;
  OK(layline_kv_binding_part(binding.get(), 0, &part));
  CHECK(part.batches == 96);
  CHECK(part.descriptors == counts.descriptors);

  Triples all = fill(binding.get());
  CHECK(all.source[0] == (1ull << 40) + (3 * 64 + 1024) * 1024 + 2 * 256);
  CHECK(all.source[1] - all.source[0] == 1024);
  CHECK(all.target[0] == (1ull << 45) + (11 * 64 + 1024) * 256);
  CHECK(all.target[1] - all.target[0] == 256);
  CHECK(all.bytes[1023] == 256);
  CHECK(fill(binding.get(), 3) == all);

  // Rows hold the same.
  std::vector<std::uint64_t> sources(3 * counts.descriptors),
      targets(3 * counts.descriptors);
  OK(layline_kv_fill_rows(binding.get(), 0, counts.descriptors, 5, 6,
                          sources.data(), targets.data(), 2));
  Triples rows(counts.descriptors);
  for (std::int64_t i = 0; i < counts.descriptors; ++i) {
    rows.source[i] = sources[3 * i];
    rows.target[i] = targets[3 * i];
    rows.bytes[i] = sources[3 * i + 1];
    REQUIRE(targets[3 * i + 1] == rows.bytes[i]);
    REQUIRE(sources[3 * i + 2] == 5);
    REQUIRE(targets[3 * i + 2] == 6);
  }
  CHECK(rows == all);

  // Regions too.
  std::vector<layline_kv_region> regions(counts.regions);
  OK(layline_kv_regions(binding.get(), 0, counts.regions, regions.data()));
  Triples blocks(0);
  for (const layline_kv_region &region : regions)
    for (std::int64_t j = 0; j < region.outer; ++j)
      for (std::int64_t i = 0; i < region.inner; ++i) {
        blocks.source.push_back(region.source + j * region.source_jump +
                                i * region.source_step);
        blocks.target.push_back(region.target + j * region.target_jump +
                                i * region.target_step);
        blocks.bytes.push_back(region.bytes);
      }
  CHECK(blocks == all);
  layline_kv_region one;
  OK(layline_kv_regions(binding.get(), 70, 1, &one));
  CHECK(std::memcmp(&one, &regions[70], sizeof(one)) == 0);
}

TEST_CASE("kv api: batches through a callback") {
  PlanHandle plan =
      load(makeQwenPlan("tp1,cp4", "tp4,page64", Profile::SGLangCompat));
  Memory from(plan.get(), LAYLINE_KV_SOURCE, 0, makePages(64, 3), 1ull << 40);
  Memory to(plan.get(), LAYLINE_KV_TARGET, 0, makePages(64, 11), 1ull << 45);
  BindingHandle binding = bind(plan.get(), makeRequest(4096), 0, 0, from, to);
  Triples expected = fill(binding.get());
  struct Seen {
    std::mutex mutex;
    Triples all;
    std::int64_t calls = 0, largest = 0, stopAt = -1;
  } seen{{}, Triples(expected.source.size())};
  auto visit = [](void *context, const layline_kv_batch *batch,
                  std::int64_t first, std::int64_t count,
                  const std::uint64_t *source, const std::uint64_t *target,
                  const std::uint64_t *bytes) {
    Seen &own = *static_cast<Seen *>(context);
    std::lock_guard<std::mutex> lock(own.mutex);
    if (first < batch->first ||
        first + count > batch->first + batch->descriptors)
      return 7;
    std::copy_n(source, count, own.all.source.begin() + first);
    std::copy_n(target, count, own.all.target.begin() + first);
    std::copy_n(bytes, count, own.all.bytes.begin() + first);
    own.largest = std::max(own.largest, count);
    return own.calls++ == own.stopAt ? 9 : 0;
  };
  for (std::int32_t threads : {1, 4}) {
    seen.all = Triples(expected.source.size());
    seen.calls = seen.largest = 0;
    OK(layline_kv_for_each_batch(binding.get(), 300, threads, visit, &seen));
    CHECK(seen.all == expected);
    CHECK(seen.calls == 96 * 4);
    CHECK(seen.largest == 300);
  }
  seen.calls = 0;
  seen.stopAt = 5;
  CHECK(errorOf(layline_kv_for_each_batch(binding.get(), 300, 1, visit, &seen),
                LAYLINE_RUN_FAILURE) ==
        "batch 1: the visit of 300 descriptors from number 1324 on returned 9");
  CHECK(seen.calls == 6);
}

TEST_CASE("kv api: lengths may be left out where all are equal") {
  PlanHandle seed =
      load(makeQwenPlan("tp1,cp4", "tp4,page64", Profile::SGLangCompat));
  Memory from(seed.get(), LAYLINE_KV_SOURCE, 0, makePages(64, 3), 1ull << 40);
  Memory to(seed.get(), LAYLINE_KV_TARGET, 0, makePages(64, 11), 1ull << 45);
  BindingHandle equal = bind(seed.get(), makeRequest(4096), 0, 0, from, to);
  std::int64_t bytes = -1;
  OK(layline_kv_binding_equal_bytes(equal.get(), &bytes));
  CHECK(bytes == 256);
  Triples all = fill(equal.get()), bare(all.source.size());
  for (std::int32_t threads : {1, 3}) {
    OK(layline_kv_fill(equal.get(), 0, std::int64_t(all.source.size()),
                       bare.source.data(), bare.target.data(), nullptr,
                       threads));
    CHECK(bare.source == all.source);
    CHECK(bare.target == all.target);
  }

  // Pages 4 and 5 are one block, the others by themselves.
  PlanHandle pages =
      load(makeQwenPlan("tp1,page64", "tp1,page64", Profile::Optimised));
  Memory a(pages.get(), LAYLINE_KV_SOURCE, 0, {4, 5, 9, 2}, 1ull << 40);
  Memory b(pages.get(), LAYLINE_KV_TARGET, 0, {1, 2, 0, 5}, 1ull << 45);
  BindingHandle mixed = bind(pages.get(), makeRequest(256), 0, 0, a, b);
  OK(layline_kv_binding_equal_bytes(mixed.get(), &bytes));
  CHECK(bytes == 0);
  Triples expected = fill(mixed.get()), visited(0);
  CHECK(expected.bytes[0] == 2 * expected.bytes[1]);
  auto collect = [](void *context, const layline_kv_batch *, std::int64_t,
                    std::int64_t count, const std::uint64_t *source,
                    const std::uint64_t *target, const std::uint64_t *length) {
    Triples &own = *static_cast<Triples *>(context);
    own.source.insert(own.source.end(), source, source + count);
    own.target.insert(own.target.end(), target, target + count);
    own.bytes.insert(own.bytes.end(), length, length + count);
    return 0;
  };
  OK(layline_kv_for_each_batch(mixed.get(), 5, 1, collect, &visited));
  CHECK(visited == expected);
  std::uint64_t word = 0;
  CHECK(errorOf(layline_kv_fill(mixed.get(), 0, 1, &word, &word, nullptr, 1),
                LAYLINE_BAD_ARGUMENT) ==
        "the array of lengths is null, but the descriptors have different "
        "lengths; an array is expected");
}

TEST_CASE("kv api: rows of two planes, each of one length") {
  // Latents of 1,152 bytes and index keys of 128: a list of each.
  PlanHandle plan = load(
      toJSON(makePlan(makeLatents("deepseek-v3.2", 3, {0, 1, 2}), "tp1,page64",
                      "tp1,page64,cp1", Profile::SGLangCompat)));
  Memory from(plan.get(), LAYLINE_KV_SOURCE, 0, makePages(2, 3), 1ull << 40);
  Memory to(plan.get(), LAYLINE_KV_TARGET, 0, makePages(2, 11), 1ull << 45);
  BindingHandle binding = bind(plan.get(), makeRequest(128), 0, 0, from, to);
  Triples all = fill(binding.get());
  REQUIRE(*std::min_element(all.bytes.begin(), all.bytes.end()) <
          *std::max_element(all.bytes.begin(), all.bytes.end()));
  std::int64_t bytes = -1;
  OK(layline_kv_binding_equal_bytes(binding.get(), &bytes));
  CHECK(bytes == 0);
  std::uint64_t word = 0;
  CHECK(layline_kv_fill(binding.get(), 0, 1, &word, &word, nullptr, 1) ==
        LAYLINE_BAD_ARGUMENT);
}

TEST_CASE("kv api: small blocks packed, sent as large ones") {
  PlanHandle plan =
      load(makeQwenPlan("tp1,page8", "tp4,page16", Profile::Optimised));
  constexpr std::int64_t kTokens = 75;
  // Real memory this time.
  std::vector<std::vector<std::uint8_t>> source, target;
  Memory from(plan.get(), LAYLINE_KV_SOURCE, 0, {4, 2, 9, 1, 7, 3, 8, 0, 6, 5},
              1);
  Memory to(plan.get(), LAYLINE_KV_TARGET, 3, {2, 0, 4, 1, 3}, 1);
  std::mt19937 random(3);
  for (std::size_t i = 0; i < from.buffers.size(); ++i) {
    source.emplace_back(10 * 8 * 1024);
    for (std::uint8_t &byte : source.back())
      byte = static_cast<std::uint8_t>(random());
    from.buffers[i] = reinterpret_cast<std::uintptr_t>(source.back().data());
    target.emplace_back(5 * 16 * 256);
    to.buffers[i] = reinterpret_cast<std::uintptr_t>(target.back().data());
  }
  BindingHandle binding =
      bind(plan.get(), makeRequest(kTokens), 0, 3, from, to);
  layline_kv_part part;
  OK(layline_kv_binding_part(binding.get(), 0, &part));
  REQUIRE(part.packing == LAYLINE_KV_PACK_AT_SOURCE);
  CHECK(part.descriptors == 96 * kTokens);
  layline_kv_part_slot own;
  OK(layline_kv_binding_part_slot(binding.get(), 0, &own));
  CHECK(own.bytes == 32 << 20);
  CHECK(own.max_descriptors == 2048);
  layline_kv_packing *made = nullptr;
  OK(layline_kv_packing_create(binding.get(), 0, 0, 0, &made)); // into its own
  std::int64_t whole = 0;
  OK(layline_kv_packing_rounds(made, &whole));
  CHECK(whole == 1);
  layline_kv_packing_destroy(made);
  constexpr std::size_t kSlot = 100000;
  OK(layline_kv_packing_create(binding.get(), 0, kSlot, 7, &made));
  PackingHandle packing(made, layline_kv_packing_destroy);
  binding.reset(); // the packing stands alone
  std::int64_t rounds = 0;
  OK(layline_kv_packing_rounds(packing.get(), &rounds));
  CHECK(rounds > 10);
  std::vector<std::uint8_t> slot(kSlot);
  std::int64_t blocks = 0;
  for (std::int64_t i = 0; i < rounds; ++i) {
    layline_kv_round round;
    OK(layline_kv_packing_round(packing.get(), i, &round));
    REQUIRE(round.bytes <= std::int64_t(kSlot));
    REQUIRE(round.descriptors <= 7);
    CHECK(round.first_block == blocks);
    blocks += round.blocks;
    OK(layline_kv_pack(packing.get(), i, slot.data(), slot.size(), 2));
    Triples sent(round.descriptors);
    OK(layline_kv_packing_descriptors(
        packing.get(), i, reinterpret_cast<std::uintptr_t>(slot.data()), 0,
        sent.source.data(), sent.target.data(), sent.bytes.data(),
        round.descriptors));
    for (std::int64_t k = 0; k < round.descriptors; ++k)
      std::memcpy(reinterpret_cast<void *>(sent.target[k]),
                  reinterpret_cast<const void *>(sent.source[k]),
                  sent.bytes[k]);
    OK(layline_kv_unpack(packing.get(), i, slot.data(), slot.size(), 2));
  }
  CHECK(blocks == part.descriptors);
  for (std::size_t i = 0; i < target.size(); ++i)
    for (std::int64_t token = 0; token < 80; ++token) {
      const std::uint8_t *is =
          &target[i][(to.pages[token / 16] * 16 + token % 16) * 256];
      const std::uint8_t *was =
          &source[i][(from.pages[token / 8] * 8 + token % 8) * 1024 + 3 * 256];
      bool isEqual = std::equal(is, is + 256, was);
      bool isUntouched =
          std::all_of(is, is + 256, [](std::uint8_t b) { return b == 0; });
      REQUIRE((token < kTokens ? isEqual : isUntouched));
    }
}

TEST_CASE("kv api: readiness, lifetimes, slots and digests") {
  PlanHandle plan = load(makeQwenPlan("tp1,cp4", "tp4", Profile::Optimised));
  layline_kv_responder_info responder;
  OK(layline_kv_plan_responder(plan.get(), 2, 3, &responder));
  CHECK(responder.source == 3);
  CHECK(std::string(responder.key) == "pp0.dp0.cp3.tp0");
  CHECK(responder.completions == 2);
  CHECK(responder.reports ==
        (LAYLINE_KV_REPORT_MAIN | LAYLINE_KV_REPORT_AUXILIARY));

  std::int64_t count = 0;
  OK(layline_kv_plan_lifetimes(plan.get(), &count));
  CHECK(count == 3);
  layline_kv_lifetime_info lifetime;
  OK(layline_kv_plan_lifetime(plan.get(), 1, &lifetime));
  CHECK(std::string(lifetime.store) == "target_pages");
  CHECK(std::string(lifetime.name) == "kv");
  CHECK(std::string(lifetime.from) == "taken");
  CHECK(std::string(lifetime.until) == "consumed");
  CHECK(std::string(lifetime.after_failure) == "quiet");
  CHECK(std::string(lifetime.reuse) == "any_request");

  OK(layline_kv_plan_slots(plan.get(), &count));
  CHECK(count == 16);
  layline_kv_slot_info slot;
  OK(layline_kv_plan_slot(plan.get(), 6, &slot));
  CHECK(slot.at == LAYLINE_KV_SOURCE);
  CHECK(slot.source == 2);
  CHECK(slot.target == 1);
  CHECK(slot.lane == 1);
  CHECK(slot.bytes == 32 << 20);
  CHECK(slot.max_descriptors == 2048);

  char first[LAYLINE_KV_DIGEST_SIZE], other[LAYLINE_KV_DIGEST_SIZE];
  OK(layline_kv_plan_page_digest(plan.get(), LAYLINE_KV_SOURCE, 0, 5, first));
  CHECK(std::strlen(first) == 64);
  OK(layline_kv_plan_page_digest(plan.get(), LAYLINE_KV_SOURCE, 3, 5, other));
  CHECK(std::string(first) == other); // gathered: all ranks keep the same
  OK(layline_kv_plan_page_digest(plan.get(), LAYLINE_KV_SOURCE, 0, 6, other));
  CHECK(std::string(first) != other);
  OK(layline_kv_plan_page_digest(plan.get(), LAYLINE_KV_SOURCE, 0, 53, other));
  CHECK(std::string(first) != other); // V of layer 5
  OK(layline_kv_plan_page_digest(plan.get(), LAYLINE_KV_TARGET, 0, 5, other));
  CHECK(std::string(first) != other);
  OK(layline_kv_plan_layers_digest(plan.get(), LAYLINE_KV_TARGET, 2, "v",
                                   other));
  CHECK(std::strlen(other) == 64);

  CHECK(layline_kv_plan_responder(plan.get(), 4, 0, &responder) ==
        LAYLINE_BAD_ARGUMENT);
  CHECK(layline_kv_plan_slot(plan.get(), 16, &slot) == LAYLINE_BAD_ARGUMENT);
  CHECK(layline_kv_plan_page_digest(plan.get(), LAYLINE_KV_TARGET, 0, 96,
                                    other) == LAYLINE_BAD_ARGUMENT);
  CHECK(layline_kv_plan_layers_digest(plan.get(), LAYLINE_KV_TARGET, 0, "w",
                                      other) == LAYLINE_BAD_ARGUMENT);
  CHECK(std::string(layline_kv_error()) ==
        "buffer 'w' is asked for; the side has none of this name");
}

TEST_CASE("kv api: bad calls get a status and a text") {
  layline_kv_plan *none = reinterpret_cast<layline_kv_plan *>(1);
  CHECK(errorOf(layline_kv_plan_load("/no/such/kv.json", &none),
                LAYLINE_UNREADABLE_FILE)
            .find("'/no/such/kv.json': cannot be opened") == 0);
  CHECK(none == nullptr);
  CHECK(errorOf(layline_kv_plan_load_memory("{", 1, "kv.json", &none),
                LAYLINE_UNREADABLE_FILE)
            .find("'kv.json': not a JSON document") == 0);
  CHECK(errorOf(layline_kv_plan_load(nullptr, &none), LAYLINE_BAD_ARGUMENT) ==
        "a pointer is null");
  CHECK(layline_kv_plan_load("x", nullptr) == LAYLINE_BAD_ARGUMENT);

  PlanHandle plan =
      load(makeQwenPlan("tp1,cp4", "tp4,page64", Profile::SGLangCompat));
  CHECK(std::string(layline_kv_error()).empty());
  layline_kv_plane_info plane;
  CHECK(errorOf(layline_kv_plan_plane(plan.get(), 2, &plane),
                LAYLINE_BAD_ARGUMENT) == "plane 2 is asked for; there are 2");
  layline_kv_side_info side;
  CHECK(errorOf(layline_kv_plan_side(plan.get(), 2, &side),
                LAYLINE_BAD_ARGUMENT) ==
        "side 2 is asked for; 0 (source) or 1 (target) is expected");

  Memory from(plan.get(), LAYLINE_KV_SOURCE, 0, makePages(64, 3), 1ull << 40);
  Memory to(plan.get(), LAYLINE_KV_TARGET, 0, makePages(64, 11), 1ull << 45);
  layline_kv_request request = makeRequest(4096);
  layline_kv_binding *binding = nullptr;
  auto bindError = [&](const layline_kv_memory &source) {
    return errorOf(layline_kv_bind(plan.get(), &request, 0, 0, &source,
                                   &to.memory, &binding),
                   LAYLINE_BAD_ARGUMENT);
  };
  CHECK(errorOf(layline_kv_bind(plan.get(), &request, 4, 0, &from.memory,
                                &to.memory, &binding),
                LAYLINE_BAD_ARGUMENT) ==
        "source rank 4 is asked for; there are 4");
  CHECK(errorOf(layline_kv_bind(plan.get(), &request, 0,
                                (std::int64_t(1) << 32) + 1, &from.memory,
                                &to.memory, &binding),
                LAYLINE_BAD_ARGUMENT) ==
        "target rank 4294967297 is asked for; there are 4");
  layline_kv_memory memory = from.memory;
  memory.size = 8;
  CHECK(bindError(memory) ==
        "source memory.size is 8; at least 56 is expected");
  memory = from.memory;
  memory.buffers = nullptr;
  CHECK(bindError(memory) ==
        "source rank 0: the list of buffer addresses is null");
  memory = from.memory;
  memory.buffer_count = 95;
  CHECK(bindError(memory) ==
        "source rank 0: 95 buffer addresses are given; 96 are expected");
  memory = from.memory;
  memory.tables = nullptr;
  CHECK(bindError(memory) == "source: the list of page tables, or of their "
                             "lengths, is null");
  memory = from.memory;
  memory.table_count = 0;
  CHECK(bindError(memory) ==
        "source rank 0: 0 page tables are given; 1 are expected");
  const std::int32_t *null = nullptr;
  memory = from.memory;
  memory.tables = &null;
  CHECK(bindError(memory) == "page table 'kv' of source rank 0: is null; 16 "
                             "pages are expected");
  std::int64_t negative = -1;
  memory = from.memory;
  memory.table_pages = &negative;
  CHECK(bindError(memory) == "source: page table 0 has -1 pages");
  std::int64_t pool = 12;
  memory = from.memory;
  memory.pool_pages = &pool;
  CHECK(bindError(memory) == "page table 'kv' of source rank 0: entry 9 is "
                             "page 12; 0 to 11 are expected");

  BindingHandle good = bind(plan.get(), request, 0, 0, from, to);
  std::uint64_t word = 0;
  CHECK(
      errorOf(layline_kv_fill(good.get(), INT64_MAX, 1, &word, &word, &word, 1),
              LAYLINE_BAD_ARGUMENT) ==
      "1 descriptors from number 9223372036854775807 on are asked for; "
      "there are 98304");
  CHECK(
      errorOf(layline_kv_fill(good.get(), 5, INT64_MAX, &word, &word, &word, 1),
              LAYLINE_BAD_ARGUMENT)
          .find("9223372036854775807 descriptors from number 5") == 0);
  CHECK(errorOf(layline_kv_fill(good.get(), 0, 1, &word, nullptr, &word, 1),
                LAYLINE_BAD_ARGUMENT) == "a pointer is null");
  CHECK(layline_kv_fill(good.get(), 98304, 0, nullptr, nullptr, nullptr, 1) ==
        LAYLINE_OK);
  layline_kv_packing *packing = nullptr;
  CHECK(errorOf(layline_kv_packing_create(good.get(), 0, 255, 0, &packing),
                LAYLINE_BAD_ARGUMENT) ==
        "a block of 256 bytes does not fit into a slot of 255");
  CHECK(errorOf(layline_kv_packing_create(good.get(), 1, 255, 0, &packing),
                LAYLINE_BAD_ARGUMENT) == "part 1 is asked for; there are 1");
}
