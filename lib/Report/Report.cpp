//===- Report.cpp - a plan and a run as one page --------------------------===//
#include "layline/Report/Report.h"
#include "Sections.h"
#include "plan/Error.h"

using namespace layline;
using namespace layline::report;
using nlohmann::json;

static ordered_json planJSON(const PlanTexts &texts) {
  const json &source = texts.document.at("source");
  const json &target = texts.document.at("target");
  ordered_json own = {{"config", source.value("config", "")},
                      {"digest", source.value("digest", "")},
                      {"model_type", source.value("model_type", "")},
                      {"layers", source.value("layers", 0)},
                      {"target", target.at("name")},
                      {"dtype", target.at("dtype")},
                      {"ranks", texts.plan.ranks()},
                      {"min", texts.plan.tokens.min},
                      {"max", texts.plan.tokens.max}};
  own["mesh"] = ordered_json::array();
  for (const runtime::Axis &axis : texts.plan.axes)
    own["mesh"].push_back({axis.name, axis.size});
  if (!texts.decisions)
    return own;
  own["template"] = texts.decisions->at("template");
  own["assumptions"] = texts.decisions->at("assumptions");
  own["replication"] = ordered_json::array();
  for (const json &chain : texts.decisions->at("replication"))
    own["replication"].push_back({{"chain", chain.at("chain")},
                                  {"count", chain.at("count")},
                                  {"split", chain.at("bytes_per_rank_split")},
                                  {"whole", chain.at("bytes_per_rank_whole")},
                                  {"taken", chain.at("taken")},
                                  {"reason", chain.at("reason")}});
  return own;
}

static ordered_json proofJSON(const PlanTexts &texts) {
  if (!texts.proof)
    return nullptr;
  ordered_json own = {{"digest", texts.proof->at("digest")},
                      {"proofs", ordered_json::array()}};
  // How long each took is left out: equal plans have equal pages.
  for (const json &proof : texts.proof->at("proofs"))
    own["proofs"].push_back({{"name", proof.at("name")},
                             {"holds", proof.at("holds")},
                             {"method", proof.at("method")},
                             {"covers", proof.at("covers")}});
  return own;
}

std::string layline::report::renderReport(const PlanFiles &files,
                                          const RecordedRun *run) {
  PlanTexts texts = readPlanTexts(files);
  ordered_json numbers = {{"schema", "layline.report"}, {"version", 1}};
  numbers["plan"] = planJSON(texts);
  // A plan for cards of another version's list has no estimates.
  std::string error;
  std::optional<CostModel> model = CostModel::create(
      {texts.document.at("target").at("name").get<std::string>(), "", "",
       LaunchMode::Graph},
      error);
  std::optional<StepCosts> costs;
  if (model)
    costs.emplace(texts.plan, *model);
  numbers["estimates"] = model ? ordered_json() : ordered_json(error);
  numbers["has_decisions"] = texts.decisions.has_value();
  SiteBytes bytes(texts, files.name);
  numbers["variants"] = ordered_json::array();
  try {
    for (size_t i = 0; i < texts.plan.variants.size(); ++i)
      numbers["variants"].push_back(
          variantJSON(texts, i, costs ? &*costs : nullptr, bytes));
    numbers["memory"] = memoryJSON(texts);
  } catch (const runtime::Error &failed) {
    throw ReportError(ReportError::Why::Refused,
                      "'" + files.name + "': " + failed.what());
  }
  numbers["proof"] = proofJSON(texts);
  ordered_json leftOut = ordered_json::array();
  numbers["run"] = run ? runJSON(*run, leftOut) : ordered_json();
  if (run && run->budget)
    numbers["budget"] = budgetJSON(*run->budget);
  else if (run && !run->noBudget.empty())
    numbers["budget"] = {{"refused", run->noBudget}};
  else
    numbers["budget"] = nullptr;
  numbers["left_out"] = std::move(leftOut);
  return pageOf(texts.document.at("source").value("config", "plan"), numbers);
}
