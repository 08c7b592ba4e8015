//===- Deals.cpp - rules that give tokens to parts ------------------------===//
#include "Deals.h"
#include "IntegerSystem.h"
#include "layline/Verification/PartitionProof.h"

#include <algorithm>
#include <numeric>

using namespace layline;
using namespace layline::kv;

std::optional<Atom> layline::kv::getAtom(const TokenPart &part,
                                         DealTable table) {
  if (part.kind == TokenPart::Kind::Whole || part.parts == 1)
    return std::nullopt;
  Atom atom{{part.kind, part.parts, part.unit, part.of, DealTable::None},
            part.index};
  if (part.kind == TokenPart::Kind::PageNumber)
    atom.deal.table = table;
  if (part.kind == TokenPart::Kind::Room ||
      part.kind == TokenPart::Kind::PageNumber) {
    // Not about the numbers of tokens.
    atom.deal.unit = 1;
    atom.deal.of = TokenPart::Of::Request;
  }
  return atom;
}

namespace {

/// A request and a token of it, as unknowns.
struct Unknowns {
  Form tokens, end, chunkBegin, chunkEnd, token, room;

  /// `end` is that of the tokens that are dealt out: behind the last one, or
  /// behind its page.
  explicit Unknowns(IntegerSystem &system)
      : tokens(system.addVariable()), end(system.addVariable()),
        chunkBegin(system.addVariable()), chunkEnd(system.addVariable()),
        token(system.addVariable()), room(system.addVariable()) {}

  Interval at(const std::vector<std::int64_t> &point) const {
    return {point[chunkBegin.terms[0].first], point[chunkEnd.terms[0].first]};
  }
};

/// A disjunction: a token of the domain and all that is said of it.
using Cases = std::vector<IntegerSystem>;

Cases makeDomain(const TokenDomain &domain, const Unknowns &of,
                 IntegerSystem system) {
  std::int64_t page = domain.pageTokens;
  system.addRange(of.token, 0, of.tokens - 1);
  system.addRange(of.token, of.chunkBegin, of.chunkEnd - 1);
  system.addAtLeastZero(of.chunkBegin);
  system.addAtLeastZero(of.end - of.chunkEnd);
  system.addAtLeastZero(of.room);
  if (domain.window)
    system.addAtLeastZero(of.token - of.tokens + domain.window);
  if (domain.isState)
    system.addZero(of.tokens - 1);
  auto isMultiple = [&](IntegerSystem &in, const Form &form) {
    in.addZero(form - page * in.addVariable());
  };
  if (domain.isRounded && !domain.isState) {
    system.addRange(of.end - of.tokens, 0, page - 1);
    isMultiple(system, of.end);
  } else {
    system.addZero(of.end - of.tokens);
  }
  if (!domain.isPaged)
    return {system};
  isMultiple(system, of.chunkBegin);
  IntegerSystem last = system;
  last.addZero(of.chunkEnd - of.end);
  isMultiple(system, of.chunkEnd);
  return {system, last};
}

/// Item `item` of n is in run `run` of `runs` balanced ones.
void addBlock(Cases &cases, std::int64_t runs, std::int64_t run,
              const std::vector<Form> &items, const std::vector<Form> &counts,
              Cases &out) {
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (bool isLonger : {true, false}) {
      IntegerSystem system = cases[i];
      Form base = system.addQuotient(counts[i], runs);
      Form rest = counts[i] - runs * base;
      if (isLonger) {
        system.addAtLeastZero(rest - (run + 1));
        system.addRange(items[i], run * base + run, run * base + run + base);
      } else {
        system.addAtLeastZero(Form(run) - rest);
        system.addRange(items[i], run * base + rest,
                        run * base + rest + base - 1);
      }
      out.push_back(std::move(system));
    }
}

/// The cases in which the atom holds.
Cases addAtom(Cases cases, const Unknowns &of, const Atom &atom) {
  const Deal &deal = atom.deal;
  if (deal.kind == TokenPart::Kind::Room) {
    for (IntegerSystem &system : cases)
      system.addZero(of.room - atom.part - deal.parts * system.addVariable());
    return cases;
  }
  // Any page may have any number: no arithmetic rules a token out.
  if (deal.kind == TokenPart::Kind::PageNumber)
    return cases;
  bool isChunk = deal.of == TokenPart::Of::Chunk;
  Form begin = isChunk ? of.chunkBegin : Form(0);
  Form end = isChunk ? of.chunkEnd : of.end;
  std::vector<Form> items, counts;
  for (IntegerSystem &system : cases) {
    items.push_back(system.addQuotient(of.token - begin, deal.unit));
    counts.push_back(
        system.addQuotient(end - begin + (deal.unit - 1), deal.unit));
  }
  Cases out;
  switch (deal.kind) {
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::Room:
  case TokenPart::Kind::PageNumber:
    return cases;
  case TokenPart::Kind::Cyclic:
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Form round = cases[i].addVariable();
      cases[i].addZero(items[i] - deal.parts * round - atom.part);
    }
    return cases;
  case TokenPart::Kind::Contiguous:
    addBlock(cases, deal.parts, atom.part, items, counts, out);
    return out;
  case TokenPart::Kind::Zigzag:
    for (std::int64_t run : {atom.part, 2 * deal.parts - 1 - atom.part})
      addBlock(cases, 2 * deal.parts, run, items, counts, out);
    return out;
  }
  return cases;
}

} // namespace

