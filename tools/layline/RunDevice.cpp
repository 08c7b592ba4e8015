//===- RunDevice.cpp - the emulated device, what ran as what and when -----===//
#include "MpiLaunch.h"
#include "Run.h"
#include "TextTable.h"
#include "layline/hooks.h"
#include "layline/simt.h"
#include <nlohmann/json.hpp>

using namespace layline;
using namespace layline::tool;

/// Engines know the device by its name only once it is enabled: always, so that
/// a name that is not known is told all that are.
bool Run::enableDevice() {
  if (arguments.device != "simt" && !arguments.simt.empty())
    return refuse("--simt: found with --device " + arguments.device +
                  ", expected --device simt");
  char *text = nullptr;
  layline_status status = layline_simt_enable(arguments.simt.c_str(), &text);
  std::string error = text ? text : "";
  layline_string_free(text);
  return status == LAYLINE_OK || refuse("--simt: " + error);
}

/// Which steps of the last run were launched, and why others were not.
bool Run::printKernels() {
  const char *json = nullptr;
  if (!check(layline_run_kernels(engine.get(), &json)))
    return false;
  nlohmann::json uses = nlohmann::json::parse(json);
  if (uses.empty())
    return true;
  TextTable table({">steps", "of", "ran as"});
  for (const nlohmann::json &use : uses) {
    std::string kernel = use["kernel"], reason = use["reason"];
    bool isFused =
        use["step"].get<std::string>().find('+') != std::string::npos;
    table.add({std::to_string(use["steps"].get<int64_t>()), use["step"],
               !kernel.empty()
                   ? kernel + (reason.empty() ? "" : ": " + reason)
               : reason.empty()
                   ? "the engine's own, on the cpu"
                   : (isFused ? "its pieces: " : "on the cpu: ") + reason});
  }
  table.print(out());
  return true;
}

bool Run::beginTrace() {
  return arguments.trace.empty() || check(layline_trace_begin(engine.get()));
}

/// Processes have clocks of their own, and each knows its own rank's steps.
bool Run::writeTrace() {
  if (arguments.trace.empty())
    return true;
  std::string path = arguments.trace;
  if (isMpi())
    path += ".rank" + std::to_string(firstRank);
  layline_status status = layline_trace_write(engine.get(), path.c_str());
  if (status == LAYLINE_OK)
    return true;
  return refuse("--trace: " + std::string(layline_engine_error(engine.get())));
}
