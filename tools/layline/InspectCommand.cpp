//===- InspectCommand.cpp - layline inspect -------------------------------===//
#include "Commands.h"
#include "PlanFile.h"
#include "TextTable.h"
#include <iostream>
#include <map>
#include <memory>

using namespace layline::tool;
using nlohmann::json;

namespace {
struct Arguments {
  std::string folder;
  bool allSteps = false;
};
} // namespace

static std::string join(const json &names, const char *between) {
  std::string text;
  for (const json &name : names)
    text += (text.empty() ? "" : between) + name.get<std::string>();
  return text;
}

/// "b7", "w3": an argument by id; a list in brackets.
static std::string argumentText(const json &argument) {
  if (argument.is_string())
    return argument;
  if (argument.is_object())
    return argument.at("buffer");
  std::string text;
  for (const json &entry : argument)
    text += (text.empty() ? "" : ", ") + argumentText(entry);
  return "[" + text + "]";
}

static std::string stepText(const json &step) {
  std::string text;
  for (const auto &[role, argument] : step.at("args").items())
    text += (text.empty() ? "" : ", ") + role + " " + argumentText(argument);
  return text;
}

static void printVariant(const json &variant, bool allSteps) {
  std::cout << "\n"
            << variant.at("id").get<std::string>() << ": "
            << variant.at("tokens").at("min") << " to "
            << variant.at("tokens").at("max") << " tokens, boundaries "
            << variant.value("boundaries", "") << "\n";
  TextTable sites({"site", "status", "was", "became", "step"});
  for (const json &site : variant.at("sites"))
    sites.add({site.at("id"), site.at("status"), join(site.at("was"), " + "),
               site.contains("became") && site.at("became") != site.at("was")
                   ? join(site.at("became"), " + ")
                   : "unchanged",
               site.value("step", "")});
  sites.print(std::cout);
  if (!variant.at("sites").empty())
    std::cout << "  why: "
              << variant.at("sites").at(0).value("reason", std::string())
              << "\n";
  std::map<std::string, int> kinds;
  for (const json &step : variant.at("steps"))
    ++kinds[step.at("kind").get<std::string>()];
  std::cout << "  steps:";
  for (const auto &[kind, count] : kinds)
    std::cout << " " << count << " " << kind;
  std::cout << "\n  memory per rank:";
  for (const json &arena : variant.at("arenas"))
    std::cout << " " << arena.at("id").get<std::string>() << " "
              << formatBytes(arena.at("bytes"));
  std::cout << "\n";
  if (!allSteps)
    return;
  TextTable steps({"step", "kind", "stream", "arguments", "place"});
  for (const json &step : variant.at("steps")) {
    steps.add({step.at("id"), step.at("kind"), step.value("stream", ""),
               stepText(step), step.value("loc", "")});
    if (step.contains("body"))
      for (const json &inner : step.at("body"))
        steps.add({"", "  " + inner.at("kind").get<std::string>(), "",
                   stepText(inner), inner.value("loc", "")});
  }
  steps.print(std::cout);
}

static int runInspect(const Arguments &arguments) {
  // Only a plan that holds together is worth showing.
  int exitCode = Good;
  std::optional<json> checked = readCheckedPlan(arguments.folder, exitCode);
  if (!checked)
    return exitCode;
  const json &plan = *checked;
  const json &source = plan.at("source");
  std::cout << "plan of " << source.value("config", "") << " ("
            << source.value("model_type", "") << ", "
            << source.value("layers", 0) << " layers) for "
            << plan.at("target").at("name").get<std::string>() << ", "
            << plan.at("target").at("dtype").get<std::string>() << "\n  mesh:";
  for (const json &axis : plan.at("mesh"))
    std::cout << " " << axis.at("axis").get<std::string>() << " "
              << axis.at("size");
  int64_t weightBytes = 0;
  for (const json &weight : plan.at("weights"))
    weightBytes += weight.at("bytes_per_rank").get<int64_t>();
  std::cout << "\n  weights: " << plan.at("weights").size() << ", "
            << formatBytes(weightBytes) << " on the rank that holds most\n"
            << "  caches: " << plan.at("caches").size() << "\n  ranges:";
  for (const json &range : plan.at("ranges"))
    std::cout << " " << range.at("id").get<std::string>();
  std::cout << "\n";
  for (const json &variant : plan.at("variants"))
    printVariant(variant, arguments.allSteps);
  return Good;
}

void layline::tool::addInspectCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command =
      app.add_subcommand("inspect", "Print a plan for people to read");
  command
      ->add_option("DIR", arguments->folder,
                   "Folder with plan.json, or the file")
      ->required();
  command->add_flag("--steps", arguments->allSteps, "List every step as well");
  command->footer("Example:\n  layline inspect plan --steps");
  command->callback(
      [arguments, &exitCode] { exitCode = runInspect(*arguments); });
}
