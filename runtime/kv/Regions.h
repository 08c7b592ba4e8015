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
/// both sides are regular, whatever the number of tokens. The tables must reach
/// as far as the tokens do (see `countPages`). With `Grain::Page` whole pages
/// are moved, those that hold a token of the runs, whatever planes are in them:
/// both sides must then have the same pages and keep whole ones.
std::vector<Region> findRegions(const std::vector<TokenRun> &runs,
                                const Request &request, const Place &source,
                                const Place &target, std::int64_t heads,
                                std::int64_t headBytes, Grain grain);

/// Pages of a table that the runs reach into: the last one's number plus 1.
std::int64_t countPages(const std::vector<TokenRun> &runs,
                        const Request &request, const TokenPart &tokens,
                        std::int64_t pageTokens);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_REGIONS_H
