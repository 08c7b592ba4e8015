//===- Alignment.cpp - events along expected programs ---------------------===//
#include "Alignment.h"
#include <algorithm>
#include <limits>

using namespace layline::trace;

namespace {

// Costs are in units of one step that surely has a kernel and has none. A
// kernel that has no place costs a little more than that, so that a step and a
// kernel are rather joined than both left over, but only where the kind is
// right at all. A layer has ten such steps: to leave one out at once costs less
// than to miss them one by one, and more than several lost kernels. A recording
// may well begin or end inside a pass; that one pass breaks off and another
// begins inside is stranger than layers left out.
constexpr float kExtra = 1.2f;
constexpr float kUnknown = 0.3f;
constexpr float kAuxiliary = 0.02f;
constexpr float kJump = 8;
constexpr float kRecordingCut = 3;
constexpr float kPassCut = 6;
constexpr float kNewPass = 0.5f;
constexpr float kSizesDiffer = 0.8f, kSizesFit = -0.2f;
// Variants may launch the same kernels: then the batch tells them apart.
constexpr float kOtherBatch = 0.1f;
constexpr float kNever = std::numeric_limits<float>::infinity();

/// How a state was reached, in 32 bits.
struct Move {
  enum How : uint32_t { Stay, Next, Jump, Begin };
  uint32_t parent : 21;
  uint32_t length : 9; ///< steps done, less one
  uint32_t how : 2;
};
constexpr uint32_t kMostStates = (1u << 21) - 1;

/// Events with a move of their own; all others stay wherever they are.
struct Row {
  size_t event;
  std::vector<Move> moves;
};

class Aligner {
public:
  Aligner(const std::vector<ExpectedProgram> &programs,
          const DeviceTrace &trace, const std::vector<Family> &families)
      : programs(programs), trace(trace), families(families) {
    size_t longest = 0;
    for (size_t number = 0; number < programs.size(); ++number) {
      offsets.push_back(static_cast<uint32_t>(states.size()));
      float before = 0;
      for (const ExpectedStep &step : programs[number].steps) {
        float weight = static_cast<float>(step.weight);
        states.push_back({static_cast<int32_t>(number), before, weight});
        before += weight;
      }
      ends.push_back(before);
      longest = std::max(longest, programs[number].steps.size());
      covers.push_back(findCovers(programs[number]));
    }
    if (states.size() >= kMostStates)
      throw TraceError("the programs have " + std::to_string(states.size()) +
                       " steps, expected fewer than 2097151");
    start = static_cast<uint32_t>(states.size());
    costs.assign(states.size() + 1, kNever);
    costs[start] = 0;
    for (const Annotation &annotation : trace.annotations)
      if (std::optional<BatchComposition> batch = parseBatch(annotation.text))
        batches.push_back({annotation.start,
                           annotation.start + annotation.duration,
                           batch->tokens(), annotation.onDevice});
    // Paths through the states have become one within a pass; two of them are
    // always kept.
    mostRows = std::max(3 * longest, (size_t(1) << 24) / (states.size() + 1));
  }

  std::vector<Place> run() {
    places.resize(trace.events.size());
    for (size_t event = 0; event < trace.events.size(); ++event)
      advance(event);
    commit(rows.size(), findBest());
    fillStays();
    return std::move(places);
  }

private:
  struct State {
    int32_t program;
    float before; ///< weight of the steps in front of it
    float weight;
  };
  struct Batch {
    int64_t start, end, tokens;
    bool onDevice;
  };
  struct Best {
    float cost = kNever;
    uint32_t state = 0;
    void take(float other, uint32_t from) {
      if (other < cost) {
        cost = other;
        state = from;
      }
    }
  };

  uint32_t findBest() const {
    Best best;
    for (uint32_t s = 0; s < states.size(); ++s)
      best.take(costs[s] + cutAtEnd(s, kRecordingCut), s);
    best.take(costs[start], start);
    return best.state;
  }
  /// What a pass costs that ends behind a state.
  float cutAtEnd(uint32_t s, float most) const {
    const State &state = states[s];
    return std::min(ends[state.program] - state.before - state.weight, most);
  }

