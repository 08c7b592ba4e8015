//===- Mapping.cpp - what each event of a run is in the plan --------------===//
#include "layline/Trace/Mapping.h"
#include "MappingParts.h"
#include <algorithm>

using namespace layline::trace;

const char *layline::trace::getName(Certainty certainty) {
  static constexpr const char *names[] = {"low", "medium", "high"};
  return names[static_cast<size_t>(certainty)];
}

const char *layline::trace::getName(Role role) {
  static constexpr const char *names[] = {"does", "goes_on", "beside", "extra",
                                          "unknown"};
  return names[static_cast<size_t>(role)];
}

const char *layline::trace::getName(Deviation::Kind kind) {
  static constexpr const char *names[] = {"cut_begin",    "cut_end",
                                          "missing",      "layers_absent",
                                          "kernel_count", "extra"};
  return names[static_cast<size_t>(kind)];
}

std::string layline::trace::placeInLayer(const ExpectedStep &step) {
  if (step.layer < 0)
    return step.place;
  size_t dot = step.place.find('.', 6);
  return dot == std::string::npos ? step.place : step.place.substr(dot + 1);
}

const ExpectedStep *Mapping::stepOf(size_t event) const {
  const Assignment &own = assignments[event];
  return own.pass < 0 || own.last < 0
             ? nullptr
             : &programs[passes[own.pass].program].steps[own.last];
}

const ExpectedStep *Mapping::firstStepOf(size_t event) const {
  const Assignment &own = assignments[event];
  return own.pass < 0 || own.first < 0
             ? nullptr
             : &programs[passes[own.pass].program].steps[own.first];
}

const ExpectedStep *Mapping::mainStepOf(size_t event) const {
  const ExpectedStep *first = firstStepOf(event), *last = stepOf(event);
  return first && !isCollective(first->work) && last->work == Work::Norm
             ? last
             : first;
}

std::string Mapping::explain(size_t event) const {
  const Assignment &own = assignments[event];
  std::string text;
  switch (own.reason) {
  case Reason::Sizes:
    text = "the dimensions of its operator are those of the step";
    break;
  case Reason::OnlyKind:
    text = "nothing else of a layer is of this kind";
    break;
  case Reason::Period:
    text = "by order; the same kernel stands there in " +
           std::to_string(own.agrees) + " of " + std::to_string(own.layers) +
           " layers";
    break;
  case Reason::Order:
    text = "by order alone";
    break;
  case Reason::GoesOn:
    text = "goes on with the step that the kernel before it began";
    break;
  case Reason::Staging:
    text = "a copy directly at a collective";
    break;
  case Reason::StagedSize:
    text = "a copy directly at a collective, of as many bytes";
    break;
  case Reason::ReadNext:
    text = "makes what the next step reads";
    break;
  case Reason::MadeBefore:
    text = "works on what the step before made";
    break;
  case Reason::StepInputs:
    text = "before the first step of the pass";
    break;
  case Reason::BehindLast:
    text = "behind the last step of the pass";
    break;
  case Reason::NoPlace:
    text = "nothing of this kind is expected here";
    break;
  case Reason::NoPattern:
    text = "no pattern matches its name";
    break;
  }
  if (own.isAssigned() && own.pass >= 0 && passes[own.pass].layersUnsure &&
      stepOf(event)->layer >= 0)
    text += "; the number of the layer is not sure";
  if (own.besideGap)
    text += "; expected kernels in front of it are missing";
  return text;
}

int64_t Mapping::timeOf(Role role) const {
  int64_t sum = 0;
  for (size_t event = 0; event < assignments.size(); ++event)
    if (assignments[event].role == role)
      sum += trace->events[event].duration;
  return sum;
}

double Mapping::misfit() const {
  double missing = 0, expected = 0;
  for (const ForwardPass &pass : passes)
    for (int32_t step : pass.missing)
      missing += programs[pass.program].steps[step].weight;
  for (const Assignment &own : assignments) {
    if (own.role == Role::Does)
      for (int32_t step = own.first; step <= own.last; ++step)
        expected += programs[passes[own.pass].program].steps[step].weight;
    else if (own.role == Role::Extra)
      missing += 1;
  }
  return missing + expected == 0 ? 1 : missing / (missing + expected);
}

Mapping layline::trace::mapTrace(const DeviceTrace &trace,
                                 const KernelFamilies &families,
                                 std::vector<ExpectedProgram> programs) {
  Mapping mapping;
  mapping.trace = &trace;
  mapping.programs = std::move(programs);
  mapping.names = families.classify(trace);
  std::vector<Family> byEvent;
  byEvent.reserve(trace.events.size());
  for (const DeviceEvent &event : trace.events)
    byEvent.push_back(mapping.names[event.name].family);
  mapping.period = findPeriod(byEvent);
  std::vector<Place> places = align(mapping.programs, trace, byEvent);
  moveToUsualSteps(mapping, places);
  mapping.assignments.resize(trace.events.size());
  findPasses(mapping, places);
  findMissing(mapping, places);
  placeAuxiliary(mapping);
  compareLayers(mapping);
  findReasons(mapping);
  findDeviations(mapping);
  return mapping;
}
