//===- KVReport.cpp - what `layline kv plan` prints -----------------------===//
#include "KVArguments.h"
#include "TextTable.h"
#include "kv/Binding.h"
#include <algorithm>
#include <cstdio>
#include <map>
#include <ostream>
#include <set>

using namespace layline;
using namespace layline::tool;
using kv::Interval;

static std::string format(const char *pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

/// "1,024": digits in threes.
static std::string count(int64_t value) {
  std::string digits = std::to_string(value);
  int64_t first = value < 0 ? 1 : 0;
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > first; i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

static std::string rangeText(const std::vector<Interval> &intervals) {
  constexpr size_t kMostShown = 3;
  std::string text;
  for (size_t i = 0; i < std::min(kMostShown, intervals.size()); ++i)
    text += (i ? "+[" : "[") + std::to_string(intervals[i].begin) + "," +
            std::to_string(intervals[i].end) + ")";
  if (intervals.size() > kMostShown)
    text += " and " + std::to_string(intervals.size() - kMostShown) + " more";
  return text.empty() ? "-" : text;
}

/// Numbers as ranges: "0-7,9".
static std::string listText(const std::vector<int64_t> &numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end - i > 1)
      text += "-" + std::to_string(numbers[end - 1]);
    i = end;
  }
  return text.empty() ? "none" : text;
}

static std::vector<Interval>
toIntervals(const std::vector<kv::TokenRun> &runs) {
  std::vector<Interval> result;
  for (const kv::TokenRun &run : runs)
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t first = run.first + i * run.step;
      if (!result.empty() && result.back().end == first)
        result.back().end += run.length;
      else
        result.push_back({first, first + run.length});
    }
  std::sort(result.begin(), result.end(),
            [](Interval a, Interval b) { return a.begin < b.begin; });
  return result;
}

static int64_t countTokens(const std::vector<Interval> &intervals) {
  int64_t tokens = 0;
  for (const Interval &interval : intervals)
    tokens += interval.end - interval.begin;
  return tokens;
}

static void printModel(std::ostream &os, const KVPlanned &planned) {
  int64_t perToken = 0;
  os << planned.model.name << ": " << planned.model.layers << " layers\n";
  for (const kv::Plane &plane : planned.plan.planes) {
    os << "  " << plane.name << ": " << plane.layers.size() << " layers, ";
    if (plane.heads > 1)
      os << plane.heads << " heads of ";
    os << plane.headBytes << " bytes (" << plane.dtype << ") per "
       << (plane.isState ? "request" : "token");
    if (plane.window)
      os << ", the last " << plane.window << " tokens";
    os << "\n";
    if (!plane.isState)
      perToken += plane.heads * plane.headBytes *
                  static_cast<int64_t>(plane.layers.size());
  }
  os << "  " << count(perToken) << " bytes a token";
  if (auto share = kv::getIndexShare(planned.plan.planes))
    os << "; the index is " << format("%.1f %%", 100 * share->perLayer)
       << " of the main cache in a layer that has both, "
       << format("%.1f %%", 100 * share->overall) << " over all layers";
  os << "\n";
}

static void printSide(std::ostream &os, const char *name,
                      const kv::SideSpec &spec, const kv::Side &side) {
  os << name << " " << spec.text << ": attention tp " << spec.tp;
  if (spec.cp > 1)
    os << " x cp " << spec.cp;
  if (spec.dcp > 1)
    os << " (dcp " << spec.dcp << ")";
  if (spec.pp > 1)
    os << ", " << spec.pp << " stages";
  os << " = " << side.ranks.size() << " ranks";
  if (spec.dp > 1)
    os << ", " << spec.dp << " copies, a request lives in one";
  os << "; SGLang's tp size " << spec.tp * spec.cp * spec.dp << ", pages of "
     << spec.pageTokens << " tokens\n";
}

