//===- Checker.cpp - do programs compute what a reference does? -----------===//
#include "layline/Exact/Checker.h"
#include "Comparison.h"
#include "Report.h"
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <thread>

using namespace layline;
using namespace layline::exact;

namespace {

/// Runs beyond this many ops on ranks are fewer.
constexpr size_t kBigProgram = 20000;
constexpr size_t kMostRuns = 6, kMostBigRuns = 4;

/// Sizes of the axes that split rows, and the position from which long tables
/// of rope count.
struct Traits {
  std::map<std::string, int64_t> axes; ///< by name: two may have one size
  std::optional<int64_t> longAbove;
  bool isBig = false;
};

void addTraits(const Program &program, Traits &traits) {
  for (const Value &value : program.values)
    for (size_t dim = 0; dim < value.dims.size(); ++dim)
      for (const Link &link : value.dims[dim].links)
        if (dim < value.shape.size() && !value.shape[dim].isConstant() &&
            link.axis < program.axes.size())
          traits.axes[program.axes[link.axis].name] =
              program.axes[link.axis].size;
  for (const Op &op : program.ops)
    if (op.attrs.rope && op.attrs.rope->longNumbers)
      traits.longAbove = std::min(traits.longAbove.value_or(INT64_MAX),
                                  op.attrs.rope->longAbove);
  if (program.hasSensibleMesh())
    traits.isBig |= program.ops.size() * program.ranks() > kBigProgram;
}

/// Values of the reference that others are compared with.
struct Expected {
  std::vector<Tensor> values; ///< by id, null if not kept
  std::optional<RunLayouts> layouts;
  std::optional<Fault> fault;
};

/// What a run of a program shows.
struct Outcome {
  std::optional<Fault> fault;
  std::optional<Difference> difference;
  Pair pair = {};
  size_t op = 0;
  std::optional<ValueId> missing; ///< to compare, but never computed
  bool isEqual() const { return !fault && !difference && !missing; }
};

} // namespace

Memo &RunMemos::get(size_t number, size_t budget) {
  std::lock_guard<std::mutex> lock(mutex);
  if (number >= memos.size())
    memos.resize(number + 1);
  if (!memos[number])
    memos[number] = std::make_unique<Memo>(budget);
  return *memos[number];
}

/// One check: everything that lives as long as it.
class Checker::Session {
public:
  explicit Session(Checker &checker);

  std::vector<Mismatch> check();
  Statistics getStatistics() const {
    return {runs.size(), operations, computed, 0};
  }

private:
  const Program &program(size_t index) const {
    return *sampling[index].program;
  }
  Expected runReference(const Run &run, Memo &memo, bool keepAll);
  Outcome runProgram(size_t index, const Run &run, Memo &memo,
                     const Expected &expected, bool compareAll);
  void work();
  void runAll(const Run &run, size_t number, Memo &memo);
  std::optional<Mismatch> report(size_t index);
  Mismatch locate(size_t index, const Run &run, Outcome outcome);

  Checker &checker;
  std::vector<const Program *> programs; ///< the reference first
  Sampling sampling;
  std::vector<Interpreter> interpreters;
  std::vector<Correspondence> correspondences; ///< by program
  std::vector<bool> kept;                      ///< values of the reference
  std::vector<Run> runs;
  std::atomic<size_t> nextRun{0}, operations{0}, computed{0};
  std::vector<std::optional<Fault>> referenceFaults; ///< by run
  std::vector<std::vector<Outcome>> outcomes;        ///< by run and program
};

static std::vector<const Program *> listPrograms(
    const Program &reference,
    const std::vector<std::pair<std::unique_ptr<const Program>, std::string>>
        &others) {
  std::vector<const Program *> list = {&reference};
  for (const auto &other : others)
    list.push_back(other.first.get());
  return list;
}

Checker::Session::Session(Checker &checker)
    : checker(checker),
      programs(listPrograms(checker.reference, checker.programs)),
      sampling(programs), kept(checker.reference.values.size()) {
  Traits traits;
  interpreters.reserve(programs.size());
  for (size_t index = 0; index < programs.size(); ++index) {
    interpreters.emplace_back(sampling[index]);
    addTraits(program(index), traits);
    correspondences.push_back(
        findCorrespondence(program(index), checker.reference));
    for (const Pair &pair : correspondences.back().compared)
      kept[pair.reference] = true;
  }
  runs = checker.options.runs;
  if (checker.options.memos)
    runs = checker.options.memos->runs;
  std::vector<int64_t> sizes;
  for (const auto &[name, size] : traits.axes)
    sizes.push_back(size);
  if (runs.empty())
    runs = chooseRuns(sizes, traits.isBig ? kMostBigRuns : kMostRuns,
                      traits.longAbove);
  if (checker.options.memos)
    checker.options.memos->runs = runs;
  referenceFaults.resize(runs.size());
  outcomes.assign(runs.size(), std::vector<Outcome>(programs.size()));
}

Expected Checker::Session::runReference(const Run &run, Memo &memo,
                                        bool keepAll) {
  Expected expected;
  expected.values.resize(checker.reference.values.size());
  Execution execution =
      interpreters[0].run(run, memo, [&](const Computed &value) {
        if (keepAll || kept[value.value])
          expected.values[value.value] = value.tensors.ranks[0];
        if (!expected.layouts)
          expected.layouts.emplace(value.layouts);
        return true;
      });
  expected.fault = execution.fault;
  operations += execution.operations;
  return expected;
}

