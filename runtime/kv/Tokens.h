// The tokens of a request that satisfy several rules at once, as few strided
// runs, and where a rank keeps them.
#ifndef LAYLINE_RUNTIME_KV_TOKENS_H
#define LAYLINE_RUNTIME_KV_TOKENS_H

#include "kv/Plan.h"

#include <cstdint>
#include <vector>

namespace layline::kv {

/// Tokens [begin, end).
struct Interval {
  std::int64_t begin = 0, end = 0;
  bool operator==(const Interval &other) const {
    return begin == other.begin && end == other.end;
  }
};

/// What is in both; each ascending and disjoint.
std::vector<Interval> intersect(const std::vector<Interval> &left,
                                const std::vector<Interval> &right);

/// What is known of a request when its plan is bound. Counts of tokens.
struct Request {
  std::int64_t tokens = 0; ///< all of it
  Interval chunk;          ///< what is sent now
  bool isLast = true;      ///< no chunk follows
  std::int64_t prefix = 0; ///< that the target has already
  std::int64_t room = 0;   ///< the number that both sides know it by
};

/// Tokens first + i * step + [0, length) for 0 <= i < count.
struct TokenRun {
  std::int64_t first = 0, length = 0, count = 1, step = 0;
  bool operator==(const TokenRun &other) const {
    return first == other.first && length == other.length &&
           count == other.count && step == other.step;
  }
};

/// The request with the slots of its last page behind the last token, which are
/// moved like tokens.
Request roundToPages(Request request, std::int64_t pageTokens);

/// The tokens of a part as intervals, ascending, if the rule is not cyclic; a
/// cyclic one is left to `selectTokens`. A part by page number may have any
/// tokens: which, a page table says (kv/NumberedPages.h).
std::vector<Interval> getIntervals(const TokenPart &part,
                                   const Request &request);

/// All tokens of `within` (ascending, disjoint) that every part holds. Runs are
/// ascending by their first token; each of them lies in one run of every part,
/// so that neighbours in a run are neighbours wherever a part keeps them.
/// Throws if the parts repeat together only after more than 2^22 tokens.
std::vector<TokenRun> selectTokens(const std::vector<TokenPart> &parts,
                                   const Request &request,
                                   std::vector<Interval> within);

/// The slot, counted from the part's first, in which a holder of the part keeps
/// the token. The part must hold it. By page number slots are those of the
/// table that the group shares.
std::int64_t getSlot(const TokenPart &part, const Request &request,
                     std::int64_t token);

/// How many tokens of the request a holder of the part keeps; by page number,
/// at most.
std::int64_t countTokens(const TokenPart &part, const Request &request);

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_TOKENS_H
