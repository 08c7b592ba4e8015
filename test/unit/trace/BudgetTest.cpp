//===- BudgetTest.cpp - budgets under random mappings and costs -----------===//
//
// The gpt-oss-120b run on 8 B200 (test/traces/README.md), against its own plan
// and the same model's plan by rows. What holds of every budget is checked with
// kernels that are moved, lost and stretched at random and prices that are
// drawn.
//
//===----------------------------------------------------------------------===//
#include "Ledger.h"
#include "TraceTests.h"
#include "layline/Trace/StepCosts.h"
#include <catch2/catch.hpp>
#include <functional>
#include <random>
#include <set>

using namespace layline::trace;
using namespace layline;

namespace {

/// Prices as a test says.
class GivenCosts : public StepCosts {
public:
  const std::string &target() const override { return name; }
  StepCost rowKernel(int64_t read, int64_t written) const override {
    return cost(row(read + written));
  }
  StepCost product(int64_t m, int64_t, int64_t, int, int) const override {
    return cost(row(m));
  }
  std::optional<StepCost> collective(Work work, int64_t,
                                     int64_t) const override {
    return cost(sum(work));
  }
  std::optional<StepCost> fused(const FusedShape &,
                                const std::vector<std::string> &steps, int64_t,
                                std::string &) const override {
    if (!hasFused)
      return std::nullopt;
    return cost(fusedUs(steps.size()));
  }
  double launchUs() const override { return launch; }
  double memoryBytesPerUs() const override { return 1e6; }

  std::function<double(int64_t)> row = [](int64_t) { return 5; };
  std::function<double(Work)> sum = [](Work) { return 10; };
  std::function<double(size_t)> fusedUs = [](size_t) { return 20; };
  double launch = 3, error = 0.3;
  bool hasFused = true;
  Transport transport = Transport::Peers;

private:
  StepCost cost(double us) const {
    return {us, error, FigureBasis::Formula, "drawn", transport};
  }
  std::string name = "drawn";
};

PlanText readPlan(const std::string &form) {
  return {readSource("test/traces/gpt-oss-120b_tp8_" + form + ".plan.json.gz"),
          form};
}

Mapping mapB200(const DeviceTrace &trace) {
  return mapTrace(trace, KernelFamilies::builtIn(), expectB200());
}

Budget budgetOf(const Mapping &mapping, const std::string &plan,
                const StepCosts &costs) {
  return makeBudget({&mapping}, findCollectives({&mapping}, nullptr),
                    readPlan("whole"), readPlan(plan), costs);
}

double sumOf(const BudgetEntries &lines, double Figure::*scenario) {
  double sum = 0;
  for (const BudgetEntry &entry : lines)
    sum += entry.gain().*scenario;
  return sum;
}

/// What holds of every budget, as text of what does not.
std::string findFault(const Budget &budget) {
  std::set<std::pair<size_t, size_t>> posted;
  double postedUs = 0;
  for (const Posting &posting : budget.postings) {
    if (!posted.insert({posting.trace, posting.event}).second)
      return "event " + std::to_string(posting.event) + " is in two lines";
    postedUs += static_cast<double>(posting.time) / 1000;
  }
  auto isNear = [](double a, double b) {
    return std::abs(a - b) < 1e-6 * std::max(1.0, std::abs(a) + std::abs(b));
  };
  double measured = 0;
  for (const PassBudget &pass : budget.passes) {
    for (double Figure::*scenario :
         {&Figure::us, &Figure::low, &Figure::high}) {
      double boundaries = 0;
      for (const BoundaryBudget &boundary : pass.boundaries)
        boundaries += sumOf(boundary.lines, scenario);
      double lines = sumOf(pass.lines, scenario);
      if (!isNear(lines, pass.gain().*scenario) || !isNear(lines, boundaries))
        return "lines of " + std::to_string(lines) + ", boundaries of " +
               std::to_string(boundaries) + ", in all " +
               std::to_string(pass.gain().*scenario);
      if (lines > pass.bound.changing * (1 + 1e-9) + 1e-6)
        return "a gain of " + std::to_string(lines) + " of " +
               std::to_string(pass.bound.changing);
    }
    for (const BudgetEntry &entry : pass.lines)
      measured += entry.measured * static_cast<double>(pass.passes);
    if (!isNear(pass.bound.changing + pass.bound.unchanged, pass.busy))
      return "the pass is not what changes and what stays";
    if (pass.bound.products + pass.bound.attention + pass.waiting >
        pass.bound.unchanged * (1 + 1e-9))
      return "products, attention and waiting are more than what stays";
    if (!isNear(pass.here.today - pass.here.chosen, pass.gain().us))
      return "the baselines are not those of the gain";
  }
  if (!isNear(measured, postedUs))
    return "lines measure " + std::to_string(measured) + ", postings " +
           std::to_string(postedUs);
  return "";
}

} // namespace

