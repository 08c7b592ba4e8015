//===- TraceArguments.cpp - what the commands of `layline trace` share ----===//
#include "TraceArguments.h"
#include "PlanFile.h"
#include "WholeFiles.h"
#include "layline/Cost/CostModel.h"
#include <cstdio>
#include <iostream>
#include <memory>
#include <unistd.h>

using namespace layline;
using namespace layline::tool;

void layline::tool::addInputOptions(CLI::App &command,
                                    TraceInputArguments &arguments) {
  command
      .add_option("TRACE", arguments.files,
                  "Recordings: torch profiler JSON (.json, .gz), or an SQLite "
                  "export of Nsight Systems; several are ranks of one run")
      ->required();
  command.add_option("--families", arguments.families,
                     "CSV of kernel name patterns that come before the "
                     "built-in ones (data/kernels/README.md)");
  command.add_option("--json", arguments.json,
                     "Write all of it as JSON; '-': print that, not the text");
  command.add_option("--csv", arguments.csv,
                     "Write the table of kernels as CSV; '-': print that");
}

void layline::tool::addPlanOptions(CLI::App &command,
                                   TracePlanArguments &arguments,
                                   PlanAndModel together) {
  auto *plan = command.add_option("--plan", arguments.plan,
                                  "Folder of a plan that the run executed");
  auto *model = command.add_option(
      "--model", arguments.model,
      "config.json of the model that ran, in plain tensor parallelism: an "
      "all-reduce at each boundary");
  if (together == PlanAndModel::Either)
    model->excludes(plan);
  command.add_option("--tp", arguments.tp, "With --model: tensor parallelism")
      ->check(positiveNumber())
      ->needs(model);
  command.add_option("--cp", arguments.cp, "With --model: context parallelism")
      ->check(positiveNumber())
      ->needs(model);
  command
      .add_option("--ep", arguments.ep,
                  "With --model: ranks that share out whole experts")
      ->check(positiveNumber())
      ->needs(model);
  command.add_option("--target", arguments.target,
                     "Cards that it ran on, for the cost model: b200x8");
}

void layline::tool::addPerfettoOption(CLI::App &command, std::string &file) {
  command.add_option("--perfetto", file,
                     "Write the device's events, each with its place in the "
                     "plan, for Perfetto (.json, .json.gz)");
}

namespace {
/// How far a file is read, on a terminal, if that takes long.
class ProgressBar {
public:
  explicit ProgressBar(std::string file) : file(std::move(file)) {}
  ~ProgressBar() {
    // What is said of a file that ends early begins on a line of its own.
    if (percent >= 0 && percent < 100)
      std::fputc('\n', stderr);
  }
  ProgressBar(const ProgressBar &) = delete;
  ProgressBar &operator=(const ProgressBar &) = delete;

  void show(int64_t read, int64_t size) {
    constexpr int64_t kLong = 64 << 20;
    if (size < kLong)
      return;
    int now = static_cast<int>(100 * std::min(read, size) / size);
    if (now == percent)
      return;
    percent = now;
    std::string bar(static_cast<size_t>(percent / 5), '=');
    bar.resize(20, ' ');
    std::fprintf(stderr, "\r%s [%s] %3d %%%s", file.c_str(), bar.c_str(),
                 percent, percent >= 100 ? "\n" : "");
  }

private:
  std::string file;
  int percent = -1;
};
} // namespace

static trace::Progress showProgress(const std::string &file) {
  if (!isatty(fileno(stderr)))
    return nullptr;
  auto bar = std::make_shared<ProgressBar>(file);
  return [bar](int64_t read, int64_t size) { bar->show(read, size); };
}

std::vector<trace::DeviceTrace>
layline::tool::readTraces(const TraceInputArguments &arguments) {
  std::vector<trace::DeviceTrace> devices;
  for (const std::string &file : arguments.files)
    for (trace::DeviceTrace &device :
         trace::readTrace(file, showProgress(file)))
      devices.push_back(std::move(device));
  return devices;
}

trace::KernelFamilies
layline::tool::readFamilies(const TraceInputArguments &arguments) {
  trace::KernelFamilies families = trace::KernelFamilies::builtIn();
  if (arguments.families.empty())
    return families;
  std::string error;
  std::optional<std::string> text = readFile(arguments.families, error);
  if (!text)
    throw trace::TraceError(error);
  families.addFront(*text, arguments.families);
  return families;
}

