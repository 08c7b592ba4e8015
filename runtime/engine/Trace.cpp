#include "engine/Trace.h"

#include "plan/Error.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace layline::runtime {
namespace {

using Json = nlohmann::ordered_json;

struct Traffic {
  std::int64_t read = 0, written = 0;
};

/// Of an element as a run of this precision keeps it: in the plan's own type
/// only where the precision is that of the plan.
std::int64_t elementBytes(DType dtype, layline_precision precision) {
  constexpr std::int64_t kWidest = sizeof(float);
  if (isInteger(dtype))
    return sizeof(std::int64_t);
  switch (precision) {
  case LAYLINE_PRECISION_F64:
    return sizeof(double);
  case LAYLINE_PRECISION_BF16:
    return std::min(dtypeBytes(dtype), kWidest);
  default:
    return kWidest;
  }
}

/// Bytes of a step's operands on the rank of `environment`.
Traffic trafficOf(const Plan &plan, const Step &step,
                  const Environment &environment, layline_precision precision) {
  Traffic traffic;
  auto count = [&](const Operand &operand) {
    return elements(localShape(operand.shape, operand.layout, environment));
  };
  auto bytesOf = [&](const Operand &operand) {
    if (operand.of == Operand::Of::Table) {
      const RopeNumbers &numbers = plan.tables[operand.index].numbers;
      return static_cast<std::int64_t>(numbers.invFreq.size() * sizeof(double));
    }
    return count(operand) * elementBytes(operand.dtype, precision);
  };
  for (std::size_t a = 0; a < step.args.size(); ++a)
    for (const Operand &operand : step.args[a])
      (step.info().args[a].isOutput ? traffic.written : traffic.read) +=
          bytesOf(operand);
  // Not the whole of what they name: the new rows of a cache, the rows of a
  // table that the ids choose.
  if (step.kind == StepKind::CacheAppend)
    traffic.written = count(step.arg("input")) *
                      elementBytes(step.arg("cache").dtype, precision);
  if (step.kind == StepKind::Embedding)
    traffic.read = count(step.arg("output")) *
                       elementBytes(step.arg("weight").dtype, precision) +
                   bytesOf(step.arg("ids"));
  return traffic;
}

double microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

/// Names a process or a thread of the trace.
Json nameEvent(const char *what, std::int64_t rank, std::int64_t stream,
               const std::string &name) {
  Json event = {{"name", what}, {"ph", "M"}, {"pid", rank}};
  if (stream >= 0)
    event["tid"] = stream;
  event["args"] = {{"name", name}};
  return event;
}

} // namespace

void Trace::begin(std::int64_t ranks) {
  clear();
  ranks_.resize(static_cast<std::size_t>(ranks));
  start_ = std::chrono::steady_clock::now();
  isRecording_ = true;
}

void Trace::clear() {
  isRecording_ = false;
  runs_.clear();
  ranks_.clear();
}

void Trace::beginRun(const Variant &variant, std::int64_t tokens,
                     std::int64_t past) {
  runs_.push_back({&variant, tokens, past});
}

void Trace::write(std::ostream &out, const Plan &plan,
                  layline_precision precision) const {
  const char *separator = "\n";
  auto print = [&](const Json &event) {
    out << separator << event.dump();
    separator = ",\n";
  };
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    auto rank = static_cast<std::int64_t>(r);
    if (ranks_[r].empty()) // of another process, or it ran nothing
      continue;
    print(nameEvent("process_name", rank, -1, concat("rank ", rank)));
    for (std::size_t s = 0; s < plan.streams.size(); ++s)
      print(nameEvent("thread_name", rank, static_cast<std::int64_t>(s),
                      plan.streams[s]));
    std::vector<std::int64_t> coordinates = plan.coordinates(rank);
    std::vector<Part> parts;
    Environment environment;
    std::int64_t run = -1;
    for (const Event &event : ranks_[r]) {
      const Run &of = runs_[static_cast<std::size_t>(event.run)];
      if (event.run != run) {
        run = event.run;
        parts = plan.parts(of.tokens, coordinates);
        environment = {of.tokens, of.past, coordinates.data(), parts.data()};
      }
      const Step &step = *event.step;
      Traffic traffic = trafficOf(plan, step, environment, precision);
      print({{"name", step.place.empty() ? step.info().name : step.place},
             {"cat", step.info().name},
             {"ph", "X"},
             {"pid", rank},
             {"tid", step.stream},
             {"ts", microseconds(event.begin)},
             {"dur", microseconds(event.end - event.begin)},
             {"args",
              {{"step", step.id},
               {"variant", of.variant->id},
               {"run", event.run},
               {"tokens", of.tokens},
               {"past", of.past},
               {"bytes_read", traffic.read},
               {"bytes_written", traffic.written}}}});
    }
  }
  out << "\n]}\n";
}

} // namespace layline::runtime