/// The four maps, rank by rank. What a rank computes of the last chunk, what it
/// keeps of the request, what it sends of that.
static void printMaps(std::ostream &os, const KVPlanned &planned,
                      const kv::TrafficOptions &request,
                      const kv::MigrationTraffic &traffic) {
  std::vector<int64_t> ends =
      kv::getChunkEnds(request, planned.plan.target.pageTokens);
  Interval chunk{ends.size() > 1 ? ends[ends.size() - 2] : 0, ends.back()};
  kv::Request all{request.tokens, chunk, true, request.prefix, request.room};
  TextTable table({">rank", "pp cp tp", ">computes", "which", ">keeps", "which",
                   "layers", "sends", ">bytes"});
  for (size_t r = 0; r < planned.plan.source.ranks.size(); ++r) {
    const kv::Rank &rank = planned.plan.source.ranks[r];
    std::vector<Interval> computed =
        kv::getComputed(planned.source, rank.cp, chunk);
    std::vector<Interval> kept = toIntervals(
        kv::selectTokens({rank.tokens}, all, {{0, request.tokens}}));
    // Of the first plane with tokens that it sends to anyone.
    std::string sent = "nothing";
    for (const kv::Transfer &transfer : planned.plan.transfers)
      if (transfer.source == static_cast<int>(r) && sent == "nothing" &&
          !transfer.moves.empty())
        sent = rangeText(toIntervals(kv::selectTokens(
            {rank.tokens, planned.plan.target.ranks[transfer.target].tokens,
             transfer.moves.front().share},
            all, {{std::max(request.prefix, chunk.begin), chunk.end}})));
    std::string keeps = count(countTokens(kept)), which = rangeText(kept);
    // Which tokens these are, a request's page table says.
    if (rank.tokens.kind == kv::TokenPart::Kind::PageNumber) {
      keeps = "-";
      which = "pages " + std::to_string(rank.tokens.index) + " mod " +
              std::to_string(rank.tokens.parts);
      if (sent != "nothing")
        sent = "of these";
    }
    std::set<int64_t> layers;
    for (const std::vector<int64_t> &own : rank.layers)
      layers.insert(own.begin(), own.end());
    table.add({std::to_string(r),
               std::to_string(rank.pp) + "  " + std::to_string(rank.cp) + "  " +
                   std::to_string(rank.tp),
               count(countTokens(computed)), rangeText(computed), keeps, which,
               listText({layers.begin(), layers.end()}), sent,
               formatBytes(traffic.bySource[r].bytes)});
  }
  os << "\nSource ranks: tokens of the " << (ends.size() > 1 ? "last " : "")
     << "chunk that they compute, of the request that they keep when it is "
        "done, and of the chunk that they send:\n";
  table.print(os);
  if (planned.source.cp > 1 &&
      planned.source.residency == kv::Residency::Gathered)
    os << "  A layer's rows are gathered over cp as the layer runs, in the "
          "order "
          "of their tokens and of the current chunk only: a rank computes its "
          "share, keeps all tokens of the layer behind it and of all layers at "
          "the end.\n";
}

/// Whether blocks are parts of pages: how far apart they are is then the
/// layout's doing, that of whole pages the tables'.
static bool isWithinPages(const kv::Traffic &traffic, const kv::Side &side) {
  return std::all_of(side.buffers.begin(), side.buffers.end(),
                     [&](const kv::Buffer &buffer) {
                       return traffic.blockBytes < buffer.pageBytes;
                     });
}

/// Equal rows once.
static void printPairs(std::ostream &os, const kv::Plan &plan,
                       const kv::MigrationTraffic &traffic) {
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t>;
  std::vector<std::pair<Key, std::vector<const kv::PairTraffic *>>> groups;
  for (const kv::PairTraffic &pair : traffic.pairs) {
    const kv::Traffic &t = pair.traffic;
    Key key{t.batches,      t.descriptors, t.bytes,
            t.workRequests, t.regions,     t.packedBytes};
    auto found = std::find_if(groups.begin(), groups.end(),
                              [&](auto &group) { return group.first == key; });
    if (found == groups.end())
      groups.push_back({key, {&pair}});
    else
      found->second.push_back(&pair);
  }
  TextTable table({"pairs", ">batches", ">descriptors", ">bytes each",
                   ">work requests", ">regions", ">packed", ">bytes"});
  for (const auto &[key, pairs] : groups) {
    const kv::Traffic &t = pairs.front()->traffic;
    std::string name = std::to_string(pairs.front()->source) + " -> " +
                       std::to_string(pairs.front()->target);
    if (pairs.size() > 1)
      name += " and " + std::to_string(pairs.size() - 1) + " alike";
    table.add({name, count(t.batches), count(t.descriptors),
               count(t.descriptors ? t.bytes / t.descriptors : 0),
               count(t.workRequests), count(t.regions),
               t.packedBytes ? formatBytes(t.packedBytes) : "-",
               count(t.bytes)});
  }
  const kv::Traffic &all = traffic.total;
  table.add({"all " + std::to_string(traffic.pairs.size()), count(all.batches),
             count(all.descriptors),
             count(all.descriptors ? all.bytes / all.descriptors : 0),
             count(all.workRequests), count(all.regions),
             all.packedBytes ? formatBytes(all.packedBytes) : "-",
             count(all.bytes)});
  os << "\n";
  table.print(os);
  os << "  largest batch: " << count(all.largestBatch) << " descriptors, "
     << count(all.largestBatchBytes) << " bytes\n";
  if (all.blockBytes && all.sourceStep && all.sourceStep != all.blockBytes &&
      isWithinPages(all, plan.source))
    os << "  source of a batch: blocks of " << count(all.blockBytes)
       << " bytes, " << count(all.sourceStep) << " apart (target "
       << count(all.targetStep)
       << "): strided, never one copy of the batch's bytes\n";
  os << "  busiest source over the mean: " << format("%.2f", traffic.imbalance)
     << "\n";
}

