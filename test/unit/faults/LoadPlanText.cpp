//===- LoadPlanText.cpp - the runtime's loader as a net -------------------===//
#include "Nets.h"
#include "layline/runtime.h"

std::optional<std::string>
layline::test::loadPlanText(const std::string &text) {
  char *report = nullptr;
  layline_status status =
      layline_plan_check_memory(text.data(), text.size(), "plan.json", &report);
  std::string findings = report ? report : "";
  layline_string_free(report);
  if (status == LAYLINE_OK)
    return std::nullopt;
  return findings.empty() ? "refused without a finding" : findings;
}
