//===- TokenProof.cpp - each token of a class of items, once --------------===//
#include "TokenProof.h"

#include <algorithm>

using namespace layline::kv;

static void append(std::vector<std::int64_t> &key, const TokenPart &part) {
  for (std::int64_t value :
       {static_cast<std::int64_t>(part.kind), part.parts, part.index, part.unit,
        static_cast<std::int64_t>(part.of)})
    key.push_back(value);
}

std::vector<std::int64_t> TokenProblem::getKey() const {
  std::vector<std::int64_t> key = {domain.pageTokens, domain.isPaged,
                                   domain.isRounded,  domain.window,
                                   domain.isState,    isStrict};
  append(key, target);
  for (const Piece &piece : pieces) {
    append(key, piece.source);
    append(key, piece.share);
    key.push_back(piece.isPage * 2 + piece.isWithLastChunk);
  }
  return key;
}

//===----------------------------------------------------------------------===//
// One token, by evaluating
//===----------------------------------------------------------------------===//

/// `pagePart`: the number of the token's page modulo the parts, of a part by
/// page number.
static bool isIn(const TokenPart &part, const Request &request,
                 std::int64_t token, std::int64_t pagePart) {
  if (part.kind == TokenPart::Kind::PageNumber && part.index != pagePart)
    return false;
  return !selectTokens({part}, request, {{token, token + 1}}).empty();
}

/// The request as the binding sees it for a piece.
static Request getRequest(const TokenProblem &problem, const Piece &piece,
                          const TokenPoint &point) {
  Request request{point.tokens, point.chunk, point.chunk.end == point.tokens, 0,
                  point.room};
  if (piece.isWithLastChunk)
    request.chunk = {0, point.tokens};
  if (problem.domain.isRounded && !problem.domain.isState) {
    std::int64_t page = problem.domain.pageTokens;
    auto up = [&](std::int64_t tokens) {
      return (tokens + page - 1) / page * page;
    };
    request.tokens = up(request.tokens);
    request.chunk.end = up(request.chunk.end);
  }
  return request;
}

static bool writes(const TokenProblem &problem, const Piece &piece,
                   const TokenPoint &point) {
  Request request = getRequest(problem, piece, point);
  auto selects = [&](std::int64_t token) {
    if (problem.domain.isState)
      return isIn(piece.share, {1, {0, 1}, true, 0, point.room}, 0, 0);
    return isIn(piece.source, request, token, point.sourcePart) &&
           isIn(problem.target, request, token, point.targetPart) &&
           isIn(piece.share, request, token, 0);
  };
  if (!piece.isPage)
    return selects(point.token);
  // One token of a page takes all of it along.
  std::int64_t page = problem.domain.pageTokens;
  std::int64_t first = point.token / page * page;
  for (std::int64_t token = std::max(first, request.chunk.begin);
       token < std::min(first + page, request.chunk.end); ++token)
    if (selects(token))
      return true;
  return false;
}

std::vector<int> layline::kv::findWriters(const TokenProblem &problem,
                                          const TokenPoint &point) {
  std::vector<int> writers;
  for (std::size_t i = 0; i < problem.pieces.size(); ++i)
    if (writes(problem, problem.pieces[i], point))
      writers.push_back(static_cast<int>(i));
  return writers;
}

//===----------------------------------------------------------------------===//
// All tokens
//===----------------------------------------------------------------------===//

namespace {

class TokenProver {
public:
  TokenProver(const TokenProblem &problem, DealProver &prover)
      : problem(problem), prover(prover) {}

  TokenVerdict run();

private:
  struct Conditions {
    int piece = 0;
    std::vector<Atom> atoms; ///< ascending, without those of the target
  };
  /// Values of deals that are known on the way down.
  using Known = std::map<Deal, std::int64_t>;

  bool prepare();
  bool preparePages(const Piece &piece);
  bool roundsInside();
  bool proveDeal(const TokenPart &part);
  std::optional<Atom> normalise(const TokenPart &part, bool isWithLast,
                                DealTable table) const;
  std::optional<Atom> getTarget() const {
    return getAtom(problem.target, DealTable::Target);
  }
  /// Exactly one of the pieces (not strict: at least one) writes each token
  /// that has the known values.
  bool decide(const Known &known, const std::vector<const Conditions *> &alive,
              bool isStrict);
  /// There is no such token; else it is the counterexample.
  bool isImpossible(const Known &known);
  bool isFault(const TokenPoint &point, bool isStrict) const {
    std::size_t count = findWriters(problem, point).size();
    return count == 0 || (isStrict && count > 1);
  }
  void shrink(TokenPoint &point, bool isStrict) const;

  const TokenProblem &problem;
  DealProver &prover;
  std::vector<Conditions> pieces;
  Known target;
  std::optional<TokenPoint> found;
  std::string reason;   ///< why nothing is proved
  std::string obstacle; ///< why nothing is proved to be written only once
  int steps = 0;
};

} // namespace

