//===- Protocol.cpp - who may say ready, and what may be reused -----------===//
#include "layline/KV/Protocol.h"
#include "PageCopies.h"
#include "kv/CompletePlan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <random>
#include <set>

using namespace layline::kv;

namespace {

/// Times in ticks.
constexpr std::int64_t kFast = 10, kTimeout = 4000, kDecode = 300;

/// What a page, or a slot, holds: of which request, and which of its pages.
struct Content {
  std::int64_t request = -1, page = -1;
};

/// Of a source's pages, which have one content.
constexpr std::int64_t kComputed = -1;

/// Pages of one rank.
struct Pool {
  /// By page, by PageCopy::region.
  std::vector<std::map<std::int64_t, Content>> content;
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

/// A page of a request on its way.
struct Write {
  std::int64_t request = 0;
  int transfer = 0;
  std::int64_t copy = 0; ///< of the transfer
  bool isGood = true;    ///< the engine carries it out
};

enum class EventKind {
  WriteArrives,
  Unpacked, ///< out of a slot of the target
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
  Write write;
  int number = 0; ///< of a sender's reports
  bool isGood = true;
  bool operator<(const Event &other) const { // the earliest comes first
    return std::tie(time, order) > std::tie(other.time, other.order);
  }
};

enum class Outcome { UnderWay, Ready, Failed };

/// One request at one target rank.
struct Arrival {
  std::map<std::string, std::set<int>> reported; ///< numbers, by key
  std::int64_t reports = 0;
  std::set<int> quiet; ///< sources with nothing under way
  bool isReady = false;
  bool isFreed = false;   ///< the engine wants the pages back
  bool isGiven = false;   ///< they are
  bool isCounted = false; ///< as held
  std::vector<std::int64_t> pages;
};

/// What one rank sends to another of a request.
struct PairState {
  std::int64_t underWay = 0;        ///< writes that are posted or wait
  std::map<int, std::int64_t> left; ///< of them, by transfer
  int unfinished = 0;               ///< transfers
  bool isGood = true, isStopped = false;
};

struct Live {
  std::int64_t number = 0, room = 0;
  Outcome outcome = Outcome::UnderWay;
  std::map<int, Arrival> arrivals;                ///< by target
  std::map<int, std::vector<std::int64_t>> pages; ///< by source
  std::map<std::pair<int, int>, PairState> pairs;
  std::set<int> sourcesFreed;
};

/// Slots of a pair, at either end, and the rounds that wait for them.
struct PairSlots {
  std::deque<Write> waiting;
  bool isSourceBusy = false, isTargetBusy = false;
  Content source, target;
  std::int64_t request = -1; ///< of the round in them
};

class ProtocolSimulator {
public:
  ProtocolSimulator(const Plan &plan, const ProtocolOptions &options)
      : plan(plan), options(options), random(options.seed) {}
  ProtocolResult run();

private:
  void readLifetimes();
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
    events.push(std::move(event));
  }
  void post(std::int64_t delay, EventKind kind, std::int64_t request,
            int source = 0, int target = 0) {
    Event event;
    event.kind = kind;
    event.request = request;
    event.source = source;
    event.target = target;
    post(delay, event);
  }
  bool start();
  void startPair(Live &live, const Responder &responder, int target);
  void postReport(Live &live, int source, int target, int number, bool isGood);
  void postWrite(EventKind kind, const Write &write);
  void pump(const std::pair<int, int> &pair);
  void handle(const Event &event);
  void arrive(const Write &write);
  void unpack(const Write &write);
  void put(const Write &write, const Content &content);
  void complete(const Write &write);
  void report(Live &live, const Event &event);
  bool isReady(const Arrival &arrival, int target) const;
  void fail(Live &live);
  void setFree(Live &live, int target);
  void tryToGive(Live &live, int target);
  void freeSource(Live &live, int source);
  void check(const Live &live, int target, const char *when);
  Packing getPacking(const Write &write) const {
    return plan.transfers[write.transfer].packing;
  }
  std::pair<int, int> getPair(const Write &write) const {
    const Transfer &transfer = plan.transfers[write.transfer];
    return {transfer.source, transfer.target};
  }

