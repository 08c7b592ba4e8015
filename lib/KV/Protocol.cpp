//===- Protocol.cpp - who may say ready, and what may be reused -----------===//
#include "layline/KV/Protocol.h"
#include "RequestPages.h"

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <set>

using namespace layline::kv;

namespace {

/// Pages of a request's table that one rank writes at another: entries of the
/// source's table and of the target's.
struct PageCopy {
  std::int64_t source = 0, target = 0;
  bool operator<(const PageCopy &other) const {
    return std::tie(source, target) < std::tie(other.source, other.target);
  }
};

/// Times in ticks.
constexpr std::int64_t kFast = 10, kTimeout = 4000, kDecode = 300;

/// Pages of one rank. Of a target what each source has put there, of a source
/// what it has computed: the number of the request.
struct Pool {
  std::vector<std::map<int, std::int64_t>> content; ///< by page, by writer
  std::vector<std::int64_t> free;

  explicit Pool(std::int64_t pages) : content(pages) {
    for (std::int64_t i = pages; i-- > 0;)
      free.push_back(i);
  }
  /// Those freed last first: what was in use is in use again at once.
  std::vector<std::int64_t> take(std::int64_t count) {
    std::vector<std::int64_t> pages(free.end() - count, free.end());
    free.resize(free.size() - count);
    return pages;
  }
  void give(const std::vector<std::int64_t> &pages) {
    free.insert(free.end(), pages.begin(), pages.end());
  }
};

enum class EventKind {
  WriteArrives, ///< of one pair
  ReportArrives,
  StopArrives,  ///< at a source: post nothing more
  QuietArrives, ///< at a target: nothing is under way any more
  Abort,
  FreeEarly,
  TimeOut,
  Finish, ///< the target has used the request
};

struct Event {
  std::int64_t time = 0, order = 0;
  EventKind kind = EventKind::Abort;
  std::int64_t request = 0;
  int source = 0, target = 0;
  std::int64_t write = 0;
  bool isGood = true;
  bool operator<(const Event &other) const { // the earliest comes first
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

enum class Outcome { UnderWay, Ready, Failed };

/// One request at one target rank.
struct Arrival {
  std::set<int> reported;
  std::int64_t reports = 0;
  std::set<int> quiet; ///< sources with nothing under way
  bool isReady = false;
  bool isFreed = false;   ///< the engine wants the pages back
  bool isGiven = false;   ///< they are
  bool isCounted = false; ///< as held
  std::vector<std::int64_t> pages;
};

struct Live {
  std::int64_t number = 0, room = 0;
  Outcome outcome = Outcome::UnderWay;
  std::map<int, Arrival> arrivals;                      ///< by target
  std::map<int, std::vector<std::int64_t>> pages;       ///< by source
  std::map<std::pair<int, int>, std::int64_t> underWay; ///< writes of a pair
  std::map<std::pair<int, int>, bool> isGood;
  std::set<int> sourcesFreed;
  std::set<std::pair<int, int>> stopped;
};

class ProtocolSimulator {
public:
  ProtocolSimulator(const Plan &plan, const ProtocolOptions &options)
      : plan(plan), options(options), random(options.seed) {}
  ProtocolResult run();

private:
  void findCopies();
  bool chance(double probability) {
    return std::uniform_real_distribution<double>()(random) < probability;
  }
  std::int64_t getLatency() {
    std::int64_t most = chance(options.faults.delay) ? kFast * 50 : kFast;
    result.late += most > kFast;
    return 1 + static_cast<std::int64_t>(random() % most);
  }
  void post(std::int64_t delay, Event event) {
    event.time = now + delay;
    event.order = posted++;
    events.push(event);
  }
  bool start();
  void postReport(Live &live, int source, int target, bool isGood);
  void handle(const Event &event);
  void arrive(Live &live, const Event &event);
  void report(Live &live, const Event &event);
  void fail(Live &live);
  void setFree(Live &live, int target);
  void tryToGive(Live &live, int target);
  void freeSource(Live &live, int source);
  void check(const Live &live, int target, const char *when);

  const Plan &plan;
  const ProtocolOptions &options;
  std::mt19937_64 random;
  ProtocolResult result;
  std::map<std::pair<int, int>, std::vector<PageCopy>> copies;
  std::vector<Pool> sources, targets;
  std::int64_t sourcePages = 0, targetPages = 0; ///< of a request
  std::priority_queue<Event> events;
  std::int64_t now = 0, posted = 0, started = 0;
  std::map<std::int64_t, Live> requests;
  std::map<std::int64_t, std::int64_t> ofRoom; ///< the last request of a room
};

} // namespace

/// Which pages each pair moves: found from its descriptors.
void ProtocolSimulator::findCopies() {
  Request request;
  request.tokens = options.tokens;
  request.chunk = {0, options.tokens};
  auto count = [&](const Side &side) {
    return (options.tokens + side.pageTokens - 1) / side.pageTokens;
  };
  sourcePages = count(plan.source);
  targetPages = count(plan.target);
  // Page numbers from addresses: which table it is does not matter, all of a
  // rank's tables are alike here. States have no page of their own.
  constexpr std::uint64_t kInBuffer = (std::uint64_t(1) << 40) - 1;
  for (int target = 0; target < static_cast<int>(plan.responders.size());
       ++target)
    for (int source : plan.responders[target]) {
      std::vector<PageCopy> &own = copies[{source, target}];
      RequestPages from(plan.source, plan.source.ranks[source], options.tokens,
                        PageOrder::Contiguous);
      RequestPages to(plan.target, plan.target.ranks[target], options.tokens,
                      PageOrder::Contiguous);
      Binding binding(plan, request, source, target, from.getMemory(),
                      to.getMemory());
      auto getPageBytes = [](const Side &side, const Rank &rank,
                             std::uint64_t address) {
        std::int64_t ordinal = static_cast<std::int64_t>(address >> 40) - 1;
        for (std::size_t i = 0; i < side.buffers.size(); ++i) {
          ordinal -= static_cast<std::int64_t>(rank.layers[i].size());
          if (ordinal < 0)
            return side.buffers[i].pageBytes;
        }
        return std::int64_t(1);
      };
      std::set<PageCopy> found;
      binding.forEachBlock(
          0, binding.countDescriptors(),
          [&](std::uint64_t s, std::uint64_t t, std::uint64_t bytes) {
            std::int64_t a =
                getPageBytes(plan.source, plan.source.ranks[source], s);
            std::int64_t b =
                getPageBytes(plan.target, plan.target.ranks[target], t);
            for (std::uint64_t done = 0; done < bytes;) {
              std::int64_t x =
                  static_cast<std::int64_t>((s + done) & kInBuffer);
              std::int64_t y =
                  static_cast<std::int64_t>((t + done) & kInBuffer);
              found.insert({x / a, y / b});
              done +=
                  static_cast<std::uint64_t>(std::min(a - x % a, b - y % b));
            }
          });
      own.assign(found.begin(), found.end());
    }
}

/// The next request, if its pages can be had.
bool ProtocolSimulator::start() {
  std::int64_t number = started;
  for (const Pool &pool : targets)
    if (static_cast<std::int64_t>(pool.free.size()) < targetPages)
      return false;
  for (const Pool &pool : sources)
    if (static_cast<std::int64_t>(pool.free.size()) < sourcePages)
      return false;
  ++started;
  Live &live = requests[number];
  live.number = number;
  live.room = number % options.rooms;
  ofRoom[live.room] = number;
  for (int source = 0; source < static_cast<int>(sources.size()); ++source) {
    live.pages[source] = sources[source].take(sourcePages);
    for (std::int64_t page : live.pages[source])
      sources[source].content[page][-1] = number;
  }
  for (int target = 0; target < static_cast<int>(targets.size()); ++target) {
    live.arrivals[target].pages = targets[target].take(targetPages);
    for (int source : plan.responders[target]) {
      // A write for every page, so that parts of a request overtake each other.
      std::int64_t writes =
          static_cast<std::int64_t>(copies[{source, target}].size());
      live.underWay[{source, target}] = writes;
      live.isGood[{source, target}] = true;
      for (std::int64_t i = 0; i < writes; ++i)
        post(getLatency(), {0, 0, EventKind::WriteArrives, number, source,
                            target, i, !chance(options.faults.failWrite)});
      if (writes == 0 || !options.rules.reportsArrival)
        postReport(live, source, target, true);
      if (writes == 0)
        live.arrivals[target].quiet.insert(source);
    }
  }
  if (!options.rules.pinsSourcePages)
    for (int source = 0; source < static_cast<int>(sources.size()); ++source)
      freeSource(live, source);
  if (chance(options.faults.abort))
    post(getLatency() * 2, {0, 0, EventKind::Abort, number, 0, 0, 0, true});
  if (chance(options.faults.freeEarly))
    post(getLatency(), {0, 0, EventKind::FreeEarly, number, 0, 0, 0, true});
  post(kTimeout, {0, 0, EventKind::TimeOut, number, 0, 0, 0, true});
  return true;
}

void ProtocolSimulator::postReport(Live &live, int source, int target,
                                   bool isGood) {
  Event event{0, 0,     EventKind::ReportArrives, live.number, source, target,
              0, isGood};
  if (chance(options.faults.drop)) {
    ++result.dropped;
    return;
  }
  post(getLatency(), event);
  if (chance(options.faults.repeat)) {
    ++result.repeated;
    post(getLatency(), event);
  }
}

/// A write brings what the source's page holds now.
void ProtocolSimulator::arrive(Live &live, const Event &event) {
  std::pair<int, int> pair{event.source, event.target};
  const PageCopy &copy = copies[pair][event.write];
  if (!live.stopped.count(pair)) {
    if (event.isGood) {
      std::int64_t from = live.pages[event.source][copy.source];
      std::int64_t to = live.arrivals[event.target].pages[copy.target];
      targets[event.target].content[to][event.source] =
          sources[event.source].content[from][-1];
    } else {
      ++result.failedWrites;
      live.isGood[pair] = false;
    }
  }
  if (--live.underWay[pair] > 0)
    return;
  if (options.rules.reportsArrival)
    postReport(live, event.source, event.target, live.isGood[pair]);
  // Whoever asked is told; a report may be lost, this is asked for again.
  post(getLatency(), {0, 0, EventKind::QuietArrives, live.number, event.source,
                      event.target, 0, true});
  for (const auto &[other, writes] : live.underWay)
    if (other.first == event.source && writes > 0)
      return;
  freeSource(live, event.source);
}

void ProtocolSimulator::freeSource(Live &live, int source) {
  if (live.sourcesFreed.insert(source).second)
    sources[source].give(live.pages[source]);
}

/// Every byte of the request is there, and is its own.
void ProtocolSimulator::check(const Live &live, int target, const char *when) {
  if (!result.fault.empty())
    return;
  const Arrival &arrival = live.arrivals.at(target);
  for (int source : plan.responders[target])
    for (const PageCopy &copy : copies[{source, target}]) {
      std::int64_t page = arrival.pages[copy.target];
      auto found = targets[target].content[page].find(source);
      if (found != targets[target].content[page].end() &&
          found->second == live.number)
        continue;
      result.fault =
          "request " + std::to_string(live.number) + ", target rank " +
          std::to_string(target) + ", page " + std::to_string(page) + " " +
          when + ": bytes of source rank " + std::to_string(source) +
          (found == targets[target].content[page].end()
               ? " are missing"
               : " are those of request " + std::to_string(found->second));
      return;
    }
}

void ProtocolSimulator::report(Live &named, const Event &event) {
  // Without the request's number a report is for whoever has the room now.
  Live &live =
      options.rules.namesRequest ? named : requests[ofRoom[named.room]];
  Arrival &arrival = live.arrivals[event.target];
  if (!event.isGood) {
    fail(live);
    return;
  }
  if (live.outcome == Outcome::Failed && options.rules.failureStays)
    return;
  arrival.reported.insert(event.source);
  ++arrival.reports;
  std::int64_t needed =
      options.rules.waitsForAll
          ? static_cast<std::int64_t>(plan.responders[event.target].size())
          : 1;
  std::int64_t have = options.rules.countsSenders
                          ? static_cast<std::int64_t>(arrival.reported.size())
                          : arrival.reports;
  if (arrival.isReady || have < needed)
    return;
  arrival.isReady = true;
  check(live, event.target, "said to be ready");
  for (const auto &[target, other] : live.arrivals)
    if (!other.isReady)
      return;
  live.outcome = Outcome::Ready;
  post(kDecode, {0, 0, EventKind::Finish, live.number, 0, 0, 0, true});
}

void ProtocolSimulator::fail(Live &live) {
  if (live.outcome != Outcome::UnderWay)
    return;
  live.outcome = Outcome::Failed;
  for (auto &[pair, writes] : live.underWay)
    if (writes > 0 && !chance(options.faults.drop))
      post(getLatency(), {0, 0, EventKind::StopArrives, live.number, pair.first,
                          pair.second, 0, true});
  for (auto &[target, arrival] : live.arrivals)
    setFree(live, target);
}

/// The engine wants the pages back.
void ProtocolSimulator::setFree(Live &live, int target) {
  Arrival &arrival = live.arrivals[target];
  arrival.isFreed = true;
  tryToGive(live, target);
  if (!arrival.isGiven && !arrival.isCounted) {
    arrival.isCounted = true;
    result.heldPages += static_cast<std::int64_t>(arrival.pages.size());
  }
}

void ProtocolSimulator::tryToGive(Live &live, int target) {
  Arrival &arrival = live.arrivals[target];
  if (!arrival.isFreed || arrival.isGiven)
    return;
  if (options.rules.pinsTargetPages &&
      arrival.quiet.size() < plan.responders[target].size())
    return;
  arrival.isGiven = true;
  targets[target].give(arrival.pages);
}

void ProtocolSimulator::handle(const Event &event) {
  Live &live = requests[event.request];
  switch (event.kind) {
  case EventKind::WriteArrives:
    arrive(live, event);
    break;
  case EventKind::ReportArrives:
    report(live, event);
    break;
  case EventKind::StopArrives:
    live.stopped.insert({event.source, event.target});
    break;
  case EventKind::QuietArrives:
    live.arrivals[event.target].quiet.insert(event.source);
    tryToGive(live, event.target);
    break;
  case EventKind::Abort:
    if (live.outcome == Outcome::UnderWay)
      ++result.aborted;
    fail(live);
    break;
  case EventKind::FreeEarly:
    // What was given back can not be used: the request is given up.
    if (live.outcome == Outcome::UnderWay)
      ++result.freedEarly;
    fail(live);
    break;
  case EventKind::TimeOut:
    fail(live);
    break;
  case EventKind::Finish:
    for (auto &[target, arrival] : live.arrivals) {
      check(live, target, "while it was used");
      setFree(live, target);
    }
    break;
  }
}

ProtocolResult ProtocolSimulator::run() {
  findCopies();
  // Room for as many as are under way, and no more.
  sources.assign(plan.source.ranks.size(), Pool(options.rooms * sourcePages));
  targets.assign(plan.target.ranks.size(), Pool(options.rooms * targetPages));
  while (started < options.requests || !events.empty()) {
    while (started < options.requests && start()) {
    }
    if (events.empty())
      break; // pages never came back
    Event event = events.top();
    events.pop();
    now = event.time;
    handle(event);
  }
  for (const auto &[number, live] : requests) {
    result.ready += live.outcome == Outcome::Ready;
    result.failed += live.outcome == Outcome::Failed;
    result.stuck += live.outcome == Outcome::UnderWay;
  }
  result.stuck += options.requests - started;
  return std::move(result);
}

ProtocolResult layline::kv::simulateProtocol(const Plan &plan,
                                             const ProtocolOptions &options) {
  return ProtocolSimulator(plan, options).run();
}
