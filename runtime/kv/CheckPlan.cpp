#include "kv/CheckPlan.h"

#include "kv/CheckCompletion.h"
#include "kv/PageLayout.h"
#include "plan/Error.h"

#include <algorithm>
#include <iterator>

namespace layline::kv {

using runtime::concat;
using runtime::invalid;

namespace {

// Counts of things and sizes in bytes or tokens: a size times a count stays
// below 2^62, whatever is added up.
constexpr std::int64_t kMostThings = std::int64_t(1) << 20;
constexpr std::int64_t kLargestSize = std::int64_t(1) << 40;

constexpr const char *kElementTypes[] = {"f32", "bf16", "f16", "fp8", "u8"};

void expectRange(const std::string &where, std::int64_t value,
                 std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    invalid(where, ": is ", value, "; ", least, " to ", most, " are expected");
}

void expectAscending(const std::string &where,
                     const std::vector<std::int64_t> &layers) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    expectRange(concat(where, "[", i, "]"), layers[i], 0, kMostThings);
    if (i > 0 && layers[i] <= layers[i - 1])
      invalid(where, "[", i, "]: is layer ", layers[i], " behind layer ",
              layers[i - 1], "; ascending layers are expected");
  }
}

void checkPlane(const std::string &where, const Plane &plane) {
  if (plane.name.empty())
    invalid(where, ".name: is empty");
  if (std::none_of(std::begin(kElementTypes), std::end(kElementTypes),
                   [&](const char *type) { return plane.dtype == type; }))
    invalid(where, ".dtype: is '", plane.dtype,
            "'; 'f32', 'bf16', 'f16', 'fp8' or 'u8' is expected");
  expectRange(where + ".heads", plane.heads, 1, kMostThings);
  expectRange(where + ".head_bytes", plane.headBytes, 1, kLargestSize);
  expectRange(where + ".window", plane.window, 0, kLargestSize);
  if (plane.isState && plane.window)
    invalid(where, ".window: is ", plane.window,
            "; a state is one item, so 0 is expected");
  expectAscending(where + ".layers", plane.layers);
}

void checkPlacement(const std::string &where, const Plane &plane,
                    const Side &side, const Placement &place) {
  if (place.buffer < 0 || place.buffer >= static_cast<int>(side.buffers.size()))
    invalid(where, ".buffer: is number ", place.buffer, "; there are ",
            side.buffers.size());
  const Buffer &buffer = side.buffers[place.buffer];
  if (place.pageBytes != buffer.pageBytes)
    invalid(where, ": has pages of ", place.pageBytes, " bytes in buffer '",
            buffer.name, "', which has ", buffer.pageBytes);
  expectRange(where + ".offset", place.offset, 0, kLargestSize);
  expectRange(where + ".token_stride", place.tokenStride, 0, kLargestSize);
  expectRange(where + ".head_stride", place.headStride, 0, kLargestSize);
  if (plane.heads >= side.headParts ? plane.heads % side.headParts != 0
                                    : side.headParts % plane.heads != 0)
    invalid(where, ": ", plane.heads, " heads in ", side.headParts,
            " parts; equal parts, or each head in equally many, are expected");
  std::int64_t held = std::max<std::int64_t>(1, plane.heads / side.headParts);
  if (place.heads != held)
    invalid(where, ".heads: is ", place.heads, "; of ", plane.heads,
            " heads in ", side.headParts, " parts ", held,
            " at each rank are expected");
  std::int64_t end = getExtent(plane, side.pageTokens, place).end;
  if (end > place.pageBytes)
    invalid(where, ": its last byte is at ", end - 1, " of a page of ",
            place.pageBytes, " bytes");
  if (!isApart(plane, side.pageTokens, place))
    invalid(where, ": tokens ", place.tokenStride, " bytes apart and heads ",
            place.headStride, " bytes apart, of ", plane.headBytes,
            " bytes each, lie on one another");
}

