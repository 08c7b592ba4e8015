//===- FormSegments.h - stretches that are equal ----------------*- C++ -*-===//
#ifndef LAYLINE_LIB_PLANNING_FORMSEGMENTS_H
#define LAYLINE_LIB_PLANNING_FORMSEGMENTS_H

#include "FormIndex.h"

namespace layline {

/// Numbers of the segments, from 0 on: equal for segments in which equal states
/// at the start have equal outcomes. `live` are the values that are live when
/// each starts; ops with different labels are not alike (empty: all are).
std::vector<int> classifySegments(const FormGraph &graph,
                                  const FormIndex &index,
                                  const std::vector<std::vector<int>> &live,
                                  const std::vector<int> &labels);

} // namespace layline

#endif // LAYLINE_LIB_PLANNING_FORMSEGMENTS_H
