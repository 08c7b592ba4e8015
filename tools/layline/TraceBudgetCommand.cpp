//===- TraceBudgetCommand.cpp - layline trace budget ----------------------===//
#include "MappedRun.h"
#include "PlanFile.h"
#include "TraceBudget.h"
#include "WholeFiles.h"
#include "layline/Driver/Compiler.h"
#include "layline/Driver/Sweep.h"
#include "layline/Trace/StepCosts.h"
#include <iostream>
#include <memory>
#include <sstream>

using namespace layline;
using namespace layline::tool;

/// The planner's prices that stand beside a plan.
static std::map<int64_t, trace::Baselines>
readPrices(const std::string &folder) {
  std::map<int64_t, trace::Baselines> prices;
  std::string path = planPath(folder), error;
  size_t slash = path.rfind('/');
  path.replace(slash == std::string::npos ? 0 : slash + 1, std::string::npos,
               "decisions.json");
  std::optional<std::string> text = readFile(path, error);
  nlohmann::json document =
      text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  if (!document.is_object() || !document["prices"].is_array())
    return prices; // a plan does not need them
  auto number = [](const nlohmann::json &price, const char *name) {
    return price.contains(name) && price[name].is_number()
               ? price[name].get<double>()
               : -1;
  };
  for (const nlohmann::json &price : document["prices"]) {
    double tokens = number(price, "tokens");
    trace::Baselines its{number(price, "today_us"), number(price, "unfused_us"),
                         number(price, "chosen_us")};
    if (tokens > 0 && its.today >= 0 && its.unfused >= 0 && its.chosen >= 0)
      prices[static_cast<int64_t>(tokens)] = its;
  }
  return prices;
}

static std::optional<OtherPlan>
choosePlan(const TraceBudgetArguments &arguments,
           const std::vector<int64_t> &tokens, int &exitCode) {
  CompileRequest request;
  request.config = arguments.plan.model;
  request.tp = arguments.plan.tp;
  request.cp = arguments.plan.cp;
  request.ep = arguments.plan.ep;
  request.target = arguments.plan.target;
  request.calibration = arguments.calibration;
  request.kernels = arguments.kernels;
  request.minTokens = tokens.front();
  request.maxTokens = tokens.back();
  Compilation compiled = compile(request);
  if (compiled.status != CompileStatus::Good) {
    std::cerr << compiled.messages;
    exitCode = compiled.status == CompileStatus::Refused ? Refused : Unusable;
    return std::nullopt;
  }
  OtherPlan other;
  other.plan = {compiled.plan, "the planner's choice"};
  for (const VariantReport &variant : compiled.variants)
    for (const PriceReport &price : variant.prices)
      other.prices[price.tokens] = {price.today, price.unfused, price.chosen};
  if (request.cp > 1 || request.ep > 1)
    return other;
  // The ends of each range are priced; other counts are asked for.
  SweepRequest counts;
  counts.configs = {request.config};
  counts.tp = {request.tp};
  counts.targets = {request.target};
  counts.calibration = request.calibration;
  counts.kernels = request.kernels;
  counts.tokens.clear();
  for (int64_t count : tokens)
    if (!other.prices.count(count))
      counts.tokens.push_back(count);
  std::string error;
  if (!counts.tokens.empty())
    for (const SweepRow &row : sweep(counts, error))
      if (row.refusal.empty())
        other.prices[row.tokens] = {row.today, row.unfused, row.chosen};
  return other;
}

std::optional<OtherPlan>
layline::tool::findOtherPlan(const TraceBudgetArguments &arguments,
                             const std::vector<int64_t> &tokens,
                             int &exitCode) {
  if (arguments.whatIf.empty())
    return choosePlan(arguments, tokens, exitCode);
  OtherPlan other;
  other.plan.name = planPath(arguments.whatIf);
  std::string error;
  std::optional<std::string> text = readFile(other.plan.name, error);
  if (!text) {
    std::cerr << error << "\n";
    exitCode = Unusable;
    return std::nullopt;
  }
  other.plan.text = std::move(*text);
  other.prices = readPrices(arguments.whatIf);
  return other;
}

static int runBudget(const TraceBudgetArguments &arguments) {
  if (arguments.plan.target.empty())
    throw CLI::RequiredError("--target");
  if (!arguments.plan.plan.empty() && arguments.whatIf.empty())
    throw CLI::ValidationError(
        "--what-if", "found --plan alone, expected --what-if too: a plan does "
                     "not tell the model that another would be made of");
  std::string error;
  std::optional<CostModel> model =
      CostModel::create({arguments.plan.target, arguments.calibration,
                         arguments.kernels, LaunchMode::Graph},
                        error);
  if (!model)
    throw CLI::ValidationError("--target", error.substr(error.find(' ') + 1));
  try {
    int exitCode = Good;
    std::optional<trace::PlanText> before =
        readPlanText(arguments.plan, exitCode);
    if (!before)
      return exitCode;
    MappedRun run = mapRun(arguments.input,
                           trace::expectPrograms(before->text, before->name),
                           readTransferModel(arguments.plan));
    if (!checkFit(run))
      return Refused;
    std::optional<OtherPlan> other = findOtherPlan(
        arguments, trace::listTokenCounts(run.pointers()), exitCode);
    if (!other)
      return exitCode;
    trace::Budget budget =
        trace::makeBudget(run.pointers(), run.collectives, *before, other->plan,
                          trace::ModelCosts(*model));
    for (trace::PassBudget &pass : budget.passes)
      if (auto price = other->prices.find(pass.tokens);
          price != other->prices.end())
        pass.planner = price->second;
    std::ostringstream text;
    for (const trace::DeviceTrace &device : run.devices)
      text << describeDevice(device);
    printBudget(text, budget, other->plan.name);
    return writeTraceOutputs(
        arguments.input, text.str(),
        budgetJSON(budget, other->plan.name).dump(1) + "\n", budgetCsv(budget));
  } catch (const trace::TraceError &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  } catch (const trace::BudgetError &failed) {
    std::cerr << failed.what() << "\n";
    return Refused;
  }
}

void layline::tool::addTraceBudgetCommand(CLI::App &trace, int &exitCode) {
  auto arguments = std::make_shared<TraceBudgetArguments>();
  CLI::App *command = trace.add_subcommand(
      "budget", "What another plan would save of a run, line by line");
  addInputOptions(*command, arguments->input);
  addPlanOptions(*command, arguments->plan);
  command->add_option("--what-if", arguments->whatIf,
                      "Folder of the other plan, of the same model on the same "
                      "mesh [what the planner chooses for --model]");
  command->add_option("--calibration", arguments->calibration,
                      "Latencies that layline calibrate wrote; they go before "
                      "the built-in ones");
  command->add_option("--kernels", arguments->kernels,
                      "A list of fused kernels in place of the target's (see "
                      "docs/cost-model.md)");
  command->footer("Example:\n  layline trace budget run.pt.trace.json.gz "
                  "--model config.json --tp 8 --target b200x8");
  command->callback(
      [arguments, &exitCode] { exitCode = runBudget(*arguments); });
}
