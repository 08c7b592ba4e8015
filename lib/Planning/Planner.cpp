//===- Planner.cpp - choices for a placed program, and their prices -------===//
#include "Planner.h"
#include "layline/Placement/FeatureChains.h"
#include "mlir/IR/Threading.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include <map>

using namespace mlir;
using namespace layline;

// A choice that costs 1 % more than the best is not worth a program of its own.
static constexpr double kRegret = 0.01;

static bool isSum(const FormProgram &program, int value) {
  const FormGraph &graph = program.getGraph();
  const FormGraph::Op &op = graph.ops[graph.values[value].producer];
  return !op.modes[0].results.empty() && op.modes[0].results[0] == Form::Owed;
}

Planner::Planner(func::FuncOp placed, StringAttr axis, const CostModel &model,
                 int64_t rowsShare, bool fuse, ExpertRows experts)
    : context(placed.getContext()), model(model), rowsShare(rowsShare),
      experts(experts),
      program(placed, axis, fuse ? &model.capabilities() : nullptr),
      solver(program.getGraph()) {
  const FormGraph &graph = program.getGraph();
  for (const FormGraph::Op &op : graph.ops) {
    int last = -1;
    for (int value : op.operands)
      last = std::max(last, isSum(program, value)
                                ? value
                                : lastSum[graph.values[value].producer]);
    lastSum.push_back(last);
  }
  findWholeChains(placed, axis);
}

int64_t Planner::getRows(int64_t tokens) const {
  return llvm::divideCeil(tokens, rowsShare);
}

FormCosts Planner::getCosts(int64_t tokens) const {
  return restrictExperts(program.getCosts(model, getRows(tokens)));
}

FormCosts Planner::restrictExperts(FormCosts costs) const {
  for (int op = 0; op < static_cast<int>(costs.modes.size()); ++op)
    if (program.getRouting(op) && experts != ExpertRows::Auto)
      costs.modes[op][experts == ExpertRows::Gathered ? 1 : 0] = kNever;
  return costs;
}

FormChoice Planner::choose(int64_t tokens) const {
  return solver.solve(getCosts(tokens));
}

double Planner::priceStep(int64_t tokens) const {
  int64_t rows = getRows(tokens);
  return choose(tokens).us + program.getFixedEstimate(model, rows).us +
         program.getFixedRowwiseEstimate(model, rows).us;
}

FormChoice Planner::chooseByRows() const {
  return solver.solve(restrictExperts(program.getCostsByRows()));
}

std::vector<int> Planner::markUnlike(int value) const {
  const FormGraph &graph = program.getGraph();
  std::vector<int> labels(graph.ops.size());
  labels[graph.values[value].producer] = 1;
  for (int reader : graph.values[value].readers)
    labels[reader] = 1;
  return labels;
}

FormChoice Planner::chooseWithoutGather(int value, int64_t tokens) const {
  const FormGraph &graph = program.getGraph();
  FormCosts costs = getCosts(tokens);
  FormGraph::Event gather = FormGraph::convert(value, Conversion::AllGather);
  costs.conversions[value][gather.choice] = kNever;
  std::vector<int> labels = markUnlike(value);
  for (auto [piece, entry] : llvm::enumerate(graph.pieces))
    if (llvm::is_contained(entry.events, gather)) {
      costs.pieces[piece] = kNever;
      // Whoever else has a part in it is unlike others too.
      for (const FormGraph::Event &event : entry.events)
        labels[event.isConversion ? graph.values[event.subject].producer
                                  : event.subject] = 1;
    }
  return solver.withLabels(labels).solve(costs);
}

