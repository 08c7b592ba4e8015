//===- RandomLayouts.h - random models and layouts of both sides -*- C++
//-*-===//
//
// Choices are rapidcheck's: to be called inside a property.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_TEST_UNIT_KV_RANDOMLAYOUTS_H
#define LAYLINE_TEST_UNIT_KV_RANDOMLAYOUTS_H

#include "layline/KV/Planner.h"

#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>
#include <vector>

namespace layline::kv {

inline std::int64_t pick(std::initializer_list<std::int64_t> values) {
  return *rc::gen::elementOf(std::vector<std::int64_t>(values));
}

inline std::int64_t upTo(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange<std::int64_t>(least, most + 1);
}

/// True once in `times`.
inline bool seldom(std::int64_t times) {
  return upTo(0, times - 1) == times - 1;
}

inline std::vector<std::int64_t> someLayers(std::int64_t layers) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < layers; ++i)
    if (!seldom(3))
      result.push_back(i);
  return result;
}

inline Model makeModel() {
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
inline std::string makeSizes(std::int64_t n, std::int64_t parts) {
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
inline std::string makeCompatSpec(const Model &model, bool isTarget,
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
    else if (seldom(3))
      out << (seldom(2) ? ",pagesplit" : ",pagenumber");
  } else if (seldom(3) && model.layers > 1) {
    out << ",pp" << makeSizes(model.layers, 2);
  }
  return out.str();
}

inline std::string makeSpec(const Model &model, bool isTarget) {
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
        << *rc::gen::elementOf(std::vector<std::string>{
               "layersplit", "pagesplit", "pagenumber", "cpstore"});
  else if (tp > 1 && model.isLatent() && seldom(4))
    out << (seldom(2) ? ",pagesplit" : ",pagenumber");
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

/// Two layouts of a model; most of the time such as both profiles take.
struct LayoutPair {
  Model model;
  std::string source, target;
};

inline LayoutPair makeLayoutPair() {
  LayoutPair pair;
  pair.model = makeModel();
  pair.source = makeSpec(pair.model, false);
  pair.target = makeSpec(pair.model, true);
  if (!seldom(3)) {
    std::int64_t page = pick({1, 2, 4, 8});
    pair.source = makeCompatSpec(pair.model, false, page);
    pair.target = makeCompatSpec(pair.model, true, page);
  }
  return pair;
}

inline PlanOptions makePlanOptions() {
  PlanOptions options;
  options.senders = *rc::gen::elementOf(std::vector<SenderRule>{
      SenderRule::All, SenderRule::All, SenderRule::First, SenderRule::ByChunk,
      SenderRule::Room});
  options.maxDescriptors = pick({0, 1, 7, 2048});
  options.packBelow = pick({0, 8, 64, 16384});
  // The smallest holds every block that is packed here.
  options.slotBytes = pick({512, 1000, 1 << 20});
  return options;
}

} // namespace layline::kv

#endif // LAYLINE_TEST_UNIT_KV_RANDOMLAYOUTS_H