/// Cyclic parts of the request say the same of a token in every request that
/// has it, and repeat together: one period decides whether some token is in all
/// of them. The first such token; -1 if there is none; nothing if the period is
/// long.
static std::optional<std::int64_t>
findInPeriod(const std::vector<TokenPart> &parts) {
  constexpr std::int64_t kLongPeriod = 1 << 14;
  std::int64_t period = 1;
  for (const TokenPart &part : parts) {
    if (part.parts > kLongPeriod / part.unit)
      return std::nullopt;
    period = std::lcm(period, part.parts * part.unit);
    if (period > kLongPeriod)
      return std::nullopt;
  }
  Request request;
  request.tokens = period;
  std::vector<TokenRun> runs = selectTokens(parts, request, {{0, period}});
  return runs.empty() ? -1 : runs.front().first;
}

std::optional<TokenPoint>
DealProver::findToken(const TokenDomain &domain,
                      const std::vector<Atom> &atoms) {
  std::vector<TokenPart> cyclic;
  for (const Atom &atom : atoms)
    if (atom.deal.kind == TokenPart::Kind::Cyclic &&
        atom.deal.of == TokenPart::Of::Request)
      cyclic.push_back({atom.deal.kind, atom.deal.parts, atom.part,
                        atom.deal.unit, atom.deal.of});
  if (!cyclic.empty() && !domain.isState)
    if (std::optional<std::int64_t> token = findInPeriod(cyclic)) {
      if (*token < 0)
        return std::nullopt;
      // As the last one of its request it is in any window.
      if (cyclic.size() == atoms.size())
        return TokenPoint{*token + 1, *token, 0, {0, *token + 1}, 0, 0};
    }
  IntegerSystem system;
  Unknowns unknowns(system);
  Cases cases = makeDomain(domain, unknowns, std::move(system));
  for (const Atom &atom : atoms)
    cases = addAtom(std::move(cases), unknowns, atom);
  for (const IntegerSystem &one : cases) {
    ++queries;
    auto point = one.findPoint();
    if (!point)
      continue;
    auto get = [&](const Form &form) { return (*point)[form.terms[0].first]; };
    TokenPoint found;
    found.tokens = get(unknowns.tokens);
    found.token = get(unknowns.token);
    found.room = get(unknowns.room);
    for (const Atom &atom : atoms) {
      if (atom.deal.table == DealTable::Source)
        found.sourcePart = atom.part;
      if (atom.deal.table == DealTable::Target)
        found.targetPart = atom.part;
    }
    found.chunk = unknowns.at(*point);
    found.chunk.end = std::min(found.chunk.end, found.tokens);
    return found;
  }
  return std::nullopt;
}

std::string DealProver::provePartition(const Deal &wanted) {
  Deal deal = wanted;
  deal.of = TokenPart::Of::Request; // of any number of tokens
  auto known = partitions.find(deal);
  if (known != partitions.end())
    return known->second;
  Proof proof = Proof::good("");
  switch (deal.kind) {
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::Room:       // one remainder for each room
  case TokenPart::Kind::PageNumber: // and for each page's number
    break;
  case TokenPart::Kind::Contiguous:
    proof = layline::provePartition(Partition::block(), "part", deal.parts,
                                    std::nullopt);
    break;
  case TokenPart::Kind::Zigzag:
    proof = layline::provePartition(Partition::zigzag(), "part", deal.parts,
                                    std::nullopt);
    break;
  case TokenPart::Kind::Cyclic:
    proof = layline::provePartition(Partition::cyclic(1), "part", deal.parts,
                                    std::nullopt);
    break;
  }
  queries += proof.queries;
  std::string problem = proof.proved ? "" : proof.problem;
  partitions[deal] = problem;
  return problem;
}

namespace {

/// A token of a cyclic part and where it is kept: what kv::getSlot computes.
struct CyclicToken {
  Form token, slot;

  CyclicToken(IntegerSystem &system, const Deal &deal, const Form &part,
              const Form &token)
      : token(token) {
    system.addAtLeastZero(token);
    Form item = system.addQuotient(token, deal.unit);
    Form round = system.addVariable();
    system.addZero(item - deal.parts * round - part);
    slot = deal.unit * round + token - deal.unit * item;
  }
};

} // namespace