  const Plan &plan;
  const ProtocolOptions &options;
  std::mt19937_64 random;
  ProtocolResult result;
  std::vector<std::vector<PageCopy>> copies; ///< by transfer
  /// The plan's lifetimes, by Store; the shortest if pages have several.
  Moment until[5] = {}, afterFailure[5] = {};
  std::vector<Pool> sources, targets;
  std::int64_t sourcePages = 0, targetPages = 0; ///< of a request
  std::map<std::pair<int, int>, PairSlots> slots;
  std::priority_queue<Event> events;
  std::int64_t now = 0, posted = 0, started = 0;
  std::map<std::int64_t, Live> requests;
  std::map<std::int64_t, std::int64_t> ofRoom; ///< the last request of a room
};

} // namespace

void ProtocolSimulator::readLifetimes() {
  std::fill(std::begin(until), std::end(until), Moment::Consumed);
  std::fill(std::begin(afterFailure), std::end(afterFailure), Moment::Quiet);
  for (const Lifetime &lifetime : plan.lifetimes) {
    int store = static_cast<int>(lifetime.store);
    until[store] = std::min(until[store], lifetime.until);
    afterFailure[store] = std::min(afterFailure[store], lifetime.afterFailure);
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
    for (std::int64_t i = 0; i < sourcePages; ++i)
      sources[source].content[live.pages[source][i]][kComputed] = {number, i};
  }
  for (int target = 0; target < static_cast<int>(targets.size()); ++target)
    live.arrivals[target].pages = targets[target].take(targetPages);
  for (int target = 0; target < static_cast<int>(targets.size()); ++target)
    for (const Responder &responder : plan.readiness.targets[target])
      startPair(live, responder, target);
  if (until[static_cast<int>(Store::SourcePages)] < Moment::Arrived)
    for (int source = 0; source < static_cast<int>(sources.size()); ++source)
      freeSource(live, source);
  if (chance(options.faults.abort))
    post(getLatency() * 2, EventKind::Abort, number);
  if (chance(options.faults.freeEarly))
    post(getLatency(), EventKind::FreeEarly, number);
  post(kTimeout, EventKind::TimeOut, number);
  return true;
}

/// A write for every page, so that parts of a request overtake each other.
void ProtocolSimulator::startPair(Live &live, const Responder &responder,
                                  int target) {
  std::pair<int, int> key{responder.source, target};
  PairState &pair = live.pairs[key];
  bool reportsArrival =
      plan.readiness.reporting == Readiness::Reporting::Arrived;
  Transfer wanted;
  wanted.source = key.first;
  wanted.target = target;
  auto [first, last] =
      std::equal_range(plan.transfers.begin(), plan.transfers.end(), wanted,
                       [](const Transfer &a, const Transfer &b) {
                         return std::make_pair(a.target, a.source) <
                                std::make_pair(b.target, b.source);
                       });
  int number = 0;
  for (auto transfer = first; transfer != last; ++transfer, ++number) {
    int index = static_cast<int>(transfer - plan.transfers.begin());
    auto writes = static_cast<std::int64_t>(copies[index].size());
    pair.left[index] = writes;
    pair.underWay += writes;
    pair.unfinished += writes > 0;
    if (writes == 0 || !reportsArrival)
      postReport(live, key.first, target, number, true);
    for (std::int64_t i = 0; i < writes; ++i) {
      Write write{live.number, index, i, !chance(options.faults.failWrite)};
      if (transfer->packing == Packing::None)
        postWrite(EventKind::WriteArrives, write);
      else
        slots[key].waiting.push_back(write);
    }
  }
  // What is auxiliary comes behind all else; it is all of who has no more.
  if (pair.unfinished == 0 || !reportsArrival)
    postReport(live, key.first, target, number, true);
  if (pair.underWay == 0)
    live.arrivals[target].quiet.insert(key.first);
  pump(key);
}

