//===- Budget.cpp - what another plan would save of a recorded run --------===//
#include "PassAccount.h"
#include <algorithm>
#include <set>
#include <tuple>

using namespace layline::trace;

const char *layline::trace::getName(FigureBasis basis) {
  static constexpr const char *names[] = {"measured", "table", "formula"};
  return names[static_cast<size_t>(basis)];
}

const char *layline::trace::getName(BudgetLine line) {
  static constexpr const char *names[kNumBudgetLines] = {
      "repeated_work",     "copies", "communication",
      "layout_conversion", "fusion", "transport"};
  return names[static_cast<size_t>(line)];
}

const char *layline::trace::getName(PassKind kind) {
  static constexpr const char *names[] = {"prefill", "decode", "mixed",
                                          "unknown"};
  return names[static_cast<size_t>(kind)];
}

static Figure sumGains(const BudgetEntries &lines) {
  Figure sum;
  for (const BudgetEntry &entry : lines)
    sum += entry.gain();
  return sum;
}

Figure BoundaryBudget::gain() const { return sumGains(lines); }
Figure PassBudget::gain() const { return sumGains(lines); }

//===----------------------------------------------------------------------===//
// Passes of one kind
//===----------------------------------------------------------------------===//

static PassKind kindOf(const ForwardPass &pass) {
  if (!pass.batch)
    return PassKind::Unknown;
  if (pass.batch->prefillRequests > 0)
    return pass.batch->decodeRequests > 0 ? PassKind::Mixed : PassKind::Prefill;
  return pass.batch->decodeRequests > 0 ? PassKind::Decode : PassKind::Unknown;
}

static bool isWhole(const ForwardPass &pass) {
  return pass.hasBegin && pass.hasEnd;
}

static double spanOf(const Mapping &mapping, const ForwardPass &pass) {
  int64_t end = 0;
  for (size_t i = pass.firstEvent; i < pass.endEvent; ++i)
    end = std::max(end, mapping.trace->events[i].end());
  return static_cast<double>(end -
                             mapping.trace->events[pass.firstEvent].start) /
         1000;
}

namespace {

/// Sums over the passes of one kind, and their mean.
class PassSums {
public:
  void add(const Mapping &mapping, const ForwardPass &pass,
           const PlanChanges &changes, const PassAccount &account,
           size_t trace) {
    const Ledger &ledger = account.getLedger();
    ++budget.passes;
    ranks.insert(trace);
    budget.before = changes.before->id;
    budget.after = changes.after->id;
    budget.busy += ledger.busy();
    budget.span += spanOf(mapping, pass);
    budget.waiting += ledger.waiting();
    budget.bound.changing += ledger.posted();
    budget.bound.products += account.products();
    budget.bound.attention += account.attention();
    budget.copiesLeft += account.copiesLeft();
    boundariesLeft += account.boundariesLeft();
    notes.insert(account.getNotes().begin(), account.getNotes().end());
    if (budget.boundaries.empty())
      for (const std::string &place : changes.boundaries) {
        budget.boundaries.emplace_back();
        budget.boundaries.back().place = place;
      }
    for (const auto &[number, lines] : ledger.getBoundaries())
      for (size_t line = 0; line < kNumBudgetLines; ++line)
        addTo(budget.boundaries[number].lines[line], lines[line]);
    postings.insert(postings.end(), ledger.getPostings().begin(),
                    ledger.getPostings().end());
    for (size_t number : account.incomplete())
      budget.boundaries[number].isIncomplete = true;
    for (size_t number = 0; number < budget.boundaries.size(); ++number) {
      BoundaryBudget &own = budget.boundaries[number];
      own.waiting += account.waitingAt(number);
      if (own.was.empty() && own.becomes.empty()) {
        own.was = account.printBefore(number);
        own.becomes = account.printAfter(number);
      }
    }
  }

  PassBudget finish(const std::string &target) {
    double share = 1 / static_cast<double>(budget.passes);
    budget.ranks = static_cast<int64_t>(ranks.size());
    for (double *sum :
         {&budget.busy, &budget.span, &budget.waiting, &budget.bound.changing,
          &budget.bound.products, &budget.bound.attention, &budget.copiesLeft,
          &boundariesLeft})
      *sum *= share;
    for (BoundaryBudget &boundary : budget.boundaries) {
      boundary.waiting *= share;
      for (size_t line = 0; line < kNumBudgetLines; ++line) {
        BudgetEntry &entry = boundary.lines[line];
        entry.measured *= share;
        entry.after = {entry.after.us * share, entry.after.low * share,
                       entry.after.high * share};
        addTo(budget.lines[line], entry);
      }
    }
    setBound();
    setBaselines();
    addNotes(target);
    return std::move(budget);
  }

  std::vector<Posting> postings;
  PassBudget budget;

private:
  void setBound() {
    GainBound &bound = budget.bound;
    bound.unchanged = budget.busy - bound.changing;
    auto speedup = [&](double left) {
      return left > 0 ? budget.busy / left : 0;
    };
    bound.ofThisPlan = speedup(bound.unchanged);
    bound.ofAnyPlan =
        speedup(bound.products + bound.attention + budget.waiting);
  }

