// Texts that are no plan.
#include "PlanBuilder.h"
#include "TestEngine.h"

#include <catch2/catch.hpp>

using namespace layline::test;
using Catch::Matchers::Contains;

TEST_CASE("a plan cut short or with one byte changed never crashes", "[plan]") {
  PlanBuilder builder(2, 4);
  std::string table = builder.weight("t", {4, 2}, {nullptr, nullptr});
  builder.variant("v", 1, 4);
  std::string ids = builder.input("input_ids");
  std::string x = builder.buffer({"tokens", 2}, {nullptr, nullptr});
  builder.step("embedding", {{"ids", ids}, {"weight", table}, {"output", x}});
  builder.output("x", x);
  Json plan = builder.finish();
  REQUIRE(findings(plan) == "");
  std::string text = plan.dump();
  for (std::size_t length = 0; length < text.size(); ++length) {
    char *report = nullptr;
    layline_status status =
        layline_plan_check_memory(text.data(), length, "cut", &report);
    REQUIRE(status == LAYLINE_UNREADABLE_FILE);
    REQUIRE_THAT(report, Contains("'cut': not a JSON document"));
    layline_string_free(report);
  }
  for (std::size_t at = 0; at < text.size(); ++at)
    for (char byte : {'0', '9', '"', '[', '{', '-', 'x', '\0', '\xff'}) {
      std::string changed = text;
      changed[at] = byte;
      char *report = nullptr;
      layline_status status = layline_plan_check_memory(
          changed.data(), changed.size(), "changed", &report);
      REQUIRE(status != LAYLINE_INTERNAL);
      REQUIRE((status == LAYLINE_OK) == (*report == '\0'));
      layline_string_free(report);
    }
}

TEST_CASE("JSON beyond the grammar is refused", "[plan]") {
  auto check = [](const std::string &text) {
    char *report = nullptr;
    layline_plan_check_memory(text.data(), text.size(), "plan", &report);
    std::string result = report;
    layline_string_free(report);
    return result;
  };
  CHECK_THAT(check(R"({"a": 1, "a": 2})"), Contains("key 'a' stands twice"));
  CHECK_THAT(check(std::string(100000, '[')),
             Contains("nested deeper than 64"));
  CHECK_THAT(check("[1]"),
             Contains("document: is array; an object is expected"));
  CHECK_THAT(check(""), Contains("not a JSON document"));
}

TEST_CASE("a file that cannot be read is named", "[plan]") {
  char *report = nullptr;
  CHECK(layline_plan_check("/nowhere/plan.json", &report) ==
        LAYLINE_UNREADABLE_FILE);
  CHECK_THAT(report, Contains("'/nowhere/plan.json': cannot be opened"));
  layline_string_free(report);
  CHECK(layline_plan_check("/", &report) == LAYLINE_UNREADABLE_FILE);
  CHECK_THAT(report, Contains("is a directory"));
  layline_string_free(report);
}
