//===- PlanFile.cpp - the plan that a command is given --------------------===//
#include "PlanFile.h"
#include "WholeFiles.h"
#include <filesystem>
#include <iostream>

using namespace layline::tool;
namespace fs = std::filesystem;

std::string layline::tool::planPath(const std::string &dir) {
  return fs::is_directory(dir) ? (fs::path(dir) / "plan.json").string() : dir;
}

std::optional<nlohmann::json>
layline::tool::readCheckedPlan(const std::string &dir, int &exitCode) {
  std::string path = planPath(dir), error;
  std::optional<std::string> text = readFile(path, error);
  if (!text) {
    std::cerr << error << "\n";
    exitCode = Unusable;
    return std::nullopt;
  }
  char *report = nullptr;
  layline_status status = layline_plan_check_memory(text->data(), text->size(),
                                                    path.c_str(), &report);
  std::string findings = report ? report : "";
  layline_string_free(report);
  if (status == LAYLINE_OK)
    return nlohmann::json::parse(*text);
  std::cerr << findings
            << (findings.empty() || findings.back() == '\n' ? "" : "\n");
  exitCode = status == LAYLINE_UNREADABLE_FILE ? Unusable : Refused;
  return std::nullopt;
}
