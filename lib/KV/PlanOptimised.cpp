//===- PlanOptimised.cpp - each byte once, by all that can send it --------===//
#include "PlanParts.h"

#include "kv/Tokens.h"
#include "plan/Error.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

using namespace layline::kv;
using layline::runtime::fail;

namespace {

auto getKey(const TokenPart &part) {
  return std::make_tuple(static_cast<int>(part.kind), part.parts, part.index,
                         part.unit);
}

/// Ranks of one side with equal heads, layers and tokens (by their numbers)
/// keep the same bytes of a plane.
using Holding = std::tuple<std::int64_t, std::int64_t, // heads
                           int,                        // class of layers
                           int>;                       // number of the part

/// Which of the ranks that need the same a target is, and of how many.
struct Place {
  std::int64_t ordinal = 0, targets = 0;
};

class OptimisedPlanner {
public:
  OptimisedPlanner(Plan &plan, const SideSpec &spec, const PlanOptions &options)
      : plan(plan), spec(spec), options(options), maker(plan) {
    numberParts(plan.source, sourceParts);
    numberParts(plan.target, targetParts);
  }

  void run();

private:
  /// Equal rules for tokens have equal numbers, on both sides.
  void numberParts(const Side &side, std::vector<int> &numbers);
  void placeTargets(int plane);
  bool areDisjoint(int source, int target);
  void planTarget(int plane, int to);
  void share(int plane, int to, const std::vector<int> &holders,
             std::int64_t ordinal, std::int64_t targets);
  void add(int plane, int from, int to, const TokenPart &share);
  bool isSplitByPages(int plane, const Rank &from, const Rank &to) const;
  Packing getPacking(const Move &move, int plane, const Rank &from,
                     const Rank &to) const;

  Plan &plan;
  const SideSpec &spec; ///< of the source
  const PlanOptions &options;
  MoveMaker maker;
  std::map<decltype(getKey(TokenPart())), int> partNumbers;
  std::vector<int> sourceParts, targetParts;    ///< by rank
  std::map<std::pair<int, int>, bool> disjoint; ///< parts
  std::vector<Place> places; ///< by target, of the plane that is planned
  /// By target, source, packing and whether it goes with the last chunk.
  std::map<std::tuple<int, int, bool, Packing>, Transfer> transfers;
};

} // namespace

void OptimisedPlanner::numberParts(const Side &side,
                                   std::vector<int> &numbers) {
  for (const Rank &rank : side.ranks)
    numbers.push_back(partNumbers
                          .try_emplace(getKey(rank.tokens),
                                       static_cast<int>(partNumbers.size()))
                          .first->second);
}

/// No request has a token that both keep.
bool OptimisedPlanner::areDisjoint(int source, int target) {
  const TokenPart &a = plan.source.ranks[source].tokens;
  const TokenPart &b = plan.target.ranks[target].tokens;
  if (a.kind != TokenPart::Kind::Cyclic || b.kind != TokenPart::Kind::Cyclic)
    return false;
  auto [entry, isNew] =
      disjoint.try_emplace({sourceParts[source], targetParts[target]});
  if (isNew) {
    // They repeat together.
    Request request;
    request.tokens = std::lcm(a.parts * a.unit, b.parts * b.unit);
    entry->second =
        selectTokens({a, b}, request, {{0, request.tokens}}).empty();
  }
  return entry->second;
}

/// Both sides keep whole pages of the same bytes.
bool OptimisedPlanner::isSplitByPages(int plane, const Rank &from,
                                      const Rank &to) const {
  auto keepsPages = [](const Side &side, const TokenPart &part) {
    return part.kind == TokenPart::Kind::Whole ||
           part.kind == TokenPart::Kind::PageNumber ||
           (part.kind == TokenPart::Kind::Cyclic &&
            part.unit % side.pageTokens == 0);
  };
  return hasEqualPages(plan, plane) && keepsPages(plan.source, from.tokens) &&
         keepsPages(plan.target, to.tokens);
}

/// Neighbours among the tokens of a move lie side by side.
static bool isContiguous(const Side &side, int plane, std::int64_t rowBytes,
                         bool isWholeRow, const TokenPart &part,
                         const TokenPart &other) {
  if (!isWholeRow || side.planes[plane].tokenStride != rowBytes)
    return false;
  // Tokens that the other side deals out are not neighbours here.
  return other.kind != TokenPart::Kind::Cyclic || other.parts == 1 ||
         getKey(part) == getKey(other);
}

Packing OptimisedPlanner::getPacking(const Move &move, int plane,
                                     const Rank &from, const Rank &to) const {
  const Plane &entry = plan.planes[plane];
  if (!options.packBelow || entry.isState || move.grain == Grain::Page)
    return Packing::None;
  std::int64_t row = move.heads * entry.headBytes;
  bool isRow = move.heads == 1 ||
               (plan.source.planes[plane].headStride == entry.headBytes &&
                plan.target.planes[plane].headStride == entry.headBytes);
  bool source =
      isContiguous(plan.source, plane, row, isRow, from.tokens, to.tokens);
  bool target =
      isContiguous(plan.target, plane, row, isRow, to.tokens, from.tokens);
  std::int64_t block = getLargestBlock(plan, from, to, move);
  if ((source && target) || block >= options.packBelow)
    return Packing::None;
  if (block > options.slotBytes)
    fail(LAYLINE_BAD_ARGUMENT, "plane '", entry.name,
         "' is packed in blocks of ", block,
         " bytes, which do not fit into a slot of ", options.slotBytes,
         "; a larger slot, or no packing of such blocks, is expected");
  return source ? Packing::Target : target ? Packing::Source : Packing::Both;
}

