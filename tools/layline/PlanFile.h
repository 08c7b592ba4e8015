//===- PlanFile.h - the plan that a command is given ------------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_PLANFILE_H
#define LAYLINE_TOOLS_LAYLINE_PLANFILE_H

#include "Commands.h"
#include "layline/runtime.h"
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace layline::tool {

/// The file of a plan: DIR/plan.json, or DIR itself if it is no folder.
std::string planPath(const std::string &dir);

/// The plan of `dir`, after all checks of the runtime's loader. Otherwise
/// prints what is wrong, sets `exitCode`, and gives nothing.
std::optional<nlohmann::json> readCheckedPlan(const std::string &dir,
                                              int &exitCode);

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_PLANFILE_H
