//===- KVLoopback.cpp - a pair of ranks over a real engine ----------------===//
#include "KVLoopback.h"
#include <algorithm>
#include <cstring>
#include <functional>

using namespace layline;
using namespace layline::tool;
using nlohmann::json;

// --- Memory -----------------------------------------------------------------

static kv::RankPool makePool(const kv::Plan &plan, const kv::Side &side,
                             const kv::Rank &rank,
                             const kv::TrafficOptions &request) {
  kv::RankPool pool(
      side, rank, request.tokens, [&](int64_t count) -> kv::PoolPages {
        // A page in front and one behind are not the request's.
        kv::PoolPages made;
        bool isContiguous = request.pages == kv::PageOrder::Contiguous;
        for (int64_t i = 0; i < count; ++i)
          // Odd pages downwards: no two neighbours are neighbours.
          made.pages.push_back(
              static_cast<int32_t>(isContiguous ? i + 1 : 2 * (count - i) - 1));
        made.poolPages = isContiguous ? count + 2 : 2 * count + 1;
        return made;
      });
  if (request.omitsPrefixPages)
    pool.setFirstPages(kv::findFirstEntries(plan, side, rank, pool,
                                            request.tokens, request.prefix));
  return pool;
}

LoopbackTarget::LoopbackTarget(const kv::Plan &plan, int rank,
                               const kv::TrafficOptions &request)
    : plan(plan), rank(rank), request(request),
      shared(makePool(plan, plan.target, plan.target.ranks[rank], request)),
      before(shared.memory.getData(),
             shared.memory.getData() + shared.memory.countBytes()),
      image(before), imagePool(shared.pool) {
  imagePool.place(image.data());
}

/// Calls visit(request) for each chunk.
static void
forEachChunk(const kv::Plan &plan, const kv::TrafficOptions &request,
             const std::function<void(const kv::Request &)> &visit) {
  int64_t begin = 0;
  for (int64_t end : kv::getChunkEnds(request, plan.target.pageTokens)) {
    visit({request.tokens,
           {begin, end},
           end == request.tokens,
           request.prefix,
           request.room});
    begin = end;
  }
}

int64_t LoopbackTarget::expect(const SharedPool &source, int sourceRank) {
  before = image;
  int64_t bytes = 0;
  forEachChunk(plan, request, [&](const kv::Request &chunk) {
    kv::Binding binding(plan, chunk, sourceRank, rank, source.pool.getMemory(),
                        imagePool.getMemory());
    bytes += binding.countBytes();
    binding.forEachBlock(
        0, binding.countDescriptors(),
        [](std::uint64_t from, std::uint64_t to, std::uint64_t size) {
          std::memcpy(reinterpret_cast<void *>(to),
                      reinterpret_cast<const void *>(from), size);
        });
  });
  return bytes;
}

void LoopbackTarget::restore() {
  std::memcpy(shared.memory.getData(), before.data(), before.size());
}

void LoopbackTarget::compare() const {
  const std::uint8_t *found = shared.memory.getData();
  if (std::memcmp(found, image.data(), image.size()) == 0)
    return;
  std::size_t at =
      std::mismatch(image.begin(), image.end(), found).first - image.begin();
  std::size_t wrong = 0;
  for (std::size_t i = at; i < image.size(); ++i)
    wrong += found[i] != image[i];
  for (const kv::RankPool::Buffer &buffer : shared.pool.getBuffers()) {
    if (at >= buffer.begin + buffer.bytes)
      continue;
    throw PeerError("target rank " + std::to_string(rank) + ", " + buffer.name +
                        ", byte " + std::to_string(at - buffer.begin) +
                        ": found " + std::to_string(found[at]) + ", expected " +
                        std::to_string(image[at]) +
                        (found[at] == before[at] ? " (never written)"
                         : image[at] == before[at]
                             ? " (nothing was to be written)"
                             : "") +
                        "; " + std::to_string(wrong) + " bytes of " +
                        std::to_string(image.size()) + " are wrong",
                    Refused);
  }
}

