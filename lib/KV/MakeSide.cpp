//===- MakeSide.cpp - planes, buffers and what ranks keep -----------------===//
#include "layline/KV/Planner.h"

#include "plan/Error.h"

#include <algorithm>
#include <map>
#include <numeric>

using namespace layline::kv;
using layline::runtime::fail;

std::int64_t layline::kv::getElementBytes(const std::string &dtype) {
  static const std::map<std::string, std::int64_t> sizes = {
      {"f32", 4}, {"bf16", 2}, {"f16", 2}, {"fp8", 1}, {"u8", 1}};
  auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

/// A latent row. With an indexer, an fp8 row has a scale per 128 elements and
/// keeps the rotated part in bf16 (FlashMLA's format: 656 bytes for 512 + 64);
/// else fp8 rows have no scales.
static std::int64_t getLatentBytes(const Model &model,
                                   const std::string &dtype) {
  if (dtype == "fp8" && model.indexDim)
    return model.latentRank + (model.latentRank + 127) / 128 * 4 +
           model.ropeDim * 2;
  return (model.latentRank + model.ropeDim) * getElementBytes(dtype);
}

std::vector<Plane> layline::kv::makePlanes(const Model &model,
                                           const std::string &asked) {
  std::string dtype = asked.empty() ? model.dtype : asked;
  std::int64_t element = getElementBytes(dtype);
  if (element == 0)
    fail(LAYLINE_BAD_ARGUMENT, "cache element type '", dtype,
         "' is not known; bf16, f16, f32 or fp8 is expected");
  std::vector<Plane> planes;
  if (model.isLatent()) {
    planes.push_back({"latent", dtype, 1, getLatentBytes(model, dtype), false,
                      0, model.kvLayers});
  } else {
    auto addPair = [&](const char *suffix, std::int64_t window,
                       const std::vector<std::int64_t> &layers) {
      for (const char *name : {"k", "v"})
        if (!layers.empty())
          planes.push_back({std::string(name) + suffix, dtype, model.kvHeads,
                            model.headDim * element, false, window, layers});
    };
    addPair("", 0, model.kvLayers);
    addPair("_window", model.window, model.windowLayers);
  }
  // Index keys are quantised per 128 elements whatever the cache's type.
  if (!model.indexLayers.empty()) {
    planes.push_back(
        {"index_key", "fp8", 1, model.indexDim, false, 0, model.indexLayers});
    planes.push_back({"index_scale", "f32", 1, (model.indexDim + 127) / 128 * 4,
                      false, 0, model.indexLayers});
  }
  for (const StateShape &state : model.states) {
    if (state.heads < 1 || state.bytes % state.heads)
      fail(LAYLINE_BAD_ARGUMENT, "state '", state.name, "' has ", state.bytes,
           " bytes in ", state.heads, " heads; equal heads are expected");
    planes.push_back({state.name, "u8", state.heads, state.bytes / state.heads,
                      true, 0, state.layers});
  }
  return planes;
}

/// Numbers 0 .. n - 1 in runs of these sizes, or in balanced ones.
static std::vector<std::pair<std::int64_t, std::int64_t>>
divide(std::int64_t n, std::int64_t parts,
       const std::vector<std::int64_t> &sizes, const std::string &what) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  std::int64_t begin = 0;
  for (std::int64_t i = 0; i < parts; ++i) {
    std::int64_t size =
        sizes.empty() ? n / parts + (i < n % parts ? 1 : 0) : sizes[i];
    runs.push_back({begin, begin + size});
    begin += size;
  }
  if (begin != n)
    fail(LAYLINE_BAD_ARGUMENT, what, " of ", begin,
         " layers in all; the model has ", n);
  return runs;
}

namespace {

class SideMaker {
public:
  SideMaker(const Model &model, const SideSpec &spec,
            const std::vector<Plane> &planes)
      : model(model), spec(spec), planes(planes) {}

  Side make();

private:
  void checkHeads(const Plane &plane) const;
  void addBuffers();
  std::int64_t getHeads(const Plane &plane) const {
    return std::max<std::int64_t>(1, plane.heads / splitRanks());
  }
  /// Ranks that heads are divided among: neighbours of a dcp group have the
  /// same ones.
  std::int64_t splitRanks() const { return spec.tp / spec.dcp; }
  Rank makeRank(std::int64_t pp, std::int64_t cp, std::int64_t tp) const;
  TokenPart makeTokens(std::int64_t cp, std::int64_t tp) const;

  const Model &model;
  const SideSpec &spec;
  const std::vector<Plane> &planes;
  std::vector<std::pair<std::int64_t, std::int64_t>> stages;
  Side side;
};

} // namespace

void SideMaker::checkHeads(const Plane &plane) const {
  std::int64_t ranks = splitRanks();
  // Heads of a cache are those that the ranks of a dcp group share; a state is
  // divided among all tp ranks.
  if (plane.isState && plane.heads > 1 && spec.dcp > 1)
    fail(LAYLINE_REFUSED_FEATURE, "layout '", spec.text, "': state '",
         plane.name, "' is divided among tp ranks, and dcp ", spec.dcp,
         " has them share heads; states of one piece, or no dcp, are expected");
  if (plane.heads == 1 || plane.heads % ranks == 0 || ranks % plane.heads == 0)
    return;
  fail(LAYLINE_REFUSED_FEATURE, "layout '", spec.text, "': ", plane.heads,
       " heads of plane '", plane.name, "' over ", ranks,
       " ranks; equal heads, or each head on equally many ranks, are expected");
}

