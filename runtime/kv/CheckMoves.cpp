#include "kv/CheckPlan.h"

#include "plan/Error.h"

#include <algorithm>

namespace layline::kv {

using runtime::concat;
using runtime::invalid;

namespace {

/// A run of a list of buffer addresses lies in one buffer's.
void checkOrdinals(const std::string &where, const char *who, const Side &side,
                   const Rank &rank, int buffer, std::int64_t first,
                   std::int64_t count) {
  std::int64_t before = 0;
  for (int i = 0; i < buffer; ++i)
    before += static_cast<std::int64_t>(rank.layers[i].size());
  std::int64_t end =
      before + static_cast<std::int64_t>(rank.layers[buffer].size());
  if (count < 1)
    invalid(where, ": has ", count, " layers; at least 1 is expected");
  if (first < before || first >= end || count > end - first)
    invalid(where, ": takes ", count, " buffers from number ", first,
            " of the ", who, "; buffer '", side.buffers[buffer].name, "' has [",
            before, ", ", end, ") there");
}

/// Layers of the model with these numbers in the rank's list.
const std::int64_t *getLayers(const Rank &rank, int buffer,
                              std::int64_t ordinal) {
  for (int i = 0; i < buffer; ++i)
    ordinal -= static_cast<std::int64_t>(rank.layers[i].size());
  return rank.layers[buffer].data() + ordinal;
}

class MoveChecker {
public:
  MoveChecker(std::string where, const Plan &plan, const Transfer &transfer,
              const Move &move)
      : where(std::move(where)), plan(plan), move(move),
        from(plan.source.ranks[transfer.source]),
        to(plan.target.ranks[transfer.target]) {}

  void check() const {
    if (move.planes.empty())
      invalid(where, ".planes: is empty; at least one is expected");
    for (int plane : move.planes)
      if (plane < 0 || plane >= static_cast<int>(plan.planes.size()))
        invalid(where, ".planes: has number ", plane, "; there are ",
                plan.planes.size());
    checkTokenPart(where + ".share", move.share);
    if (move.share.kind == TokenPart::Kind::PageNumber)
      invalid(where,
              ".share.kind: is 'page_number': a page's number says where "
              "it resides, which is not asked again; another kind is "
              "expected");
    if (move.layers.empty())
      invalid(where, ".layers: is empty; at least one run is expected");
    for (int plane : move.planes)
      checkHeads(plane);
    for (int plane : move.planes)
      for (std::size_t i = 0; i < move.layers.size(); ++i)
        checkLayers(concat(where, ".layers[", i, "]"), plane, move.layers[i]);
    if (move.grain == Grain::Page)
      checkPages();
    else if (move.planes.size() > 1)
      invalid(where, ".planes: has ", move.planes.size(),
              " planes; only whole pages hold several");
  }

private:
  void checkHeads(int number) const {
    const Plane &plane = plan.planes[number];
    auto inside = [&](const char *key, const char *who, std::int64_t first,
                      std::int64_t held) {
      if (first < 0 || first >= held || move.heads < 1 ||
          move.heads > held - first)
        invalid(where, ".", key, ": heads ", first, " to ",
                first + std::max<std::int64_t>(move.heads, 1) - 1, " (",
                move.heads, ") of plane '", plane.name, "' are moved; a ", who,
                " rank holds ", held);
    };
    inside("source_head", "source", move.sourceHead,
           plan.source.planes[number].heads);
    inside("target_head", "target", move.targetHead,
           plan.target.planes[number].heads);
    std::int64_t a = getHeads(plane, plan.source, from).begin + move.sourceHead;
    std::int64_t b = getHeads(plane, plan.target, to).begin + move.targetHead;
    if (a != b)
      invalid(where, ": takes head ", a, " of plane '", plane.name,
              "' to where the target keeps head ", b,
              "; the same head is expected");
  }

  /// Buffers are paired by the layer that they are for, never by position.
  void checkLayers(const std::string &run, int number,
                   const LayerRun &layers) const {
    const Plane &plane = plan.planes[number];
    int source = plan.source.planes[number].buffer;
    int target = plan.target.planes[number].buffer;
    checkOrdinals(run, "source", plan.source, from, source, layers.source,
                  layers.count);
    checkOrdinals(run, "target", plan.target, to, target, layers.target,
                  layers.count);
    const std::int64_t *a = getLayers(from, source, layers.source);
    const std::int64_t *b = getLayers(to, target, layers.target);
    for (std::int64_t i = 0; i < layers.count; ++i) {
      if (a[i] != b[i])
        invalid(run, ": pairs layer ", a[i], " of the source with layer ", b[i],
                " of the target, for plane '", plane.name,
                "'; the same layer is expected");
      if (!std::binary_search(plane.layers.begin(), plane.layers.end(), a[i]))
        invalid(run, ": has layer ", a[i], ", which plane '", plane.name,
                "' does not have");
    }
  }

