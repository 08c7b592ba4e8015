//===- PlanFile.cpp - the plan that a command is given --------------------===//
#include "PlanFile.h"
#include "WholeFiles.h"
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace layline::tool;
namespace fs = std::filesystem;

std::string layline::tool::planPath(const std::string &dir) {
  return fs::is_directory(dir) ? (fs::path(dir) / "plan.json").string() : dir;
}

ExitCode layline::tool::planFailure(layline_status status,
                                    const std::string &path) {
  if (status == LAYLINE_UNREADABLE_FILE)
    return Unusable;
  std::string error;
  std::optional<std::string> text = readFile(path, error);
  return text && nlohmann::json::accept(*text) ? Refused : Unusable;
}
