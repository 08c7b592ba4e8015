// Caches in pages of the engine's on device cuda: used in place, the bits of
// the device's own.
#include "FakeGpu.h"
#include "GoldenRun.h"
#include "devices/cuda/Card.h"
#include "layline/hooks.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

using namespace layline::test;

namespace {

/// Rows as [page][row][item] or [page][item][row], in pages of each rank's card
/// that are given out in a scattered order.
class CardPages {
public:
  CardPages(int cards, std::int64_t ranks, std::int64_t pageRows, bool isByItem)
      : ranks_(ranks), pageRows_(pageRows), isByItem_(isByItem) {
    for (int c = 0; c < cards; ++c)
      cards_.push_back(std::make_unique<Card>(c));
  }

  std::int64_t sequence = 0; ///< whose rows run
  bool hasTable = true;
  int shift = 0; ///< cards from the rank's own on
  void *base = nullptr;
  std::int32_t *table = nullptr; ///< in the place of the right ones
  layline_status answer = LAYLINE_OK;
  std::int64_t asked = 0, mostRows = 0;
  std::map<layline_dtype, int> types;

  layline_cache_hooks hooks() {
    return {sizeof(layline_cache_hooks), this, pages, nullptr, nullptr};
  }

private:
  static constexpr std::int64_t kPages = 48;
  struct Plane {
    DeviceMemory memory;
    std::map<std::int64_t, DeviceMemory> tables; ///< by sequence
    std::int32_t taken = 0;
    std::map<std::int64_t, std::int64_t> held; ///< pages of a sequence
  };

  static layline_status pages(void *user, const layline_cache_request *request,
                              layline_pages *pages) {
    auto &cache = *static_cast<CardPages *>(user);
    ++cache.asked;
    ++cache.types[request->dtype];
    cache.mostRows = std::max(cache.mostRows, request->rows);
    if (cache.answer != LAYLINE_OK) {
      std::snprintf(request->message, request->message_bytes, "no page left");
      return cache.answer;
    }
    std::size_t count = cache.cards_.size();
    const Card &card =
        *cache.cards_[(static_cast<std::size_t>(request->rank) * count /
                           static_cast<std::size_t>(cache.ranks_) +
                       static_cast<std::size_t>(cache.shift)) %
                      count];
    std::int64_t elements = request->items * request->item_elements;
    Plane &plane = cache.planes_[{request->cache, request->rank}];
    if (plane.memory.bytes() == 0) {
      plane.memory = DeviceMemory(
          card,
          static_cast<std::size_t>(kPages * cache.pageRows_ * elements * 8 + 8),
          "pages");
      plane.tables.clear();
    }
    DeviceMemory &table = plane.tables[cache.sequence];
    if (table.bytes() == 0)
      table = DeviceMemory(card, kPages * sizeof(std::int32_t), "table");
    // Memory of the fake driver's cards is the host's.
    std::int64_t &held = plane.held[cache.sequence];
    for (; held * cache.pageRows_ < request->rows; ++held)
      table.as<std::int32_t>()[held] =
          cache.hasTable ? 37 * plane.taken++ % static_cast<int>(kPages)
                         : static_cast<std::int32_t>(held);
    pages->base = cache.base ? cache.base : plane.memory.as<void>();
    pages->table = !cache.hasTable ? nullptr
                   : cache.table   ? cache.table
                                   : table.as<std::int32_t>();
    pages->table_count = held;
    pages->page_rows = cache.pageRows_;
    pages->page_stride = cache.pageRows_ * elements;
    pages->row_stride = cache.isByItem_ ? request->item_elements : elements;
    pages->item_stride = cache.isByItem_
                             ? cache.pageRows_ * request->item_elements
                             : request->item_elements;
    return LAYLINE_OK;
  }

  std::int64_t ranks_, pageRows_;
  bool isByItem_;
  std::vector<std::unique_ptr<Card>> cards_;
  std::map<std::pair<std::string, std::int64_t>, Plane> planes_;
};

std::vector<std::int64_t> positionsOf(GoldenRun &run, std::int64_t rows) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(rows));
  run.check(layline_cache_read(run.get(), "positions", LAYLINE_I64,
                               values.data(), rows));
  return values;
}

void use(GoldenRun &run, CardPages &pages, const char *cache = nullptr) {
  layline_cache_hooks hooks = pages.hooks();
  run.check(layline_cache_hooks_set(run.get(), cache, &hooks));
}

} // namespace