Planner::Ranges Planner::searchRanges(int64_t min, int64_t max) const {
  Ranges found;
  struct Solved {
    FormCosts costs;
    FormChoice choice;
  };
  std::map<int64_t, Solved> known;
  auto costsAt = [&](int64_t tokens) -> const FormCosts & {
    auto [entry, isNew] = known.try_emplace(tokens);
    if (isNew)
      entry->second.costs = getCosts(tokens);
    return entry->second.costs;
  };
  // Counts are solved side by side; choices are numbered in the order in which
  // they are asked for.
  auto prepare = [&](const std::vector<int64_t> &counts) {
    std::vector<std::pair<int64_t, Solved *>> work;
    for (int64_t tokens : counts)
      if (Solved &solved = known[tokens]; solved.choice.modes.empty())
        work.emplace_back(tokens, &solved);
    parallelForEach(context, work, [&](std::pair<int64_t, Solved *> &item) {
      item.second->costs = getCosts(item.first);
      item.second->choice = solver.solve(item.second->costs);
    });
  };
  auto solve = [&](int64_t tokens) {
    const FormChoice &choice = known.at(tokens).choice;
    for (auto [number, other] : llvm::enumerate(found.choices))
      if (other.isSameAs(choice))
        return static_cast<int>(number);
    found.choices.push_back(choice);
    return static_cast<int>(found.choices.size()) - 1;
  };
  auto price = [&](int choice, int64_t tokens) {
    return getCost(program.getGraph(), costsAt(tokens), found.choices[choice]);
  };
  found.search =
      layline::searchRanges(min, max, kRegret, solve, price, prepare);
  return found;
}

//===----------------------------------------------------------------------===//
// Prices of parts
//===----------------------------------------------------------------------===//

FormChoice Planner::solveToday(FormCosts &costs, int64_t tokens) const {
  costs = program.withoutFusedCollectives(std::move(costs));
  const FormGraph &graph = program.getGraph();
  for (auto [op, entry] : llvm::enumerate(graph.ops))
    for (unsigned mode = 1; mode < entry.modes.size(); ++mode)
      costs.modes[op][mode] = kNever;
  std::vector<int> labels(graph.ops.size());
  for (const ChainOp &entry : chainOps) {
    labels[entry.op] = 1;
    double &us = costs.modes[entry.op][0];
    us = getRunEstimate(model, entry.split, getRows(tokens)).us;
    if (entry.owed >= 0)
      us += costs.conversions[entry.owed]
                             [static_cast<unsigned>(Conversion::AllReduce)];
  }
  for (auto &conversions : costs.conversions)
    conversions[static_cast<unsigned>(Conversion::ReduceScatter)] = kNever;
  return chainOps.empty() ? solver.solve(costs)
                          : solver.withLabels(labels).solve(costs);
}

void Planner::findWholeChains(func::FuncOp placed, StringAttr axis) {
  int64_t ranks = program.getRanks();
  for (const FeatureChain &chain : findFeatureChains(placed)) {
    bool isSplit = llvm::any_of(chain.weights, [&](Value weight) {
      return !!grid::getLayout(weight.getType()).getDimSplitBy(axis);
    });
    if (isSplit || ranks == 1)
      continue;
    ++wholeChains;
    for (Operation *op : chain.ops) {
      int number = program.findOp(op);
      if (number < 0)
        continue;
      Traffic traffic = program.getTraffic(number);
      auto share = [&](int64_t &size) { size = llvm::divideCeil(size, ranks); };
      bool owes = op == chain.owing;
      if (traffic.gemms.empty()) {
        share(traffic.readPerRow);
        share(traffic.writePerRow);
      }
      share(traffic.once);
      for (Traffic::Gemm &gemm : traffic.gemms)
        share(owes ? gemm.k : gemm.n);
      chainOps.push_back({number, std::move(traffic),
                          owes ? program.findValue(op->getResult(0)) : -1});
    }
  }
}

void Planner::addUp(const FormChoice &choice, const FormCosts &costs,
                    ArrayRef<int> groupOfOp,
                    llvm::function_ref<void(int, double)> add) const {
  const FormGraph &graph = program.getGraph();
  std::vector<bool> isRunCovered(graph.ops.size());
  std::vector<uint8_t> isConversionCovered(graph.values.size());
  // A sum belongs to its site, what follows it too.
  auto groupOf = [&](const FormGraph::Event &event) {
    int producer = event.isConversion ? graph.values[event.subject].producer
                                      : event.subject;
    // What is sent to experts and back pays their sum.
    bool pays = event.isConversion ? isSum(program, event.subject)
                                   : program.getRouting(producer).has_value();
    if (!pays)
      return groupOfOp[producer];
    int value =
        event.isConversion ? event.subject : graph.ops[producer].results[0];
    for (int reader : graph.values[value].readers)
      return groupOfOp[reader];
    return -1;
  };
  for (int piece : choice.pieces) {
    add(groupOf(graph.pieces[piece].events.front()), costs.pieces[piece]);
    for (const FormGraph::Event &event : graph.pieces[piece].events)
      if (event.isConversion)
        isConversionCovered[event.subject] |= 1u << event.choice;
      else
        isRunCovered[event.subject] = true;
  }
  auto addEvent = [&](const FormGraph::Event &event, double us) {
    bool isCovered =
        event.isConversion
            ? isConversionCovered[event.subject] >> event.choice & 1
            : isRunCovered[event.subject];
    if (!isCovered)
      add(groupOf(event), us);
  };
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op)
    addEvent(FormGraph::run(op, choice.modes[op]),
             costs.modes[op][choice.modes[op]]);
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value)
    for (unsigned c = 0; c < kConversions; ++c)
      if (choice.converts(value, static_cast<Conversion>(c)))
        addEvent(FormGraph::convert(value, static_cast<Conversion>(c)),
                 costs.conversions[value][c]);
}

