//===- Structure.cpp - what a plan says without any token -----------------===//
#include "Structure.h"
#include "kv/PageLayout.h"

#include <algorithm>
#include <sstream>

using namespace layline::kv;

namespace {

template <typename... Parts> std::string join(const Parts &...parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

class Checker {
public:
  explicit Checker(const Plan &plan) : plan(plan) {}
  std::string run();

private:
  bool fail(std::string text) {
    problem = std::move(text);
    return false;
  }
  bool checkPlanes();
  bool checkPart(const std::string &where, const TokenPart &part);
  bool checkPool(const char *name, const Side &side);
  bool checkPlane(const std::string &where, const Side &side, int number);
  bool checkRank(const char *name, const Side &side, int number);
  bool checkTransfer(const Transfer &transfer);
  bool checkMove(const std::string &where, const Transfer &transfer,
                 const Move &move);
  bool checkHeads(const std::string &where, const Transfer &transfer,
                  const Move &move, int number);
  bool checkLayers(const std::string &where, const Transfer &transfer,
                   const Move &move, int number);
  bool checkPages(const std::string &where, const Transfer &transfer,
                  const Move &move);
  bool checkResponders();
  /// The layer of a buffer by its number in the rank's list; -1 if it is not
  /// one of the plane's buffer.
  static std::int64_t findLayer(const Side &side, const Rank &rank, int plane,
                                std::int64_t ordinal);

  const Plan &plan;
  std::string problem;
};

} // namespace

/// The coordinates that tell ranks of the side apart.
std::string layline::kv::nameRank(const char *side, const Side &of, int rank) {
  using Coordinate = std::int64_t Rank::*;
  std::string where;
  for (std::pair<const char *, Coordinate> axis :
       {std::pair<const char *, Coordinate>("pp", &Rank::pp),
        {"dp", &Rank::dp},
        {"cp", &Rank::cp},
        {"tp", &Rank::tp}}) {
    auto isUsed = [&](const Rank &other) { return other.*axis.second != 0; };
    if (std::any_of(of.ranks.begin(), of.ranks.end(), isUsed))
      where += (where.empty() ? "" : ", ") + std::string(axis.first) + " " +
               std::to_string(of.ranks[rank].*axis.second);
  }
  return std::string(side) + " rank " + std::to_string(rank) +
         (where.empty() ? "" : " (" + where + ")");
}

bool Checker::checkPlanes() {
  if (plan.policy.prefixUnit < 1)
    return fail(join("prefixes in units of ", plan.policy.prefixUnit,
                     " tokens; at least 1 is expected"));
  for (const Plane &plane : plan.planes) {
    std::string where = "plane '" + plane.name + "': ";
    if (plane.heads < 1 || plane.headBytes < 1 || plane.window < 0)
      return fail(join(where, plane.heads, " heads of ", plane.headBytes,
                       " bytes, window ", plane.window,
                       "; at least one head and byte is expected"));
    if (!std::is_sorted(plane.layers.begin(), plane.layers.end(),
                        [](auto a, auto b) { return a <= b; }))
      return fail(where + "its layers are not ascending");
  }
  return true;
}

bool Checker::checkPart(const std::string &where, const TokenPart &part) {
  if (part.parts < 1 || part.unit < 1 || part.index < 0 ||
      part.index >= part.parts)
    return fail(join(where, "part ", part.index, " of ", part.parts,
                     " in runs of ", part.unit,
                     "; one of the parts, in runs of at least 1, is expected"));
  if (part.kind == TokenPart::Kind::PageNumber && part.unit != 1)
    return fail(join(where, "page numbers in runs of ", part.unit,
                     "; runs of 1 are expected"));
  // The runtime's own bound (kv/Tokens.cpp).
  constexpr std::int64_t kLongestPeriod = std::int64_t(1) << 22;
  if (part.parts > kLongestPeriod / part.unit)
    return fail(join(where, part.parts, " parts in runs of ", part.unit,
                     " repeat only after more than ", kLongestPeriod,
                     " tokens"));
  return true;
}

bool Checker::checkPlane(const std::string &where, const Side &side,
                         int number) {
  const Plane &plane = plan.planes[number];
  const Placement &place = side.planes[number];
  std::string in = where + "plane '" + plane.name + "': ";
  if (place.buffer < 0 || place.buffer >= static_cast<int>(side.buffers.size()))
    return fail(join(in, "is in buffer ", place.buffer, "; there are ",
                     side.buffers.size()));
  std::int64_t parts = side.headParts;
  bool isEven = plane.heads >= parts ? plane.heads % parts == 0
                                     : parts % plane.heads == 0;
  if (!isEven)
    return fail(join(in, plane.heads, " heads in ", parts,
                     " parts; equal heads, or each head in equally many parts, "
                     "are expected"));
  std::int64_t heads = std::max<std::int64_t>(1, plane.heads / parts);
  if (place.heads != heads)
    return fail(join(in, "a rank keeps ", place.heads, " of ", plane.heads,
                     " heads in ", parts, " parts; ", heads, " are expected"));
  std::int64_t pageBytes = side.buffers[place.buffer].pageBytes;
  if (place.pageBytes != pageBytes)
    return fail(join(in, "its pages have ", place.pageBytes,
                     " bytes, those of buffer '",
                     side.buffers[place.buffer].name, "' ", pageBytes));
  if (!isApart(plane, side.pageTokens, place))
    return fail(join(in, "tokens ", place.tokenStride,
                     " bytes apart and heads ", place.headStride,
                     " bytes apart overlap: a page has ",
                     plane.isState ? 1 : side.pageTokens, " tokens of ", heads,
                     " heads of ", plane.headBytes, " bytes"));
  PageExtent extent = getExtent(plane, side.pageTokens, place);
  if (place.offset < 0 || extent.end > pageBytes)
    return fail(join(in, "bytes [", extent.begin, ", ", extent.end,
                     ") of a page of ", pageBytes));
  return true;
}

bool Checker::checkPool(const char *name, const Side &side) {
  std::string where = std::string(name) + ": ";
  if (side.planes.size() != plan.planes.size())
    return fail(join(where, side.planes.size(), " planes; the plan has ",
                     plan.planes.size()));
  if (side.pageTokens < 1 || side.headParts < 1)
    return fail(join(where, "pages of ", side.pageTokens, " tokens and ",
                     side.headParts,
                     " parts of heads; at least 1 is expected"));
  for (std::size_t i = 0; i < plan.planes.size(); ++i) {
    if (!checkPlane(where, side, static_cast<int>(i)))
      return false;
    for (std::size_t k = 0; k < i; ++k) {
      if (!doOverlap(plan.planes[i], side.planes[i], plan.planes[k],
                     side.planes[k], side.pageTokens))
        continue;
      PageExtent one =
          getExtent(plan.planes[k], side.pageTokens, side.planes[k]);
      PageExtent two =
          getExtent(plan.planes[i], side.pageTokens, side.planes[i]);
      return fail(join(where, "planes '", plan.planes[k].name, "' and '",
                       plan.planes[i].name, "' overlap in bytes [",
                       std::max(one.begin, two.begin), ", ",
                       std::min(one.end, two.end), ") of a page"));
    }
  }
  std::int64_t parts = 0; // that page numbers are divided into
  for (std::size_t i = 0; i < side.ranks.size(); ++i) {
    if (!checkRank(name, side, static_cast<int>(i)))
      return false;
    const TokenPart &own = side.ranks[i].tokens;
    if (own.kind != TokenPart::Kind::PageNumber)
      continue;
    if (parts && own.parts != parts)
      return fail(join(nameRank(name, side, static_cast<int>(i)),
                       ": divides page numbers by ", own.parts,
                       ", ranks before it by ", parts,
                       "; one numbering has one owner for each page"));
    parts = own.parts;
  }
  return true;
}

bool Checker::checkRank(const char *name, const Side &side, int number) {
  const Rank &rank = side.ranks[number];
  std::string where = nameRank(name, side, number) + ": ";
  if (!checkPart(where + "residency: ", rank.tokens))
    return false;
  if (rank.tokens.of == TokenPart::Of::Chunk ||
      rank.tokens.kind == TokenPart::Kind::Room)
    return fail(where + "keeps tokens by chunk or by room; what is kept of a "
                        "request does not depend on them");
  if (rank.headIndex < 0 || rank.headIndex >= side.headParts)
    return fail(join(where, "has part ", rank.headIndex,
                     " of the heads; there are ", side.headParts));
  if (rank.layers.size() != side.buffers.size())
    return fail(join(where, "has layers of ", rank.layers.size(),
                     " buffers; there are ", side.buffers.size()));
  for (std::size_t i = 0; i < rank.layers.size(); ++i)
    for (std::size_t k = 1; k < rank.layers[i].size(); ++k)
      if (rank.layers[i][k - 1] >= rank.layers[i][k])
        return fail(join(where, "buffer '", side.buffers[i].name, "': layer ",
                         rank.layers[i][k], " behind layer ",
                         rank.layers[i][k - 1]));
  return true;
}

std::int64_t Checker::findLayer(const Side &side, const Rank &rank, int plane,
                                std::int64_t ordinal) {
  int buffer = side.planes[plane].buffer;
  for (int i = 0; i < buffer; ++i)
    ordinal -= static_cast<std::int64_t>(rank.layers[i].size());
  const std::vector<std::int64_t> &own = rank.layers[buffer];
  if (ordinal < 0 || ordinal >= static_cast<std::int64_t>(own.size()))
    return -1;
  return own[ordinal];
}

bool Checker::checkLayers(const std::string &where, const Transfer &transfer,
                          const Move &move, int number) {
  const Rank &from = plan.source.ranks[transfer.source];
  const Rank &to = plan.target.ranks[transfer.target];
  for (const LayerRun &run : move.layers)
    for (std::int64_t i = 0; i < run.count; ++i) {
      std::int64_t a = findLayer(plan.source, from, number, run.source + i);
      std::int64_t b = findLayer(plan.target, to, number, run.target + i);
      if (a < 0)
        return fail(join(where, "buffer ", run.source + i,
                         " of the sender is none of its ",
                         from.layers[plan.source.planes[number].buffer].size(),
                         " layers of this plane: what is sent must reside at "
                         "the sender"));
      if (b < 0)
        return fail(join(where, "buffer ", run.target + i,
                         " of the target is none of its ",
                         to.layers[plan.target.planes[number].buffer].size(),
                         " layers of this plane"));
      if (a != b)
        return fail(join(where, "layer ", b,
                         " of the target is written from layer ", a,
                         "; layers are paired by their numbers in the model, "
                         "not by position: layer ",
                         b, " is expected"));
    }
  return true;
}

bool Checker::checkHeads(const std::string &where, const Transfer &transfer,
                         const Move &move, int number) {
  const Plane &plane = plan.planes[number];
  HeadRange from =
      getHeads(plane, plan.source, plan.source.ranks[transfer.source]);
  HeadRange to =
      getHeads(plane, plan.target, plan.target.ranks[transfer.target]);
  auto isOutside = [&](std::int64_t first, const HeadRange &own) {
    return first < 0 || move.heads < 1 ||
           first + move.heads > own.end - own.begin;
  };
  if (isOutside(move.sourceHead, from))
    return fail(join(where, "heads ", from.begin + move.sourceHead, " to ",
                     from.begin + move.sourceHead + move.heads - 1,
                     " are sent; the sender has heads ", from.begin, " to ",
                     from.end - 1));
  if (isOutside(move.targetHead, to))
    return fail(join(where, "heads ", to.begin + move.targetHead, " to ",
                     to.begin + move.targetHead + move.heads - 1,
                     " are written; the target has heads ", to.begin, " to ",
                     to.end - 1));
  if (from.begin + move.sourceHead != to.begin + move.targetHead)
    return fail(join(where, "head ", to.begin + move.targetHead,
                     " of the target is written from head ",
                     from.begin + move.sourceHead, "; head ",
                     to.begin + move.targetHead, " is expected"));
  return true;
}

/// A page is the same bytes on both sides.
bool Checker::checkPages(const std::string &where, const Transfer &transfer,
                         const Move &move) {
  int buffer = plan.target.planes[move.planes.front()].buffer;
  if (plan.source.pageTokens != plan.target.pageTokens)
    return fail(join(where, "moves whole pages, of ", plan.source.pageTokens,
                     " tokens at the source and ", plan.target.pageTokens,
                     " at the target; equal pages are expected"));
  for (int i = 0; i < static_cast<int>(plan.planes.size()); ++i) {
    if (plan.target.planes[i].buffer != buffer)
      continue;
    const Placement &a = plan.source.planes[i], &b = plan.target.planes[i];
    if (plan.source.planes[i].buffer !=
            plan.source.planes[move.planes.front()].buffer ||
        a.pageBytes != b.pageBytes || a.offset != b.offset ||
        a.tokenStride != b.tokenStride || a.headStride != b.headStride ||
        a.heads != b.heads)
      return fail(join(where, "moves whole pages, of ", a.pageBytes,
                       " bytes at the source and ", b.pageBytes,
                       " at the target, in which plane '", plan.planes[i].name,
                       "' lies differently; equal pages are expected"));
    HeadRange from = getHeads(plan.planes[i], plan.source,
                              plan.source.ranks[transfer.source]);
    HeadRange to = getHeads(plan.planes[i], plan.target,
                            plan.target.ranks[transfer.target]);
    if (from.begin != to.begin)
      return fail(join(where, "moves whole pages with heads ", from.begin,
                       " to ", from.end - 1, " of plane '", plan.planes[i].name,
                       "' over heads ", to.begin, " to ", to.end - 1));
  }
  return true;
}

bool Checker::checkMove(const std::string &where, const Transfer &transfer,
                        const Move &move) {
  if (move.planes.empty())
    return fail(where + "moves no plane");
  for (int number : move.planes)
    if (number < 0 || number >= static_cast<int>(plan.planes.size()))
      return fail(join(where, "moves plane ", number, "; there are ",
                       plan.planes.size()));
  if (!checkPart(where + "share: ", move.share))
    return false;
  if (move.share.kind == TokenPart::Kind::PageNumber)
    return fail(where + "share: is by page number, which says where a page "
                        "resides and is not asked again");
  for (const LayerRun &run : move.layers)
    if (run.count < 1)
      return fail(join(where, "a run of ", run.count, " layers"));
  for (int number : move.planes) {
    const Plane &plane = plan.planes[number];
    std::string in = where + "plane '" + plane.name + "': ";
    if (!checkLayers(in, transfer, move, number) ||
        !checkHeads(in, transfer, move, number))
      return false;
    if (plane.isState && move.grain == Grain::Page)
      return fail(in + "a state is one item; it has no pages to be moved");
  }
  return move.grain != Grain::Page || checkPages(where, transfer, move);
}

bool Checker::checkTransfer(const Transfer &transfer) {
  auto isNone = [](const Side &side, int rank) {
    return rank < 0 || rank >= static_cast<int>(side.ranks.size());
  };
  if (isNone(plan.source, transfer.source) ||
      isNone(plan.target, transfer.target))
    return fail(join("a transfer from source rank ", transfer.source,
                     " to target rank ", transfer.target, "; there are ",
                     plan.source.ranks.size(), " and ",
                     plan.target.ranks.size()));
  std::string where = nameRank("source", plan.source, transfer.source) +
                      " to " +
                      nameRank("target", plan.target, transfer.target) + ": ";
  for (const Move &move : transfer.moves)
    if (!checkMove(where, transfer, move))
      return false;
  return true;
}

/// Whoever sends is waited for, once.
bool Checker::checkResponders() {
  std::size_t targets = plan.target.ranks.size();
  if (plan.responders.size() != targets)
    return fail(join("responders of ", plan.responders.size(),
                     " target ranks; there are ", targets));
  for (std::size_t to = 0; to < targets; ++to) {
    const std::vector<int> &own = plan.responders[to];
    std::string where =
        nameRank("target", plan.target, static_cast<int>(to)) + ": ";
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i] < 0 || own[i] >= static_cast<int>(plan.source.ranks.size()))
        return fail(join(where, "waits for source rank ", own[i],
                         "; there are ", plan.source.ranks.size()));
      if (i > 0 && own[i] == own[i - 1])
        return fail(join(where, "counts source rank ", own[i],
                         " twice: it would be ready while another has not "
                         "answered; each once is expected"));
      if (i > 0 && own[i] < own[i - 1])
        return fail(join(where, "responders are not ascending: ", own[i - 1],
                         ", ", own[i]));
    }
  }
  for (const Transfer &transfer : plan.transfers) {
    const std::vector<int> &own = plan.responders[transfer.target];
    if (!std::binary_search(own.begin(), own.end(), transfer.source))
      return fail(
          join(nameRank("target", plan.target, transfer.target),
               ": does not wait for ",
               nameRank("source", plan.source, transfer.source),
               ", which sends to it: it would be ready with bytes missing; ",
               own.size(), " responders are found, ", own.size() + 1,
               " are expected"));
  }
  return true;
}

std::string Checker::run() {
  bool isSound = checkPlanes() && checkPool("source", plan.source) &&
                 checkPool("target", plan.target);
  for (const Transfer &transfer : plan.transfers)
    isSound = isSound && checkTransfer(transfer);
  if (isSound)
    checkResponders();
  return problem;
}

std::string layline::kv::findStructuralFault(const Plan &plan) {
  return Checker(plan).run();
}