std::optional<Compilation>
layline::tool::compileModel(const TracePlanArguments &arguments,
                            const std::string &boundaries, int &exitCode) {
  CompileRequest request;
  request.config = arguments.model;
  request.tp = arguments.tp;
  request.cp = arguments.cp;
  request.ep = arguments.ep;
  if (!arguments.target.empty())
    request.target = arguments.target;
  request.boundaries = boundaries;
  Compilation compiled = compile(request);
  if (compiled.status == CompileStatus::Good)
    return compiled;
  std::cerr << compiled.messages;
  exitCode = compiled.status == CompileStatus::Refused ? Refused : Unusable;
  return std::nullopt;
}

std::optional<trace::PlanText>
layline::tool::readPlanText(const TracePlanArguments &arguments,
                            int &exitCode) {
  if (arguments.plan.empty() && arguments.model.empty())
    throw CLI::ValidationError("--plan", "found neither --plan nor --model, "
                                         "expected what the run executed");
  if (!arguments.plan.empty()) {
    std::string path = planPath(arguments.plan), error;
    std::optional<std::string> text = readFile(path, error);
    if (!text) {
      std::cerr << error << "\n";
      exitCode = Unusable;
      return std::nullopt;
    }
    return trace::PlanText{std::move(*text), path};
  }
  std::optional<Compilation> compiled =
      compileModel(arguments, "whole", exitCode);
  if (!compiled)
    return std::nullopt;
  return trace::PlanText{std::move(compiled->plan), arguments.model};
}

std::optional<std::vector<trace::ExpectedProgram>>
layline::tool::readPrograms(const TracePlanArguments &arguments,
                            int &exitCode) {
  std::optional<trace::PlanText> plan = readPlanText(arguments, exitCode);
  if (!plan)
    return std::nullopt;
  return trace::expectPrograms(plan->text, plan->name);
}

trace::TransferModel
layline::tool::readTransferModel(const TracePlanArguments &arguments) {
  if (arguments.target.empty())
    return nullptr;
  std::string error;
  std::optional<CostModel> model =
      CostModel::create({arguments.target, "", "", LaunchMode::Graph}, error);
  if (!model)
    throw CLI::ValidationError("--target", error.substr(error.find(' ') + 1));
  return [costs =
              *model](trace::Work work, int64_t bytes,
                      int64_t ranks) -> std::optional<trace::TransferEstimate> {
    std::optional<Collective> collective;
    if (work == trace::Work::AllReduce)
      collective = Collective::AllReduce;
    else if (work == trace::Work::ReduceScatter)
      collective = Collective::ReduceScatter;
    else if (work == trace::Work::AllGather)
      collective = Collective::AllGather;
    if (!collective)
      return std::nullopt;
    Estimate estimate = costs.collective(*collective, bytes, ranks);
    return trace::TransferEstimate{estimate.us,
                                   std::string(getName(estimate.confidence)) +
                                       ": " + estimate.source};
  };
}

int layline::tool::writeTraceOutputs(const TraceInputArguments &arguments,
                                     const std::string &text,
                                     const std::string &json,
                                     const std::string &csv) {
  const std::string *printed = &text;
  for (auto [path, content] :
       {std::pair<const std::string &, const std::string &>(arguments.json,
                                                            json),
        {arguments.csv, csv}}) {
    if (path == "-") {
      printed = &content;
    } else if (!path.empty()) {
      if (std::optional<std::string> failed = writeFile(path, content)) {
        std::cerr << *failed << "\n";
        return Unusable;
      }
    }
  }
  std::cout << *printed;
  return Good;
}

std::string layline::tool::formatMicroseconds(int64_t nanoseconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f",
                static_cast<double>(nanoseconds) / 1000);
  return text;
}

std::string layline::tool::formatShare(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%",
                whole == 0 ? 0.0
                           : 100 * static_cast<double>(part) /
                                 static_cast<double>(whole));
  return text;
}

std::string layline::tool::shortenKernel(const std::string &name) {
  std::string normal = trace::normaliseName(name), text;
  // Templates that are chosen by a condition name that first.
  if (size_t chosen = normal.find("::type ");
      normal.compare(0, 14, "std::enable_if") == 0 &&
      chosen != std::string::npos)
    normal.erase(0, chosen + 7);
  int depth = 0;
  for (size_t i = 0; i < normal.size(); ++i) {
    if (normal.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      text += "(anon)";
      continue;
    }
    depth += normal[i] == '<';
    if (depth == 0 && normal[i] == '(' && !text.empty() &&
        normal.compare(0, 6, "Memcpy") != 0)
      break;
    if (depth == 0)
      text += normal[i];
    depth -= normal[i] == '>' && depth > 0;
  }
  constexpr size_t kLongest = 60;
  return text.size() > kLongest ? text.substr(0, kLongest - 3) + "..." : text;
}