int64_t LoopbackTarget::countArrived() const {
  int64_t arrived = 0;
  std::vector<std::uint8_t> content;
  kv::forEachItem(
      plan, plan.target, plan.target.ranks[rank], shared.pool, request.tokens,
      [&](const kv::PoolItem &item) {
        const kv::Plane &plane = plan.planes[item.plane];
        auto bytes = static_cast<std::size_t>(plane.headBytes);
        content.resize(bytes);
        kv::makeContent(item.plane, item.layer, item.head, item.token,
                        content.data(), plane.headBytes);
        const std::uint8_t *found =
            shared.pool.getData(item.buffer) + item.byte;
        if (std::equal(content.begin(), content.end(), found)) {
          if (kv::isNeeded(plane, item, request.tokens, request.prefix))
            arrived += plane.headBytes;
          return;
        }
        for (std::size_t i = 0; i < bytes; ++i)
          if (found[i] != kv::getFiller(item.buffer, item.byte + i))
            throw PeerError("target rank " + std::to_string(rank) + ", " +
                                shared.pool.getBuffers()[item.buffer].name +
                                ", " + plane.name + ", head " +
                                std::to_string(item.head) + ", token " +
                                std::to_string(item.token) + ", byte " +
                                std::to_string(i) +
                                " of it: found neither what belongs there nor "
                                "what was there before",
                            Refused);
      });
  return arrived;
}

int64_t LoopbackTarget::countNeeded() const {
  int64_t needed = 0;
  kv::forEachItem(
      plan, plan.target, plan.target.ranks[rank], shared.pool, request.tokens,
      [&](const kv::PoolItem &item) {
        const kv::Plane &plane = plan.planes[item.plane];
        if (kv::isNeeded(plane, item, request.tokens, request.prefix))
          needed += plane.headBytes;
      });
  return needed;
}

// --- Processes --------------------------------------------------------------

namespace {
/// The two processes of a pair, and what is to be told to both.
class Pair {
public:
  Pair(const kv::Plan &plan, const kv::TrafficOptions &request,
       LoopbackEngine &engine, int sourceRank, const SharedPool &sourcePool,
       const LoopbackTarget &target)
      : plan(plan), request(request), engine(engine), sourceRank(sourceRank),
        targetRank(target.getRank()),
        source("source", engine.setup, sourcePool.memory),
        target("target", engine.setup, target.getPool().memory) {
    connect(sourcePool, target.getPool());
  }

  LoopbackRun send();

private:
  void connect(const SharedPool &sourcePool, const SharedPool &targetPool);
  void sendChunk(const kv::Request &chunk, LoopbackRun &run);
  void addSent(const json &sent, LoopbackRun &run);
  /// Waits until the target has all that was sent; gives the time.
  double settle() {
    json answer = target.ask("settle", {{"calls", calls}}, source);
    return answer.at("seconds").get<double>();
  }

  const kv::Plan &plan;
  const kv::TrafficOptions &request;
  LoopbackEngine &engine;
  int sourceRank, targetRank;
  KVPeer source, target;
  json memories, slots;
  int64_t calls = 0; ///< of all runs
};
} // namespace

static json describeMemory(const SharedPool &shared, const json &opened) {
  auto base = opened.at("address").get<std::uint64_t>();
  json buffers = json::array();
  for (const kv::RankPool::Buffer &buffer : shared.pool.getBuffers())
    buffers.push_back(base + buffer.begin);
  json tables = json::array();
  for (const kv::PageTable &table : shared.pool.getMemory().tables)
    tables.push_back(
        std::vector<std::int32_t>(table.pages, table.pages + table.count));
  return {{"buffers", std::move(buffers)},
          {"tables", std::move(tables)},
          {"first_pages", shared.pool.getFirstPages()},
          {"pool_pages", shared.pool.getPoolPages()}};
}

void Pair::connect(const SharedPool &sourcePool, const SharedPool &targetPool) {
  int64_t atSource = 0, atTarget = 0; // bytes of the pair's slots
  for (const kv::RelaySlot &slot : plan.relay.slots)
    if (slot.source == sourceRank && slot.target == targetRank)
      (slot.isAtSource ? atSource : atTarget) = slot.bytes;
  auto open = [&](KVPeer &peer, const SharedPool &shared, int64_t slotBytes) {
    peer.tell("open", {{"plan", engine.planPath},
                       {"size", shared.memory.countBytes()},
                       {"slot", slotBytes},
                       {"library", engine.library},
                       // Its own waits end before this side gives it up.
                       {"timeout", std::max(1.0, engine.setup.seconds * 0.8)}});
  };
  open(source, sourcePool, atSource);
  open(target, targetPool, atTarget);
  json from = source.hear(target), to = target.hear(source);
  engine.version = from.at("version").get<std::string>();
  engine.queueLimit = from.at("queue_limit").get<int64_t>();
  source.ask("connect", {{"description", to.at("description")}}, target);
  memories = {describeMemory(sourcePool, from), describeMemory(targetPool, to)};
  slots = {from.at("slot"), to.at("slot")};
}

