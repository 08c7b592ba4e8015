//===- Perfetto.cpp - a mapped run for Perfetto ---------------------------===//
#include "layline/Trace/Perfetto.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <zlib.h>

using namespace layline::trace;
using nlohmann::ordered_json;

namespace {

/// A file that is there whole or not at all.
class WholeFile {
public:
  explicit WholeFile(const std::string &path)
      : path(path), part(path + ".part") {
    bool isCompressed =
        path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
    // What a rename would replace with all that is in it, or fail at.
    if (std::filesystem::is_directory(path))
      throw TraceError(path + ": found a folder, expected a file or nothing");
    // T: as it is, without compression.
    file = gzopen(part.c_str(), isCompressed ? "wb" : "wbT");
    if (!file)
      throw TraceError(path + ": cannot be written: " + std::strerror(errno));
  }
  ~WholeFile() {
    if (file)
      gzclose(file);
    std::error_code ignored;
    if (!isDone)
      std::filesystem::remove(part, ignored);
  }
  WholeFile(const WholeFile &) = delete;
  WholeFile &operator=(const WholeFile &) = delete;

  void write(const std::string &text) {
    errno = 0;
    if (gzwrite(file, text.data(), static_cast<unsigned>(text.size())) !=
        static_cast<int>(text.size()))
      fail();
  }
  void finish() {
    errno = 0;
    gzFile closed = file;
    file = nullptr;
    if (gzclose(closed) != Z_OK)
      fail();
    std::error_code error;
    std::filesystem::rename(part, path, error);
    if (error)
      throw TraceError(path + ": " + error.message());
    isDone = true;
  }

private:
  [[noreturn]] void fail() const {
    throw TraceError(path + ": cannot be written: " +
                     (errno ? std::strerror(errno) : "the data end early"));
  }

  std::string path, part;
  gzFile file = nullptr;
  bool isDone = false;
};

// Tracks above the streams, from top to bottom.
enum Track : int { Passes = 1, Layers, Modules, Boundaries, Collectives };
constexpr int kFirstStream = 100;

/// A slice of a track while it is not known where it ends.
struct OpenSlice {
  std::string name;
  int64_t start = 0, end = 0;
};

class PerfettoWriter {
public:
  PerfettoWriter(WholeFile &file, const std::vector<CollectiveUse> &uses)
      : file(file), uses(uses) {}

  void begin(const std::vector<const Mapping *> &mappings);
  void writeDevice(const Mapping &mapping, size_t number);
  void end() { file.write("\n]}\n"); }

private:
  void writeNames(const Mapping &mapping);
  void writeEvent(const Mapping &mapping, size_t i);
  void writeCollective(const Mapping &mapping, const CollectiveUse &use);
  void follow(Track track, const std::string &name, const DeviceEvent &event);
  void close(Track track, int64_t before);
  void slice(int track, const std::string &name, int64_t start,
             int64_t duration, const std::string &category, ordered_json args);
  void put(const ordered_json &event);

  WholeFile &file;
  const std::vector<CollectiveUse> &uses;
  size_t device = 0;
  /// What times are counted from, by file; one for all that tell the time.
  std::map<std::string, int64_t> bases;
  int64_t base = 0; ///< of this device
  bool isFirst = true;
  std::map<int, OpenSlice> open;
  std::map<size_t, const CollectiveUse *> useOf; ///< of this device, by event
};

} // namespace

void PerfettoWriter::put(const ordered_json &event) {
  // Names are as the profiler wrote them, which may be no UTF-8.
  file.write((isFirst ? "\n" : ",\n") +
             event.dump(-1, ' ', true, ordered_json::error_handler_t::replace));
  isFirst = false;
}

/// Microseconds, with the digits of nanoseconds.
static ordered_json microseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000;
}

/// What the times of a recording can be compared with.
static std::string clockOf(const DeviceTrace &trace) {
  return trace.hasAbsoluteClock ? std::string() : trace.file;
}

void PerfettoWriter::begin(const std::vector<const Mapping *> &mappings) {
  for (const Mapping *mapping : mappings) {
    if (mapping->trace->events.empty())
      continue;
    int64_t first = mapping->trace->events.front().start;
    auto [found, isNew] = bases.try_emplace(clockOf(*mapping->trace), first);
    found->second = std::min(found->second, first);
  }
  std::string text = "{\"displayTimeUnit\":\"ns\",";
  if (auto absolute = bases.find(std::string()); absolute != bases.end())
    text += "\"baseTimeNanoseconds\":" + std::to_string(absolute->second) + ",";
  file.write(text + "\"traceEvents\":[");
}

void PerfettoWriter::slice(int track, const std::string &name, int64_t start,
                           int64_t duration, const std::string &category,
                           ordered_json args) {
  ordered_json event = {{"ph", "X"},
                        {"pid", device},
                        {"tid", track},
                        {"ts", microseconds(start - base)},
                        {"dur", microseconds(duration)},
                        {"name", name},
                        {"cat", category}};
  if (!args.empty())
    event["args"] = std::move(args);
  put(event);
}