void ProtocolSimulator::postReport(Live &live, int source, int target,
                                   int number, bool isGood) {
  Event event;
  event.kind = EventKind::ReportArrives;
  event.request = live.number;
  event.source = source;
  event.target = target;
  event.number = number;
  event.isGood = isGood;
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

void ProtocolSimulator::postWrite(EventKind kind, const Write &write) {
  Event event;
  event.kind = kind;
  event.request = write.request;
  event.write = write;
  post(getLatency(), event);
}

/// Rounds of a pair that find its slots free.
void ProtocolSimulator::pump(const std::pair<int, int> &key) {
  PairSlots &own = slots[key];
  while (!own.waiting.empty() && !own.isSourceBusy && !own.isTargetBusy) {
    Write write = own.waiting.front();
    own.waiting.pop_front();
    Live &live = requests[write.request];
    if (live.pairs[key].isStopped) { // nothing of it is posted any more
      complete(write);
      continue;
    }
    own.request = write.request;
    if (packsAtSource(getPacking(write))) {
      const PageCopy &copy = copies[write.transfer][write.copy];
      own.source = sources[key.first]
                       .content[live.pages[key.first][copy.source]][kComputed];
      own.isSourceBusy =
          until[static_cast<int>(Store::SourceSlots)] >= Moment::Arrived;
    }
    if (packsAtTarget(getPacking(write)))
      own.isTargetBusy =
          until[static_cast<int>(Store::TargetSlots)] >= Moment::Arrived;
    postWrite(EventKind::WriteArrives, write);
  }
}

/// A write brings what the source's page, or slot, holds now.
void ProtocolSimulator::arrive(const Write &write) {
  std::pair<int, int> key = getPair(write);
  Live &live = requests[write.request];
  PairState &pair = live.pairs[key];
  Packing packing = getPacking(write);
  bool isDone = write.isGood && !pair.isStopped;
  if (!write.isGood && !pair.isStopped) {
    ++result.failedWrites;
    pair.isGood = false;
  }
  const PageCopy &copy = copies[write.transfer][write.copy];
  PairSlots &own = slots[key];
  Content content =
      packsAtSource(packing)
          ? own.source
          : sources[key.first]
                .content[live.pages[key.first][copy.source]][kComputed];
  if (packsAtSource(packing))
    own.isSourceBusy = false;
  if (packsAtTarget(packing)) {
    if (isDone)
      own.target = content;
    if (until[static_cast<int>(Store::TargetSlots)] < Moment::Consumed)
      own.isTargetBusy = false;
    postWrite(EventKind::Unpacked, write);
  } else {
    if (isDone)
      put(write, content);
    complete(write);
  }
  if (packing != Packing::None)
    pump(key);
}

void ProtocolSimulator::unpack(const Write &write) {
  std::pair<int, int> key = getPair(write);
  PairSlots &own = slots[key];
  const PairState &pair = requests[write.request].pairs[key];
  if (write.isGood && !pair.isStopped)
    put(write, own.target);
  own.isTargetBusy = false;
  complete(write);
  pump(key);
}

void ProtocolSimulator::put(const Write &write, const Content &content) {
  int target = plan.transfers[write.transfer].target;
  const PageCopy &copy = copies[write.transfer][write.copy];
  std::int64_t page =
      requests[write.request].arrivals[target].pages[copy.target];
  targets[target].content[page][copy.region] = content;
}

/// Nothing of the write is under way any more.
void ProtocolSimulator::complete(const Write &write) {
  auto [source, target] = getPair(write);
  Live &live = requests[write.request];
  PairState &pair = live.pairs[{source, target}];
  bool reportsArrival =
      plan.readiness.reporting == Readiness::Reporting::Arrived;
  if (--pair.left[write.transfer] == 0) {
    int first = pair.left.begin()->first;
    if (reportsArrival)
      postReport(live, source, target, write.transfer - first, pair.isGood);
    if (--pair.unfinished == 0 && reportsArrival)
      postReport(live, source, target, static_cast<int>(pair.left.size()),
                 pair.isGood);
  }
  if (--pair.underWay > 0)
    return;
  // Whoever asked is told; a report may be lost, this is asked for again.
  post(getLatency(), EventKind::QuietArrives, live.number, source, target);
  for (const auto &[other, state] : live.pairs)
    if (other.first == source && state.underWay > 0)
      return;
  freeSource(live, source);
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
  for (std::size_t i = 0; i < plan.transfers.size(); ++i) {
    const Transfer &transfer = plan.transfers[i];
    if (transfer.target != target)
      continue;
    for (const PageCopy &copy : copies[i]) {
      std::int64_t page = arrival.pages[copy.target];
      const auto &content = targets[target].content[page];
      auto found = content.find(copy.region);
      if (found != content.end() && found->second.request == live.number &&
          found->second.page == copy.source)
        continue;
      result.fault =
          "request " + std::to_string(live.number) + ", target rank " +
          std::to_string(target) + ", page " + std::to_string(page) + " " +
          when + ": bytes of source rank " + std::to_string(transfer.source) +
          (found == content.end()
               ? " are missing"
               : " are those of page " + std::to_string(found->second.page) +
                     " of request " + std::to_string(found->second.request) +
                     "; page " + std::to_string(copy.source) +
                     " of it is expected");
      return;
    }
  }
}

bool ProtocolSimulator::isReady(const Arrival &arrival, int target) const {
  const Readiness &rules = plan.readiness;
  if (rules.when == Readiness::When::Any)
    return true;
  std::int64_t needed = 0;
  for (const Responder &responder : rules.targets[target]) {
    needed += responder.completions;
    auto found = arrival.reported.find(rules.keys[responder.source]);
    std::size_t have =
        found == arrival.reported.end() ? 0 : found->second.size();
    if (rules.counting == Readiness::Counting::Senders &&
        have < static_cast<std::size_t>(responder.completions))
      return false;
  }
  return rules.counting == Readiness::Counting::Senders ||
         arrival.reports >= needed;
}

void ProtocolSimulator::report(Live &named, const Event &event) {
  const Readiness &rules = plan.readiness;
  // Without the request's number a report is for whoever has the room now.
  Live &live = rules.naming == Readiness::Naming::Request
                   ? named
                   : requests[ofRoom[named.room]];
  Arrival &arrival = live.arrivals[event.target];
  if (!event.isGood) {
    fail(live);
    return;
  }
  if (live.outcome == Outcome::Failed &&
      rules.failure == Readiness::Failure::Sticky)
    return;
  arrival.reported[rules.keys[event.source]].insert(event.number);
  ++arrival.reports;
  if (arrival.isReady || !isReady(arrival, event.target))
    return;
  arrival.isReady = true;
  check(live, event.target, "said to be ready");
  for (const auto &[target, other] : live.arrivals)
    if (!other.isReady)
      return;
  live.outcome = Outcome::Ready;
  post(kDecode, EventKind::Finish, live.number);
}

void ProtocolSimulator::fail(Live &live) {
  if (live.outcome != Outcome::UnderWay)
    return;
  live.outcome = Outcome::Failed;
  for (auto &[key, pair] : live.pairs) {
    if (pair.underWay > 0 && !chance(options.faults.drop))
      post(getLatency(), EventKind::StopArrives, live.number, key.first,
           key.second);
    auto own = slots.find(key);
    if (own == slots.end() || own->second.request != live.number)
      continue;
    if (afterFailure[static_cast<int>(Store::SourceSlots)] == Moment::Failed)
      own->second.isSourceBusy = false;
    if (afterFailure[static_cast<int>(Store::TargetSlots)] == Moment::Failed)
      own->second.isTargetBusy = false;
    pump(key);
  }
  for (auto &[target, arrival] : live.arrivals)
    setFree(live, target);
  if (afterFailure[static_cast<int>(Store::SourcePages)] == Moment::Failed)
    for (int source = 0; source < static_cast<int>(sources.size()); ++source)
      freeSource(live, source);
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
  if (afterFailure[static_cast<int>(Store::TargetPages)] == Moment::Quiet &&
      arrival.quiet.size() < plan.readiness.targets[target].size())
    return;
  arrival.isGiven = true;
  targets[target].give(arrival.pages);
}

void ProtocolSimulator::handle(const Event &event) {
  Live &live = requests[event.request];
  switch (event.kind) {
  case EventKind::WriteArrives:
    arrive(event.write);
    break;
  case EventKind::Unpacked:
    unpack(event.write);
    break;
  case EventKind::ReportArrives:
    report(live, event);
    break;
  case EventKind::StopArrives:
    live.pairs[{event.source, event.target}].isStopped = true;
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
  readLifetimes();
  copies = findPageCopies(plan, options.tokens);
  auto count = [&](const Side &side) {
    return (options.tokens + side.pageTokens - 1) / side.pageTokens;
  };
  sourcePages = count(plan.source);
  targetPages = count(plan.target);
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