void Pair::addSent(const json &sent, LoopbackRun &run) {
  run.batches += sent.at("batches").get<int64_t>();
  run.descriptors += sent.at("descriptors").get<int64_t>();
  run.bytes += sent.at("bytes").get<int64_t>();
  int64_t added = sent.at("calls").get<int64_t>();
  run.calls += added;
  calls += added;
  run.largestCall =
      std::max(run.largestCall, sent.at("largest_call").get<int64_t>());
  run.preparing += sent.at("prepare").get<double>();
  run.packing += sent.at("pack").get<double>();
  run.sending += sent.at("engine").get<double>();
}

void Pair::sendChunk(const kv::Request &chunk, LoopbackRun &run) {
  json bind = {{"request",
                {{"tokens", chunk.tokens},
                 {"begin", chunk.chunk.begin},
                 {"end", chunk.chunk.end},
                 {"is_last", chunk.isLast},
                 {"prefix", chunk.prefix},
                 {"room", chunk.room}}},
               {"source", sourceRank},
               {"target", targetRank},
               {"memories", memories},
               {"slots", slots}};
  source.tell("bind", bind);
  target.tell("bind", std::move(bind));
  json atSource = source.hear(target), atTarget = target.hear(source);
  const json &parts = atSource.at("parts");
  if (parts != atTarget.at("parts"))
    throw PeerError("source and target find other rounds: " + parts.dump() +
                        " and " + atTarget.at("parts").dump(),
                    Refused);
  run.preparing += std::max(atSource.at("seconds").get<double>(),
                            atTarget.at("seconds").get<double>());
  for (std::size_t part = 0; part < parts.size(); ++part) {
    std::string packing = parts[part].at("packing").get<std::string>();
    if (packing == "none") {
      addSent(source.ask("send_part", {{"part", part}}, target), run);
      continue;
    }
    for (int64_t i = 0; i < parts[part].at("rounds").get<int64_t>(); ++i) {
      json which = {{"part", part}, {"round", i}};
      addSent(source.ask("send_round", which, target), run);
      if (packing == "source")
        continue;
      run.sending += settle();
      run.packing += target.ask("unpack", std::move(which), source)
                         .at("seconds")
                         .get<double>();
    }
  }
  run.sending += settle();
}

LoopbackRun Pair::send() {
  LoopbackRun run;
  forEachChunk(plan, request,
               [&](const kv::Request &chunk) { sendChunk(chunk, run); });
  return run;
}

std::vector<LoopbackRun>
layline::tool::sendPair(const kv::Plan &plan, const kv::TrafficOptions &request,
                        LoopbackEngine &engine, int sourceRank,
                        LoopbackTarget &target, int repeats) {
  const kv::Rank &rank = plan.source.ranks[sourceRank];
  SharedPool source(makePool(plan, plan.source, rank, request));
  kv::fillItems(plan, plan.source, rank, source.pool, request.tokens);
  int64_t bytes = target.expect(source, sourceRank);
  int64_t had = target.countArrived();
  Pair pair(plan, request, engine, sourceRank, source, target);
  std::vector<LoopbackRun> runs;
  for (int i = 0; i < repeats; ++i) {
    target.restore();
    runs.push_back(pair.send());
    if (runs.back().bytes != bytes)
      throw PeerError("the engine was given " +
                          std::to_string(runs.back().bytes) +
                          " bytes; the plan has " + std::to_string(bytes),
                      Refused);
    target.compare();
  }
  // Where whole pages are moved, more is sent than is needed; where several
  // ranks send the same, it may have been there.
  bool mayBeLess = plan.policy.roundsToPages || had > 0;
  for (const kv::Transfer &transfer : plan.transfers)
    for (const kv::Move &move : transfer.moves)
      mayBeLess |= move.grain == kv::Grain::Page;
  int64_t arrived = target.countArrived() - had;
  if (arrived > bytes || (arrived < bytes && !mayBeLess))
    throw PeerError("target rank " + std::to_string(target.getRank()) +
                        ": has its content in " + std::to_string(arrived) +
                        " bytes; " + std::to_string(bytes) + " were sent",
                    Refused);
  return runs;
}
