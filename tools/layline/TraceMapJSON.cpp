//===- TraceMapJSON.cpp - a mapping for programs --------------------------===//
#include "TextTable.h"
#include "TraceMapReport.h"
#include <sstream>

using namespace layline;
using namespace layline::tool;
using nlohmann::ordered_json;

static ordered_json orNull(int64_t number) {
  return number < 0 ? ordered_json() : ordered_json(number);
}

static ordered_json passJSON(const trace::Mapping &mapping, size_t number) {
  const trace::ForwardPass &pass = mapping.passes[number];
  const trace::ExpectedProgram &program = mapping.programs[pass.program];
  ordered_json json = {{"variant", program.variant},
                       {"order", program.order},
                       {"first_event", pass.firstEvent},
                       {"events", pass.endEvent - pass.firstEvent},
                       {"tokens", orNull(pass.tokens)}};
  if (pass.batch)
    json["batch"] = {{"prefill_requests", pass.batch->prefillRequests},
                     {"prefill_tokens", pass.batch->prefillTokens},
                     {"decode_requests", pass.batch->decodeRequests},
                     {"decode_tokens", pass.batch->decodeTokens}};
  json["has_begin"] = pass.hasBegin;
  json["has_end"] = pass.hasEnd;
  json["layers_sure"] = !pass.layersUnsure;
  json["layers"] = pass.layersSeen;
  json["layers_expected"] = program.layers;
  json["missing"] = ordered_json::array();
  for (int32_t step : pass.missing)
    json["missing"].push_back({{"step", program.steps[step].id},
                               {"place", program.steps[step].place},
                               {"kind", program.steps[step].kind}});
  return json;
}

static ordered_json eventJSON(const trace::Mapping &mapping, size_t i) {
  const trace::DeviceEvent &event = mapping.trace->events[i];
  const trace::Assignment &own = mapping.assignments[i];
  ordered_json json = {{"event", i},
                       {"start_ns", event.start},
                       {"ns", event.duration},
                       {"stream", event.stream},
                       {"name", mapping.trace->nameOf(event)},
                       {"family", getName(mapping.familyOf(i))},
                       {"bytes", orNull(event.bytes)},
                       {"role", getName(own.role)}};
  const trace::ExpectedStep *step = mapping.mainStepOf(i);
  if (step && own.isAssigned()) {
    const std::vector<trace::ExpectedStep> &steps =
        mapping.programs[mapping.passes[own.pass].program].steps;
    json["pass"] = own.pass;
    json["layer"] = orNull(step->layer);
    json["module"] = step->module;
    json["place"] = step->place;
    json["boundary"] = step->boundary;
    json["steps"] = ordered_json::array();
    for (int32_t s = own.first; s <= own.last; ++s)
      if (!steps[s].id.empty())
        json["steps"].push_back(steps[s].id);
  }
  json["certainty"] = getName(own.certainty);
  json["reason"] = mapping.explain(i);
  return json;
}

static ordered_json collectiveJSON(const trace::CollectiveUse &use) {
  ordered_json json = {{"event", use.event},
                       {"pass", use.pass},
                       {"place", use.place},
                       {"kind", getName(use.work)},
                       {"fused", use.isFused},
                       {"elements", orNull(use.elements)},
                       {"bytes", orNull(use.bytes())},
                       {"ranks", orNull(use.ranks)},
                       {"ns", use.duration},
                       {"wait_ns", use.wait},
                       {"transfer_ns", use.transfer()},
                       {"basis", getName(use.basis)}};
  if (use.modelUs >= 0) {
    json["model_us"] = use.modelUs;
    json["model_source"] = use.modelSource;
  }
  json["moved_columns"] = orNull(use.movedColumns);
  json["needed_columns"] = orNull(use.neededColumns);
  json["padding_bytes"] = use.paddingBytes();
  return json;
}

std::string layline::tool::toJSON(const MappedRun &run) {
  ordered_json json = {{"schema", "layline.trace_map"},
                       {"version", 1},
                       {"devices", ordered_json::array()}};
  for (size_t number = 0; number < run.mappings.size(); ++number) {
    const trace::Mapping &mapping = run.mappings[number];
    ordered_json device = deviceJSON(*mapping.trace);
    device["period"] = {{"events", mapping.period.events},
                        {"repeats", mapping.period.repeats},
                        {"begin", mapping.period.begin},
                        {"end", mapping.period.end}};
    device["misfit"] = mapping.misfit();
    device["time_ns"] = ordered_json::object();
    for (trace::Role role :
         {trace::Role::Does, trace::Role::GoesOn, trace::Role::Beside,
          trace::Role::Extra, trace::Role::Unknown})
      device["time_ns"][getName(role)] = mapping.timeOf(role);
    device["shares"] = sharesJSON(*mapping.trace, mapping.names);
    device["passes"] = ordered_json::array();
    for (size_t i = 0; i < mapping.passes.size(); ++i)
      device["passes"].push_back(passJSON(mapping, i));
    device["deviations"] = ordered_json::array();
    for (const trace::Deviation &deviation : mapping.deviations)
      device["deviations"].push_back({{"kind", getName(deviation.kind)},
                                      {"pass", orNull(deviation.pass)},
                                      {"layer", orNull(deviation.layer)},
                                      {"count", deviation.count},
                                      {"text", deviation.text}});
    device["collectives"] = ordered_json::array();
    for (const trace::CollectiveUse &use : run.collectives)
      if (use.trace == number)
        device["collectives"].push_back(collectiveJSON(use));
    device["kernels"] = ordered_json::array();
    for (size_t i = 0; i < mapping.assignments.size(); ++i)
      device["kernels"].push_back(eventJSON(mapping, i));
    json["devices"].push_back(std::move(device));
  }
  return json.dump(1) + "\n";
}

std::string layline::tool::toCsv(const MappedRun &run) {
  std::ostringstream os;
  os << "file,device,event,start_us,us,stream,family,role,pass,layer,module,"
        "place,boundary,steps,certainty,reason,name\n";
  for (const trace::Mapping &mapping : run.mappings) {
    int64_t begin =
        mapping.trace->events.empty() ? 0 : mapping.trace->events.front().start;
    for (size_t i = 0; i < mapping.assignments.size(); ++i) {
      const trace::DeviceEvent &event = mapping.trace->events[i];
      const trace::Assignment &own = mapping.assignments[i];
      os << quoteCsv(mapping.trace->file) << ',' << mapping.trace->device << ','
         << i << ',' << formatMicroseconds(event.start - begin) << ','
         << formatMicroseconds(event.duration) << ',' << event.stream << ','
         << getName(mapping.familyOf(i)) << ',' << getName(own.role) << ',';
      const trace::ExpectedStep *step = mapping.mainStepOf(i);
      if (step && own.isAssigned()) {
        os << own.pass << ',';
        if (step->layer >= 0)
          os << step->layer;
        os << ',' << step->module << ',' << step->place << ',' << step->boundary
           << ',';
        const std::vector<trace::ExpectedStep> &steps =
            mapping.programs[mapping.passes[own.pass].program].steps;
        for (int32_t s = own.first; s <= own.last; ++s)
          os << (s > own.first ? " " : "") << steps[s].id;
      } else {
        os << ",,,,,";
      }
      os << ',' << getName(own.certainty) << ',' << quoteCsv(mapping.explain(i))
         << ',' << quoteCsv(mapping.trace->nameOf(event)) << "\n";
    }
  }
  return os.str();
}