/// Only what the choice does, each thing by itself or in kernels of one rank.
static FormCosts restrictTo(const FormGraph &graph, FormCosts costs,
                            const FormChoice &choice) {
  for (auto [op, entry] : llvm::enumerate(graph.ops))
    for (int mode = 0; mode < static_cast<int>(entry.modes.size()); ++mode)
      if (mode != choice.modes[op])
        costs.modes[op][mode] = kNever;
  for (size_t value = 0; value < graph.values.size(); ++value)
    for (unsigned c = 0; c < kConversions; ++c)
      if (!choice.converts(static_cast<int>(value), static_cast<Conversion>(c)))
        costs.conversions[value][c] = kNever;
  return costs;
}

/// Ops that are chosen alike have one label.
static std::vector<int> getLabels(const FormGraph &graph,
                                  const FormChoice &choice) {
  std::vector<int> labels;
  for (auto [op, entry] : llvm::enumerate(graph.ops)) {
    int label = choice.modes[op];
    for (int result : entry.results)
      label = label * 8 + choice.conversions[result];
    labels.push_back(label);
  }
  return labels;
}

/// Collectives and launches of a choice.
static std::pair<int64_t, int64_t> countLaunches(const FormProgram &program,
                                                 const FormChoice &choice) {
  const FormGraph &graph = program.getGraph();
  int64_t phases = 0, launches = 0, covered = 0, coveredViews = 0;
  for (uint8_t conversions : choice.conversions)
    phases += llvm::popcount(conversions);
  // Out and back.
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op)
    phases += program.isDispatched(op, choice.modes[op]) ? 2 : 0;
  launches = phases;
  for (auto [op, entry] : llvm::enumerate(graph.ops))
    launches += entry.modes.size() > 1 &&
                !program.getRouting(static_cast<int>(op)) &&
                !program.getTraffic(static_cast<int>(op)).isFree;
  for (int piece : choice.pieces)
    for (const FormGraph::Event &event : graph.pieces[piece].events) {
      bool isView =
          !event.isConversion && program.getTraffic(event.subject).isFree;
      (isView ? coveredViews : covered) += 1;
    }
  return {phases,
          launches - covered + static_cast<int64_t>(choice.pieces.size())};
}