void OptimisedPlanner::add(int plane, int from, int to,
                           const TokenPart &share) {
  const Rank &source = plan.source.ranks[from];
  const Rank &target = plan.target.ranks[to];
  Move move = maker.make(plane, from, to, Grain::Free);
  move.share = share;
  std::vector<int> together = getPlanesOfBuffer(plan, plane);
  // Several planes in a page move together, if pages can be moved as they are.
  if (together.size() > 1 && isSplitByPages(plane, source, target)) {
    if (plane != together.front())
      return;
    move.grain = Grain::Page;
    move.planes = together;
  }
  bool isState = plan.planes[plane].isState;
  Packing packing = getPacking(move, plane, source, target);
  Transfer &transfer = transfers[{to, from, isState, packing}];
  transfer.source = from;
  transfer.target = to;
  transfer.packing = packing;
  transfer.isWithLastChunk = isState;
  transfer.moves.push_back(std::move(move));
}

/// Holders of the same bytes share out the targets that need them, or, if there
/// are more holders than targets, the pages.
void OptimisedPlanner::share(int plane, int to, const std::vector<int> &holders,
                             std::int64_t ordinal, std::int64_t targets) {
  if (options.senders == SenderRule::Room && spec.cp > 1 &&
      spec.residency == Residency::Gathered) {
    // Of each cp rank's holders one, for the requests that are that rank's.
    std::map<std::int64_t, std::vector<int>> byContext;
    for (int holder : holders)
      byContext[plan.source.ranks[holder].cp].push_back(holder);
    for (const auto &[cp, own] : byContext)
      add(plane, own[ordinal % own.size()], to,
          {TokenPart::Kind::Room, spec.cp, cp, 1, TokenPart::Of::Request});
    return;
  }
  std::int64_t count = static_cast<std::int64_t>(holders.size());
  if (options.senders == SenderRule::First) {
    // The first of those that fall to a target.
    add(plane, holders[ordinal * count / targets], to, {});
    return;
  }
  std::int64_t parts = count / targets;
  if (parts <= 1 || plan.planes[plane].isState) {
    add(plane, holders[ordinal % count], to, {});
    return;
  }
  // Pages of the side with the larger ones, if they are multiples.
  std::int64_t unit = std::max(plan.source.pageTokens, plan.target.pageTokens);
  for (std::int64_t i = 0; i < parts; ++i)
    add(plane, holders[ordinal * parts + i], to,
        {TokenPart::Kind::Contiguous, parts, i, unit,
         options.senders == SenderRule::ByChunk ? TokenPart::Of::Chunk
                                                : TokenPart::Of::Request});
}

void OptimisedPlanner::placeTargets(int plane) {
  // A state has no tokens to be split.
  bool isState = plan.planes[plane].isState;
  std::map<Holding, std::int64_t> counts;
  std::vector<Holding> holdings;
  places.clear();
  for (std::size_t rank = 0; rank < plan.target.ranks.size(); ++rank) {
    HeadRange heads =
        getHeads(plan.planes[plane], plan.target, plan.target.ranks[rank]);
    holdings.push_back({heads.begin, heads.end,
                        maker.getTargetClass(static_cast<int>(rank)),
                        isState ? 0 : targetParts[rank]});
    places.push_back({counts[holdings.back()]++, 0});
  }
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    places[rank].targets = counts[holdings[rank]];
}

void OptimisedPlanner::planTarget(int plane, int to) {
  bool isState = plan.planes[plane].isState;
  std::map<Holding, std::vector<int>> holders;
  for (int from = 0; from < static_cast<int>(plan.source.ranks.size());
       ++from) {
    const Rank &rank = plan.source.ranks[from];
    if (options.senders == SenderRule::First && rank.cp != 0 &&
        spec.residency == Residency::Gathered)
      continue;
    if (!isState && areDisjoint(from, to))
      continue;
    HeadRange common = getCommonHeads(plan, plane, rank, plan.target.ranks[to]);
    if (common.begin < common.end && !maker.getLayers(plane, from, to).empty())
      holders[{common.begin, common.end, maker.getSourceClass(from),
               isState ? 0 : sourceParts[from]}]
          .push_back(from);
  }
  for (const auto &[holding, ranks] : holders)
    share(plane, to, ranks, places[to].ordinal, places[to].targets);
}

void OptimisedPlanner::run() {
  plan.profile = "optimised";
  plan.policy.maxDescriptors = options.maxDescriptors;
  plan.policy.slotBytes = options.slotBytes;
  for (int plane = 0; plane < static_cast<int>(plan.planes.size()); ++plane) {
    placeTargets(plane);
    for (int to = 0; to < static_cast<int>(plan.target.ranks.size()); ++to)
      planTarget(plane, to);
  }
  for (auto &[key, transfer] : transfers) {
    std::vector<int> &responders = plan.responders[transfer.target];
    if (responders.empty() || responders.back() != transfer.source)
      responders.push_back(transfer.source);
    plan.transfers.push_back(std::move(transfer));
  }
}

void layline::kv::planOptimised(Plan &plan, const SideSpec &source,
                                const SideSpec &target,
                                const PlanOptions &options) {
  bool ownsLayers = source.residency == Residency::Layers;
  if (ownsLayers && options.senders != SenderRule::All)
    fail(LAYLINE_REFUSED_FEATURE, "layout '", source.text,
         "': each owner sends all tokens of its layers; filtered by token it "
         "would send 1/",
         source.cp, " of them. Senders 'all' are expected");
  if (target.residency != Residency::Gathered && target.cp > 1 &&
      target.residency == Residency::Layers)
    fail(LAYLINE_REFUSED_FEATURE, "layout '", target.text,
         "': a target that owns layers over cp decodes from copies of other "
         "ranks, which no plan covers yet; a target without layersplit is "
         "expected");
  OptimisedPlanner(plan, source, options).run();
}
