//===- ReportCommand.cpp - layline report ---------------------------------===//
#include "MappedRun.h"
#include "PlanFile.h"
#include "WholeFiles.h"
#include "layline/Report/Report.h"
#include "layline/Trace/Perfetto.h"
#include "layline/Trace/StepCosts.h"
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>

using namespace layline;
using namespace layline::tool;
namespace fs = std::filesystem;

namespace {
struct Arguments {
  std::vector<std::string> given; ///< DIR or TRACE
  TraceInputArguments input;
  TracePlanArguments plan;
  std::string output, perfetto;
};
} // namespace

/// A folder, or a file that begins as plan.json does; all others are
/// recordings.
static bool isPlan(const std::string &path) {
  if (fs::is_directory(path))
    return true;
  std::string begin(200, '\0');
  std::ifstream(path).read(begin.data(),
                           static_cast<std::streamsize>(begin.size()));
  return begin.find("\"layline.launch_plan\"") != std::string::npos;
}

/// Sorts DIR and TRACE apart. Throws CLI::ValidationError.
static void sortGiven(Arguments &arguments) {
  std::vector<std::string> traces;
  for (const std::string &path : arguments.given) {
    if (!fs::exists(path))
      throw CLI::ValidationError("DIR|TRACE",
                                 "found nothing at " + path +
                                     ", expected a plan's folder or a "
                                     "recording");
    if (!isPlan(path))
      traces.push_back(path);
    else if (!arguments.plan.plan.empty())
      throw CLI::ValidationError("DIR", "found the plans " +
                                            arguments.plan.plan + " and " +
                                            path + ", expected one");
    else
      arguments.plan.plan = path;
  }
  arguments.input.files.insert(arguments.input.files.begin(), traces.begin(),
                               traces.end());
  if (arguments.plan.plan.empty() && arguments.plan.model.empty())
    throw CLI::ValidationError(
        "DIR", "found no plan among what was given, expected the folder of "
               "one, or --model of what the recording ran");
  if (arguments.input.files.empty() && arguments.plan.plan.empty())
    throw CLI::ValidationError("TRACE", "found --model and no recording, "
                                        "expected one that it ran in");
}

static std::optional<report::PlanFiles> readFolder(const std::string &folder,
                                                   int &exitCode) {
  report::PlanFiles files;
  files.name = planPath(folder);
  std::string error;
  std::optional<std::string> plan = readFile(files.name, error);
  if (!plan) {
    std::cerr << error << "\n";
    exitCode = Unusable;
    return std::nullopt;
  }
  files.plan = std::move(*plan);
  for (auto [name, text] : {std::pair("decisions.json", &files.decisions),
                            {"proof.json", &files.proof}}) {
    fs::path path = fs::path(files.name).parent_path() / name;
    if (!fs::exists(path))
      continue;
    std::optional<std::string> found = readFile(path.string(), error);
    if (!found) {
      std::cerr << error << "\n";
      exitCode = Unusable;
      return std::nullopt;
    }
    *text = std::move(*found);
  }
  return files;
}

/// What is shown: the plan of the folder; or what the planner makes of the
/// model for these cards, or without cards the model as it ran.
static std::optional<report::PlanFiles>
readShownPlan(const TracePlanArguments &plan, int &exitCode) {
  if (!plan.plan.empty())
    return readFolder(plan.plan, exitCode);
  std::optional<Compilation> compiled =
      compileModel(plan, plan.target.empty() ? "whole" : "auto", exitCode);
  if (!compiled)
    return std::nullopt;
  return report::PlanFiles{plan.model, std::move(compiled->plan),
                           std::move(compiled->decisions),
                           std::move(compiled->proof)};
}

/// What ran: the model in plain tensor parallelism if one is named, else what
/// is shown.
static std::optional<trace::PlanText>
readRanPlan(TracePlanArguments plan, const report::PlanFiles &shown,
            std::string &mappedOnto, int &exitCode) {
  mappedOnto = "the plan of this page";
  if (plan.model.empty())
    return trace::PlanText{shown.plan, shown.name};
  mappedOnto = fs::path(plan.model).filename().string() + " at TP " +
               std::to_string(plan.tp) +
               (plan.cp > 1 ? ", CP " + std::to_string(plan.cp) : "") +
               ", an all_reduce at each boundary";
  plan.plan.clear();
  return readPlanText(plan, exitCode);
}

