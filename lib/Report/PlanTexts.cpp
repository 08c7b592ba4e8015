//===- PlanTexts.cpp - what stands beside a plan --------------------------===//
#include "PlanTexts.h"
#include "layline/Support/PlaceName.h"
#include "plan/Load.h"
#include "plan/Parse.h"
#include "json/StrictJson.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

using namespace layline;
using namespace layline::report;
using nlohmann::json;
using runtime::Cursor;
using Why = ReportError::Why;

static json parseJson(const std::string &text, const std::string &name) {
  json document;
  std::string error;
  if (!runtime::parseStrictJson(text, document, error))
    throw ReportError(Why::Unreadable, "'" + name + "': " + error);
  return document;
}

/// "plan/proof.json" of "plan/plan.json".
static std::string beside(const PlanFiles &files, const char *name) {
  return (std::filesystem::path(files.name).parent_path() / name).string();
}

[[noreturn]] static void refuse(const std::string &file,
                                const std::string &text) {
  throw ReportError(Why::Refused, "'" + file + "': " + text);
}

static void checkSchema(const json &document, const std::string &file,
                        const char *schema) {
  Cursor root(document);
  if (!document.is_object())
    root.fail("is ", document.type_name(), "; an object is expected");
  if (root.at("schema").string() != schema)
    root.at("schema").fail("is '", root.at("schema").string(), "'; '", schema,
                           "' is expected");
  if (std::int64_t major = root.at("version").at("major").integer(); major != 1)
    refuse(file, "version.major: is " + std::to_string(major) +
                     "; this reader knows 1");
}

static bool isList(const Cursor &at) {
  if (!at.json().is_array())
    at.fail("is ", at.json().type_name(), "; a list is expected");
  return true;
}

/// Every member that the page reads, so that what is wrong is told by its place
/// before anything is made of it.
static void checkDecisions(const json &document, const PlanTexts &texts,
                           const std::string &file) {
  checkSchema(document, file, "layline.decisions");
  Cursor root(document);
  root.at("template").string();
  Cursor assumptions = root.at("assumptions");
  for (size_t i = 0; isList(assumptions) && i < assumptions.size(); ++i)
    assumptions.at(i).string();
  Cursor variants = root.at("variants");
  isList(variants);
  if (variants.size() != texts.plan.variants.size())
    refuse(file, "variants: found " + std::to_string(variants.size()) +
                     ", the plan has " +
                     std::to_string(texts.plan.variants.size()) +
                     ": these decisions are another plan's");
  for (size_t i = 0; i < variants.size(); ++i) {
    const runtime::Variant &own = texts.plan.variants[i];
    Cursor variant = variants.at(i), tokens = variant.at("tokens");
    variant.at("reason").string();
    if (!isList(tokens) || tokens.size() != 2)
      tokens.fail("has ", tokens.size(), " entries; 2 are expected");
    if (variant.at("id").string() != own.id ||
        tokens.at(size_t{0}).integer() != own.minTokens ||
        tokens.at(1).integer() != own.maxTokens)
      refuse(file, variant.path() + ": is not variant '" + own.id + "' of " +
                       std::to_string(own.minTokens) + " to " +
                       std::to_string(own.maxTokens) +
                       " tokens of the plan: these decisions are another "
                       "plan's");
  }
  Cursor prices = root.at("prices");
  for (size_t i = 0; isList(prices) && i < prices.size(); ++i) {
    Cursor price = prices.at(i);
    price.at("variant").string();
    price.at("tokens").integer();
    price.at("confidence").string();
    for (const char *name :
         {"today_us", "unfused_us", "chosen_us", "products_us"})
      price.at(name).number();
    for (const char *name :
         {"phases", "phases_today", "launches", "launches_today"})
      price.at(name).integer();
    Cursor sites = price.at("sites");
    if (!sites.json().is_object())
      sites.fail("is ", sites.json().type_name(), "; an object is expected");
    for (const auto &[id, site] : sites.json().items()) {
      Cursor entry = sites.at(id.c_str());
      for (const auto &[name, value] : site.items())
        if (name.size() > 3 && name.compare(name.size() - 3, 3, "_us") == 0)
          entry.at(name.c_str()).number();
        else
          entry.at(name.c_str()).string();
    }
  }
  Cursor chains = root.at("replication");
  for (size_t i = 0; isList(chains) && i < chains.size(); ++i) {
    for (const char *name : {"chain", "reason"})
      chains.at(i).at(name).string();
    for (const char *name :
         {"count", "bytes_per_rank_split", "bytes_per_rank_whole"})
      chains.at(i).at(name).integer();
    chains.at(i).at("taken").boolean();
  }
}