PlanPrice Planner::explainPlan(const FormChoice &choice, int64_t tokens) const {
  const FormGraph &graph = program.getGraph();
  FormCosts costs = getCosts(tokens);
  // Whatever is asked for here, today's engines gather.
  FormCosts todayCosts = program.getCosts(model, getRows(tokens));
  FormChoice today = solveToday(todayCosts, tokens);
  FormCosts unfusedCosts =
      program.withoutFusedCollectives(restrictTo(graph, costs, choice));
  FormChoice unfused =
      solver.withLabels(getLabels(graph, choice)).solve(unfusedCosts);
  FormCosts rowCosts = costs, wholeCosts = costs;
  for (auto &conversions : rowCosts.conversions)
    conversions[static_cast<unsigned>(Conversion::AllReduce)] = kNever;
  for (auto &conversions : wholeCosts.conversions)
    conversions[static_cast<unsigned>(Conversion::ReduceScatter)] = kNever;
  auto forbidFused = [&](FormCosts &them, Conversion conversion) {
    for (auto [piece, entry] : llvm::enumerate(graph.pieces))
      for (const FormGraph::Event &event : entry.events)
        if (event.isConversion && event.choice == static_cast<int>(conversion))
          them.pieces[piece] = kNever;
  };
  forbidFused(rowCosts, Conversion::AllReduce);
  forbidFused(wholeCosts, Conversion::ReduceScatter);
  FormChoice byRows = solver.solve(rowCosts), whole = solver.solve(wholeCosts);

  // Sites are those of the chosen plan: sums that it pays together are one.
  PlanPrice price;
  price.tokens = tokens;
  price.fixed = program.getFixedEstimate(model, getRows(tokens)).us;
  std::vector<int> payers;
  llvm::StringSet<> combined;
  auto isCombined = [&](int value) {
    int producer = graph.values[value].producer;
    return program.isDispatched(producer, choice.modes[producer]);
  };
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value)
    if (isCombined(value))
      for (StringAttr site : program.getSites(value))
        combined.insert(site.getValue());
  for (int value = 0; value < static_cast<int>(graph.values.size()); ++value) {
    bool scatters =
        choice.converts(value, Conversion::ReduceScatter) || isCombined(value);
    if (!scatters && !choice.converts(value, Conversion::AllReduce))
      continue;
    // What joins rows that come back is a part of their site.
    if (!isCombined(value) &&
        llvm::any_of(program.getSites(value), [&](StringAttr site) {
          return combined.contains(site.getValue());
        }))
      continue;
    SitePrice site;
    site.scatters = scatters;
    site.id =
        llvm::join(llvm::map_range(program.getSites(value),
                                   [](StringAttr s) { return s.getValue(); }),
                   "+");
    payers.push_back(value);
    price.sites.push_back(std::move(site));
  }
  llvm::StringMap<int> siteOf;
  for (auto [number, payer] : llvm::enumerate(payers))
    for (StringAttr site : program.getSites(payer))
      siteOf.try_emplace(site.getValue(), static_cast<int>(number));
  std::vector<int> groupOfOp;
  for (int sum : lastSum) {
    int group = -1;
    if (sum >= 0 && !program.getSites(sum).empty()) {
      auto found = siteOf.find(program.getSites(sum).front().getValue());
      group = found == siteOf.end() ? -1 : found->second;
    }
    groupOfOp.push_back(group);
  }
  auto addUpInto = [&](const FormChoice &which, const FormCosts &its,
                       double PlanPrice::*total, double SitePrice::*part) {
    if (which.us == kNever) {
      price.*total = kNever;
      for (SitePrice &site : price.sites)
        site.*part = kNever;
      return;
    }
    addUp(which, its, groupOfOp, [&](int group, double us) {
      price.*total += us;
      if (group >= 0)
        price.sites[group].*part += us;
    });
  };
  addUpInto(today, todayCosts, &PlanPrice::today, &SitePrice::today);
  addUpInto(unfused, unfusedCosts, &PlanPrice::unfused, &SitePrice::unfused);
  addUpInto(choice, costs, &PlanPrice::chosen, &SitePrice::chosen);
  addUpInto(byRows, rowCosts, &PlanPrice::byRows, &SitePrice::byRows);
  addUpInto(whole, wholeCosts, &PlanPrice::whole, &SitePrice::whole);
  std::tie(price.phases, price.launches) = countLaunches(program, choice);
  std::tie(price.phasesToday, price.launchesToday) =
      countLaunches(program, today);
  // The sums of chains that are not in this program.
  price.phasesToday += wholeChains;
  price.launchesToday += wholeChains;
  if (unfused.us != kNever)
    price.launchesUnfused = countLaunches(program, unfused).second;

  // What the numbers of a site rest on.
  std::map<std::pair<bool, std::pair<int, int>>, Estimate> asked;
  for (auto [number, payer] : llvm::enumerate(payers)) {
    SitePrice &site = price.sites[number];
    Conversion conversion =
        site.scatters ? Conversion::ReduceScatter : Conversion::AllReduce;
    bool combines = isCombined(payer);
    FormGraph::Event event =
        combines ? FormGraph::run(graph.values[payer].producer, 1)
                 : FormGraph::convert(payer, conversion);
    auto paying = llvm::find_if(choice.pieces, [&](int piece) {
      return llvm::is_contained(graph.pieces[piece].events, event);
    });
    bool isPiece = paying != choice.pieces.end();
    std::pair key(isPiece,
                  isPiece    ? std::pair(graph.pieces[*paying].costClass, 0)
                  : combines ? std::pair(graph.ops[event.subject].costClass, -1)
                             : std::pair(graph.values[payer].costClass,
                                         static_cast<int>(conversion)));
    auto [entry, isNew] = asked.try_emplace(key);
    if (isNew)
      entry->second =
          isPiece ? program.getPieceEstimate(model, *paying, getRows(tokens))
                  : program.getEstimate(model, event, getRows(tokens));
    site.kernel = isPiece         ? program.getPiece(*paying).kernel
                  : combines      ? "dispatch + combine"
                  : site.scatters ? "reduce_scatter"
                                  : "all_reduce";
    site.confidence = entry->second.confidence;
    site.source = entry->second.source;
    price.confidence = std::max(price.confidence, site.confidence);
  }
  return price;
}