void checkRank(const std::string &where, const Plan &plan, const Side &side,
               const Rank &rank) {
  expectRange(where + ".pp", rank.pp, 0, kMostThings);
  expectRange(where + ".dp", rank.dp, 0, kMostThings);
  expectRange(where + ".cp", rank.cp, 0, kMostThings);
  expectRange(where + ".tp", rank.tp, 0, kMostThings);
  expectRange(where + ".head_index", rank.headIndex, 0, side.headParts - 1);
  checkTokenPart(where + ".tokens", rank.tokens);
  if (rank.tokens.kind == TokenPart::Kind::Room ||
      rank.tokens.of == TokenPart::Of::Chunk)
    invalid(where, ".tokens: what resides at a rank cannot depend on ",
            rank.tokens.kind == TokenPart::Kind::Room ? "the room"
                                                      : "the chunk",
            "; a part of the request is expected");
  for (std::size_t i = 0; i < rank.layers.size(); ++i) {
    std::string list = concat(where, ".layers[", i, "]");
    expectAscending(list, rank.layers[i]);
    for (std::int64_t layer : rank.layers[i]) {
      bool isKnown = false;
      for (std::size_t k = 0; k < plan.planes.size() && !isKnown; ++k)
        isKnown = side.planes[k].buffer == static_cast<int>(i) &&
                  std::binary_search(plan.planes[k].layers.begin(),
                                     plan.planes[k].layers.end(), layer);
      if (!isKnown)
        invalid(list, ": has layer ", layer, ", which no plane of buffer '",
                side.buffers[i].name, "' has");
    }
  }
}

void checkSide(const std::string &where, const Plan &plan, const Side &side) {
  expectRange(where + ".page_tokens", side.pageTokens, 1, kMostThings);
  expectRange(where + ".head_parts", side.headParts, 1, kMostThings);
  if (side.ranks.empty())
    invalid(where, ".ranks: is empty; at least one is expected");
  for (std::size_t i = 0; i < side.buffers.size(); ++i) {
    std::string buffer = concat(where, ".buffers[", i, "]");
    if (side.buffers[i].name.empty() || side.buffers[i].table.empty())
      invalid(buffer, ": has an empty name or table");
    expectRange(buffer + ".page_bytes", side.buffers[i].pageBytes, 1,
                kLargestSize);
  }
  if (side.planes.size() != plan.planes.size())
    invalid(where, ".planes: has ", side.planes.size(), " elements; ",
            plan.planes.size(), " are expected");
  for (std::size_t i = 0; i < side.planes.size(); ++i)
    checkPlacement(concat(where, ".planes[", i, "]"), plan.planes[i], side,
                   side.planes[i]);
  for (std::size_t i = 0; i < side.planes.size(); ++i)
    for (std::size_t k = i + 1; k < side.planes.size(); ++k)
      if (doOverlap(plan.planes[i], side.planes[i], plan.planes[k],
                    side.planes[k], side.pageTokens))
        invalid(where, ".planes: '", plan.planes[i].name, "' and '",
                plan.planes[k].name,
                "' lie on one another in the pages of buffer '",
                side.buffers[side.planes[i].buffer].name, "'");
  const Rank *numbered = nullptr;
  for (std::size_t i = 0; i < side.ranks.size(); ++i) {
    std::string rank = concat(where, ".ranks[", i, "]");
    if (side.ranks[i].layers.size() != side.buffers.size())
      invalid(rank, ".layers: has ", side.ranks[i].layers.size(),
              " lists; one for each of the ", side.buffers.size(),
              " buffers is expected");
    checkRank(rank, plan, side, side.ranks[i]);
    if (side.ranks[i].tokens.kind != TokenPart::Kind::PageNumber)
      continue;
    // One numbering of pages has one owner for each.
    if (!numbered)
      numbered = &side.ranks[i];
    if (side.ranks[i].tokens.parts != numbered->tokens.parts)
      invalid(rank, ".tokens.parts: is ", side.ranks[i].tokens.parts,
              "; the ranks before it divide page numbers by ",
              numbered->tokens.parts, ", which is expected of all");
  }
}

} // namespace

void checkTokenPart(const std::string &where, const TokenPart &part) {
  expectRange(where + ".parts", part.parts, 1, kMostThings);
  expectRange(where + ".index", part.index, 0, part.parts - 1);
  expectRange(where + ".unit", part.unit, 1, kLargestSize);
}

void checkSides(const Plan &plan) {
  if (plan.planes.empty())
    invalid("planes: is empty; at least one is expected");
  for (std::size_t i = 0; i < plan.planes.size(); ++i)
    checkPlane(concat("planes[", i, "]"), plan.planes[i]);
  checkSide("source", plan, plan.source);
  checkSide("target", plan, plan.target);
}

void checkCompletion(const Plan &plan) {
  if (std::string fault = findCompletionFault(plan); !fault.empty())
    invalid(fault);
}

void checkPlan(const Plan &plan) {
  checkSides(plan);
  checkMoves(plan);
  checkCompletion(plan);
}

} // namespace layline::kv
