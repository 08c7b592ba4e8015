// Plans: load, check, ask.
#include "capi/Border.h"
#include "plan/Load.h"

#include <cstdlib>
#include <cstring>
#include <string_view>

using namespace layline::runtime;

namespace {

layline_status checkText(std::string_view text, const char *name,
                         std::string &report) {
  LoadedPlan loaded = loadPlan(text, name);
  for (const std::string &line : loaded.findings)
    report += line + "\n";
  return loaded.status;
}

/// Gives the caller a copy to free; null if there is no memory.
void giveReport(const std::string &text, char **report) {
  if (!report)
    return;
  *report = static_cast<char *>(std::malloc(text.size() + 1));
  if (*report)
    std::memcpy(*report, text.c_str(), text.size() + 1);
}

template <typename Check>
layline_status checked(char **report, const Check &check) noexcept {
  std::string text, error;
  layline_status status = LAYLINE_OK;
  layline_status failure = guarded(error, [&] { status = check(text); });
  if (failure != LAYLINE_OK) {
    status = failure;
    text = error + "\n";
  }
  giveReport(text, report);
  return status;
}

/// The ids of a list of the plan, by number.
const std::string &idOf(const Engine &engine, layline_plan_list list,
                        std::size_t index) {
  const Plan &plan = engine.plan();
  switch (list) {
  case LAYLINE_PLAN_INPUTS:
    return plan.inputs[index].id;
  case LAYLINE_PLAN_CACHES:
    return plan.caches[index].id;
  case LAYLINE_PLAN_OUTPUTS:
    return plan.variants.front().outputs[index].id;
  case LAYLINE_PLAN_WEIGHT_KEYS:
    return engine.weightKeys()[index];
  case LAYLINE_PLAN_VARIANTS:
    return plan.variants[index].id;
  }
  fail(LAYLINE_BAD_ARGUMENT, "unknown list ", static_cast<int>(list));
}

std::int64_t countOf(const Engine &engine, layline_plan_list list) {
  const Plan &plan = engine.plan();
  switch (list) {
  case LAYLINE_PLAN_INPUTS:
    return lengthOf(plan.inputs);
  case LAYLINE_PLAN_CACHES:
    return lengthOf(plan.caches);
  case LAYLINE_PLAN_OUTPUTS:
    return lengthOf(plan.variants.front().outputs);
  case LAYLINE_PLAN_WEIGHT_KEYS:
    return lengthOf(engine.weightKeys());
  case LAYLINE_PLAN_VARIANTS:
    return lengthOf(plan.variants);
  }
  fail(LAYLINE_BAD_ARGUMENT, "unknown list ", static_cast<int>(list));
}

} // namespace

extern "C" {

layline_status layline_plan_load(layline_engine *engine, const char *path) {
  return with(engine, [&] {
    engine->engine.dropPlan(); // also if there is no such file
    notNull(path);
    engine->engine.loadPlan(readFile(path), path);
  });
}

layline_status layline_plan_load_memory(layline_engine *engine,
                                        const char *text, size_t bytes,
                                        const char *name) {
  return with(engine, [&] {
    engine->engine.dropPlan();
    notNull(text, name);
    engine->engine.loadPlan({text, bytes}, name);
  });
}

layline_status layline_plan_check(const char *path, char **report) {
  return checked(report, [&](std::string &text) {
    notNull(path);
    return checkText(readFile(path), path, text);
  });
}

layline_status layline_plan_check_memory(const char *plan, size_t bytes,
                                         const char *name, char **report) {
  return checked(report, [&](std::string &text) {
    notNull(plan, name);
    return checkText({plan, bytes}, name, text);
  });
}

void layline_string_free(char *text) { std::free(text); }

layline_status layline_plan_ranks(const layline_engine *engine,
                                  int64_t *ranks) {
  return with(engine, [&] {
    notNull(ranks);
    *ranks = engine->engine.plan().ranks();
  });
}

layline_status layline_plan_local_ranks(const layline_engine *engine,
                                        int64_t *first, int64_t *count) {
  return with(engine, [&] {
    notNull(first, count);
    engine->engine.plan();
    // All ranks, or one: consecutive.
    const std::vector<int64_t> &ranks = engine->engine.localRanks();
    *first = ranks.front();
    *count = lengthOf(ranks);
  });
}

layline_status layline_plan_symbol(const layline_engine *engine,
                                   const char *symbol, int64_t *min,
                                   int64_t *max) {
  return with(engine, [&] {
    notNull(symbol, min, max);
    std::string name = symbol;
    if (name != "tokens" && name != "past")
      fail(LAYLINE_BAD_ARGUMENT, "symbol '", name,
           "' is unknown; 'tokens' or 'past' is expected");
    const Plan &plan = engine->engine.plan();
    const Symbol &range = name == "tokens" ? plan.tokens : plan.past;
    *min = range.min;
    *max = range.max;
  });
}

layline_status layline_plan_variant(const layline_engine *engine,
                                    int64_t tokens, const char **id) {
  return with(engine, [&] {
    notNull(id);
    const Plan &plan = engine->engine.plan();
    const Variant *variant = plan.variantFor(tokens);
    if (!variant)
      fail(LAYLINE_BAD_ARGUMENT, "the plan runs [", plan.tokens.min, ", ",
           plan.tokens.max, "] tokens, not ", tokens);
    *id = variant->id.c_str();
  });
}

layline_status layline_plan_count(const layline_engine *engine,
                                  layline_plan_list list, int64_t *count) {
  return with(engine, [&] {
    notNull(count);
    *count = countOf(engine->engine, list);
  });
}

layline_status layline_plan_id(const layline_engine *engine,
                               layline_plan_list list, int64_t index,
                               const char **id) {
  return with(engine, [&] {
    notNull(id);
    inside(index, countOf(engine->engine, list), "entry");
    *id = idOf(engine->engine, list, static_cast<std::size_t>(index)).c_str();
  });
}

layline_status layline_plan_cache(const layline_engine *engine, int64_t index,
                                  layline_cache_info *info) {
  return with(engine, [&] {
    notNull(info);
    const Plan &plan = engine->engine.plan();
    inside(index, lengthOf(plan.caches), "cache");
    const Cache &cache = plan.caches[static_cast<std::size_t>(index)];
    *info = {cache.id.c_str(),
             cache.plane.c_str(),
             cache.layer,
             isInteger(cache.dtype) ? 1 : 0,
             {}};
    toC(cache.rowShape, info->row_shape);
  });
}

} // extern "C"
