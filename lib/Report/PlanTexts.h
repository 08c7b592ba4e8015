//===- PlanTexts.h - what stands beside a plan ------------------*- C++ -*-===//
#ifndef LAYLINE_LIB_REPORT_PLANTEXTS_H
#define LAYLINE_LIB_REPORT_PLANTEXTS_H

#include "layline/Report/Report.h"
#include "plan/Plan.h"
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

namespace layline::report {

using nlohmann::ordered_json;

/// A plan with its sites and reasons, read and compared with one another.
struct PlanTexts {
  runtime::Plan plan;
  nlohmann::json document;                 ///< plan.json
  std::optional<nlohmann::json> decisions; ///< decisions.json
  std::optional<nlohmann::json> proof;     ///< proof.json
  /// By variant, places of the steps by id: (module, boundary).
  std::vector<std::map<std::string, trace::ExpectedStep>> steps;

  /// Token counts at which the variant is priced: ends and middle.
  std::vector<int64_t> pointsOf(size_t variant) const;
  /// The planner's prices of a variant at a count; null: there are none.
  const nlohmann::json *priceOf(size_t variant, int64_t tokens) const;
};

/// Throws ReportError.
PlanTexts readPlanTexts(const PlanFiles &files);

/// "@.o_proj" of "layer.3.o_proj" seen from layer 3, "@+1.input_norm" of the
/// next one's, so that layers that do the same read the same. From -1 and of
/// places outside of layers as it is.
std::string relativePlace(const std::string &place, int64_t layer);

/// Bytes that the rank sending most sends at `tokens`, of an expression of a
/// site. Throws ReportError.
class SiteBytes {
public:
  SiteBytes(const PlanTexts &texts, const std::string &file);
  int64_t get(const nlohmann::json &expression, int64_t tokens);

private:
  int64_t evaluate(const nlohmann::json &expression, int64_t tokens);
  const PlanTexts &texts;
  std::string file;
  std::map<std::pair<std::string, int64_t>, int64_t> known;
};

} // namespace layline::report

#endif // LAYLINE_LIB_REPORT_PLANTEXTS_H
