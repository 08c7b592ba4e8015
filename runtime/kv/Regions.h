// Bytes to move between two buffers, as strided regions relative to the
// buffers' begins: the same for every layer.
#ifndef LAYLINE_RUNTIME_KV_REGIONS_H
#define LAYLINE_RUNTIME_KV_REGIONS_H

#include "kv/Tokens.h"

#include <cstdint>
#include <vector>

namespace layline::kv {

/// `outer` times `inner` blocks of `bytes` each, at strides of their own.
/// Offsets and strides are bytes; strides may be negative (pages that run
/// backwards). A block is a descriptor.
struct Region {
  std::int64_t source = 0, target = 0, bytes = 0;
  std::int64_t inner = 1, sourceStep = 0, targetStep = 0;
  std::int64_t outer = 1, sourceJump = 0, targetJump = 0;

  std::int64_t countBlocks() const { return inner * outer; }
};

/// The pages of a request, in order of its slots.
struct PageTable {
  const std::int32_t *pages = nullptr;
  std::int64_t count = 0;
  /// Of entry 0: how many pages of the request are in front of it and not
  /// given.
  std::int64_t first = 0;

  /// The entry of the request's page `number`.
  const std::int32_t *at(std::int64_t number) const {
    return pages + (number - first);
  }
};

/// Pages [begin, end) of a request, as its table numbers them.
struct PageSpan {
  std::int64_t begin = 0, end = 0;
};

/// One side of a move: slots and bytes of a plane at a rank.
struct Place {
  const TokenPart *tokens = nullptr;
  PageTable table;
  std::int64_t pageTokens = 1;
  const Placement *plane = nullptr;
  std::int64_t head = 0; ///< first local head that is moved
};

/// The regions of a move of `heads` heads of `headBytes`; few if the pages of
/// both sides are regular, whatever the number of tokens. The tables must
/// hold the pages of the tokens (see `findPages`). With `Grain::Page` whole
/// pages are moved, those that hold a token of the runs, whatever planes are in
/// them: both sides must then have the same pages and keep whole ones.
std::vector<Region> findRegions(const std::vector<TokenRun> &runs,
                                const Request &request, const Place &source,
                                const Place &target, std::int64_t heads,
                                std::int64_t headBytes, Grain grain);

/// From the first page of a table that the runs reach into to the last one;
/// nothing if there are no runs.
PageSpan findPages(const std::vector<TokenRun> &runs, const Request &request,
                   const TokenPart &tokens, std::int64_t pageTokens);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_REGIONS_H
