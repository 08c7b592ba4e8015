//===- PlanCompat.cpp - what SGLang sends ---------------------------------===//
//
// The decisions of SGLang 0.5.23 with Mooncake (disaggregation/common/conn.py,
// mooncake/conn.py, utils.py), restated: who is asked, by page or by token, in
// which batches. Where it is wrong the right bytes are planned and the place is
// named: layers of uneven stages are paired by their numbers (it pairs V by
// position).
//
//===----------------------------------------------------------------------===//
#include "PlanParts.h"

#include "plan/Error.h"

#include <algorithm>

using namespace layline::kv;
using layline::runtime::fail;

namespace {

template <typename... Parts> [[noreturn]] void refuse(const Parts &...parts) {
  fail(LAYLINE_REFUSED_FEATURE, "profile sglang-compat: ", parts...);
}

class CompatPlanner {
public:
  CompatPlanner(Plan &plan, const Model &model, const SideSpec &source,
                const SideSpec &target, const PlanOptions &options)
      : plan(plan), model(model), source(source), target(target),
        options(options), maker(plan) {}

  void run();

private:
  void check() const;
  void checkStages() const;
  bool isOwned() const { return source.residency == Residency::Layers; }
  bool isSharded() const {
    return source.residency == Residency::Pages ||
           source.residency == Residency::Numbers;
  }
  /// Heads have to be cut out of rows.
  bool slices() const { return !model.isLatent() && source.tp != target.tp; }
  bool asksAllContexts() const {
    return isOwned() || isSharded() || options.senders != SenderRule::First;
  }
  bool isAsked(const Rank &from, const Rank &to) const;
  bool sends(const Rank &from, const Rank &to) const;
  TokenPart getShare(const Rank &from) const;
  void addMain(Transfer &transfer, const Rank &from);
  void addState(Transfer &transfer, const Rank &from);

  Plan &plan;
  const Model &model;
  const SideSpec &source, &target;
  const PlanOptions &options;
  MoveMaker maker;
};

} // namespace

void CompatPlanner::check() const {
  if (target.tp % source.tp && source.tp % target.tp)
    refuse("source tp ", source.tp, " and target tp ", target.tp,
           ": one is not a multiple of the other, and the ranks to ask are "
           "found by whole division");
  if (target.cp != 1)
    refuse("target cp ", target.cp, "; a decode side without cp is expected");
  if (target.pp != 1 && target.pp != source.pp)
    refuse("source pp ", source.pp, " and target pp ", target.pp,
           "; equal ones or a target without stages is expected");
  if (source.pp > 1 && target.pp == source.pp)
    checkStages();
  if (source.pageTokens != target.pageTokens)
    refuse("pages of ", source.pageTokens, " and of ", target.pageTokens,
           " tokens; equal pages are expected");
  if (source.isHeadMajor || target.isHeadMajor)
    refuse("pages with heads in front (hnd); token-major pages are expected");
  if (source.dcp > 1 && source.dcp == target.dcp &&
      source.dcpRun != target.dcpRun)
    refuse("dcp in runs of ", source.dcpRun, " and of ", target.dcpRun,
           " tokens; equal runs are expected");
  if (source.dcp > 1 && (source.dcp != target.dcp || source.tp != target.tp))
    refuse("source dcp ", source.dcp, " to target dcp ", target.dcp,
           "; dcp 1, or the same dcp and tp on both sides, is expected");
  if (target.dcp > 1 && source.dcp == 1 &&
      (!model.isLatent() || source.cp > 1 || source.tp != target.tp))
    refuse("a target with dcp from a source without is known for latent caches "
           "of equal tp and no cp only");
  if (target.residency != Residency::Gathered)
    refuse("a target that keeps parts of the tokens or layers over cp");
  if (source.residency == Residency::Contiguous ||
      source.residency == Residency::Zigzag ||
      source.residency == Residency::Cyclic)
    refuse("a source that keeps the tokens that it computes (cpstore): every "
           "cp rank gathers all");
  if (isOwned()) {
    if (!model.isLatent() || model.indexLayers.empty())
      refuse("layersplit without an index cache; a DSA model is expected");
    if (source.compute != ComputeSplit::Cyclic)
      refuse("layersplit with tokens that are not interleaved; interleave is "
             "expected");
    if (source.pp > 1)
      refuse("layersplit with pp ", source.pp, "; pp 1 is expected");
    if (options.senders != SenderRule::All)
      refuse("layersplit with senders other than all owners");
  }
  if (isSharded() && (target.dcp > 1 || source.pageTokens == 1))
    refuse("pages divided among ranks (pagesplit, pagenumber) with dcp or with "
           "pages of one token");
  bool hasStates = false, hasWindows = false;
  for (const Plane &plane : plan.planes) {
    hasStates |= plane.isState;
    hasWindows |= plane.window > 0;
  }
  if (hasStates && source.tp != target.tp)
    refuse("states of requests between different tp (", source.tp, " and ",
           target.tp, ")");
  if (hasWindows && isOwned())
    refuse("layersplit with windows");
}

