//===- PlaceAuxiliary.cpp - copies and the like to steps ------------------===//
#include "MappingParts.h"
#include <algorithm>

using namespace layline::trace;

namespace {

class AuxiliaryPlacer {
public:
  explicit AuxiliaryPlacer(Mapping &mapping) : mapping(mapping) {}

  void run() {
    const size_t count = mapping.assignments.size();
    for (size_t i = 0; i < count;) {
      if (mapping.assignments[i].role != Role::Beside) {
        ++i;
        continue;
      }
      // All between two events that have a place.
      size_t end = i;
      while (end < count && !hasPlace(end))
        ++end;
      placeBetween(i, end);
      i = end;
    }
  }

private:
  bool hasPlace(size_t event) const {
    Role role = mapping.assignments[event].role;
    return role == Role::Does || role == Role::GoesOn;
  }

  const ExpectedStep &step(int32_t pass, int32_t number) const {
    return mapping.programs[mapping.passes[pass].program].steps[number];
  }

  void put(size_t event, int32_t pass, int32_t number, Reason reason,
           Certainty certainty) {
    Assignment &own = mapping.assignments[event];
    if (own.role != Role::Beside)
      return; // not known, or without a place: stays where it is
    own.pass = pass;
    own.first = own.last = number;
    own.reason = reason;
    own.certainty = certainty;
  }

  /// Events [begin, end) lie between two with a place, either of which may be
  /// missing.
  void placeBetween(size_t begin, size_t end) {
    bool hasBefore = begin > 0;
    bool hasBehind = end < mapping.assignments.size();
    int32_t passBefore = hasBefore ? mapping.assignments[begin - 1].pass : -1;
    int32_t passBehind = hasBehind ? mapping.assignments[end].pass : -1;
    if (hasBefore && hasBehind && passBefore == passBehind) {
      for (size_t i = begin; i < end; ++i)
        placeInside(i, begin, end);
      return;
    }
    size_t border = passBehind < 0   ? end
                    : passBefore < 0 ? begin
                                     : findBorder(begin, end);
    for (size_t i = begin; i < border; ++i)
      placeBehindLast(i, begin, passBefore);
    for (size_t i = border; i < end; ++i)
      placeBeforeFirst(i, end, passBehind);
    // Where a pass begins and ends.
    if (passBefore >= 0)
      mapping.passes[passBefore].endEvent = border;
    if (passBehind >= 0)
      mapping.passes[passBehind].firstEvent = border;
  }

  /// Between two passes: behind the last that samples, else in front of the
  /// first that prepares inputs.
  size_t findBorder(size_t begin, size_t end) const {
    for (size_t i = end; i-- > begin;)
      if (mapping.familyOf(i) == Family::Sampling)
        return i + 1;
    for (size_t i = begin; i < end; ++i) {
      Family family = mapping.familyOf(i);
      if (family == Family::StepInputs || family == Family::MemcpyHtoD)
        return i;
    }
    return end;
  }

  void placeBehindLast(size_t i, size_t begin, int32_t pass) {
    if (pass < 0)
      return;
    // A pass that was cut off goes on as inside.
    if (!mapping.passes[pass].hasEnd ||
        placeAtCollective(i, begin, mapping.assignments.size())) {
      if (mapping.assignments[i].reason == Reason::NoPattern)
        put(i, pass, mapping.assignments[begin - 1].last, Reason::MadeBefore,
            Certainty::Low);
      return;
    }
    int32_t last = static_cast<int32_t>(
        mapping.programs[mapping.passes[pass].program].steps.size() - 1);
    int32_t reads = findLostBehind(i, begin, pass);
    if (reads >= 0)
      put(i, pass, reads, Reason::ReadNext, Certainty::Low);
    else
      put(i, pass, last, Reason::BehindLast, Certainty::High);
  }

  /// Kernels that surely end a pass were lost: what picks rows directly behind
  /// the last that is left picked them for these. -1: nothing of the kind.
  int32_t findLostBehind(size_t i, size_t begin, int32_t pass) const {
    for (size_t k = begin; k <= i; ++k)
      if (Family family = mapping.familyOf(k);
          family != Family::Gather && family != Family::Copy)
        return -1;
    const std::vector<ExpectedStep> &steps =
        mapping.programs[mapping.passes[pass].program].steps;
    for (auto s = static_cast<size_t>(mapping.assignments[begin - 1].last) + 1;
         s < steps.size(); ++s)
      if (steps[s].weight >= 1)
        return static_cast<int32_t>(s);
    return -1;
  }

  void placeBeforeFirst(size_t i, size_t end, int32_t pass) {
    if (mapping.passes[pass].hasBegin) {
      put(i, pass, 0, Reason::StepInputs, Certainty::High);
    } else if (!placeAtCollective(i, end, end)) {
      put(i, pass, mapping.assignments[end].first, Reason::ReadNext,
          Certainty::Low);
    }
  }