/// The target of the plan that is shown, if none is named.
static std::string targetOf(const TracePlanArguments &plan,
                            const report::PlanFiles &shown) {
  if (!plan.target.empty())
    return plan.target;
  nlohmann::json document = nlohmann::json::parse(shown.plan, nullptr, false);
  // A plan that is not one is refused when it is loaded.
  if (!document.is_object() || !document.contains("target") ||
      !document["target"].is_object())
    return {};
  return document["target"].value("name", "");
}

/// What the plan that is shown would save. A run that cannot be budgeted has a
/// page all the same, which says why.
static std::optional<trace::Budget> makeBudget(const MappedRun &run,
                                               const trace::PlanText &ran,
                                               const report::PlanFiles &shown,
                                               const std::string &target,
                                               std::string &whyNot) {
  std::optional<CostModel> model =
      CostModel::create({target, "", "", LaunchMode::Graph}, whyNot);
  if (!model)
    return std::nullopt;
  try {
    return trace::makeBudget(run.pointers(), run.collectives, ran,
                             {shown.plan, shown.name},
                             trace::ModelCosts(*model));
  } catch (const trace::BudgetError &failed) {
    whyNot = failed.what();
    return std::nullopt;
  }
}

static std::optional<std::string> renderPage(Arguments &arguments,
                                             int &exitCode) {
  std::optional<report::PlanFiles> shown =
      readShownPlan(arguments.plan, exitCode);
  if (!shown)
    return std::nullopt;
  if (arguments.input.files.empty() && !arguments.perfetto.empty())
    throw CLI::ValidationError("--perfetto", "found no recording, expected one "
                                             "to write with its places");
  if (arguments.input.files.empty())
    return report::renderReport(*shown, nullptr);
  report::RecordedRun recorded;
  std::optional<trace::PlanText> ran =
      readRanPlan(arguments.plan, *shown, recorded.mappedOnto, exitCode);
  if (!ran)
    return std::nullopt;
  bool isWhatIf = !arguments.plan.model.empty();
  arguments.plan.target = targetOf(arguments.plan, *shown);
  MappedRun run =
      mapRun(arguments.input, trace::expectPrograms(ran->text, ran->name),
             readTransferModel(arguments.plan));
  if (!checkFit(run)) {
    exitCode = Refused;
    return std::nullopt;
  }
  recorded.mappings = run.pointers();
  recorded.collectives = &run.collectives;
  std::optional<trace::Budget> budget;
  if (isWhatIf)
    budget =
        makeBudget(run, *ran, *shown, arguments.plan.target, recorded.noBudget);
  recorded.budget = budget ? &*budget : nullptr;
  std::string page = report::renderReport(*shown, &recorded);
  if (!arguments.perfetto.empty())
    trace::writePerfetto(arguments.perfetto, recorded.mappings,
                         run.collectives);
  return page;
}

static int runReport(Arguments arguments) {
  sortGiven(arguments);
  try {
    int exitCode = Good;
    std::optional<std::string> page = renderPage(arguments, exitCode);
    if (!page)
      return exitCode;
    if (std::optional<std::string> failed =
            writeFile(arguments.output, *page)) {
      std::cerr << *failed << "\n";
      return Unusable;
    }
    std::cout << "wrote " << arguments.output << " ("
              << (page->size() + 999) / 1000 << " kB)\n";
    return Good;
  } catch (const report::ReportError &failed) {
    std::cerr << failed.what() << "\n";
    return failed.why == report::ReportError::Why::Refused ? Refused : Unusable;
  } catch (const trace::TraceError &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  }
}

void layline::tool::addReportCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = app.add_subcommand(
      "report", "One HTML page of a plan, a recorded run, or both");
  command->add_option("DIR|TRACE", arguments->given,
                      "Folder of a plan; recordings of one run");
  command->add_option("--trace", arguments->input.files,
                      "Recordings beside a plan, as TRACE");
  command->add_option("--families", arguments->input.families,
                      "CSV of kernel name patterns that come before the "
                      "built-in ones (data/kernels/README.md)");
  addPlanOptions(*command, arguments->plan, PlanAndModel::Both);
  addPerfettoOption(*command, arguments->perfetto);
  command->add_option("-o,--output", arguments->output, "File to write")
      ->required();
  command->footer(
      "--model: the run was that of the model in plain tensor parallelism. The "
      "page then shows what it could be, DIR or what the planner chooses for "
      "--target, and what that would save.\n\n"
      "Examples:\n"
      "  layline report plan -o report.html\n"
      "  layline report run.pt.trace.json.gz --model config.json --tp 8 "
      "--target b200x8 -o report.html\n"
      "  layline report plan --trace run.pt.trace.json.gz --model config.json "
      "--tp 8 -o report.html");
  command->callback(
      [arguments, &exitCode] { exitCode = runReport(*arguments); });
}