static void checkProof(const json &document, const PlanTexts &texts,
                       const std::string &file) {
  checkSchema(document, file, "layline.proof");
  Cursor root(document), proofs = root.at("proofs");
  for (size_t i = 0; isList(proofs) && i < proofs.size(); ++i) {
    for (const char *name : {"name", "method", "covers"})
      proofs.at(i).at(name).string();
    proofs.at(i).at("holds").boolean();
  }
  std::string digest = root.at("digest").string();
  const json named = texts.document.value("proof", json::object());
  if (named.contains("digest") && named.at("digest") != digest)
    refuse(file, "digest: is " + digest + ", the plan names " +
                     named.at("digest").dump() +
                     ": this is another plan's proof");
}

PlanTexts layline::report::readPlanTexts(const PlanFiles &files) {
  runtime::LoadedPlan loaded = runtime::loadPlan(files.plan, files.name);
  if (!loaded.findings.empty()) {
    std::string text;
    for (const std::string &finding : loaded.findings)
      text += (text.empty() ? "" : "\n") + finding;
    throw ReportError(loaded.status == LAYLINE_UNREADABLE_FILE ? Why::Unreadable
                                                               : Why::Refused,
                      text);
  }
  PlanTexts texts;
  texts.plan = std::move(loaded.plan);
  texts.document = parseJson(files.plan, files.name);
  std::vector<trace::ExpectedProgram> programs =
      trace::expectPrograms(files.plan, files.name);
  for (const runtime::Variant &variant : texts.plan.variants) {
    std::map<std::string, trace::ExpectedStep> &steps =
        texts.steps.emplace_back();
    for (const trace::ExpectedProgram &program : programs)
      if (program.variant == variant.id && program.order == "plan")
        for (const trace::ExpectedStep &step : program.steps)
          steps.try_emplace(step.id, step);
  }
  auto read = [&](const std::string &text, const char *name, auto check) {
    std::string file = beside(files, name);
    json document = parseJson(text, file);
    try {
      check(document, texts, file);
    } catch (const runtime::Error &error) {
      throw ReportError(Why::Unreadable, "'" + file + "': " + error.what());
    }
    return document;
  };
  if (!files.decisions.empty())
    texts.decisions = read(files.decisions, "decisions.json", checkDecisions);
  if (!files.proof.empty())
    texts.proof = read(files.proof, "proof.json", checkProof);
  return texts;
}

std::vector<int64_t> PlanTexts::pointsOf(size_t variant) const {
  const runtime::Variant &own = plan.variants[variant];
  std::set<int64_t> points;
  if (decisions)
    for (const json &price : decisions->at("prices"))
      if (price.at("variant") == own.id)
        points.insert(price.at("tokens").get<int64_t>());
  if (points.empty())
    points = {own.minTokens,
              std::llround(std::sqrt(static_cast<double>(own.minTokens) *
                                     static_cast<double>(own.maxTokens))),
              own.maxTokens};
  return {points.begin(), points.end()};
}

const json *PlanTexts::priceOf(size_t variant, int64_t tokens) const {
  if (decisions)
    for (const json &price : decisions->at("prices"))
      if (price.at("variant") == plan.variants[variant].id &&
          price.at("tokens") == tokens)
        return &price;
  return nullptr;
}

std::string layline::report::relativePlace(const std::string &place,
                                           int64_t layer) {
  PlaceName name = parsePlaceName(place);
  if (layer < 0 || name.layer < 0)
    return place;
  int64_t by = name.layer - layer;
  std::string prefix = "@";
  if (by != 0)
    prefix += (by > 0 ? "+" : "") + std::to_string(by);
  return prefix + "." + std::string(name.name);
}

SiteBytes::SiteBytes(const PlanTexts &texts, const std::string &file)
    : texts(texts), file(file) {}

int64_t SiteBytes::get(const json &expression, int64_t tokens) {
  auto [found, isNew] = known.try_emplace({expression.dump(), tokens}, 0);
  if (isNew)
    found->second = evaluate(expression, tokens);
  return found->second;
}

int64_t SiteBytes::evaluate(const json &expression, int64_t tokens) {
  runtime::PlanNames names;
  // Ids as cursors: they stay in the order of the plan.
  for (const json &axis : texts.document.at("mesh"))
    names.axes.define(Cursor(axis.at("axis")));
  for (const json &range : texts.document.at("ranges"))
    names.ranges.define(Cursor(range.at("id")));
  for (const runtime::Range &range : texts.plan.ranges)
    names.hasBegin.push_back(range.isContiguous());
  try {
    runtime::Expr expr = runtime::parseExpr(Cursor(expression), names);
    int64_t most = 0;
    for (int64_t rank = 0; rank < texts.plan.ranks(); ++rank) {
      std::vector<int64_t> coordinates = texts.plan.coordinates(rank);
      std::vector<runtime::Part> parts = texts.plan.parts(tokens, coordinates);
      runtime::Environment environment;
      environment.tokens = tokens;
      environment.coordinates = coordinates.data();
      environment.parts = parts.data();
      most = std::max(most, runtime::evaluate(expr, environment));
    }
    return most;
  } catch (const runtime::Error &error) {
    throw ReportError(Why::Refused,
                      "'" + file + "': bytes of a site: " + expression.dump() +
                          ": " + error.what());
  }
}