static void printTimes(std::ostream &os, const kv::MigrationTraffic &traffic,
                       const KVTimeArguments &times) {
  std::vector<kv::EngineCost> costs = kv::getEngineCosts();
  if (times.gigabytes > 0)
    costs.push_back({"yours", times.perDescriptor, times.perBatch,
                     times.gigabytes * 1000, 0, "as given"});
  os << "\nEstimated time, " << times.lanes << " batch"
     << (times.lanes > 1 ? "es" : "") << " of a rank in flight:\n";
  for (const kv::EngineCost &cost : costs)
    os << "  " << cost.name << ": "
       << format("%.1f ms", kv::estimateTime(traffic, cost, times.lanes) / 1000)
       << "  (" << format("%.1f us", cost.perDescriptor) << " a descriptor, "
       << format("%.1f us", cost.perBatch) << " a batch, "
       << format("%.2f GB/s", cost.bytesPerMicrosecond / 1000) << "; "
       << cost.source << ")\n";
}

/// What each kind of layer waits for, if its owner broadcasts it whole.
static void printExposed(std::ostream &os, const KVPlanned &planned,
                         const kv::TrafficOptions &request,
                         const KVTimeArguments &times) {
  double tokens = static_cast<double>(request.tokens);
  double bytesPerMicrosecond = times.broadcastGigabytes * 1000;
  // By bytes of the index and of the main cache: the layers.
  std::map<std::pair<int64_t, int64_t>, std::vector<int64_t>> kinds;
  for (int64_t layer = 0; layer < planned.model.layers; ++layer) {
    int64_t index = 0, main = 0;
    for (const kv::Plane &plane : planned.plan.planes)
      if (!plane.isState &&
          std::binary_search(plane.layers.begin(), plane.layers.end(), layer))
        (plane.isIndex() ? index : main) += plane.heads * plane.headBytes;
    kinds[{index, main}].push_back(layer);
  }
  double all = 0;
  for (const auto &[bytes, layers] : kinds) {
    double index =
        tokens * static_cast<double>(bytes.first) / bytesPerMicrosecond;
    double main =
        tokens * static_cast<double>(bytes.second) / bytesPerMicrosecond;
    // Without an index of its own a layer has no indexer to hide behind.
    double own = kv::getExposed(index, main, bytes.first ? times.indexer : 0);
    all += own * static_cast<double>(layers.size());
    os << "  layers " << listText(layers) << ": B_i "
       << format("%.1f us", index) << ", B_k " << format("%.1f us", main)
       << ", exposed " << format("%.1f us", own) << "\n";
  }
  os << "  exposed in all " << format("%.2f ms", all / 1000)
     << " (broadcasts of " << count(request.tokens) << " tokens at "
     << format("%.1f GB/s", times.broadcastGigabytes) << ", an indexer of "
     << format("%.1f us", times.indexer) << "; both as given)\n";
}

static void printOwners(std::ostream &os, const KVPlanned &planned,
                        const kv::TrafficOptions &request,
                        const KVTimeArguments &times) {
  if (planned.source.residency != kv::Residency::Layers)
    return;
  os << "\nLayers are owned: a pool holds "
     << format("%.2f",
               kv::getCapacityGain(planned.model.layers, planned.source.cp,
                                   times.scratchLayers))
     << " times the tokens (" << planned.model.layers << " layers over ceil("
     << planned.model.layers << " / " << planned.source.cp << ") + "
     << times.scratchLayers
     << " scratch). A layer waits for B_i + max(0, B_k - I): the broadcast of "
        "its index, and of its main cache as far as the indexer does not cover "
        "it.\n";
  if (times.broadcastGigabytes > 0)
    printExposed(os, planned, request, times);
}

static void printResponders(std::ostream &os, const kv::Plan &plan) {
  std::map<std::vector<int>, std::vector<int64_t>> groups;
  for (size_t target = 0; target < plan.responders.size(); ++target)
    groups[plan.responders[target]].push_back(static_cast<int64_t>(target));
  os << "\nReady when all of these have reported (also those with nothing to "
        "send):\n";
  for (const auto &[sources, targets] : groups)
    os << "  target " << listText(targets) << ": source "
       << listText({sources.begin(), sources.end()}) << "\n";
}

void layline::tool::printKVReport(std::ostream &os, const KVPlanned &planned,
                                  const kv::TrafficOptions &request,
                                  const KVTimeArguments &times) {
  kv::MigrationTraffic traffic = kv::measureTraffic(planned.plan, request);
  printModel(os, planned);
  printSide(os, "from", planned.source, planned.plan.source);
  printSide(os, "to  ", planned.target, planned.plan.target);
  os << "profile " << planned.plan.profile << "; request of "
     << count(request.tokens) << " tokens";
  if (request.chunk)
    os << " in chunks of " << count(request.chunk);
  if (request.prefix)
    os << ", " << count(request.prefix) << " of them at the target already";
  os << ", pages "
     << (request.pages == kv::PageOrder::Contiguous ? "contiguous"
                                                    : "fragmented")
     << "\n";
  printMaps(os, planned, request, traffic);
  printPairs(os, planned.plan, traffic);
  printTimes(os, traffic, times);
  printOwners(os, planned, request, times);
  printResponders(os, planned.plan);
}