/// A stage asks the stage of its own number alone.
void CompatPlanner::checkStages() const {
  for (const Rank &from : plan.source.ranks)
    for (const Rank &to : plan.target.ranks)
      for (std::size_t plane = 0; plane < plan.planes.size(); ++plane)
        if (from.pp == to.pp && from.layers[plan.source.planes[plane].buffer] !=
                                    to.layers[plan.target.planes[plane].buffer])
          refuse("stage ", from.pp, " has other layers of plane '",
                 plan.planes[plane].name,
                 "' at the source than at the target; each stage asks its "
                 "counterpart only, so equal stages are expected");
}

/// The target waits for an answer of this source.
bool CompatPlanner::isAsked(const Rank &from, const Rank &to) const {
  if (target.pp == source.pp && from.pp != to.pp)
    return false;
  if (from.cp != 0 && !asksAllContexts())
    return false;
  if (isSharded() && source.cp == 1) // pages of a latent cache over tp
    return true;
  if (source.tp <= target.tp)
    return from.tp == to.tp / (target.tp / source.tp);
  return from.tp / (source.tp / target.tp) == to.tp;
}

/// Of several tp ranks with the same latents the first sends; the others are
/// dummies, which are not waited for.
bool CompatPlanner::sends(const Rank &from, const Rank &to) const {
  if (!isAsked(from, to))
    return false;
  if (model.isLatent() && source.tp > target.tp && !isSharded())
    return from.tp % (source.tp / target.tp) == 0;
  return true;
}

/// Of what it has, the pages that a cp rank sends.
TokenPart CompatPlanner::getShare(const Rank &from) const {
  if (source.cp == 1 || isOwned() || isSharded())
    return {};
  TokenPart share{TokenPart::Kind::Contiguous, source.cp, from.cp,
                  source.pageTokens, TokenPart::Of::Request};
  switch (options.senders) {
  case SenderRule::First:
    return {};
  case SenderRule::All:
    return share;
  case SenderRule::ByChunk:
    share.of = TokenPart::Of::Chunk;
    return share;
  case SenderRule::Room:
    return {TokenPart::Kind::Room, source.cp, from.cp, 1,
            TokenPart::Of::Request};
  }
  return share;
}

void CompatPlanner::addMain(Transfer &transfer, const Rank &from) {
  // All layers of K, then all of V: the order of its lists.
  transfer.batching = slices() ? Batching::Layer : Batching::All;
  bool relayouts = target.dcp != source.dcp;
  for (int i = 0; i < static_cast<int>(plan.planes.size()); ++i) {
    const Plane &plane = plan.planes[i];
    if (plane.isState || plane.window || plane.isIndex())
      continue;
    Move move = maker.make(i, transfer.source, transfer.target,
                           slices() || relayouts ? Grain::Token : Grain::Page);
    move.share = getShare(from);
    if (move.heads > 0 && !move.layers.empty())
      transfer.moves.push_back(std::move(move));
  }
}

/// Index pages, windows and states go once, behind the last chunk: from cp rank
/// 0, or from each owner.
void CompatPlanner::addState(Transfer &transfer, const Rank &from) {
  transfer.isWithLastChunk = true;
  if (from.cp != 0 && !isOwned() && !isSharded() &&
      options.senders != SenderRule::Room)
    return;
  for (int i = 0; i < static_cast<int>(plan.planes.size()); ++i) {
    const Plane &plane = plan.planes[i];
    bool isIndex = plane.name == "index_key";
    if (!plane.isState && !plane.window && !isIndex)
      continue;
    bool relayouts = target.dcp != source.dcp;
    Move move = maker.make(i, transfer.source, transfer.target,
                           plane.isState           ? Grain::Free
                           : slices() || relayouts ? Grain::Token
                                                   : Grain::Page);
    if (options.senders == SenderRule::Room)
      move.share = getShare(from);
    if (move.heads <= 0 || move.layers.empty())
      continue;
    if (isIndex && relayouts) { // keys and scales of a token lie apart
      Move scales =
          maker.make(i + 1, transfer.source, transfer.target, Grain::Token);
      scales.share = move.share;
      transfer.moves.push_back(std::move(scales));
    } else if (isIndex) {
      move.planes = getPlanesOfBuffer(plan, i);
    }
    transfer.moves.push_back(std::move(move));
  }
}

void CompatPlanner::run() {
  check();
  plan.profile = "sglang-compat";
  plan.policy.roundsToPages = target.dcp == source.dcp;
  if (!plan.policy.roundsToPages)
    plan.policy.prefixUnit = target.pageTokens * target.dcp;
  for (int to = 0; to < static_cast<int>(plan.target.ranks.size()); ++to) {
    const Rank &targetRank = plan.target.ranks[to];
    for (int from = 0; from < static_cast<int>(plan.source.ranks.size());
         ++from) {
      const Rank &sourceRank = plan.source.ranks[from];
      if (!sends(sourceRank, targetRank))
        continue;
      plan.responders[to].push_back(from);
      Transfer main, state;
      main.source = state.source = from;
      main.target = state.target = to;
      addMain(main, sourceRank);
      if (!main.moves.empty())
        plan.transfers.push_back(std::move(main));
      addState(state, sourceRank);
      if (!state.moves.empty())
        plan.transfers.push_back(std::move(state));
    }
  }
}

void layline::kv::planCompat(Plan &plan, const Model &model,
                             const SideSpec &source, const SideSpec &target,
                             const PlanOptions &options) {
  CompatPlanner(plan, model, source, target, options).run();
}
