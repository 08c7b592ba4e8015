//===- RandomMigrations.cpp - random pairs of layouts, byte by byte -------===//
//
// Random models, layouts of both sides, requests and page tables. Whatever a
// profile plans must bring every byte to its place; the optimised profile
// writes each once. Both profiles plan each pair, so where both can, they bring
// the same bytes. Number and seed are rapidcheck's:
// RC_PARAMS="max_success=10000 seed=7".
//
//===----------------------------------------------------------------------===//
#include "layline/KV/Planner.h"
#include "layline/KV/Simulation.h"

#include "kv/Binding.h"
#include "plan/Error.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <numeric>
#include <sstream>

using namespace layline::kv;

namespace {

std::int64_t pick(std::initializer_list<std::int64_t> values) {
  return *rc::gen::elementOf(std::vector<std::int64_t>(values));
}

std::int64_t upTo(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange<std::int64_t>(least, most + 1);
}

/// True once in `times`.
bool seldom(std::int64_t times) { return upTo(0, times - 1) == times - 1; }

std::vector<std::int64_t> someLayers(std::int64_t layers) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < layers; ++i)
    if (!seldom(3))
      result.push_back(i);
  return result;
}

Model makeModel() {
  Model model;
  model.name = "random";
  model.layers = upTo(1, 6);
  model.dtype = "bf16";
  std::vector<std::int64_t> all(model.layers);
  std::iota(all.begin(), all.end(), 0);
  model.kvLayers = all;
  if (seldom(2)) {
    model.latentRank = upTo(1, 6);
    model.ropeDim = upTo(0, 3);
    if (seldom(2)) {
      model.indexDim = upTo(1, 5);
      model.indexLayers = someLayers(model.layers);
    }
  } else {
    model.kvHeads = pick({1, 2, 3, 4, 6, 8});
    model.headDim = upTo(1, 4);
    if (seldom(4)) {
      model.window = upTo(1, 40);
      model.windowLayers = someLayers(model.layers);
      model.kvLayers.clear();
      std::set_difference(all.begin(), all.end(), model.windowLayers.begin(),
                          model.windowLayers.end(),
                          std::back_inserter(model.kvLayers));
    }
  }
  if (seldom(6))
    model.states.push_back({"state", 24, pick({1, 2, 4}), all});
  return model;
}

/// Numbers that add up to n, at least one each where there are enough.
std::string makeSizes(std::int64_t n, std::int64_t parts) {
  std::string text;
  for (std::int64_t i = 0; i < parts; ++i) {
    std::int64_t rest = parts - 1 - i;
    std::int64_t size = i + 1 == parts ? n : upTo(1, n - rest);
    n -= size;
    text += (i ? "+" : "") + std::to_string(size);
  }
  return text;
}

/// What SGLang takes, most of the time: equal pages and stages, tp that divide
/// each other, a decode side of tp and dcp alone.
std::string makeCompatSpec(const Model &model, bool isTarget,
                           std::int64_t page) {
  std::int64_t tp = pick({1, 2, 4, 8});
  std::ostringstream out;
  out << "tp" << tp << ",page" << page;
  if (isTarget) {
    if (model.isLatent() && tp > 1 && seldom(3))
      out << ",dcp" << (seldom(2) ? tp : 2);
    return out.str();
  }
  std::int64_t cp = pick({1, 1, 2, 3, 4});
  if (cp > 1) {
    out << ",cp" << cp;
    if (model.indexDim && seldom(2))
      out << ",layersplit,interleave";
    else if (seldom(4))
      out << ",pagesplit";
  } else if (seldom(3) && model.layers > 1) {
    out << ",pp" << makeSizes(model.layers, 2);
  }
  return out.str();
}

std::string makeSpec(const Model &model, bool isTarget) {
  std::int64_t tp = pick({1, 1, 2, 3, 4, 6, 8});
  std::int64_t cp = isTarget && !seldom(4) ? 1 : pick({1, 1, 2, 3, 4});
  std::ostringstream out;
  out << "tp" << tp << ",cp" << cp << ",page" << pick({1, 2, 4, 4, 4, 8, 3});
  if (seldom(3) && model.layers > 1) {
    std::int64_t pp = upTo(2, std::min<std::int64_t>(3, model.layers));
    if (seldom(2))
      out << ",pp" << makeSizes(model.layers, pp);
    else
      out << ",pp" << pp;
  }
  if (seldom(2)) {
    if (seldom(3))
      out << ",contiguous";
    else if (seldom(2))
      out << ",interleave:" << upTo(1, 5);
    else
      out << ",interleave";
  }
  if (cp > 1 && seldom(2))
    out << ","
        << *rc::gen::elementOf(
               std::vector<std::string>{"layersplit", "pagesplit", "cpstore"});
  else if (tp > 1 && model.isLatent() && seldom(6))
    out << ",pagesplit";
  else if (tp > 1 && seldom(3))
    for (std::int64_t dcp : {4, 3, 2})
      if (tp % dcp == 0) {
        out << ",dcp" << dcp;
        if (seldom(2))
          out << ":" << upTo(1, 6);
        break;
      }
  if (seldom(4) && !model.isLatent())
    out << ",hnd";
  return out.str();
}