bool DealProver::proveSlots(const Deal &deal) {
  auto [known, isNew] = slots.insert({deal, true});
  if (!isNew)
    return known->second;
  IntegerSystem system;
  switch (deal.kind) {
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::Room:
  case TokenPart::Kind::Contiguous:
    return true; // the token's number, less that of the part's first one
  case TokenPart::Kind::PageNumber:
    // A table has each page once, which a bind checks; two of them with the
    // same remainder have different quotients.
    return true;
  case TokenPart::Kind::Cyclic: {
    Form part = system.addVariable();
    system.addRange(part, 0, deal.parts - 1);
    CyclicToken before(system, deal, part, system.addVariable());
    CyclicToken behind(system, deal, part, system.addVariable());
    system.addAtLeastZero(behind.token - before.token - 1);
    system.addAtLeastZero(before.slot - behind.slot);
    break;
  }
  case TokenPart::Kind::Zigzag: {
    // A token of the first run, [a, b), and one of its mirror, which follows.
    Form a = system.addVariable(), b = system.addVariable();
    Form c = system.addVariable(), before = system.addVariable();
    Form behind = system.addVariable();
    system.addRange(before, a, b - 1);
    system.addRange(c, b, behind);
    system.addAtLeastZero((before - a) - (b - a + behind - c));
    break;
  }
  }
  ++queries;
  return known->second = !system.findPoint();
}

bool DealProver::proveKeepsPages(const Deal &deal, std::int64_t pageTokens) {
  // By number a page is kept whole, in the table's order.
  if (deal.kind == TokenPart::Kind::Whole ||
      deal.kind == TokenPart::Kind::PageNumber)
    return true;
  if (deal.kind != TokenPart::Kind::Cyclic)
    return false;
  auto [known, isNew] = keeps.insert({{deal, pageTokens}, true});
  if (!isNew)
    return known->second;
  // A token of a part, and the first token of its page.
  struct Pair {
    Form place; ///< of the token in its page
    Form slot, part;
    Form firstSlot, firstPart;
  };
  auto hasNone = [&](auto addFault) {
    IntegerSystem system;
    Form first = pageTokens * system.addVariable();
    Pair pair{system.addVariable(), {}, system.addVariable(), {}, {}};
    system.addAtLeastZero(first);
    system.addRange(pair.place, 0, pageTokens - 1);
    system.addRange(pair.part, 0, deal.parts - 1);
    pair.slot = CyclicToken(system, deal, pair.part, first + pair.place).slot;
    Form item = system.addQuotient(first, deal.unit);
    Form round = system.addQuotient(item, deal.parts);
    pair.firstPart = item - deal.parts * round;
    pair.firstSlot = deal.unit * round + first - deal.unit * item;
    addFault(system, pair);
    ++queries;
    return !system.findPoint();
  };
  auto isBelow = [&](const Form &a, const Form &b) { return b - a - 1; };
  using System = IntegerSystem &;
  using Of = const Pair &;
  // Another part has the first token; the slots are nearer to each other than
  // the tokens, or farther apart; the first slot is inside a page.
  known->second =
      hasNone([&](System in, Of of) {
        in.addAtLeastZero(isBelow(of.part, of.firstPart));
      }) &&
      hasNone([&](System in, Of of) {
        in.addAtLeastZero(isBelow(of.firstPart, of.part));
      }) &&
      hasNone([&](System in, Of of) {
        in.addAtLeastZero(isBelow(of.slot - of.firstSlot, of.place));
      }) &&
      hasNone([&](System in, Of of) {
        in.addAtLeastZero(isBelow(of.place, of.slot - of.firstSlot));
      }) &&
      hasNone([&](System in, Of of) {
        Form inside = of.firstSlot - pageTokens * in.addVariable();
        in.addRange(inside, 1, pageTokens - 1);
      });
  return known->second;
}

bool DealProver::proveDealsPages(const Deal &deal, std::int64_t pageTokens) {
  if (deal.kind == TokenPart::Kind::Whole || deal.kind == TokenPart::Kind::Room)
    return true;
  auto [known, isNew] = deals.insert({{deal, pageTokens}, true});
  if (!isNew)
    return known->second;
  // The first token of a page, counted from the first that is dealt out, and
  // another of the page, in different items.
  IntegerSystem system;
  Form first = pageTokens * system.addVariable();
  Form place = system.addVariable();
  system.addAtLeastZero(first);
  system.addRange(place, 0, pageTokens - 1);
  Form item = system.addQuotient(first, deal.unit);
  Form other = system.addQuotient(first + place, deal.unit);
  system.addAtLeastZero(other - item - 1);
  ++queries;
  return known->second = !system.findPoint();
}