TEST_CASE("a paged cache on cards gives the bits of the device's own",
          "[hooks]") {
  struct Case {
    int count;
    const char *plan, *model;
    int ranks;
    std::int64_t pageRows;
    bool isByItem, hasTable, checksRaces;
  };
  // Heads; uneven ones; latents; an indexer's keys.
  auto [count, plan, model, ranks, pageRows, isByItem, hasTable, checksRaces] =
      GENERATE(Case{2, "v1.0/llama-tp4", "llama", 4, 4, true, true, true},
               Case{1, "v1.0/llama-tp4", "llama", 4, 1, false, true, false},
               Case{1, "v1.0/llama-tp4", "llama", 4, 4, false, false, false},
               Case{2, "v1.0/llama-tp4", "llama", 4, 100, true, true, false},
               Case{1, "v1.0/qwen2-tp5", "qwen2", 5, 4, true, true, false},
               Case{1, "v1.2/deepseek_v3-tp4", "deepseek_v3", 4, 4, false, true,
                    false},
               Case{2, "v1.2/deepseek_v32-tp2-cp2", "deepseek_v32", 4, 4, true,
                    true, false});
  CAPTURE(count, plan, pageRows, isByItem, hasTable);
  FakeGpu gpu(checksRaces ? checkedCards(count) : cards(count));
  {
    CardPages pages(count, ranks, pageRows, isByItem);
    pages.hasTable = hasTable;
    GoldenRun own("cuda", plan, model), paged("cuda", plan, model);
    use(paged, pages);
    for (auto [begin, tokens] :
         {std::pair(0, 6), std::pair(6, 1), std::pair(7, 1), std::pair(8, 3)}) {
      CAPTURE(begin);
      own.run(begin, tokens);
      paged.run(begin, tokens);
      CHECK(paged.logits() == own.logits());
    }
    CHECK(pages.mostRows == 11);
    CHECK(pages.types.size() == 2); // numbers and positions
    CHECK(positionsOf(paged, 11) == positionsOf(own, 11));
  }
  INFO(gpu.emulatorError());
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("pages that are set between runs are used from then on, and no "
          "longer than they are set",
          "[hooks]") {
  FakeGpu gpu(cards(2));
  CardPages pages(2, 4, 4, false);
  GoldenRun own("cuda", "v1.0/llama-tp4", "llama"),
      both("cuda", "v1.0/llama-tp4", "llama");
  layline_cache_hooks hooks = pages.hooks();
  own.run(0, 6);
  for (bool arePaged : {false, true, false}) {
    CAPTURE(arePaged);
    both.check(layline_cache_hooks_set(both.get(), nullptr,
                                       arePaged ? &hooks : nullptr));
    std::int64_t asked = pages.asked;
    both.run(0, 6);
    CHECK(both.logits() == own.logits());
    CHECK((pages.asked > asked) == arePaged);
    // Rows are scattered where the device lays them out.
    CHECK(usesWith(both.uses(), "cache_append: scatter_pages") ==
          (arePaged ? 0 : 1));
    CHECK(usesWith(both.uses(), "(its rows are in pages of the engine's)") ==
          (arePaged ? 1 : 0));
  }
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("in bf16 pages are of bf16", "[hooks]") {
  FakeGpu gpu(cards(1));
  CardPages pages(1, 4, 4, true);
  GoldenRun own("cuda", "v1.0/llama-tp4", "llama", LAYLINE_PRECISION_BF16),
      paged("cuda", "v1.0/llama-tp4", "llama", LAYLINE_PRECISION_BF16);
  use(paged, pages);
  for (auto [begin, tokens] : {std::pair(0, 6), std::pair(6, 1)}) {
    own.run(begin, tokens);
    paged.run(begin, tokens);
    CHECK(paged.logits() == own.logits());
  }
  CHECK(pages.types.count(LAYLINE_BF16) == 1);
  CHECK(pages.types.count(LAYLINE_F32) == 0);
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("an engine of cards changes between sequences in place", "[hooks]") {
  FakeGpu gpu(cards(2));
  CardPages pages(2, 4, 4, false);
  GoldenRun first("cuda", "v1.0/llama-tp4", "llama"),
      second("cuda", "v1.0/llama-tp4", "llama"),
      both("cuda", "v1.0/llama-tp4", "llama");
  use(both, pages);
  // The second sequence begins with other tokens.
  struct Of {
    GoldenRun &alone;
    std::int64_t shift;
  } sequences[] = {{first, 0}, {second, 5}};
  std::int64_t past = 0;
  for (std::int64_t tokens : {4, 1, 3}) {
    for (Of &of : sequences) {
      CAPTURE(past, of.shift);
      pages.sequence = of.shift;
      both.setPast(past);
      both.run(past + of.shift, tokens);
      of.alone.run(past + of.shift, tokens);
      CHECK(both.logits() == of.alone.logits());
    }
    past += tokens;
  }
  CHECK(gpu.emulatorError().empty());
}

TEST_CASE("rows are bound to pages of cards, read, and given back", "[hooks]") {
  FakeGpu gpu(cards(2));
  {
    CardPages pages(2, 4, 4, true);
    GoldenRun own("cuda", "v1.0/llama-tp4", "llama"),
        paged("cuda", "v1.0/llama-tp4", "llama");
    own.run(0, 6);
    std::vector<std::int64_t> positions = positionsOf(own, 6);
    use(paged, pages);
    std::vector<double> rows;
    for (const char *id :
         {"layer.0.key", "layer.0.value", "layer.1.key", "layer.1.value"}) {
      rows = own.cache(id, 6 * 2 * 16);
      paged.check(
          layline_cache_bind(paged.get(), id, LAYLINE_F64, rows.data(), 6));
      CHECK(paged.cache(id, 6 * 2 * 16) == rows);
    }
    paged.check(layline_cache_bind(paged.get(), "positions", LAYLINE_I64,
                                   positions.data(), 6));
    paged.setPast(6);
    own.run(6, 2);
    paged.run(6, 2);
    CHECK(paged.logits() == own.logits());
    // One cache has pages, the others are the device's; then none.
    for (bool isPaged : {true, false}) {
      paged.check(layline_cache_hooks_set(paged.get(), nullptr, nullptr));
      if (isPaged)
        use(paged, pages, "layer.1.key");
      std::int64_t asked = pages.asked;
      own.setPast(0);
      own.run(0, 3);
      paged.run(0, 3);
      CHECK(paged.logits() == own.logits());
      CHECK((pages.asked > asked) == isPaged);
    }
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("pages that are no memory of the rank's card are named", "[hooks]") {
  FakeGpu gpu(cards(2));
  {
    CardPages pages(2, 4, 4, false);
    GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
    use(run, pages);
    std::vector<float> host(1 << 16);
    std::vector<std::int32_t> table(64);
    auto fails = [&](const std::string &text) {
      CHECK_THROWS_WITH(run.run(0, 3), Catch::Contains(text));
    };
    pages.base = host.data();
    fails("' on rank 0: the engine's pages hook gives a base that is no memory "
          "the driver knows; memory of card 0 (emulated) is expected");
    pages.base = nullptr;
    pages.table = table.data();
    fails("the engine's pages hook gives a table that is no memory");
    pages.table = nullptr;
    pages.answer = LAYLINE_OUT_OF_MEMORY;
    fails("on rank 0: the engine's pages hook: no page left");
    pages.answer = LAYLINE_OK;
    run.run(0, 3);
    CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < 5e-6);

    CardPages other(2, 4, 4, false);
    other.shift = 1;
    use(run, other);
    fails("the engine's pages hook gives a base of device 1; memory of card 0 "
          "(emulated) is expected");
  }
  CHECK(gpu.emulatorError().empty());
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("hooks that are refused leave a cache as it was", "[hooks]") {
  FakeGpu gpu(cards(1));
  GoldenRun run("cuda", "v1.0/llama-tp4", "llama");
  layline_cache_hooks hooks = {
      sizeof hooks, nullptr, nullptr,
      [](void *, const layline_cache_request *, const void *) {
        return LAYLINE_OK;
      },
      [](void *, const layline_cache_request *, void *) { return LAYLINE_OK; }};
  CHECK(layline_cache_hooks_set(run.get(), nullptr, &hooks) ==
        LAYLINE_REFUSED_FEATURE);
  // Were they in use, any past could be claimed.
  CHECK(layline_past_set(run.get(), 1) == LAYLINE_NOT_BOUND);
  run.run(0, 3);
  CHECK(error(run.logits(), run.recorded("logits", 0, 3)) < 5e-6);
}
