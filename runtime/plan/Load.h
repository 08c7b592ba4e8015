// Text to a checked Plan: everything between a file and an engine.
#ifndef LAYLINE_RUNTIME_PLAN_LOAD_H
#define LAYLINE_RUNTIME_PLAN_LOAD_H

#include "plan/Error.h"
#include "plan/Plan.h"
#include "json/ReadFile.h"

#include <string>
#include <string_view>
#include <vector>

namespace layline::runtime {

struct LoadedPlan {
  layline_status status = LAYLINE_OK;
  /// What is wrong, one line each, each beginning with the file.
  std::vector<std::string> findings;
  Plan plan; ///< valid if there are no findings
};

/// Never throws for a bad plan.
LoadedPlan loadPlan(std::string_view text, const std::string &name);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_PLAN_LOAD_H