  void advance(size_t event) {
    Family family = families[event];
    bool mayMove = false;
    for (const auto &own : covers)
      mayMove |= !own[static_cast<size_t>(family)].empty();
    float stays = family == Family::Unknown ? kUnknown
                  : isAuxiliary(family)     ? kAuxiliary
                                            : kExtra;
    bool mayContinue = stays == kExtra;
    if (!mayMove && !mayContinue) {
      // The same for all, so it decides nothing.
      return;
    }
    Row row;
    row.event = event;
    row.moves.resize(states.size() + 1);
    next.resize(costs.size());
    for (uint32_t s = 0; s < states.size(); ++s) {
      float cost = stays;
      if (mayContinue)
        if (float own = continueCost(family, stepOf(s)); own >= 0)
          cost = own;
      next[s] = costs[s] + cost;
      row.moves[s] = {s, 0, Move::Stay};
    }
    next[start] = costs[start] + stays;
    row.moves[start] = {start, 0, Move::Stay};
    if (mayMove)
      move(event, family, row);
    costs.swap(next);
    rows.push_back(std::move(row));
    if (rows.size() >= mostRows)
      commitHalf();
    if (rows.size() % 256 == 0)
      settleCosts();
  }

  /// Keeps numbers small: only differences count.
  void settleCosts() {
    float least = *std::min_element(costs.begin(), costs.end());
    if (least < kNever)
      for (float &cost : costs)
        cost -= least;
  }

  const ExpectedStep &stepOf(uint32_t s) const {
    const State &state = states[s];
    return programs[state.program].steps[s - offsets[state.program]];
  }

  /// Tokens of the batch that an event was launched or ran in; -1: not known.
  /// Annotations are in order of start and hardly nested.
  int64_t tokensAt(const DeviceEvent &event) const {
    constexpr int kDeepest = 8;
    for (bool onDevice : {false, true}) {
      int64_t time = onDevice ? event.start : event.launch;
      auto behind = std::upper_bound(
          batches.begin(), batches.end(), time,
          [](int64_t at, const Batch &batch) { return at < batch.start; });
      for (int i = 0; i < kDeepest && behind != batches.begin(); ++i) {
        --behind;
        if (behind->onDevice == onDevice && time <= behind->end)
          return behind->tokens;
      }
    }
    return -1;
  }

  void move(size_t event, Family family, Row &row) {
    // The cheapest end of the pass before.
    Best ended;
    for (uint32_t s = 0; s < states.size(); ++s)
      if (costs[s] < kNever)
        ended.take(costs[s] + cutAtEnd(s, kPassCut) + kNewPass, s);
    const HostOperator *op = trace.operatorOf(trace.events[event]);
    int64_t tokens = batches.empty() ? -1 : tokensAt(trace.events[event]);
    for (size_t number = 0; number < programs.size(); ++number) {
      const std::vector<Cover> &own =
          covers[number][static_cast<size_t>(family)];
      if (own.empty())
        continue;
      findBefore(static_cast<uint32_t>(number));
      bool isOther = tokens >= 0 && (tokens < programs[number].minTokens ||
                                     tokens > programs[number].maxTokens);
      for (const Cover &cover : own)
        tryCover(number, cover, op, ended, isOther ? kOtherBatch : 0, row);
    }
  }

  /// For every step of a program the cheapest state in front of it: when the
  /// steps between are missed one by one, and when they are left out at once.
  void findBefore(uint32_t number) {
    size_t count = programs[number].steps.size();
    nextBefore.assign(count, Best());
    anyBefore.assign(count, Best());
    Best byStep, any;
    for (uint32_t i = 0; i < count; ++i) {
      nextBefore[i] = byStep;
      anyBefore[i] = any;
      uint32_t s = offsets[number] + i;
      byStep.take(costs[s] - states[s].before - states[s].weight, s);
      any.take(costs[s], s);
    }
  }