TEST_CASE("A run against its own plan gains nothing at any price",
          "[trace][budget]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapB200(trace);
  std::mt19937 random(1);
  std::uniform_real_distribution<> us(0, 100);
  for (int i = 0; i < 4; ++i) {
    GivenCosts costs;
    costs.row = [&](int64_t) { return us(random); };
    costs.sum = [&](Work) { return us(random); };
    // The plan fuses only the embedding's sum with its norm.
    costs.hasFused = false;
    Budget budget = budgetOf(mapping, "whole", costs);
    CHECK(findFault(budget) == "");
    CHECK(budget.postings.empty());
    CHECK(budget.passes.at(0).gain().us == 0);
    CHECK(budget.passes.at(0).gain().low == 0);
    CHECK(budget.passes.at(0).copiesLeft > 700);
  }
}

TEST_CASE("With every price what was measured the budget is zero",
          "[trace][budget]") {
  DeviceTrace trace = readB200();
  std::vector<KernelFamilies::Match> names =
      KernelFamilies::builtIn().classify(trace);
  constexpr double kSum = 30, kNorm = 8;
  for (DeviceEvent &event : trace.events) {
    Family family = names[event.name].family;
    if (family == Family::AllReduce)
      event.duration = static_cast<int64_t>(kSum * 1000);
    else if (family == Family::AddNorm || family == Family::Norm)
      event.duration = static_cast<int64_t>(kNorm * 1000);
    else if (family == Family::MemcpyDtoD)
      event.duration = 0;
  }
  Mapping mapping = mapB200(trace);
  GivenCosts costs;
  costs.sum = [](Work) { return kSum / 2; };
  costs.fusedUs = [](size_t) { return kSum + kNorm; };
  costs.error = 0;
  // Fewer rows take no less.
  costs.row = [](int64_t bytes) { return bytes > 0 ? 5 : 0; };
  costs.launch = 0;
  PassBudget pass = budgetOf(mapping, "rows", costs).passes.at(0);
  CHECK(pass.bound.changing == Approx(73 * (kSum + kNorm)));
  CHECK(pass.gain().us == Approx(0).margin(1e-6));
  for (BudgetLine line :
       {BudgetLine::RepeatedWork, BudgetLine::Copies, BudgetLine::Communication,
        BudgetLine::LayoutConversion})
    CHECK(pass.lines[static_cast<size_t>(line)].gain().us ==
          Approx(0).margin(1e-6));
  // And a microsecond less of each fused kernel is that of each boundary.
  costs.fusedUs = [](size_t) { return kSum + kNorm - 1; };
  CHECK(budgetOf(mapping, "rows", costs).passes.at(0).gain().us == Approx(73));
}

TEST_CASE("Fusion alone is told from another transport", "[trace][budget]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapB200(trace);
  auto gainOf = [](const PassBudget &pass, BudgetLine line) {
    return pass.lines[static_cast<size_t>(line)].gain().us;
  };
  GivenCosts costs;
  PassBudget alike = budgetOf(mapping, "rows", costs).passes.at(0);
  CHECK(gainOf(alike, BudgetLine::Transport) == 0);

  // Collectives of the library, fused ones of the engine.
  class TwoTransports : public GivenCosts {
    std::optional<StepCost> collective(Work work, int64_t bytes,
                                       int64_t ranks) const override {
      std::optional<StepCost> cost = GivenCosts::collective(work, bytes, ranks);
      cost->transport = Transport::Library;
      return cost;
    }
  } other;
  PassBudget apart = budgetOf(mapping, "rows", other).passes.at(0);
  // Two launches are saved at each boundary, and what lies between the three
  // parts.
  CHECK(gainOf(apart, BudgetLine::Fusion) > 73 * 2 * other.launch);
  CHECK(gainOf(apart, BudgetLine::Transport) != 0);
  CHECK(gainOf(apart, BudgetLine::Fusion) +
            gainOf(apart, BudgetLine::Transport) ==
        Approx(gainOf(alike, BudgetLine::Fusion)));
  CHECK(apart.gain().us == Approx(alike.gain().us));
}

