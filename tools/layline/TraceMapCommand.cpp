//===- TraceMapCommand.cpp - layline trace map ----------------------------===//
#include "TraceMapReport.h"
#include "layline/Trace/Perfetto.h"
#include <iostream>
#include <memory>
#include <sstream>

using namespace layline;
using namespace layline::tool;

namespace {
struct Arguments {
  TraceInputArguments input;
  TracePlanArguments plan;
  std::string perfetto; ///< or empty
};
} // namespace

static int runMap(const Arguments &arguments) {
  try {
    int exitCode = Good;
    trace::TransferModel model = readTransferModel(arguments.plan);
    std::optional<std::vector<trace::ExpectedProgram>> programs =
        readPrograms(arguments.plan, exitCode);
    if (!programs)
      return exitCode;
    MappedRun run = mapRun(arguments.input, *programs, model);
    if (!checkFit(run))
      return Refused;
    if (!arguments.perfetto.empty())
      trace::writePerfetto(arguments.perfetto, run.pointers(), run.collectives);
    std::ostringstream text;
    printMappedRun(text, run);
    return writeTraceOutputs(arguments.input, text.str(),
                             arguments.input.json.empty() ? "" : toJSON(run),
                             arguments.input.csv.empty() ? "" : toCsv(run));
  } catch (const trace::TraceError &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  }
}

void layline::tool::addTraceMapCommand(CLI::App &trace, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = trace.add_subcommand(
      "map", "Which kernel is which step of the plan, and why");
  addInputOptions(*command, arguments->input);
  addPlanOptions(*command, arguments->plan);
  addPerfettoOption(*command, arguments->perfetto);
  command->footer("Example:\n  layline trace map run.pt.trace.json.gz --model "
                  "config.json --tp 8 --target b200x8 --csv kernels.csv");
  command->callback([arguments, &exitCode] { exitCode = runMap(*arguments); });
}