  void tryCover(size_t number, const Cover &cover, const HostOperator *op,
                const Best &ended, float begins, Row &row) {
    float before = states[offsets[number] + cover.first].before;
    uint32_t target = offsets[number] + cover.last;
    float cost = cover.cost;
    switch (fitSizes(programs[number], cover, op)) {
    case Fit::Sizes:
      cost += kSizesFit;
      break;
    case Fit::Differs:
      cost += kSizesDiffer;
      break;
    case Fit::Unknown:
      break;
    }
    auto take = [&](float total, uint32_t parent, Move::How how) {
      // Of two that begin equally well the later one: what stands before a
      // pass is not of it. Of one kernel's, that in which it does more: what
      // lies before a recording costs the same for all, so missing less of it
      // does not show.
      uint32_t length = static_cast<uint32_t>(cover.last - cover.first);
      const Move &known = row.moves[target];
      bool replaces = how == Move::Begin &&
                      (known.how == Move::Stay || length > known.length);
      if (total > next[target] || (total == next[target] && !replaces))
        return;
      next[target] = total;
      row.moves[target] = {parent, length, how};
    };
    const Best &byStep = nextBefore[cover.first];
    const Best &any = anyBefore[cover.first];
    take(byStep.cost + before + cost, byStep.state, Move::Next);
    take(any.cost + kJump + cost, any.state, Move::Jump);
    take(ended.cost + std::min(before, kPassCut) + cost + begins, ended.state,
         Move::Begin);
    take(costs[start] + std::min(before, kRecordingCut) + cost + begins, start,
         Move::Begin);
  }

  /// Writes down the places of the first `count` rows of the path that is in
  /// `state` behind the last row.
  void commit(size_t count, uint32_t state) {
    for (size_t i = rows.size(); i-- > 0;) {
      const Move &move = rows[i].moves[state];
      if (i < count && move.how != Move::Stay)
        write(rows[i].event, state, move);
      state = move.parent;
    }
  }

  void write(size_t event, uint32_t state, const Move &move) {
    Place &place = places[event];
    place.program = states[state].program;
    place.last = static_cast<int32_t>(state - offsets[place.program]);
    place.first = place.last - static_cast<int32_t>(move.length);
    place.moves = true;
    place.beginsPass = move.how == Move::Begin;
    place.jumps = move.how == Move::Jump;
  }

  /// Makes room: what lies far back is decided, and paths that disagree with it
  /// are dropped.
  void commitHalf() {
    size_t half = rows.size() / 2;
    uint32_t best = findBest();
    commit(half, best);
    uint32_t decided = best;
    for (size_t i = rows.size(); i-- > half;)
      decided = rows[i].moves[decided].parent;
    std::vector<bool> agrees(states.size() + 1, false), then;
    agrees[decided] = true;
    for (size_t i = half; i < rows.size(); ++i) {
      then.assign(agrees.size(), false);
      for (size_t s = 0; s < then.size(); ++s)
        then[s] = agrees[rows[i].moves[s].parent];
      agrees.swap(then);
    }
    for (size_t s = 0; s < agrees.size(); ++s)
      if (!agrees[s])
        costs[s] = kNever;
    rows.erase(rows.begin(), rows.begin() + half);
  }

  void fillStays() {
    Place current;
    for (Place &place : places) {
      if (place.moves) {
        current = place;
        continue;
      }
      place.program = current.program;
      place.first = place.last = current.last;
    }
  }

  const std::vector<ExpectedProgram> &programs;
  const DeviceTrace &trace;
  const std::vector<Family> &families; ///< by event
  std::vector<State> states;
  std::vector<uint32_t> offsets; ///< of the programs' first states
  std::vector<float> ends;       ///< weight of all steps
  std::vector<std::vector<std::vector<Cover>>> covers;
  std::vector<Batch> batches;
  uint32_t start = 0; ///< the state before any step
  std::vector<float> costs, next;
  std::vector<Best> nextBefore, anyBefore;
  std::vector<Row> rows;
  size_t mostRows = 0;
  std::vector<Place> places;
};

} // namespace

std::vector<Place>
layline::trace::align(const std::vector<ExpectedProgram> &programs,
                      const DeviceTrace &trace,
                      const std::vector<Family> &families) {
  return Aligner(programs, trace, families).run();
}
