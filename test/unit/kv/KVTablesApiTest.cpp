//===- KVTablesApiTest.cpp - page tables through layline/kv.h -------------===//
#include "layline/KV/PlanJSON.h"
#include "layline/KV/Planner.h"
#include "layline/kv.h"

#include <catch2/catch.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

using namespace layline::kv;

namespace {

using PlanHandle =
    std::unique_ptr<layline_kv_plan, decltype(&layline_kv_plan_destroy)>;

/// One layer of latents, rows of 8 bytes.
PlanHandle makePlan(const char *source, const char *target) {
  Model model;
  model.name = "small";
  model.layers = 1;
  model.dtype = "bf16";
  model.latentRank = 4;
  model.kvLayers = {0};
  std::string text = toJSON(planMigration(
      model, parseSideSpec(source), parseSideSpec(target), PlanOptions()));
  layline_kv_plan *plan = nullptr;
  REQUIRE(layline_kv_plan_load_memory(text.data(), text.size(), "kv.json",
                                      &plan) == LAYLINE_OK);
  return {plan, layline_kv_plan_destroy};
}

/// One buffer and one table.
struct Memory {
  Memory(std::uint64_t address, std::vector<std::int32_t> numbers,
         std::int64_t firstPage = 0)
      : buffer(address), pages(std::move(numbers)), first(firstPage) {
    table = pages.data();
    count = static_cast<std::int64_t>(pages.size());
    memory = {sizeof(memory), &buffer, 1, &table, &count, 1, nullptr, &first};
  }
  Memory(const Memory &) = delete;

  std::uint64_t buffer;
  std::vector<std::int32_t> pages;
  const std::int32_t *table;
  std::int64_t count, first;
  layline_kv_memory memory;
};

/// Source addresses of all descriptors, or the error.
std::string
bindSources(const layline_kv_plan *plan, const layline_kv_request &request,
            const layline_kv_memory &from, const layline_kv_memory &to,
            std::vector<std::uint64_t> &sources, std::int64_t rank = 0) {
  layline_kv_binding *binding = nullptr;
  if (layline_kv_bind(plan, &request, rank, 0, &from, &to, &binding))
    return layline_kv_error();
  layline_kv_counts counts;
  REQUIRE(layline_kv_binding_counts(binding, &counts) == LAYLINE_OK);
  sources.resize(counts.descriptors);
  std::vector<std::uint64_t> targets(counts.descriptors),
      bytes(counts.descriptors);
  REQUIRE(layline_kv_fill(binding, 0, counts.descriptors, sources.data(),
                          targets.data(), bytes.data(), 1) == LAYLINE_OK);
  layline_kv_binding_destroy(binding);
  return "";
}

} // namespace

TEST_CASE("kv api: tables that begin behind a prefix") {
  PlanHandle plan = makePlan("tp1,page4", "tp1,page4");
  // The target has 8 of 20 tokens.
  layline_kv_request request = {sizeof(request), 20, 0, 20, 1, 8, 0};
  std::int64_t page = -1;
  REQUIRE(layline_kv_plan_first_page(plan.get(), &request, LAYLINE_KV_SOURCE, 0,
                                     0, &page) == LAYLINE_OK);
  CHECK(page == 2);
  Memory whole(1 << 20, {9, 7, 5, 3, 1}), behind(1 << 20, {5, 3, 1}, 2);
  Memory target(1 << 30, {0, 2, 4, 6, 8}, 0);
  std::vector<std::uint64_t> expected, found;
  CHECK(bindSources(plan.get(), request, whole.memory, target.memory,
                    expected) == "");
  CHECK(expected == std::vector<std::uint64_t>{(1 << 20) + 5 * 32,
                                               (1 << 20) + 3 * 32,
                                               (1 << 20) + 1 * 32});
  CHECK(bindSources(plan.get(), request, behind.memory, target.memory, found) ==
        "");
  CHECK(found == expected);
  // A token in front of the table.
  request.prefix = 4;
  CHECK(bindSources(plan.get(), request, behind.memory, target.memory, found) ==
        "page table 'kv' of source rank 0: begins with page 2 of the request; "
        "the tokens need it from page 1 on");
  // A caller of the first version has no such field.
  request.prefix = 8;
  layline_kv_memory old = behind.memory;
  old.size = offsetof(layline_kv_memory, first_pages);
  CHECK(bindSources(plan.get(), request, old, target.memory, found) ==
        "page table 'kv' of source rank 0: has 3 pages; the tokens need 5");
}

