//===- Report.h - a plan and a run as one page for people -------*- C++ -*-===//
//
// One HTML file that needs nothing else: its numbers are embedded as JSON, its
// style and scripts as text. Equal inputs give equal bytes. docs/report.md says
// what each section shows and where its numbers come from.
//
//===----------------------------------------------------------------------===//
#ifndef LAYLINE_REPORT_REPORT_H
#define LAYLINE_REPORT_REPORT_H

#include "layline/Trace/Budget.h"
#include <stdexcept>
#include <string>
#include <vector>

namespace layline::report {

/// An input that cannot be shown. The text begins with the file and says where,
/// what was found and what was expected.
class ReportError : public std::runtime_error {
public:
  enum class Why {
    Unreadable, ///< it is no such file, or a part of one
    Refused     ///< a good file, but not of this plan
  };
  ReportError(Why why, const std::string &text)
      : std::runtime_error(text), why(why) {}
  Why why;
};

/// What `layline compile` wrote: names are for messages, texts are whole files.
struct PlanFiles {
  std::string name; ///< "plan/plan.json"
  std::string plan;
  /// Empty where there is none: the page then says so.
  std::string decisions, proof;
};

/// A run on a plan, every rank of it that was recorded. What is pointed to
/// outlives the report.
struct RecordedRun {
  /// What it was mapped onto: "this plan", "gpt-oss-120b.json at TP 8 in plain
  /// tensor parallelism".
  std::string mappedOnto;
  std::vector<const trace::Mapping *> mappings; ///< not empty
  const std::vector<trace::CollectiveUse> *collectives = nullptr;
  /// Of the run against the plan that is shown; null: there is none. If one
  /// was asked for and cannot be made, why.
  const trace::Budget *budget = nullptr;
  std::string noBudget;
};

/// The page. `run` may be null. Throws ReportError.
std::string renderReport(const PlanFiles &files, const RecordedRun *run);

} // namespace layline::report

#endif // LAYLINE_REPORT_REPORT_H
