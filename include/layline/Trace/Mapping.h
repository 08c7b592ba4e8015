//===- Mapping.h - what each event of a run is in the plan ------*- C++ -*-===//
#ifndef LAYLINE_TRACE_MAPPING_H
#define LAYLINE_TRACE_MAPPING_H

#include "layline/Trace/ExpectedProgram.h"

namespace layline::trace {

enum class Certainty : uint8_t { Low, Medium, High };
const char *getName(Certainty certainty); ///< "low", ...

/// What an event has to do with the plan.
enum class Role : uint8_t {
  Does,   ///< does steps of the plan
  GoesOn, ///< another kernel of the step that the one before began
  Beside, ///< prepares or moves what a step works on
  Extra,  ///< its kind is known, but nothing of the kind is expected there
  Unknown ///< its kind is not known
};
const char *getName(Role role); ///< "does", ...

/// Why an event was given its place.
enum class Reason : uint8_t {
  Sizes,      ///< the operator's dimensions are the step's
  OnlyKind,   ///< nothing else of a layer is of this kind
  Period,     ///< by order, and the same kernel stands there in other layers
  Order,      ///< by order alone
  GoesOn,     ///< the step has several kernels
  Staging,    ///< a copy directly before or behind a collective
  StagedSize, ///< the same, and it copies as many bytes
  ReadNext,   ///< made for the step behind it
  MadeBefore, ///< works on what the step in front of it made
  StepInputs, ///< before the first step of a pass
  BehindLast, ///< behind the last step of a pass
  NoPlace,    ///< nothing of its kind is expected there
  NoPattern   ///< its name matches no pattern
};

struct Assignment {
  Role role = Role::Unknown;
  Reason reason = Reason::NoPattern;
  Certainty certainty = Certainty::Low;
  /// Steps in front of it have no kernel: it might be one of them.
  bool besideGap = false;
  int32_t pass = -1; ///< index of Mapping::passes; -1: of none
  /// Steps of the pass's program; Extra and Unknown: behind which it stands.
  int32_t first = -1, last = -1;
  /// Reason::Period: layers that have the same kernel there, of how many.
  int32_t agrees = 0, layers = 0;

  bool isAssigned() const { return role <= Role::Beside; }
};

/// One forward pass of an engine over a batch.
struct ForwardPass {
  int32_t program = -1; ///< index of Mapping::programs
  size_t firstEvent = 0, endEvent = 0;
  std::optional<BatchComposition> batch; ///< if an annotation says so
  /// Rows: of the batch, or what products were called with; -1: not known.
  int64_t tokens = -1;
  /// Whether the recording has its begin and its end.
  bool hasBegin = false, hasEnd = false;
  /// Nothing fixes the numbers of its layers: it has neither begin nor end, or
  /// whole layers are missing inside.
  bool layersUnsure = false;
  int64_t layersSeen = 0;       ///< with at least one kernel
  std::vector<int32_t> missing; ///< expected steps without a kernel
};

/// Something that is not as the plan and the other layers say.
struct Deviation {
  enum class Kind {
    CutBegin,     ///< the pass begins before the recording
    CutEnd,       ///< the pass goes on behind the recording
    Missing,      ///< expected steps without a kernel
    LayersAbsent, ///< whole layers without a kernel inside a pass
    Count,        ///< more or fewer kernels of a kind than other layers have
    Extra,        ///< kernels without a place
  };
  Kind kind;
  int32_t pass = -1;
  int64_t layer = -1; ///< -1: of none
  int64_t count = 0;  ///< of steps, layers or kernels
  std::string text;   ///< for people
};
const char *getName(Deviation::Kind kind); ///< "cut_begin", ...

/// Kernels that come again and again.
struct Period {
  size_t events = 0;  ///< 0: none was found
  size_t repeats = 0; ///< full ones
  size_t begin = 0, end = 0;
};
/// The shortest period of a sequence that most of it has.
Period findPeriod(const std::vector<Family> &families);

struct Mapping {
  const DeviceTrace *trace = nullptr;
  std::vector<ExpectedProgram> programs;
  std::vector<KernelFamilies::Match> names; ///< by index of trace->names
  std::vector<Assignment> assignments;      ///< by event
  std::vector<ForwardPass> passes;
  std::vector<Deviation> deviations;
  Period period;

  Family familyOf(size_t event) const {
    return names[trace->events[event].name].family;
  }
  /// The step that it does last, works for, or stands behind; null: none.
  const ExpectedStep *stepOf(size_t event) const;
  /// The first of the steps that it does.
  const ExpectedStep *firstStepOf(size_t event) const;
  /// The step that it is named by: a norm that adds first is the norm, a kernel
  /// that begins with a collective is the collective.
  const ExpectedStep *mainStepOf(size_t event) const;
  /// For people: why it stands there and how sure that is.
  std::string explain(size_t event) const;
  int64_t timeOf(Role role) const; ///< ns
  /// Expected steps without a kernel and kernels without a place, as a part of
  /// all that is expected: above a third the plan is not that of this run.
  double misfit() const;
};

/// Maps a device's events to the programs of a plan. The trace must outlive the
/// mapping.
Mapping mapTrace(const DeviceTrace &trace, const KernelFamilies &families,
                 std::vector<ExpectedProgram> programs);

} // namespace layline::trace

#endif // LAYLINE_TRACE_MAPPING_H