std::vector<Alternative> Planner::explainSite(StringRef site,
                                              const FormChoice &choice,
                                              int64_t tokens) const {
  const FormGraph &graph = program.getGraph();
  std::vector<Alternative> alternatives;
  int value = -1;
  for (int v = 0; v < static_cast<int>(graph.values.size()); ++v)
    if (isSum(program, v) && program.getSites(v).size() == 1 &&
        program.getSites(v).front() == site)
      value = v;
  if (value < 0)
    return alternatives;
  FormCosts costs = getCosts(tokens);
  // Experts whose rows could be sent to them and come back summed.
  int routed = -1;
  for (int op = 0; op < static_cast<int>(graph.ops.size()); ++op)
    if (program.getRouting(op) &&
        llvm::any_of(program.getSites(graph.ops[op].results[0]),
                     [&](StringAttr its) { return its.getValue() == site; }))
      routed = op;
  FormCosts sent = costs;
  if (routed >= 0) {
    sent.modes[routed][0] = kNever;
    costs.modes[routed][1] = kNever;
  }
  // Everything that touches the sum is unlike other layers here.
  std::vector<int> labels = markUnlike(value);
  if (routed >= 0)
    labels[routed] = 1;
  FormSolver alone = solver.withLabels(labels);
  auto own = [&](Conversion c) { return FormGraph::convert(value, c); };
  auto touches = [&](int piece) {
    return llvm::any_of(
        graph.pieces[piece].events, [&](const FormGraph::Event &event) {
          return event.isConversion && event.subject == value &&
                 event.choice != static_cast<int>(Conversion::AllGather);
        });
  };
  auto without = [&] {
    FormCosts less = costs;
    for (size_t piece = 0; piece < graph.pieces.size(); ++piece)
      if (touches(static_cast<int>(piece)))
        less.pieces[piece] = kNever;
    for (Conversion c : {Conversion::ReduceScatter, Conversion::AllReduce})
      less.conversions[value][static_cast<unsigned>(c)] = kNever;
    return less;
  };
  auto chosenPiece = llvm::find_if(choice.pieces, touches);
  auto add = [&](std::string what, const FormCosts &its, Estimate estimate,
                 bool isChosen) {
    alternatives.push_back({std::move(what), alone.solve(its).us, estimate.us,
                            estimate.confidence, estimate.source, isChosen});
  };
  for (Conversion c : {Conversion::AllReduce, Conversion::ReduceScatter}) {
    FormCosts its = without();
    its.conversions[value][static_cast<unsigned>(c)] =
        costs.conversions[value][static_cast<unsigned>(c)];
    add(c == Conversion::AllReduce ? "all_reduce" : "reduce_scatter", its,
        program.getEstimate(model, own(c), getRows(tokens)),
        choice.converts(value, c) && chosenPiece == choice.pieces.end());
  }
  for (int piece = 0; piece < static_cast<int>(graph.pieces.size()); ++piece) {
    if (!touches(piece))
      continue;
    FormCosts its = without();
    its.pieces[piece] = costs.pieces[piece];
    add(program.getPiece(piece).kernel, its,
        program.getPieceEstimate(model, piece, getRows(tokens)),
        chosenPiece != choice.pieces.end() && *chosenPiece == piece);
  }
  FormCosts merged = without();
  bool isSent = routed >= 0 && choice.modes[routed] == 1;
  bool isDeferred = !isSent &&
                    !choice.converts(value, Conversion::ReduceScatter) &&
                    !choice.converts(value, Conversion::AllReduce);
  Estimate none;
  add("owed on, paid with another sum", merged, none, isDeferred);
  if (routed >= 0)
    add("dispatch + combine", sent,
        program.getEstimate(model, FormGraph::run(routed, 1), getRows(tokens)),
        isSent);
  llvm::sort(alternatives, [](const Alternative &a, const Alternative &b) {
    return std::tie(a.us, a.what) < std::tie(b.us, b.what);
  });
  return alternatives;
}
