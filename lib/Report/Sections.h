//===- Sections.h - the page's numbers, by topic ----------------*- C++ -*-===//
#ifndef LAYLINE_LIB_REPORT_SECTIONS_H
#define LAYLINE_LIB_REPORT_SECTIONS_H

#include "PlanTexts.h"
#include "StepCost.h"

namespace layline::report {

/// A variant: its layers by what they do, each kind once.
ordered_json variantJSON(const PlanTexts &texts, size_t number,
                         StepCosts *costs, SiteBytes &bytes);

/// What a rank holds: weights by name, caches, arenas.
ordered_json memoryJSON(const PlanTexts &texts);

/// A run. What was left out to bound the page is added to `leftOut`.
ordered_json runJSON(const RecordedRun &run, ordered_json &leftOut);

/// The events of a pass of a rank, of as many of its layers as there is room
/// for.
ordered_json timelineJSON(const RecordedRun &run, size_t number, int32_t pass,
                          ordered_json &leftOut);

/// What the plan of the page would save of a run.
ordered_json budgetJSON(const trace::Budget &budget);

/// The page around the numbers.
std::string pageOf(const std::string &title, const ordered_json &numbers);

} // namespace layline::report

#endif // LAYLINE_LIB_REPORT_SECTIONS_H