/// One buffer for each plane, in which a page is heads side by side; index keys
/// and their scales share one, keys of all tokens of a page first.
void SideMaker::addBuffers() {
  for (const Plane &plane : planes) {
    checkHeads(plane);
    std::int64_t heads = getHeads(plane);
    Placement place;
    place.heads = heads;
    if (plane.isState) {
      place.buffer = static_cast<int>(side.buffers.size());
      place.pageBytes = heads * plane.headBytes;
      place.tokenStride = place.pageBytes;
      place.headStride = plane.headBytes;
      side.buffers.push_back({plane.name, "state", place.pageBytes});
      side.planes.push_back(place);
      continue;
    }
    if (plane.name == "index_scale") {
      Buffer &buffer = side.buffers.back();
      place.buffer = static_cast<int>(side.buffers.size()) - 1;
      place.offset = buffer.pageBytes;
      place.tokenStride = place.headStride = plane.headBytes;
      buffer.pageBytes += spec.pageTokens * plane.headBytes;
      place.pageBytes = side.planes.back().pageBytes = buffer.pageBytes;
      side.planes.push_back(place);
      continue;
    }
    place.buffer = static_cast<int>(side.buffers.size());
    place.pageBytes = spec.pageTokens * heads * plane.headBytes;
    place.tokenStride =
        spec.isHeadMajor ? plane.headBytes : heads * plane.headBytes;
    place.headStride =
        spec.isHeadMajor ? spec.pageTokens * plane.headBytes : plane.headBytes;
    side.buffers.push_back({plane.name == "index_key" ? "index" : plane.name,
                            plane.window ? "window" : "kv", place.pageBytes});
    side.planes.push_back(place);
  }
}

TokenPart SideMaker::makeTokens(std::int64_t cp, std::int64_t tp) const {
  TokenPart part;
  if (spec.dcp > 1)
    return {TokenPart::Kind::Cyclic, spec.dcp, tp % spec.dcp, spec.dcpRun,
            TokenPart::Of::Request};
  part.parts = spec.cp;
  part.index = cp;
  switch (spec.residency) {
  case Residency::Gathered:
  case Residency::Layers:
    return {};
  case Residency::Pages:
  case Residency::Numbers:
    part.kind = TokenPart::Kind::PageNumber;
    if (spec.residency == Residency::Pages) {
      part.kind = TokenPart::Kind::Cyclic;
      part.unit = spec.pageTokens;
    }
    if (spec.cp == 1) {
      part.parts = spec.tp;
      part.index = tp;
    }
    return part;
  case Residency::Contiguous:
    part.kind = TokenPart::Kind::Contiguous;
    return part;
  case Residency::Zigzag:
    part.kind = TokenPart::Kind::Zigzag;
    return part;
  case Residency::Cyclic:
    part.kind = TokenPart::Kind::Cyclic;
    part.unit = spec.computeRun;
    return part;
  }
  return part;
}

Rank SideMaker::makeRank(std::int64_t pp, std::int64_t cp,
                         std::int64_t tp) const {
  Rank rank;
  rank.pp = pp;
  rank.cp = cp;
  rank.tp = tp;
  rank.headIndex = tp / spec.dcp;
  rank.tokens = makeTokens(cp, tp);
  auto [begin, end] = stages[pp];
  if (spec.residency == Residency::Layers) {
    auto owned = divide(end - begin, spec.cp, spec.ownerLayers,
                        "layout '" + spec.text + "': owners");
    end = begin + owned[cp].second;
    begin += owned[cp].first;
  }
  rank.layers.resize(side.buffers.size());
  for (std::size_t i = 0; i < planes.size(); ++i) {
    std::vector<std::int64_t> &layers = rank.layers[side.planes[i].buffer];
    if (!layers.empty())
      continue; // another plane of the same buffer
    for (std::int64_t layer : planes[i].layers)
      if (layer >= begin && layer < end)
        layers.push_back(layer);
  }
  return rank;
}

Side SideMaker::make() {
  side.spec = spec.text;
  side.pageTokens = spec.pageTokens;
  side.headParts = splitRanks();
  stages = divide(model.layers, spec.pp, spec.stageLayers,
                  "layout '" + spec.text + "': stages");
  bool isByNumber = spec.residency == Residency::Numbers;
  if ((isByNumber || spec.residency == Residency::Pages) && spec.cp == 1 &&
      !model.isLatent())
    fail(LAYLINE_REFUSED_FEATURE, "layout '", spec.text,
         "': pages are divided among tp ranks, but each of them keeps heads of "
         "its own; ",
         isByNumber ? "pagenumber" : "pagesplit",
         " with cpN is expected for attention over heads");
  addBuffers();
  for (std::int64_t pp = 0; pp < spec.pp; ++pp)
    for (std::int64_t cp = 0; cp < spec.cp; ++cp)
      for (std::int64_t tp = 0; tp < spec.tp; ++tp)
        side.ranks.push_back(makeRank(pp, cp, tp));
  return std::move(side);
}

Side layline::kv::makeSide(const Model &model, const SideSpec &spec,
                           const std::vector<Plane> &planes) {
  return SideMaker(model, spec, planes).make();
}
