//===- MigrationProof.cpp - every byte once, for every request ------------===//
#include "layline/KVVerification/MigrationProof.h"
#include "Structure.h"
#include "TokenProof.h"
#include "kv/CheckCompletion.h"
#include "layline/Verification/Proof.h"

#include <algorithm>
#include <set>

using namespace layline::kv;

namespace {

/// A move of the plan, as a sender of items of a plane.
struct Sender {
  const Transfer *transfer = nullptr;
  const Move *move = nullptr;

  Piece getPiece(const Plan &plan) const {
    return {plan.source.ranks[transfer->source].tokens, move->share,
            move->grain == Grain::Page, transfer->isWithLastChunk};
  }
};

/// Items of one target and plane with the same senders.
struct ItemClass {
  int target = 0, plane = 0;
  std::int64_t layer = 0, head = 0; ///< of the first
  std::int64_t items = 0;           ///< layers x heads
  std::vector<Sender> senders;
};

/// What is proved of a plane with one kind of problem.
struct Proved {
  std::set<int> planes, targets;
  std::int64_t items = 0;
  std::size_t leastSenders = 0, mostSenders = 0;
  bool isExactlyOnce = true;
};

class Prover {
public:
  explicit Prover(const Plan &plan) : plan(plan) {}
  MigrationProof run();

private:
  void proveAll();
  void collectClasses(int target, int plane);
  bool prove(const ItemClass &items);
  bool checkState(const ItemClass &items);
  TokenProblem getProblem(const ItemClass &items) const;
  void refute(const ItemClass &items, const TokenVerdict &verdict);
  std::string describe(const MigrationFault &fault) const;
  std::string describePart(const TokenPart &part) const;
  void addLines();
  void addCompletionLines();

  const Plan &plan;
  /// By target: its transfers.
  std::vector<std::vector<const Transfer *>> transfers;
  std::vector<bool> movesPages; ///< by target
  std::vector<ItemClass> classes;
  DealProver prover;
  std::map<std::vector<std::int64_t>, TokenVerdict> verdicts;
  std::map<std::string, Proved> proved; ///< by what was proved
  MigrationProof result;
};

} // namespace

/// Of a plane at a target: layers and heads that the same moves write.
void Prover::collectClasses(int target, int plane) {
  const Rank &rank = plan.target.ranks[target];
  int buffer = plan.target.planes[plane].buffer;
  std::int64_t first = 0;
  for (int i = 0; i < buffer; ++i)
    first += static_cast<std::int64_t>(rank.layers[i].size());
  const std::vector<std::int64_t> &layers = rank.layers[buffer];
  HeadRange heads = getHeads(plan.planes[plane], plan.target, rank);
  std::int64_t count = static_cast<std::int64_t>(layers.size());
  std::vector<std::vector<Sender>> senders(layers.size() *
                                           (heads.end - heads.begin));
  auto at = [&](std::int64_t layer, std::int64_t head) -> auto & {
    return senders[head * count + layer];
  };
  for (const Transfer *transfer : transfers[target])
    for (const Move &move : transfer->moves) {
      bool isPage = move.grain == Grain::Page;
      // A page takes all its planes along.
      bool isIn =
          isPage
              ? plan.target.planes[move.planes.front()].buffer == buffer
              : std::count(move.planes.begin(), move.planes.end(), plane) > 0;
      if (!isIn)
        continue;
      std::int64_t begin = isPage ? 0 : move.targetHead;
      std::int64_t end = isPage ? heads.end - heads.begin : begin + move.heads;
      // A plane that is named twice is sent twice.
      std::int64_t times =
          isPage ? 1
                 : std::count(move.planes.begin(), move.planes.end(), plane);
      for (const LayerRun &run : move.layers)
        for (std::int64_t i = 0; i < run.count; ++i)
          for (std::int64_t head = begin; head < end; ++head)
            for (std::int64_t k = 0; k < times; ++k)
              at(run.target - first + i, head).push_back({transfer, &move});
    }
  auto isEqual = [](const std::vector<Sender> &a,
                    const std::vector<Sender> &b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(),
        [](const Sender &x, const Sender &y) { return x.move == y.move; });
  };
  const std::vector<std::int64_t> &needed = plan.planes[plane].layers;
  for (std::int64_t head = 0; head < heads.end - heads.begin; ++head)
    for (std::int64_t layer = 0; layer < count; ++layer) {
      if (!std::binary_search(needed.begin(), needed.end(), layers[layer]))
        continue;
      if (!classes.empty() && classes.back().target == target &&
          classes.back().plane == plane &&
          isEqual(classes.back().senders, at(layer, head))) {
        ++classes.back().items;
        continue;
      }
      classes.push_back({target, plane, layers[layer], heads.begin + head, 1,
                         at(layer, head)});
    }
}

