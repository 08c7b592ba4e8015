//===- StepOrder.cpp - which steps are certain to have finished -----------===//
#include "StepOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace layline;
using namespace layline::launch;

LogicalResult StepOrder::build(ArrayRef<StepOp> steps) {
  for (StepOp step : steps) {
    if (!step.getStreamAttr())
      return step.emitOpError("\"") << step.getId() << "\" is on no stream";
    auto *found = llvm::find(streams, step.getStreamAttr());
    streamOf.push_back(found - streams.begin());
    if (found == streams.end())
      streams.push_back(step.getStreamAttr());
  }
  llvm::StringMap<int> signallers;
  std::vector<int> lastOf(streams.size(), -1);
  clocks.assign(steps.size() * streams.size(), -1);
  for (int at = 0, e = steps.size(); at < e; ++at) {
    StepOp step = steps[at];
    int *clock = &clocks[at * streams.size()];
    auto join = [&](int earlier) {
      for (size_t s = 0; s < streams.size(); ++s)
        clock[s] = std::max(clock[s], clocks[earlier * streams.size() + s]);
    };
    if (int last = std::exchange(lastOf[streamOf[at]], at); last >= 0)
      join(last);
    if (step.getWaits())
      for (StringRef event : step.getWaits()->getAsValueRange<StringAttr>()) {
        auto signaller = signallers.find(event);
        if (signaller == signallers.end())
          return step.emitOpError("\"")
                 << step.getId() << "\" waits for the event \"" << event
                 << "\", which no step before it signals";
        join(signaller->second);
      }
    clock[streamOf[at]] = at;
    if (step.getSignals())
      for (StringRef event : step.getSignals()->getAsValueRange<StringAttr>())
        if (auto [first, isNew] = signallers.try_emplace(event, at); !isNew) {
          InFlightDiagnostic diag = step.emitOpError("\"")
                                    << step.getId() << "\" signals the event \""
                                    << event
                                    << "\", which another step signals";
          StepOp earlier = steps[first->second];
          diag.attachNote(earlier.getLoc()) << "it is signalled here";
          return diag;
        }
  }
  return success();
}
