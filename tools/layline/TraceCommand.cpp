//===- TraceCommand.cpp - layline trace -----------------------------------===//
#include "TextTable.h"
#include "TraceArguments.h"
#include <algorithm>
#include <map>
#include <sstream>

using namespace layline;
using namespace layline::tool;
using nlohmann::ordered_json;

std::string layline::tool::describeDevice(const trace::DeviceTrace &device) {
  std::ostringstream os;
  os << device.file << ": ";
  if (device.rank >= 0)
    os << "rank " << device.rank << ", ";
  os << "device " << device.device;
  if (!device.deviceName.empty())
    os << " (" << device.deviceName << ")";
  os << ", " << device.events.size() << " events, busy "
     << formatMicroseconds(device.busyTime()) << " us of "
     << formatMicroseconds(device.span()) << " us\n";
  return os.str();
}

ordered_json layline::tool::deviceJSON(const trace::DeviceTrace &device) {
  ordered_json json;
  json["file"] = device.file;
  json["rank"] = device.rank < 0 ? ordered_json() : ordered_json(device.rank);
  json["world_size"] =
      device.worldSize < 0 ? ordered_json() : ordered_json(device.worldSize);
  json["device"] = device.device;
  json["device_name"] = device.deviceName;
  json["events"] = device.events.size();
  json["busy_ns"] = device.busyTime();
  json["span_ns"] = device.span();
  return json;
}

namespace {
struct Share {
  int64_t events = 0, time = 0;
};
using Shares = std::vector<std::pair<std::string, Share>>;
} // namespace

static Shares sortByTime(const std::map<std::string, Share> &shares) {
  Shares sorted(shares.begin(), shares.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
    return a.second.time != b.second.time ? a.second.time > b.second.time
                                          : a.first < b.first;
  });
  return sorted;
}

static Shares
findShares(const trace::DeviceTrace &device,
           const std::vector<trace::KernelFamilies::Match> &names) {
  std::map<std::string, Share> shares;
  for (const trace::DeviceEvent &event : device.events) {
    Share &share = shares[getShareGroup(names[event.name].family)];
    ++share.events;
    share.time += event.duration;
  }
  return sortByTime(shares);
}

void layline::tool::printShares(
    std::ostream &os, const trace::DeviceTrace &device,
    const std::vector<trace::KernelFamilies::Match> &names) {
  TextTable table({"kind of work", ">events", ">us", ">of busy time"});
  for (const auto &[group, share] : findShares(device, names))
    table.add({group, std::to_string(share.events),
               formatMicroseconds(share.time),
               formatShare(share.time, device.busyTime())});
  table.print(os);
}

ordered_json layline::tool::sharesJSON(
    const trace::DeviceTrace &device,
    const std::vector<trace::KernelFamilies::Match> &names) {
  ordered_json json = ordered_json::object();
  for (const auto &[group, share] : findShares(device, names))
    json[group] = {{"events", share.events}, {"ns", share.time}};
  return json;
}

void layline::tool::printUnknown(
    std::ostream &os, const trace::DeviceTrace &device,
    const std::vector<trace::KernelFamilies::Match> &names) {
  std::map<std::string, Share> unknown;
  int64_t time = 0;
  for (const trace::DeviceEvent &event : device.events)
    if (names[event.name].family == trace::Family::Unknown) {
      Share &share = unknown[device.nameOf(event)];
      ++share.events;
      share.time += event.duration;
      time += event.duration;
    }
  if (unknown.empty())
    return;
  os << "  kernels of no known kind, " << formatShare(time, device.busyTime())
     << " of busy time:\n";
  TextTable table({"name", ">events", ">us"});
  constexpr size_t kMostShown = 20;
  Shares sorted = sortByTime(unknown);
  for (size_t i = 0; i < std::min(sorted.size(), kMostShown); ++i)
    table.add({sorted[i].first.substr(0, 90),
               std::to_string(sorted[i].second.events),
               formatMicroseconds(sorted[i].second.time)});
  table.print(os, "    ");
  if (sorted.size() > kMostShown)
    os << "    and " << sorted.size() - kMostShown << " more names\n";
}

void layline::tool::addTraceCommand(CLI::App &app, int &exitCode) {
  CLI::App *command = app.add_subcommand(
      "trace", "Recordings of real runs: what ran, and what of a plan it was");
  command->require_subcommand(1);
  addTraceSummaryCommand(*command, exitCode);
  addTraceMapCommand(*command, exitCode);
  addTraceBudgetCommand(*command, exitCode);
}