TokenProblem Prover::getProblem(const ItemClass &items) const {
  const Plane &plane = plan.planes[items.plane];
  TokenProblem problem;
  problem.domain.pageTokens = plan.target.pageTokens;
  problem.domain.isRounded = plan.policy.roundsToPages;
  problem.domain.isPaged = movesPages[items.target];
  problem.domain.window = plane.window;
  problem.domain.isState = plane.isState;
  problem.isStrict = plan.profile != "sglang-compat";
  problem.target = plan.target.ranks[items.target].tokens;
  for (const Sender &sender : items.senders)
    problem.pieces.push_back(sender.getPiece(plan));
  if (plane.isState) { // has no tokens that a rank keeps or not
    problem.target = {};
    for (Piece &piece : problem.pieces)
      piece.source = {};
  }
  return problem;
}

/// A state is final with the last chunk only.
bool Prover::checkState(const ItemClass &items) {
  const Plane &plane = plan.planes[items.plane];
  if (!plane.isState)
    return true;
  for (const Sender &sender : items.senders) {
    // The one item is token 0 of 1; of a share by room, in that room.
    const TokenPart &share = sender.move->share;
    std::int64_t room = share.kind == TokenPart::Kind::Room ? share.index : 0;
    if (sender.transfer->isWithLastChunk ||
        selectTokens({share}, {1, {0, 1}, true, 0, room}, {{0, 1}}).empty())
      continue;
    std::int64_t page = movesPages[items.target] ? plan.target.pageTokens : 1;
    MigrationFault fault;
    fault.tokens = 2 * page;
    fault.chunk = {0, page};
    fault.room = room;
    fault.target = items.target;
    fault.plane = items.plane;
    fault.layer = items.layer;
    fault.head = items.head;
    fault.writers = {sender.transfer->source, sender.transfer->source};
    result.fault = fault;
    result.verdict = MigrationProof::Verdict::Refuted;
    result.problem =
        nameRank("target", plan.target, items.target) + ", plane '" +
        plane.name + "', layer " + std::to_string(items.layer) + ": " +
        nameRank("source", plan.source, sender.transfer->source) +
        " sends the state with every chunk, before it is final; once, with "
        "the last chunk, is expected";
    return false;
  }
  return true;
}

/// The number of the token's page, where it decides who keeps it.
static std::string describePage(const char *who, const Side &side,
                                std::int64_t number) {
  for (const Rank &rank : side.ranks)
    if (rank.tokens.kind == TokenPart::Kind::PageNumber)
      return std::string(", in page ") + std::to_string(number) + " of the " +
             who;
  return "";
}

std::string Prover::describe(const MigrationFault &fault) const {
  const Plane &plane = plan.planes[fault.plane];
  std::string text =
      nameRank("target", plan.target, fault.target) + ", plane '" + plane.name +
      "', layer " + std::to_string(fault.layer) + ", head " +
      std::to_string(fault.head) + ", token " + std::to_string(fault.token) +
      " of " + std::to_string(fault.tokens) + ", chunk [" +
      std::to_string(fault.chunk.begin) + ", " +
      std::to_string(fault.chunk.end) + "), room " +
      std::to_string(fault.room) +
      describePage("source", plan.source, fault.sourcePart) +
      describePage("target", plan.target, fault.targetPart) + ": ";
  auto list = [](const std::vector<int> &ranks) {
    std::string names;
    for (int rank : ranks)
      names += (names.empty() ? "" : ", ") + std::to_string(rank);
    return names;
  };
  if (!fault.writers.empty())
    return text + "written " + std::to_string(fault.writers.size()) +
           " times, by source ranks " + list(fault.writers) +
           "; once is expected";
  // Who could have sent it.
  std::vector<int> holders;
  Request request{fault.tokens, {0, fault.tokens}, true, 0, fault.room};
  for (int i = 0; i < static_cast<int>(plan.source.ranks.size()); ++i) {
    const Rank &rank = plan.source.ranks[i];
    HeadRange heads = getHeads(plane, plan.source, rank);
    bool hasToken =
        plane.isState ||
        ((rank.tokens.kind != TokenPart::Kind::PageNumber ||
          rank.tokens.index == fault.sourcePart) &&
         !selectTokens({rank.tokens}, request, {{fault.token, fault.token + 1}})
              .empty());
    if (hasToken && fault.head >= heads.begin && fault.head < heads.end &&
        rank.getOrdinal(plan.source.planes[fault.plane].buffer, fault.layer) >=
            0)
      holders.push_back(i);
  }
  return text + "never written; " +
         (holders.empty() ? "no source rank keeps it"
                          : "it resides at source ranks " + list(holders)) +
         ", one sender is expected";
}

