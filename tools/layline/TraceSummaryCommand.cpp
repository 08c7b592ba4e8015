//===- TraceSummaryCommand.cpp - layline trace summary --------------------===//
#include "TextTable.h"
#include "TraceArguments.h"
#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

using namespace layline;
using namespace layline::tool;
using nlohmann::ordered_json;

namespace {

/// All events of one name.
struct NamedKernel {
  int32_t name = 0;
  int64_t time = 0;
  std::vector<int64_t> durations; ///< ns, ascending
  int64_t median() const { return durations[durations.size() / 2]; }
};

struct DeviceSummary {
  const trace::DeviceTrace *device;
  std::vector<trace::KernelFamilies::Match> names;
  std::vector<NamedKernel> kernels; ///< by time
  trace::Period period;
  std::vector<std::string> batches; ///< annotations, each once
};

} // namespace

static DeviceSummary summarise(const trace::DeviceTrace &device,
                               const trace::KernelFamilies &families) {
  DeviceSummary summary{&device, families.classify(device), {}, {}, {}};
  std::vector<NamedKernel> kernels(device.names.size());
  std::vector<trace::Family> byEvent;
  for (const trace::DeviceEvent &event : device.events) {
    kernels[event.name].name = event.name;
    kernels[event.name].time += event.duration;
    kernels[event.name].durations.push_back(event.duration);
    byEvent.push_back(summary.names[event.name].family);
  }
  for (NamedKernel &kernel : kernels) {
    if (kernel.durations.empty())
      continue; // of another device of the file
    std::sort(kernel.durations.begin(), kernel.durations.end());
    summary.kernels.push_back(std::move(kernel));
  }
  std::sort(summary.kernels.begin(), summary.kernels.end(),
            [](const NamedKernel &a, const NamedKernel &b) {
              return a.time != b.time ? a.time > b.time : a.name < b.name;
            });
  summary.period = trace::findPeriod(byEvent);
  std::set<std::string> seen;
  for (const trace::Annotation &annotation : device.annotations)
    if (trace::parseBatch(annotation.text) &&
        seen.insert(annotation.text).second)
      summary.batches.push_back(annotation.text);
  return summary;
}

static std::string describeBatch(const trace::BatchComposition &batch) {
  return std::to_string(batch.prefillRequests) + " prefill requests of " +
         std::to_string(batch.prefillTokens) + " tokens, " +
         std::to_string(batch.decodeRequests) + " decoding " +
         std::to_string(batch.decodeTokens) + " tokens";
}

static void print(std::ostream &os, const DeviceSummary &summary) {
  const trace::DeviceTrace &device = *summary.device;
  os << describeDevice(device);
  for (const std::string &batch : summary.batches)
    os << "  " << batch.substr(0, 80) << ": "
       << describeBatch(*trace::parseBatch(batch)) << "\n";
  if (summary.period.events)
    os << "  period: " << summary.period.events << " events, "
       << summary.period.repeats << " times, events " << summary.period.begin
       << " to " << summary.period.end - 1 << "\n";
  else
    os << "  period: none\n";
  printShares(os, device, summary.names);
  os << "  longest kernels:\n";
  TextTable table({"name", "family", ">events", ">us", ">median us"});
  constexpr size_t kMostShown = 15;
  for (size_t i = 0; i < std::min(summary.kernels.size(), kMostShown); ++i) {
    const NamedKernel &kernel = summary.kernels[i];
    table.add({shortenKernel(device.names[kernel.name]),
               getName(summary.names[kernel.name].family),
               std::to_string(kernel.durations.size()),
               formatMicroseconds(kernel.time),
               formatMicroseconds(kernel.median())});
  }
  table.print(os, "    ");
  printUnknown(os, device, summary.names);
}

static ordered_json toJSON(const DeviceSummary &summary) {
  const trace::DeviceTrace &device = *summary.device;
  ordered_json json = deviceJSON(device);
  json["batches"] = ordered_json::array();
  for (const std::string &text : summary.batches) {
    trace::BatchComposition batch = *trace::parseBatch(text);
    json["batches"].push_back({{"annotation", text},
                               {"prefill_requests", batch.prefillRequests},
                               {"prefill_tokens", batch.prefillTokens},
                               {"decode_requests", batch.decodeRequests},
                               {"decode_tokens", batch.decodeTokens}});
  }
  json["period"] = {{"events", summary.period.events},
                    {"repeats", summary.period.repeats},
                    {"begin", summary.period.begin},
                    {"end", summary.period.end}};
  json["shares"] = sharesJSON(device, summary.names);
  json["kernels"] = ordered_json::array();
  for (const NamedKernel &kernel : summary.kernels) {
    const trace::KernelFamilies::Match &match = summary.names[kernel.name];
    json["kernels"].push_back({{"name", device.names[kernel.name]},
                               {"family", getName(match.family)},
                               {"pattern", match.pattern},
                               {"events", kernel.durations.size()},
                               {"ns", kernel.time},
                               {"median_ns", kernel.median()}});
  }
  return json;
}

static int runSummary(const TraceInputArguments &arguments) {
  try {
    trace::KernelFamilies families = readFamilies(arguments);
    std::vector<trace::DeviceTrace> devices = readTraces(arguments);
    std::ostringstream text, csv;
    ordered_json json = {{"schema", "layline.trace_summary"},
                         {"version", 1},
                         {"devices", ordered_json::array()}};
    csv << "file,device,name,family,pattern,source,events,us,median_us\n";
    for (const trace::DeviceTrace &device : devices) {
      DeviceSummary summary = summarise(device, families);
      print(text, summary);
      json["devices"].push_back(toJSON(summary));
      for (const NamedKernel &kernel : summary.kernels) {
        const trace::KernelFamilies::Match &match = summary.names[kernel.name];
        csv << quoteCsv(device.file) << ',' << device.device << ','
            << quoteCsv(device.names[kernel.name]) << ','
            << getName(match.family) << ',' << quoteCsv(match.pattern) << ','
            << quoteCsv(match.source) << ',' << kernel.durations.size() << ','
            << formatMicroseconds(kernel.time) << ','
            << formatMicroseconds(kernel.median()) << "\n";
      }
    }
    return writeTraceOutputs(arguments, text.str(), json.dump(1) + "\n",
                             csv.str());
  } catch (const trace::TraceError &failed) {
    std::cerr << failed.what() << "\n";
    return Unusable;
  }
}

void layline::tool::addTraceSummaryCommand(CLI::App &trace, int &exitCode) {
  auto arguments = std::make_shared<TraceInputArguments>();
  CLI::App *command = trace.add_subcommand(
      "summary", "What ran, by kind of work, without a plan");
  addInputOptions(*command, *arguments);
  command->footer("Example:\n  layline trace summary run.pt.trace.json.gz");
  command->callback(
      [arguments, &exitCode] { exitCode = runSummary(*arguments); });
}