TEST_CASE("kv api: pages that ranks keep by their numbers") {
  PlanHandle plan = makePlan("cp2,page4,pagenumber", "tp1,page4");
  std::int64_t parts = -1, index = -1;
  REQUIRE(layline_kv_plan_page_parts(plan.get(), LAYLINE_KV_SOURCE, 1, &parts,
                                     &index) == LAYLINE_OK);
  CHECK(parts == 2);
  CHECK(index == 1);
  REQUIRE(layline_kv_plan_page_parts(plan.get(), LAYLINE_KV_TARGET, 0, &parts,
                                     &index) == LAYLINE_OK);
  CHECK(parts == 1);
  CHECK(index == 0);
  CHECK(layline_kv_plan_page_parts(plan.get(), LAYLINE_KV_TARGET, 1, &parts,
                                   &index) == LAYLINE_BAD_ARGUMENT);
  layline_kv_request request = {sizeof(request), 14, 0, 14, 1, 0, 0};
  std::int64_t pages = -1;
  REQUIRE(layline_kv_plan_pages(plan.get(), &request, LAYLINE_KV_SOURCE, 1, 0,
                                &pages) == LAYLINE_OK);
  CHECK(pages == 4); // of the table that both share
  Memory source(1 << 20, {3, 8, 5, 2}), target(1 << 30, {0, 9, 4, 7});
  std::vector<std::uint64_t> found;
  CHECK(bindSources(plan.get(), request, source.memory, target.memory, found,
                    1) == "");
  CHECK(found ==
        std::vector<std::uint64_t>{(1 << 20) + 1 * 32, (1 << 20) + 2 * 32});
}

TEST_CASE("kv api: tables of slots and of striped pages") {
  const std::vector<std::int64_t> slots = {20, 21, 22, 23, 8, 9};
  std::int32_t pages[2] = {-1, -1};
  std::int64_t number = -1;
  REQUIRE(layline_kv_pages_of_slots(slots.data(), 6, 4, nullptr, 0, &number) ==
          LAYLINE_OK);
  CHECK(number == 2);
  REQUIRE(layline_kv_pages_of_slots(slots.data(), 6, 4, pages, 2, &number) ==
          LAYLINE_OK);
  CHECK(pages[0] == 5);
  CHECK(pages[1] == 2);
  CHECK(layline_kv_pages_of_slots(slots.data(), 6, 4, pages, 1, &number) ==
        LAYLINE_BAD_ARGUMENT);
  CHECK(std::string(layline_kv_error()) ==
        "room for 1 pages is given; there are 2");
  CHECK(layline_kv_pages_of_slots(slots.data() + 1, 5, 4, pages, 2, &number) ==
        LAYLINE_BAD_ARGUMENT);
  CHECK(std::string(layline_kv_error()) ==
        "token 0 is in slot 21; slot 20, the next of page 5, is expected");
  CHECK(layline_kv_pages_of_slots(slots.data(), 6, 4, nullptr, 2, &number) ==
        LAYLINE_BAD_ARGUMENT);
  CHECK(layline_kv_pages_of_slots(slots.data(), 6, 0, pages, 2, &number) ==
        LAYLINE_BAD_ARGUMENT);

  const std::int32_t logical[] = {4, 9, 12};
  std::int32_t own[3];
  std::int64_t positions[3];
  REQUIRE(layline_kv_striped_pages(logical, 3, 4, 0, own, positions, 3,
                                   &number) == LAYLINE_OK);
  CHECK(number == 2);
  CHECK(own[0] == 1);
  CHECK(own[1] == 3);
  CHECK(positions[1] == 2);
  CHECK(layline_kv_striped_pages(logical, 3, 4, 4, own, positions, 3,
                                 &number) == LAYLINE_BAD_ARGUMENT);
  CHECK(std::string(layline_kv_error()) ==
        "pages of rank 4 of 4 are asked for; 0 to 3 is expected");
}