/// With the last chunk a whole request is sent: its only chunk.
std::optional<Atom> TokenProver::normalise(const TokenPart &part,
                                           bool isWithLast,
                                           DealTable table) const {
  TokenPart own = part;
  if (isWithLast || problem.domain.isState)
    own.of = TokenPart::Of::Request;
  return getAtom(own, table);
}

bool TokenProver::proveDeal(const TokenPart &part) {
  if (std::optional<Atom> atom = getAtom(part, DealTable::None))
    reason = prover.provePartition(atom->deal);
  return reason.empty();
}

bool TokenProver::prepare() {
  const TokenDomain &domain = problem.domain;
  auto keepsSlots = [&](const TokenPart &part) {
    std::optional<Atom> atom = getAtom(part, DealTable::None);
    if (!atom || domain.isState)
      return true;
    // Slots of balanced parts depend on the count, which rounding changes.
    if (domain.isRounded && atom->deal.kind != TokenPart::Kind::Cyclic &&
        atom->deal.kind != TokenPart::Kind::PageNumber)
      return false;
    return prover.proveSlots(atom->deal);
  };
  if (!proveDeal(problem.target))
    return false;
  if (domain.isRounded && !domain.isState && !roundsInside())
    return false;
  if (!keepsSlots(problem.target)) {
    reason = "slots of the target are not those of the tokens";
    return false;
  }
  if (!domain.isState)
    if (std::optional<Atom> atom = getTarget())
      target[atom->deal] = atom->part;
  for (std::size_t i = 0; i < problem.pieces.size(); ++i) {
    const Piece &piece = problem.pieces[i];
    if (!proveDeal(piece.source) || !proveDeal(piece.share))
      return false;
    if (!keepsSlots(piece.source)) {
      reason = "slots of a source are not those of the tokens";
      return false;
    }
    Conditions own;
    own.piece = static_cast<int>(i);
    if (!domain.isState)
      if (std::optional<Atom> atom =
              normalise(piece.source, false, DealTable::Source))
        own.atoms.push_back(*atom);
    if (std::optional<Atom> atom =
            normalise(piece.share, piece.isWithLastChunk, DealTable::None))
      own.atoms.push_back(*atom);
    std::sort(own.atoms.begin(), own.atoms.end());
    own.atoms.erase(std::unique(own.atoms.begin(), own.atoms.end()),
                    own.atoms.end());
    if (piece.isPage && !preparePages(piece))
      return false;
    pieces.push_back(std::move(own));
  }
  return true;
}

/// The slots behind the last token, which are sent as well, are in the
/// request's own pages: those of a whole page, or of pages that the sender has
/// alike.
bool TokenProver::roundsInside() {
  std::optional<Atom> target = getTarget();
  if (prover.proveKeepsPages(target ? target->deal : Deal(),
                             problem.domain.pageTokens))
    return true;
  for (const Piece &piece : problem.pieces)
    if (!(getAtom(piece.source, DealTable::Source) == target)) {
      reason = "slots behind the last token are sent into pages that the "
               "request may not have";
      return false;
    }
  return true;
}

/// Pages that are moved whole bring the right tokens; sets the obstacle where
/// they may come more than once.
bool TokenProver::preparePages(const Piece &piece) {
  std::int64_t page = problem.domain.pageTokens;
  std::optional<Atom> source = getAtom(piece.source, DealTable::Source);
  std::optional<Atom> target = getTarget();
  std::optional<Atom> share = getAtom(piece.share, DealTable::None);
  auto keeps = [&](const std::optional<Atom> &atom) {
    return prover.proveKeepsPages(atom ? atom->deal : Deal(), page);
  };
  bool keepsPages = keeps(source) && keeps(target);
  if (!keepsPages && !(source == target)) {
    reason = "pages are moved whole, but hold other tokens on one side";
    return false;
  }
  // What is in pieces of pages brings each page several times: too often, but
  // never too little.
  if (!keepsPages)
    obstacle = "pages are moved whole, and hold tokens of several chunks";
  else if (share && !prover.proveDealsPages(share->deal, page))
    obstacle = "pages are moved whole, but shared out in parts of pages";
  return true;
}

bool TokenProver::isImpossible(const Known &known) {
  std::vector<Atom> atoms;
  for (const auto &[deal, part] : known)
    atoms.push_back({deal, part});
  found = prover.findToken(problem.domain, atoms);
  return !found;
}