void Prover::refute(const ItemClass &items, const TokenVerdict &verdict) {
  if (!verdict.point) {
    result.verdict = MigrationProof::Verdict::Open;
    result.problem = nameRank("target", plan.target, items.target) +
                     ", plane '" + plan.planes[items.plane].name + "', layer " +
                     std::to_string(items.layer) + ", head " +
                     std::to_string(items.head) + ": " + verdict.problem;
    return;
  }
  MigrationFault fault;
  fault.tokens = verdict.point->tokens;
  fault.chunk = verdict.point->chunk;
  fault.room = verdict.point->room;
  fault.sourcePart = verdict.point->sourcePart;
  fault.targetPart = verdict.point->targetPart;
  fault.target = items.target;
  fault.plane = items.plane;
  fault.layer = items.layer;
  fault.head = items.head;
  fault.token = verdict.point->token;
  for (int piece : verdict.writers)
    fault.writers.push_back(items.senders[piece].transfer->source);
  result.verdict = MigrationProof::Verdict::Refuted;
  result.fault = fault;
  result.problem = describe(fault);
}

bool Prover::prove(const ItemClass &items) {
  if (!checkState(items))
    return false;
  TokenProblem problem = getProblem(items);
  std::vector<std::int64_t> key = problem.getKey();
  auto known = verdicts.find(key);
  if (known == verdicts.end())
    known =
        verdicts.emplace(std::move(key), proveTokens(problem, prover)).first;
  const TokenVerdict &verdict = known->second;
  if (!verdict.isProved) {
    refute(items, verdict);
    return false;
  }
  std::string what = describePart(problem.target);
  if (problem.domain.isState)
    what = "state";
  else if (problem.domain.window)
    what +=
        ", of the last " + std::to_string(problem.domain.window) + " tokens";
  Proved &line = proved[what];
  line.planes.insert(items.plane);
  line.targets.insert(items.target);
  line.items += items.items;
  std::size_t senders = items.senders.size();
  line.leastSenders =
      line.leastSenders ? std::min(line.leastSenders, senders) : senders;
  line.mostSenders = std::max(line.mostSenders, senders);
  line.isExactlyOnce &= verdict.isExactlyOnce;
  result.isExactlyOnce &= verdict.isExactlyOnce;
  return true;
}

/// Without its index: the same for all ranks of a group.
std::string Prover::describePart(const TokenPart &part) const {
  std::string size = std::to_string(part.parts);
  if (part.parts == 1)
    return "every token";
  switch (part.kind) {
  case TokenPart::Kind::Whole:
  case TokenPart::Kind::Room:
    return "every token";
  case TokenPart::Kind::Contiguous:
    return "contiguous tokens, 1 of " + size + " parts";
  case TokenPart::Kind::Zigzag:
    return "zigzag tokens, 1 of " + size + " parts";
  case TokenPart::Kind::PageNumber:
    return "pages by number, 1 of " + size + " parts";
  case TokenPart::Kind::Cyclic:
    return "tokens in runs of " + std::to_string(part.unit) + ", 1 of " + size +
           " parts";
  }
  return "";
}

