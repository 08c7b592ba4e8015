//===- PlanFitTest.cpp - plans that are not those of the run --------------===//
//
// The B200 recording against its own plan with one thing changed: every such
// plan has the same kinds of kernels, so that all of them find places.
//
//===----------------------------------------------------------------------===//
#include "layline/Trace/PlanFit.h"
#include "TraceTests.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>

using namespace layline::trace;

using Programs = std::vector<ExpectedProgram>;

/// The reasons that are given, one a line.
static std::string conflictsOf(const DeviceTrace &trace, Programs programs) {
  Mapping mapping =
      mapTrace(trace, KernelFamilies::builtIn(), std::move(programs));
  std::string text;
  for (const std::string &reason : explainConflicts(mapping))
    text += reason + "\n";
  return text;
}

static Programs edited(const std::function<void(ExpectedStep &)> &edit) {
  Programs programs = expectB200();
  for (ExpectedProgram &program : programs)
    std::for_each(program.steps.begin(), program.steps.end(), edit);
  return programs;
}

/// Layers left out from the end, or the last one again and again.
static Programs withLayers(int64_t count) {
  Programs programs = expectB200();
  for (ExpectedProgram &program : programs) {
    std::vector<ExpectedStep> steps;
    for (const ExpectedStep &step : program.steps) {
      if (step.layer >= count)
        continue;
      // Behind the layers: the missing ones first.
      if (step.layer < 0 && !steps.empty() &&
          steps.back().layer == program.layers - 1)
        for (int64_t layer = program.layers; layer < count; ++layer)
          for (ExpectedStep own : program.steps)
            if (own.layer == program.layers - 1) {
              own.layer = layer;
              for (std::string *place : {&own.place, &own.boundary})
                if (place->rfind("layer.", 0) == 0)
                  *place = "layer." + std::to_string(layer) +
                           place->substr(place->find('.', 6));
              steps.push_back(std::move(own));
            }
      steps.push_back(step);
    }
    program.steps = std::move(steps);
    program.layers = count;
  }
  return programs;
}

static DeviceTrace withoutHost(DeviceTrace trace) {
  for (DeviceEvent &event : trace.events)
    event.op = -1;
  return trace;
}

TEST_CASE("The run's own plan fits, whatever is padded", "[trace][fit]") {
  DeviceTrace trace = readB200();
  CHECK(conflictsOf(trace, expectB200()) == "");
  CHECK(conflictsOf(withoutHost(trace), expectB200()) == "");
  Mapping mapping = mapTrace(trace, KernelFamilies::builtIn(), expectB200());
  std::map<SizedFact, int64_t> fits;
  for (const SizeEvidence &own : compareSizes(mapping)) {
    CHECK(own.conflicts == 0);
    fits[own.fact] = own.fits;
  }
  // 73 norms and 73 all-reduces, 36 of them with 3072 columns for 2880.
  CHECK(fits[SizedFact::RowWidth] == 146);
  CHECK(fits[SizedFact::Attention] == 3 * 36); // qkv, the core, o_proj
  CHECK(fits[SizedFact::KVHeads] == 36);
  CHECK(fits[SizedFact::NumExperts] == 36);
  CHECK(fits[SizedFact::Vocabulary] == 2); // the product, the gather
  CHECK(fits[SizedFact::Ranks] == 1);      // NCCL's gather states its group
}

TEST_CASE("A plan of other sizes is told by the fact that differs",
          "[trace][fit]") {
  struct Other {
    const char *words; ///< of all that is said
    std::function<void(ExpectedStep &)> edit;
  };
  const std::vector<Other> others = {
      {"layer.0.input_norm: found 2880 columns, expected 2048",
       [](ExpectedStep &step) {
         if (step.work == Work::Norm)
           step.inFeatures = step.outFeatures = 2048;
         if (!step.gathersColumns)
           step.columns = 2048;
       }},
      // As many columns as 2560 has when it is padded, but of another width.
      {"72 of 73 places that tell the width of rows",
       [](ExpectedStep &step) {
         if (step.work == Work::Norm && step.place != "layer.0.input_norm")
           step.inFeatures = step.outFeatures = 2560;
         step.columns = step.gathersColumns ? step.columns : -1;
       }},
      {"layer.0.q_proj: found 2880 x 640 (aten::addmm), expected 2880 x 1280",
       [](ExpectedStep &step) {
         if (step.module == "qkv")
           step.outFeatures *= 2;
         if (step.work == Work::Attention)
           step.heads *= 2;
       }},
      {"36 of 36 places that tell a rank's KV heads contradict the plan: "
       "layer.0.key: found 1 x 64 heads",
       [](ExpectedStep &step) {
         if (step.work == Work::CacheAppend)
           step.heads *= 2;
       }},
      {"layer.0.router: found 2880 x 128 (aten::addmm), expected 2880 x 32",
       [](ExpectedStep &step) {
         if (step.module == "router" && step.work == Work::Product)
           step.outFeatures = 32;
       }},
      {"logits: found 201088 elements, expected a multiple of 151936",
       [](ExpectedStep &step) {
         if (step.module == "logits" && step.work == Work::Product)
           step.outFeatures = 18992;
         if (step.gathersColumns)
           step.columns = 151936;
       }},
      {"embedding: found 8 ranks in all, expected 16",
       [](ExpectedStep &step) {
         if (isCollective(step.work))
           step.ranks = 16;
       }},
  };
  DeviceTrace trace = readB200();
  for (const Other &other : others) {
    Programs programs = edited(other.edit);
    CHECK_THAT(conflictsOf(trace, programs), Catch::Contains(other.words));
    // Nothing but the order is left, and that is the run's.
    CHECK(conflictsOf(withoutHost(trace), programs).find("places") ==
          std::string::npos);
  }
}

TEST_CASE("A whole pass has as many layers as its plan", "[trace][fit]") {
  DeviceTrace trace = readB200();
  for (int64_t layers : {24, 35, 37, 48}) {
    CAPTURE(layers);
    Programs programs = withLayers(layers);
    CHECK_THAT(conflictsOf(trace, programs), Catch::Contains("layers"));
    CHECK_THAT(conflictsOf(withoutHost(trace), programs),
               Catch::Contains("layers"));
  }
  CHECK(conflictsOf(trace, withLayers(36)) == "");
}

TEST_CASE("A recording that was cut fits", "[trace][fit]") {
  DeviceTrace whole = readB200();
  struct Cut {
    size_t begin, end;
  };
  for (Cut cut :
       {Cut{kB200Before + 12 * kB200Layer, 929},
        Cut{kB200Before + 7 * kB200Layer + 4, 929},
        Cut{0, kB200Before + 20 * kB200Layer},
        Cut{0, kB200Before + 20 * kB200Layer + 11},
        Cut{kB200Before + 9 * kB200Layer, kB200Before + 20 * kB200Layer}})
    for (bool hasHost : {true, false}) {
      CAPTURE(cut.begin, cut.end, hasHost);
      DeviceTrace trace = hasHost ? whole : withoutHost(whole);
      auto begin = trace.events.begin();
      trace.events = std::vector<DeviceEvent>(
          begin + static_cast<std::ptrdiff_t>(cut.begin),
          begin + static_cast<std::ptrdiff_t>(cut.end));
      CHECK(conflictsOf(trace, expectB200()) == "");
    }
}