void PerfettoWriter::writeNames(const Mapping &mapping) {
  const DeviceTrace &trace = *mapping.trace;
  auto name = [&](const char *what, int track, const ordered_json &args) {
    put({{"ph", "M"},
         {"pid", device},
         {"tid", track},
         {"name", what},
         {"args", args}});
  };
  std::string process = trace.rank < 0
                            ? "device " + std::to_string(trace.device)
                            : "rank " + std::to_string(trace.rank);
  if (!trace.deviceName.empty())
    process += " (" + trace.deviceName + ")";
  name("process_name", 0, {{"name", process}});
  name("process_sort_index", 0, {{"sort_index", device}});
  auto track = [&](int number, const std::string &text) {
    name("thread_name", number, {{"name", text}});
    name("thread_sort_index", number, {{"sort_index", number}});
  };
  track(Passes, "passes");
  track(Layers, "layers");
  track(Modules, "modules");
  track(Boundaries, "boundaries");
  track(Collectives, "waiting and moving");
  std::set<int32_t> streams;
  for (const DeviceEvent &event : trace.events)
    streams.insert(event.stream);
  for (int32_t stream : streams)
    track(kFirstStream + stream, "stream " + std::to_string(stream));
}

/// Slices of a track must not overlap: one ends where the next begins, though
/// another stream may still be at it.
void PerfettoWriter::close(Track track, int64_t before) {
  auto found = open.find(track);
  if (found == open.end())
    return;
  const OpenSlice &own = found->second;
  slice(track, own.name, own.start,
        std::max<int64_t>(0, std::min(own.end, before) - own.start), "plan",
        {});
  open.erase(found);
}

/// Goes on with the slice of that name, or begins it; empty: none.
void PerfettoWriter::follow(Track track, const std::string &name,
                            const DeviceEvent &event) {
  auto found = open.find(track);
  if (found != open.end() && found->second.name == name) {
    found->second.end = std::max(found->second.end, event.end());
    return;
  }
  close(track, event.start);
  if (!name.empty())
    open[track] = {name, event.start, event.end()};
}

void PerfettoWriter::writeCollective(const Mapping &mapping,
                                     const CollectiveUse &use) {
  const DeviceEvent &event = mapping.trace->events[use.event];
  ordered_json args = {{"place", use.place},
                       {"told_apart_by", getName(use.basis)}};
  if (use.modelUs >= 0)
    args["model_us"] = use.modelUs;
  if (use.bytes() >= 0)
    args["bytes"] = use.bytes();
  if (use.paddingBytes() > 0)
    args["padding_bytes"] = use.paddingBytes();
  std::string kind = getName(use.work);
  if (use.wait > 0)
    slice(Collectives, kind + " waits", event.start, use.wait, "waiting", args);
  slice(Collectives, kind + " moves", event.start + use.wait, use.transfer(),
        "moving", args);
}

void PerfettoWriter::writeEvent(const Mapping &mapping, size_t i) {
  const DeviceTrace &trace = *mapping.trace;
  const DeviceEvent &event = trace.events[i];
  const Assignment &own = mapping.assignments[i];
  const ExpectedStep *step = own.isAssigned() ? mapping.mainStepOf(i) : nullptr;
  ordered_json args = {{"event", i}, {"role", getName(own.role)}};
  std::string pass, layer, module, boundary;
  if (step) {
    args["pass"] = own.pass;
    if (step->layer >= 0)
      args["layer"] = step->layer;
    args["module"] = step->module;
    args["place"] = step->place;
    const std::vector<ExpectedStep> &steps =
        mapping.programs[mapping.passes[own.pass].program].steps;
    args["steps"] = ordered_json::array();
    for (int32_t s = own.first; s <= own.last; ++s)
      if (!steps[s].id.empty())
        args["steps"].push_back(steps[s].id);
    if (!step->boundary.empty())
      args["boundary"] = step->boundary;
    pass = "pass " + std::to_string(own.pass);
    layer = step->layer < 0 ? "outside of layers"
                            : "layer " + std::to_string(step->layer);
    module = step->module;
    boundary = step->boundary;
  }
  args["certainty"] = getName(own.certainty);
  args["reason"] = mapping.explain(i);
  if (event.bytes >= 0)
    args["bytes"] = event.bytes;
  if (const HostOperator *op = trace.operatorOf(event)) {
    args["operator"] = op->name;
    args["dims"] = op->dims;
  }
  if (auto use = useOf.find(i); use != useOf.end()) {
    args["waiting_us"] = microseconds(use->second->wait);
    args["moving_us"] = microseconds(use->second->transfer());
  }
  if (step) {
    // A new layer ends what is open in it, though it may begin with the same.
    if (auto found = open.find(Layers);
        found == open.end() || found->second.name != layer)
      close(Modules, event.start);
    follow(Passes, pass, event);
    follow(Layers, layer, event);
    follow(Modules, module, event);
    follow(Boundaries, boundary, event);
  }
  slice(kFirstStream + event.stream, trace.nameOf(event), event.start,
        event.duration, getName(mapping.familyOf(i)), std::move(args));
  if (auto use = useOf.find(i); use != useOf.end())
    writeCollective(mapping, *use->second);
}

void PerfettoWriter::writeDevice(const Mapping &mapping, size_t number) {
  device = number;
  base = bases[clockOf(*mapping.trace)];
  useOf.clear();
  for (const CollectiveUse &use : uses)
    if (use.trace == number)
      useOf[use.event] = &use;
  writeNames(mapping);
  for (size_t i = 0; i < mapping.trace->events.size(); ++i)
    writeEvent(mapping, i);
  for (Track track : {Passes, Layers, Modules, Boundaries})
    close(track, std::numeric_limits<int64_t>::max());
}

void layline::trace::writePerfetto(
    const std::string &path, const std::vector<const Mapping *> &mappings,
    const std::vector<CollectiveUse> &collectives) {
  WholeFile file(path);
  PerfettoWriter writer(file, collectives);
  writer.begin(mappings);
  for (size_t number = 0; number < mappings.size(); ++number)
    writer.writeDevice(*mappings[number], number);
  writer.end();
  file.finish();
}