TEST_CASE("Whatever is mapped and priced: lines are the total, the bound holds",
          "[trace][budget]") {
  DeviceTrace whole = readB200();
  Mapping mapped = mapB200(whole);
  for (unsigned seed = 0; seed < 30; ++seed) {
    std::mt19937 random(seed);
    auto chance = [&](double part) {
      return std::uniform_real_distribution<>(0, 1)(random) < part;
    };
    DeviceTrace trace = whole;
    Mapping mapping = mapped;
    mapping.trace = &trace;
    const ForwardPass &pass = mapping.passes.front();
    auto last = static_cast<int32_t>(
        mapping.programs[static_cast<size_t>(pass.program)].steps.size() - 1);
    std::vector<CollectiveUse> uses;
    for (size_t i = 0; i < trace.events.size(); ++i) {
      trace.events[i].duration = static_cast<int64_t>(random() % 50000);
      Assignment &own = mapping.assignments[i];
      // Lost, moved, wider, with another role.
      if (chance(0.05))
        own.role = static_cast<Role>(random() % 5);
      if (chance(0.05))
        own.first = own.last = static_cast<int32_t>(random() % (last + 1));
      if (chance(0.05))
        own.last = std::min<int32_t>(last, own.first + random() % 4);
      if (chance(0.1) && own.role == Role::Does) {
        CollectiveUse use;
        use.event = i;
        use.wait =
            static_cast<int64_t>(random()) % (trace.events[i].duration + 1);
        uses.push_back(use);
      }
    }
    GivenCosts costs;
    double rowUs = chance(0.5) ? 1e-5 : 1e-7, start = chance(0.5) ? 0 : 4;
    std::uniform_real_distribution<> us(0, 80);
    double gather = us(random), scatter = us(random), fused = us(random);
    costs.row = [&](int64_t amount) {
      return amount > 0 ? start + rowUs * static_cast<double>(amount) : 0;
    };
    costs.sum = [&](Work work) {
      return work == Work::AllGather ? gather : scatter;
    };
    costs.fusedUs = [&](size_t) { return fused; };
    costs.hasFused = chance(0.8);
    costs.launch = chance(0.5) ? 0 : 6;
    costs.transport = static_cast<Transport>(random() % 3);
    CAPTURE(seed);
    Budget budget = makeBudget({&mapping}, uses, readPlan("whole"),
                               readPlan("rows"), costs);
    CHECK(findFault(budget) == "");
    CHECK(!budget.postings.empty());
  }
}

TEST_CASE("A ledger hands out a kernel once", "[trace][budget]") {
  DeviceTrace trace = readB200();
  Mapping mapping = mapB200(trace);
  std::map<size_t, int64_t> waits = {{30, 1000}};
  std::vector<std::string> places = {"begin", "embedding"};
  Ledger ledger(mapping, 0, 0, waits, places);
  UnpostedKernel kernel = ledger.take(30);
  CHECK(kernel.us() ==
        Approx(static_cast<double>(trace.events[30].duration - 1000) / 1000));
  CHECK_THROWS_AS(ledger.take(30), std::logic_error);
  CHECK_THROWS_AS(ledger.take(trace.events.size()), std::logic_error);
  ledger.post(std::move(kernel), BudgetLine::Copies, 1, {});
  CHECK_THROWS_AS(ledger.post(std::move(kernel), BudgetLine::Fusion, 1, {}),
                  std::logic_error);
  REQUIRE(ledger.getPostings().size() == 1);
  CHECK(ledger.getPostings().front().boundary == "embedding");
  CHECK(ledger.getPostings().front().wait == 1000);
}