bool TokenProver::decide(const Known &known,
                         const std::vector<const Conditions *> &candidates,
                         bool isStrict) {
  constexpr int kMostSteps = 1 << 16;
  if (++steps > kMostSteps) {
    reason = "too many combinations of parts";
    return false;
  }
  std::vector<const Conditions *> alive;
  int certain = 0; // pieces that write whatever the other deals say
  std::map<Deal, int> uses;
  for (const Conditions *one : candidates) {
    bool isRuledOut = false, isCertain = true;
    for (const Atom &atom : one->atoms) {
      auto value = known.find(atom.deal);
      isRuledOut |= value != known.end() && value->second != atom.part;
      isCertain &= value != known.end();
    }
    if (isRuledOut)
      continue;
    alive.push_back(one);
    certain += isCertain;
    for (const Atom &atom : one->atoms)
      if (!known.count(atom.deal))
        ++uses[atom.deal];
  }
  if (certain > 0 && !isStrict)
    return true;
  if (alive.empty() || certain > 1)
    return isImpossible(known);
  if (uses.empty())
    return true; // one piece, and it is certain
  auto next = std::max_element(
      uses.begin(), uses.end(),
      [](const auto &a, const auto &b) { return a.second < b.second; });
  const Deal deal = next->first;
  // The parts that a piece names, each by itself.
  std::vector<std::int64_t> named;
  std::vector<const Conditions *> others;
  for (const Conditions *one : alive) {
    bool uses = false;
    for (const Atom &atom : one->atoms)
      if (atom.deal == deal) {
        uses = true;
        named.push_back(atom.part);
      }
    if (!uses)
      others.push_back(one);
  }
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  Known deeper = known;
  for (std::int64_t part : named) {
    deeper[deal] = part;
    if (!decide(deeper, alive, isStrict))
      return false;
  }
  // The parts that none names: all at once, if the other pieces do for them.
  if (static_cast<std::int64_t>(named.size()) == deal.parts)
    return true;
  if (!others.empty() && decide(known, others, isStrict))
    return true;
  if (!reason.empty())
    return false;
  found.reset();
  for (std::int64_t part = 0; part < deal.parts; ++part)
    if (!std::binary_search(named.begin(), named.end(), part)) {
      deeper[deal] = part;
      if (!decide(deeper, others, isStrict))
        return false;
    }
  return true;
}

/// The least request with a fault, if it has few tokens: one chunk, if that is
/// enough.
void TokenProver::shrink(TokenPoint &point, bool isStrict) const {
  constexpr std::int64_t kFewTokens = 256;
  std::int64_t window = problem.domain.window;
  for (std::int64_t tokens = 1; tokens < std::min(point.tokens, kFewTokens);
       ++tokens)
    for (std::int64_t token =
             window ? std::max<std::int64_t>(0, tokens - window) : 0;
         token < tokens; ++token) {
      TokenPoint smaller{tokens,           token,
                         point.room,       {0, tokens},
                         point.sourcePart, point.targetPart};
      if (problem.domain.isState && tokens > 1)
        return;
      if (isIn(problem.target, {tokens, {0, tokens}, true, 0, 0}, token,
               point.targetPart) &&
          isFault(smaller, isStrict)) {
        point = smaller;
        return;
      }
    }
}

TokenVerdict TokenProver::run() {
  TokenVerdict verdict;
  std::vector<const Conditions *> all;
  bool isReady = prepare();
  for (const Conditions &one : pieces)
    all.push_back(&one);
  if (!isReady)
    obstacle = std::move(reason);
  reason.clear();
  bool isOnce = isReady && decide(target, all, true);
  verdict.isExactlyOnce = isOnce && obstacle.empty();
  verdict.isProved = verdict.isExactlyOnce;
  if (!verdict.isProved && isReady && !problem.isStrict) {
    found.reset();
    reason.clear();
    steps = 0;
    verdict.isProved = isOnce || decide(target, all, false);
  }
  if (verdict.isProved)
    return verdict;
  if (found && !isFault(*found, problem.isStrict)) {
    reason = "a formula and the plan's rules disagree about token " +
             std::to_string(found->token) + " of " +
             std::to_string(found->tokens);
    found.reset();
  }
  // Where no formula has found it, few tokens may show it.
  if (!found && obstacle.size()) {
    constexpr std::int64_t kSomeTokens = 64;
    TokenPoint wanted;
    wanted.tokens = kSomeTokens * problem.domain.pageTokens + 1;
    if (problem.target.kind == TokenPart::Kind::PageNumber)
      wanted.targetPart = problem.target.index;
    shrink(wanted, problem.isStrict);
    if (wanted.chunk.end)
      found = wanted;
  }
  if (found) {
    shrink(*found, problem.isStrict);
    verdict.point = found;
    verdict.writers = findWriters(problem, *found);
    return verdict;
  }
  verdict.problem = obstacle.empty() ? reason : obstacle;
  if (verdict.problem.empty())
    verdict.problem = "no proof was found";
  return verdict;
}

TokenVerdict layline::kv::proveTokens(const TokenProblem &problem,
                                      DealProver &prover) {
  return TokenProver(problem, prover).run();
}