  bool isCollectiveEvent(size_t event) const {
    const Assignment &own = mapping.assignments[event];
    return own.role == Role::Does &&
           isCollective(mapping.firstStepOf(event)->work);
  }

  /// Whether the event's bytes are those that the collective was called with.
  Reason stagingReason(size_t event, size_t collective) const {
    const DeviceEvent &copy = mapping.trace->events[event];
    const HostOperator *op =
        mapping.trace->operatorOf(mapping.trace->events[collective]);
    if (!op || copy.bytes <= 0)
      return Reason::Staging;
    int64_t elements = 1;
    if (op->collective)
      elements = op->collective->inElements;
    else if (!op->dims.empty())
      for (int64_t size : op->dims.front())
        elements *= size;
    return elements > 0 && copy.bytes % elements == 0 &&
                   copy.bytes / elements <= 8
               ? Reason::StagedSize
               : Reason::Staging;
  }

  /// Copies directly at a collective stage its data: symmetric memory is not
  /// where products write. One that follows a collective is its own; of
  /// several, all but the first belong to the collective behind them.
  bool placeAtCollective(size_t i, size_t begin, size_t end) {
    if (mapping.familyOf(i) != Family::MemcpyDtoD)
      return false;
    auto areCopies = [&](size_t from, size_t to) {
      for (size_t k = from; k < to; ++k)
        if (mapping.familyOf(k) != Family::MemcpyDtoD)
          return false;
      return true;
    };
    bool isBehind =
        begin > 0 && isCollectiveEvent(begin - 1) && areCopies(begin, i);
    bool isBefore = end < mapping.assignments.size() &&
                    isCollectiveEvent(end) && areCopies(i, end);
    if (!isBehind && !isBefore)
      return false;
    size_t at = isBehind && (!isBefore || i == begin) ? begin - 1 : end;
    const Assignment &own = mapping.assignments[at];
    Reason reason = stagingReason(i, at);
    put(i, own.pass, at < i ? own.last : own.first, reason,
        reason == Reason::StagedSize ? Certainty::High : Certainty::Medium);
    return true;
  }

  /// Between two steps of one pass.
  void placeInside(size_t i, size_t begin, size_t end) {
    if (placeAtCollective(i, begin, end))
      return;
    Family family = mapping.familyOf(i);
    const Assignment &before = mapping.assignments[begin - 1];
    const Assignment &behind = mapping.assignments[end];
    int32_t pass = before.pass;
    const ExpectedStep &made = step(pass, before.last);
    const ExpectedStep &reads = step(pass, behind.first);
    // The collective between may have been lost; its copies tell where it was.
    if (family == Family::MemcpyDtoD)
      for (int32_t s = before.last + 1; s < behind.first; ++s)
        if (isCollective(step(pass, s).work)) {
          put(i, pass, s, Reason::Staging, Certainty::Low);
          return;
        }
    bool worksOnMade = family == Family::GemmReduce ||
                       family == Family::Reduce ||
                       made.work == Work::Embedding ||
                       // What a gather gave is put in order.
                       (made.work == Work::AllGather &&
                        (family == Family::Copy || family == Family::Concat));
    if (worksOnMade) {
      put(i, pass, before.last, Reason::MadeBefore, Certainty::Medium);
      return;
    }
    int32_t target = behind.first;
    // Rows are quantised for what multiplies or sends them, not for what
    // stores or chooses. What is padded or copied at a router are the rows of
    // the experts: the router reads a product's own result.
    bool forExperts =
        reads.work == Work::Router &&
        (family == Family::Fill || family == Family::Copy ||
         family == Family::Quantize || family == Family::MemcpyDtoD);
    if (family == Family::Quantize || forExperts)
      target = findReader(pass, target, forExperts);
    put(i, pass, target, Reason::ReadNext, Certainty::Medium);
  }

  int32_t findReader(int32_t pass, int32_t from, bool forExperts) const {
    const std::vector<ExpectedStep> &steps =
        mapping.programs[mapping.passes[pass].program].steps;
    for (int32_t s = from; s < static_cast<int32_t>(steps.size()) &&
                           steps[s].layer == steps[from].layer;
         ++s) {
      Work work = steps[s].work;
      if (work == Work::Experts || work == Work::Dispatch ||
          (!forExperts && (work == Work::Product || work == Work::Attention ||
                           isCollective(work) || work == Work::Quantize)))
        return s;
    }
    return from;
  }

  Mapping &mapping;
};

} // namespace

void layline::trace::placeAuxiliary(Mapping &mapping) {
  AuxiliaryPlacer(mapping).run();
}