Outcome Checker::Session::runProgram(size_t index, const Run &run, Memo &memo,
                                     const Expected &expected,
                                     bool compareAll) {
  Outcome outcome;
  const Correspondence &own = correspondences[index];
  std::multimap<ValueId, ValueId> pairs;
  for (const Pair &pair : own.compared)
    pairs.emplace(pair.value, pair.reference);
  std::set<ValueId> open;
  for (const Pair &pair : own.compared)
    open.insert(pair.value);
  for (const Pair &pair : own.located)
    if (compareAll)
      pairs.emplace(pair.value, pair.reference);
  auto compare = [&](const Computed &value) {
    open.erase(value.value);
    auto [begin, end] = pairs.equal_range(value.value);
    for (auto it = begin; it != end; ++it) {
      const Tensor &whole = expected.values[it->second];
      if (!whole || !expected.layouts)
        continue; // never computed there either: its own fault
      outcome.difference =
          findDifference(value, *whole, it->second, *expected.layouts);
      if (!outcome.difference)
        continue;
      outcome.pair = {value.value, it->second};
      outcome.op = value.op;
      return false;
    }
    return true;
  };
  Execution execution = interpreters[index].run(run, memo, compare);
  operations += execution.operations;
  outcome.fault = execution.fault;
  if (!outcome.fault && !outcome.difference && !open.empty())
    outcome.missing = *open.begin();
  return outcome;
}

void Checker::Session::runAll(const Run &run, size_t number, Memo &memo) {
  Expected expected = runReference(run, memo, /*keepAll=*/false);
  referenceFaults[number] = expected.fault;
  if (expected.fault)
    return;
  for (size_t index = 1; index < programs.size(); ++index)
    if (correspondences[index].fault.empty())
      outcomes[number][index] =
          runProgram(index, run, memo, expected, /*compareAll=*/false);
}

void Checker::Session::work() {
  Memo own(checker.options.memoBytes);
  for (size_t number; (number = nextRun++) < runs.size();) {
    if (RunMemos *memos = checker.options.memos.get()) {
      Memo &memo = memos->get(number, checker.options.memoBytes);
      size_t before = memo.getComputed();
      runAll(runs[number], number, memo);
      computed += memo.getComputed() - before;
      continue;
    }
    own.beginStep();
    runAll(runs[number], number, own);
  }
  computed += own.getComputed();
}

/// Runs once more, comparing everything that corresponds, to find where the
/// difference begins.
Mismatch Checker::Session::locate(size_t index, const Run &run,
                                  Outcome outcome) {
  Reporter reporter(program(index), checker.reference,
                    checker.programs[index - 1].second,
                    checker.options.referenceName, run);
  if (outcome.fault)
    return reporter.reportFault(*outcome.fault);
  if (outcome.missing)
    return reporter.reportMissing(*outcome.missing);
  Memo memo(checker.options.memoBytes);
  Expected expected = runReference(run, memo, /*keepAll=*/true);
  Outcome first = runProgram(index, run, memo, expected, /*compareAll=*/true);
  if (first.difference)
    outcome = first;
  return reporter.reportDifference(outcome.op, outcome.pair,
                                   *outcome.difference);
}

std::optional<Mismatch> Checker::Session::report(size_t index) {
  const Correspondence &own = correspondences[index];
  if (!own.fault.empty()) {
    Mismatch mismatch;
    mismatch.program = checker.programs[index - 1].second;
    mismatch.text = own.fault;
    return mismatch;
  }
  for (size_t number = 0; number < runs.size(); ++number)
    if (!outcomes[number][index].isEqual())
      return locate(index, runs[number], outcomes[number][index]);
  return std::nullopt;
}

std::vector<Mismatch> Checker::Session::check() {
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < checker.options.threads && i < runs.size(); ++i)
    threads.emplace_back([this] { work(); });
  work();
  for (std::thread &thread : threads)
    thread.join();
  std::vector<Mismatch> mismatches;
  for (size_t number = 0; number < runs.size(); ++number)
    if (referenceFaults[number]) {
      Reporter reporter(checker.reference, checker.reference,
                        checker.options.referenceName,
                        checker.options.referenceName, runs[number]);
      return {reporter.reportFault(*referenceFaults[number])};
    }
  for (size_t index = 1; index < programs.size(); ++index)
    if (std::optional<Mismatch> mismatch = report(index))
      mismatches.push_back(std::move(*mismatch));
  return mismatches;
}

Checker::Checker(Program reference, CheckerOptions options)
    : reference(std::move(reference)), options(std::move(options)) {}
Checker::~Checker() = default;

void Checker::addProgram(Program program, std::string label) {
  programs.emplace_back(std::make_unique<const Program>(std::move(program)),
                        std::move(label));
}

std::vector<Mismatch> Checker::check() {
  auto begin = std::chrono::steady_clock::now();
  Session session(*this);
  std::vector<Mismatch> mismatches = session.check();
  statistics = session.getStatistics();
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  statistics.seconds = time.count();
  return mismatches;
}