  /// Pages go as they are: both sides must have the same, and only whole ones.
  void checkPages() const {
    int first = move.planes.front();
    if (plan.source.pageTokens != plan.target.pageTokens)
      invalid(where, ".grain: pages of ", plan.source.pageTokens,
              " tokens cannot be moved whole to pages of ",
              plan.target.pageTokens);
    std::vector<int> expected;
    for (int i = 0; i < static_cast<int>(plan.planes.size()); ++i)
      if (plan.source.planes[i].buffer == plan.source.planes[first].buffer ||
          plan.target.planes[i].buffer == plan.target.planes[first].buffer)
        expected.push_back(i);
    if (move.planes != expected)
      invalid(where, ".planes: whole pages are moved, which hold ",
              expected.size(), " planes, in the plan's order; ",
              move.planes.size(), " are given");
    for (int number : move.planes) {
      const Placement &a = plan.source.planes[number];
      const Placement &b = plan.target.planes[number];
      if (a.pageBytes != b.pageBytes || a.offset != b.offset ||
          a.tokenStride != b.tokenStride || a.headStride != b.headStride ||
          a.heads != b.heads || a.heads != move.heads)
        invalid(where, ".grain: the pages of plane '", plan.planes[number].name,
                "' are not the same on both sides (", a.pageBytes, " and ",
                b.pageBytes, " bytes, ", a.heads, " and ", b.heads,
                " heads, of which ", move.heads,
                " are moved); equal pages are expected");
    }
    if (plan.planes[first].isState)
      return;
    for (const TokenPart &part : {from.tokens, to.tokens, move.share})
      if (part.kind != TokenPart::Kind::Whole &&
          part.kind != TokenPart::Kind::Room &&
          part.kind != TokenPart::Kind::PageNumber &&
          part.unit % plan.source.pageTokens)
        invalid(where, ".grain: tokens are dealt out in runs of ", part.unit,
                ", so that pages of ", plan.source.pageTokens,
                " are not whole; a multiple is expected");
  }

  std::string where;
  const Plan &plan;
  const Move &move;
  const Rank &from, &to;
};

void checkTransfer(const std::string &where, const Plan &plan,
                   const Transfer &transfer) {
  auto isRank = [&](const char *key, int rank, const Side &side) {
    if (rank < 0 || rank >= static_cast<int>(side.ranks.size()))
      invalid(where, ".", key, ": is ", rank, "; there are ",
              side.ranks.size());
  };
  isRank("source", transfer.source, plan.source);
  isRank("target", transfer.target, plan.target);
  if (transfer.packing != Packing::None && plan.policy.slotBytes == 0)
    invalid(where, ".packing: needs slots, but policy.slot_bytes is 0");
  const std::vector<int> &answer = plan.responders[transfer.target];
  if (!std::binary_search(answer.begin(), answer.end(), transfer.source))
    invalid(where, ": source rank ", transfer.source, " sends to target rank ",
            transfer.target, ", but is not one of its responders");
  for (std::size_t i = 0; i < transfer.moves.size(); ++i)
    MoveChecker(concat(where, ".moves[", i, "]"), plan, transfer,
                transfer.moves[i])
        .check();
}

void checkResponders(const Plan &plan) {
  if (plan.responders.size() != plan.target.ranks.size())
    invalid("responders: has ", plan.responders.size(),
            " lists; one for each of the ", plan.target.ranks.size(),
            " target ranks is expected");
  for (std::size_t i = 0; i < plan.responders.size(); ++i)
    for (std::size_t k = 0; k < plan.responders[i].size(); ++k) {
      int rank = plan.responders[i][k];
      if (rank < 0 || rank >= static_cast<int>(plan.source.ranks.size()))
        invalid("responders[", i, "][", k, "]: is ", rank, "; there are ",
                plan.source.ranks.size());
      if (k > 0 && rank <= plan.responders[i][k - 1])
        invalid("responders[", i, "][", k, "]: is rank ", rank, " behind rank ",
                plan.responders[i][k - 1], "; ascending ranks are expected");
    }
}

} // namespace

void checkMoves(const Plan &plan) {
  if (plan.policy.prefixUnit < 1)
    invalid("policy.prefix_unit: is ", plan.policy.prefixUnit,
            "; 1 or more is expected");
  if (plan.policy.maxDescriptors < 0)
    invalid("policy.max_descriptors: is ", plan.policy.maxDescriptors,
            "; 0 or more is expected");
  if (plan.policy.slotBytes < 0)
    invalid("policy.slot_bytes: is ", plan.policy.slotBytes,
            "; 0 or more is expected");
  checkResponders(plan);
  for (std::size_t i = 0; i < plan.transfers.size(); ++i)
    checkTransfer(concat("transfers[", i, "]"), plan, plan.transfers[i]);
}

} // namespace layline::kv