/// By profile: planned, and refused by reason.
struct Tally {
  std::int64_t planned = 0, refused = 0;
};

bool movesPages(const Plan &plan) {
  if (plan.policy.roundsToPages)
    return true;
  for (const Transfer &transfer : plan.transfers)
    for (const Move &move : transfer.moves)
      if (move.grain == Grain::Page)
        return true;
  return false;
}

} // namespace

int main() {
  setenv("RC_PARAMS", "max_success=15000 seed=22", 0);
  std::map<std::string, Tally> tally;
  bool isGood = rc::check("every byte arrives", [&] {
    Model model = makeModel();
    std::string from = makeSpec(model, false), to = makeSpec(model, true);
    if (!seldom(3)) {
      std::int64_t page = pick({1, 2, 4, 8});
      from = makeCompatSpec(model, false, page);
      to = makeCompatSpec(model, true, page);
    }
    PlanOptions options;
    options.senders = *rc::gen::elementOf(std::vector<SenderRule>{
        SenderRule::All, SenderRule::All, SenderRule::First,
        SenderRule::ByChunk, SenderRule::Room});
    options.maxDescriptors = pick({0, 1, 7, 2048});
    options.packBelow = pick({0, 8, 64, 16384});
    options.slotBytes = pick({256, 1000, 1 << 20});
    SimulationOptions simulation;
    simulation.tokens = upTo(1, 70);
    simulation.seed = seldom(3) ? 0 : upTo(1, 1 << 20);
    simulation.room = upTo(0, 20);
    simulation.packs = !seldom(5);
    SideSpec source = parseSideSpec(from), target = parseSideSpec(to);
    // Inside a page only where no plan moves whole ones.
    std::int64_t unit = target.pageTokens;
    auto cut = [&] {
      return std::min(upTo(0, simulation.tokens) / unit * unit,
                      simulation.tokens);
    };
    if (seldom(3))
      simulation.prefix = cut();
    if (seldom(2)) {
      simulation.chunkEnds = {cut(), cut(), simulation.tokens};
      std::sort(simulation.chunkEnds.begin(), simulation.chunkEnds.end());
    }
    RC_LOG() << from << " -> " << to << ", " << simulation.tokens
             << " tokens\n";
    for (Profile profile : {Profile::Optimised, Profile::SGLangCompat}) {
      options.profile = profile;
      bool isOptimised = profile == Profile::Optimised;
      const char *name = isOptimised ? "optimised" : "compat";
      RC_LOG() << name << "\n";
      Plan plan;
      try {
        plan = planMigration(model, source, target, options);
      } catch (const layline::runtime::Error &error) {
        RC_LOG() << error.what() << "\n";
        RC_ASSERT(error.status() == LAYLINE_REFUSED_FEATURE);
        ++tally[name].refused;
        continue;
      }
      ++tally[name].planned;
      SimulationResult result = simulate(plan, simulation);
      if (!result.fault.empty())
        RC_FAIL(result.fault);
      RC_ASSERT(!isOptimised || result.twice == 0);
      if (isOptimised && !movesPages(plan)) {
        // Any cut will do.
        SimulationOptions other = simulation;
        other.prefix = upTo(0, other.tokens);
        other.chunkEnds = {upTo(0, other.tokens), other.tokens};
        RC_LOG() << "cut anywhere\n";
        result = simulate(plan, other);
        if (!result.fault.empty())
          RC_FAIL(result.fault);
        RC_ASSERT(result.twice == 0);
      }
    }
  });
  for (const auto &[name, count] : tally)
    std::cout << name << ": " << count.planned << " planned and moved, "
              << count.refused << " refused\n";
  // A generator that only makes what is refused would show nothing.
  for (const char *name : {"optimised", "compat"})
    if (isGood && tally[name].planned * 20 < tally[name].refused) {
      std::cerr << name << ": too few pairs are planned\n";
      isGood = false;
    }
  return isGood ? 0 : 1;
}
