//===- MappingParts.h - what a mapping is made by ---------------*- C++ -*-===//
#ifndef LAYLINE_LIB_TRACE_MAPPINGPARTS_H
#define LAYLINE_LIB_TRACE_MAPPINGPARTS_H

#include "Alignment.h"
#include "layline/Trace/Mapping.h"

namespace layline::trace {

/// Moves kernels that stand by order alone to where the same kernel stands in
/// the other layers, if nothing does that step.
void moveToUsualSteps(const Mapping &mapping, std::vector<Place> &places);

/// Cuts the aligned events into passes, with batches and rows.
void findPasses(Mapping &mapping, const std::vector<Place> &places);

/// Gives events that only prepare or move something to a step nearby. All
/// others have their places.
void placeAuxiliary(Mapping &mapping);

/// Moves those of a layer that a lost kernel has given another neighbour to
/// where the same event stands in the other layers.
void compareLayers(Mapping &mapping);

/// Steps without kernels, and which of the layers' numbers are sure.
void findMissing(Mapping &mapping, const std::vector<Place> &places);

/// Reasons and certainties of what does steps.
void findReasons(Mapping &mapping);

/// What is not as expected.
void findDeviations(Mapping &mapping);

/// "q_proj" of "layer.3.q_proj"; other places as they are.
std::string placeInLayer(const ExpectedStep &step);

} // namespace layline::trace

#endif // LAYLINE_LIB_TRACE_MAPPINGPARTS_H