void Prover::addLines() {
  bool isPaged = std::count(movesPages.begin(), movesPages.end(), true) > 0;
  std::int64_t unit = plan.policy.prefixUnit;
  std::string prefixes =
      unit > 1 ? " (a multiple of " + std::to_string(unit) + ")" : "";
  for (const auto &[what, line] : proved) {
    std::string planes;
    for (int plane : line.planes)
      planes += (planes.empty() ? "" : ", ") + plan.planes[plane].name;
    std::string senders = std::to_string(line.leastSenders);
    if (line.mostSenders != line.leastSenders)
      senders += " to " + std::to_string(line.mostSenders);
    result.lines.push_back(
        planes + " at " + std::to_string(line.targets.size()) +
        " target ranks, " + std::to_string(line.items) + " layers x heads (" +
        what + "): " +
        (line.isExactlyOnce ? "written exactly once"
                            : "written at least once, with equal bytes") +
        ", from " + senders + " senders each, for every count of tokens, " +
        (isPaged ? "chunks and prefixes of whole pages"
                 : "chunk, prefix" + prefixes) +
        ", room and page table");
  }
}

/// What findCompletionFault has shown.
void Prover::addCompletionLines() {
  std::size_t responders = 0;
  std::int64_t completions = 0;
  for (const std::vector<Responder> &own : plan.readiness.targets)
    for (const Responder &responder : own) {
      ++responders;
      completions += responder.completions;
    }
  result.lines.push_back(
      "a request is ready when each responder, by a key of its own, has "
      "reported all that it sends as arrived: " +
      std::to_string(responders) + " responders, " +
      std::to_string(completions) +
      " reports; a failure stays, and reports name the request");
  std::string slots = std::to_string(plan.relay.slots.size());
  result.lines.push_back(
      std::to_string(plan.lifetimes.size()) +
      " kinds of buffers are pinned as long as a transfer, a broadcast or a "
      "round uses them, of a failed request until all writers are quiet" +
      (plan.relay.slots.empty()
           ? ""
           : "; " + slots +
                 " relay slots have one target each and hold every "
                 "block"));
}

MigrationProof Prover::run() {
  proveAll();
  result.queries = prover.numQueries();
  if (!result.isProved()) {
    result.isExactlyOnce = false;
    result.lines.clear();
  }
  return result;
}

void Prover::proveAll() {
  result.problem = findStructuralFault(plan);
  if (!result.problem.empty()) {
    result.verdict = MigrationProof::Verdict::Refuted;
    return;
  }
  result.lines.push_back(
      "every send is from what resides at its sender, layer to the same layer "
      "and head to the same head; bytes of a page are one item's each");
  result.lines.push_back("whoever sends is waited for, once");
  for (const auto &[who, side] :
       {std::pair("source", &plan.source), std::pair("target", &plan.target)})
    for (const Rank &rank : side->ranks)
      if (rank.tokens.kind == TokenPart::Kind::PageNumber) {
        result.lines.push_back(std::string(who) +
                               ": every page number has one owner of " +
                               std::to_string(rank.tokens.parts) +
                               ", if all are given the same page table");
        break;
      }
  std::size_t targets = plan.target.ranks.size();
  transfers.resize(targets);
  movesPages.assign(targets, plan.policy.roundsToPages);
  for (const Transfer &transfer : plan.transfers) {
    transfers[transfer.target].push_back(&transfer);
    for (const Move &move : transfer.moves)
      if (move.grain == Grain::Page)
        movesPages[transfer.target] = true;
  }
  result.isExactlyOnce = true;
  result.verdict = MigrationProof::Verdict::Proved;
  for (int to = 0; to < static_cast<int>(targets); ++to)
    for (int plane = 0; plane < static_cast<int>(plan.planes.size()); ++plane) {
      classes.clear();
      collectClasses(to, plane);
      for (const ItemClass &items : classes)
        if (!prove(items))
          return;
    }
  result.problem = findCompletionFault(plan);
  if (!result.problem.empty()) {
    result.verdict = MigrationProof::Verdict::Refuted;
    return;
  }
  addLines();
  addCompletionLines();
}

MigrationProof layline::kv::proveMigration(const Plan &plan) {
  layline::StopWatch watch;
  Prover prover(plan);
  MigrationProof proof = prover.run();
  proof.seconds = watch.seconds();
  return proof;
}
