// Formulas against the rules of the runtime, token by token.
#include <catch2/catch.hpp>

#include "TokenProof.h"

#include <algorithm>

using namespace layline::kv;

namespace {

using Kind = TokenPart::Kind;
using Of = TokenPart::Of;

bool isIn(const TokenPart &part, const Request &request, std::int64_t token) {
  return !selectTokens({part}, request, {{token, token + 1}}).empty();
}

/// Some request of up to so many tokens has a token in both parts.
bool hasToken(const TokenDomain &domain, const TokenPart &a, const TokenPart &b,
              std::int64_t most) {
  std::int64_t page = domain.isPaged ? domain.pageTokens : 1;
  for (std::int64_t tokens = 1; tokens <= most; ++tokens)
    for (std::int64_t begin = 0; begin < tokens; begin += page)
      for (std::int64_t end = begin + page;; end += page) {
        Request request{tokens, {begin, std::min(end, tokens)}, true, 0, 0};
        std::int64_t last = request.chunk.end;
        if (domain.isRounded) {
          request.tokens = (tokens + page - 1) / page * page;
          request.chunk.end = (last + page - 1) / page * page;
        }
        for (std::int64_t token = begin; token < last; ++token)
          if (!(domain.window && token < tokens - domain.window) &&
              isIn(a, request, token) && isIn(b, request, token))
            return true;
        if (end >= tokens)
          break;
      }
  return false;
}

std::vector<TokenPart> getParts() {
  std::vector<TokenPart> parts = {{}};
  for (Kind kind : {Kind::Contiguous, Kind::Zigzag, Kind::Cyclic})
    for (std::int64_t count : {2, 3})
      for (std::int64_t unit : {1, 2, 3})
        for (Of of : {Of::Request, Of::Chunk})
          for (std::int64_t index = 0; index < count; ++index)
            parts.push_back({kind, count, index, unit, of});
  return parts;
}

TokenPart cyclic(std::int64_t parts, std::int64_t index, std::int64_t unit) {
  return {Kind::Cyclic, parts, index, unit, Of::Request};
}

TokenPart contiguous(std::int64_t parts, std::int64_t index,
                     std::int64_t unit) {
  return {Kind::Contiguous, parts, index, unit, Of::Request};
}

} // namespace

TEST_CASE("two parts meet in a formula where they meet in some request") {
  DealProver prover;
  std::vector<TokenPart> parts = getParts();
  std::int64_t met = 0, apart = 0;
  for (TokenDomain domain : {TokenDomain{2, false, false, 0, false},
                             TokenDomain{2, true, true, 3, false}})
    for (std::size_t i = 0; i < parts.size(); i += 3)
      for (std::size_t k = i; k < parts.size(); k += 2) {
        std::vector<Atom> atoms;
        for (const TokenPart &part : {parts[i], parts[k]})
          if (std::optional<Atom> atom = getAtom(part, DealTable::None))
            atoms.push_back(*atom);
        std::optional<TokenPoint> point = prover.findToken(domain, atoms);
        INFO(i << " " << k);
        ++(point ? met : apart);
        if (!point) {
          CHECK_FALSE(hasToken(domain, parts[i], parts[k], 20));
          continue;
        }
        Request request{point->tokens, point->chunk, true, 0, point->room};
        if (domain.isRounded) {
          request.tokens += request.tokens % 2;
          request.chunk.end += request.chunk.end % 2;
        }
        CHECK(point->token < point->tokens);
        CHECK(isIn(parts[i], request, point->token));
        CHECK(isIn(parts[k], request, point->token));
      }
  // Both answers were given.
  CHECK(met > 100);
  CHECK(apart > 10);
}

TEST_CASE("pages stay together in runs of whole pages only") {
  DealProver prover;
  for (std::int64_t unit = 1; unit <= 12; ++unit) {
    Deal deal{Kind::Cyclic, 3, unit, Of::Request};
    INFO(unit);
    CHECK(prover.proveSlots(deal));
    CHECK(prover.proveKeepsPages(deal, 4) == (unit % 4 == 0));
    CHECK(prover.proveDealsPages(deal, 4) == (unit % 4 == 0));
  }
  CHECK(prover.proveKeepsPages({}, 64));
  CHECK_FALSE(
      prover.proveKeepsPages({Kind::Contiguous, 2, 64, Of::Request}, 64));
}

TEST_CASE("shares of tokens are proved and refuted") {
  DealProver prover;
  TokenProblem problem;
  auto setShares = [&](std::vector<TokenPart> shares) {
    problem.pieces.clear();
    for (const TokenPart &share : shares)
      problem.pieces.push_back({{}, share, false, false});
  };
  SECTION("all parts of one deal") {
    setShares({contiguous(3, 0, 4), contiguous(3, 1, 4), contiguous(3, 2, 4)});
    CHECK(proveTokens(problem, prover).isExactlyOnce);
  }
  SECTION("a part is missing") {
    setShares({contiguous(3, 0, 4), contiguous(3, 2, 4)});
    TokenVerdict verdict = proveTokens(problem, prover);
    CHECK_FALSE(verdict.isProved);
    REQUIRE(verdict.point);
    // Part 1 begins to have tokens with the second item.
    CHECK(verdict.point->tokens == 5);
    CHECK(verdict.point->token == 4);
    CHECK(verdict.writers.empty());
  }
  SECTION("a finer deal that a coarser one contains") {
    // Token parity decides both: odd tokens come from two of the four parts.
    problem.target = cyclic(2, 1, 1);
    setShares({cyclic(4, 1, 1), cyclic(4, 3, 1)});
    CHECK(proveTokens(problem, prover).isExactlyOnce);
    setShares({cyclic(4, 1, 1), cyclic(4, 2, 1)});
    TokenVerdict verdict = proveTokens(problem, prover);
    REQUIRE(verdict.point);
    CHECK(verdict.point->token == 3);
  }
  SECTION("twice, or once more than needed") {
    setShares({{}, cyclic(2, 1, 1)});
    TokenVerdict verdict = proveTokens(problem, prover);
    CHECK_FALSE(verdict.isProved);
    REQUIRE(verdict.point);
    CHECK(verdict.point->token == 1);
    CHECK(verdict.writers == std::vector<int>{0, 1});
    problem.isStrict = false;
    verdict = proveTokens(problem, prover);
    CHECK(verdict.isProved);
    CHECK_FALSE(verdict.isExactlyOnce);
  }
  SECTION("shares of a page of which each brings all") {
    problem.domain = {4, true, false, 0, false};
    setShares({cyclic(2, 0, 4), cyclic(2, 1, 4)});
    for (Piece &piece : problem.pieces)
      piece.isPage = true;
    CHECK(proveTokens(problem, prover).isExactlyOnce);
    setShares({cyclic(2, 0, 2), cyclic(2, 1, 2)});
    for (Piece &piece : problem.pieces)
      piece.isPage = true;
    TokenVerdict verdict = proveTokens(problem, prover);
    CHECK_FALSE(verdict.isProved);
    REQUIRE(verdict.point);
    CHECK(verdict.writers.size() == 2);
    problem.isStrict = false;
    CHECK(proveTokens(problem, prover).isProved);
  }
}