  void setBaselines() {
    double sharding = 0;
    for (size_t line = 0; line < static_cast<size_t>(BudgetLine::Fusion);
         ++line)
      sharding += budget.lines[line].gain().us;
    budget.here.today = budget.bound.changing + boundariesLeft;
    budget.here.unfused = budget.here.today - sharding;
    budget.here.chosen = budget.here.today - budget.gain().us;
  }

  void addNotes(const std::string &target) {
    size_t incomplete = 0;
    for (const BoundaryBudget &boundary : budget.boundaries)
      incomplete += boundary.isIncomplete;
    if (incomplete > 0)
      notes.insert(std::to_string(incomplete) +
                   " boundaries lack kernels in the recording: they are left "
                   "as they are");
    constexpr double kMostlyIdle = 0.5;
    if (budget.busy < (1 - kMostlyIdle) * budget.span)
      notes.insert("the device does nothing in most of the pass (waiting for "
                   "the host): what a gain here means for the whole pass is "
                   "less than its share of busy time");
    if (budget.copiesLeft > 0)
      notes.insert("copies at collectives that stay are left; a kernel that "
                   "reduces in place on " +
                   target + " would not need them");
    budget.notes.assign(notes.begin(), notes.end());
  }

  std::set<size_t> ranks;
  std::set<std::string> notes;
  double boundariesLeft = 0;
};

} // namespace

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

std::vector<int64_t>
layline::trace::listTokenCounts(const std::vector<const Mapping *> &mappings) {
  std::set<int64_t> counts;
  for (const Mapping *mapping : mappings)
    for (size_t i = 0; i < mapping->passes.size(); ++i) {
      const ForwardPass &pass = mapping->passes[i];
      if (!isWhole(pass))
        continue;
      if (pass.tokens <= 0)
        throw BudgetError(
            mapping->trace->file + ": pass " + std::to_string(i) +
            ": found neither an annotation of its batch nor operators with "
            "dimensions, expected one of them: how many tokens it worked on "
            "decides what another plan costs");
      counts.insert(pass.tokens);
    }
  if (counts.empty())
    throw BudgetError((mappings.empty() ? std::string("no recording")
                                        : mappings.front()->trace->file) +
                      ": found no pass from begin to end, expected one");
  return {counts.begin(), counts.end()};
}

Budget layline::trace::makeBudget(const std::vector<const Mapping *> &mappings,
                                  const std::vector<CollectiveUse> &uses,
                                  const PlanText &before, const PlanText &after,
                                  const StepCosts &costs) {
  SizedPlan old(before.text, before.name), made(after.text, after.name);
  if (std::string difference = old.findDifference(made); !difference.empty())
    throw BudgetError(after.name + ": " + difference);
  for (int64_t tokens : listTokenCounts(mappings))
    if (!made.find(tokens, 0))
      throw BudgetError(after.name + ": found programs for " +
                        made.printRanges() + " tokens, expected one for the " +
                        std::to_string(tokens) + " tokens of a recorded pass");

  std::vector<std::map<size_t, int64_t>> waits(mappings.size());
  for (const CollectiveUse &use : uses)
    if (use.wait > 0)
      waits[use.trace][use.event] = use.wait;

  Budget budget;
  budget.target = costs.target();
  std::map<std::tuple<PassKind, int64_t, std::string>, PassSums> kinds;
  std::map<std::pair<const SizedVariant *, const SizedVariant *>, PlanChanges>
      compared;
  for (size_t trace = 0; trace < mappings.size(); ++trace) {
    const Mapping &mapping = *mappings[trace];
    int64_t rank = mapping.trace->rank;
    for (size_t i = 0; i < mapping.passes.size(); ++i) {
      const ForwardPass &pass = mapping.passes[i];
      if (!isWhole(pass)) {
        ++budget.partialPasses;
        for (size_t e = pass.firstEvent; e < pass.endEvent; ++e)
          budget.partialUs +=
              static_cast<double>(mapping.trace->events[e].duration) / 1000;
        continue;
      }
      const std::string &variant =
          mapping.programs[static_cast<size_t>(pass.program)].variant;
      const SizedVariant *from = &old.get(variant, pass.tokens, rank);
      const SizedVariant *to = made.find(pass.tokens, rank);
      auto known = compared.find({from, to});
      if (known == compared.end())
        known = compared.emplace(std::pair(from, to), comparePlans(*from, *to))
                    .first;
      PassAccount account(mapping, trace, static_cast<int32_t>(i), waits[trace],
                          known->second, costs);
      account.close();
      PassSums &sums = kinds[{kindOf(pass), pass.tokens, variant}];
      sums.budget.kind = kindOf(pass);
      sums.budget.tokens = pass.tokens;
      sums.add(mapping, pass, known->second, account, trace);
    }
  }
  for (auto &[key, sums] : kinds) {
    budget.postings.insert(budget.postings.end(), sums.postings.begin(),
                           sums.postings.end());
    budget.passes.push_back(sums.finish(budget.target));
  }
  std::sort(budget.postings.begin(), budget.postings.end(),
            [](const Posting &a, const Posting &b) {
              return std::tie(a.trace, a.event) < std::tie(b.trace, b.event);
            });
  return budget;
}
