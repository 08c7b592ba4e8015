//===- SchemaTest.cpp - kv.json and its JSON schema agree -----------------===//
#include "RandomLayouts.h"

#include "kv/ParsePlan.h"
#include "layline/KV/PlanJSON.h"
#include "plan/Error.h"
#include "json/ReadFile.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

using namespace layline::kv;
using layline::runtime::Error;
using nlohmann::json;

namespace {

class Schema {
public:
  Schema() {
    json text = json::parse(layline::runtime::readFile(
        LAYLINE_SOURCE_DIR "/data/schema/kv_plan.v1.schema.json"));
    valijson::SchemaParser().populateSchema(Adapter(text), schema);
  }
  bool accepts(const json &document) {
    Adapter adapter(document);
    return valijson::Validator().validate(schema, adapter, nullptr);
  }

private:
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  valijson::Schema schema;
};

bool isRead(const json &document) {
  try {
    parsePlan(document.dump(), "kv.json");
    return true;
  } catch (const Error &) {
    return false;
  }
}

/// Every object of the document, by path.
void findObjects(const json &value, const json::json_pointer &path,
                 std::vector<json::json_pointer> &objects) {
  if (value.is_object()) {
    objects.push_back(path);
    for (const auto &[key, child] : value.items())
      findObjects(child, path / key, objects);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      findObjects(value[i], path / i, objects);
  }
}

} // namespace

TEST_CASE("kv schema: takes what is written, no other keys, and none less") {
  Schema schema;
  std::int64_t planned = 0;
  bool isGood = rc::check("schema and reader agree", [&] {
    LayoutPair pair = makeLayoutPair();
    PlanOptions options = makePlanOptions();
    options.profile = seldom(2) ? Profile::SGLangCompat : Profile::Optimised;
    json plan;
    try {
      plan = json::parse(
          toJSON(planMigration(pair.model, parseSideSpec(pair.source),
                               parseSideSpec(pair.target), options)));
    } catch (const Error &) {
      return;
    }
    ++planned;
    RC_ASSERT(schema.accepts(plan));
    std::vector<json::json_pointer> objects;
    findObjects(plan, json::json_pointer(), objects);
    json::json_pointer path =
        objects[upTo(0, static_cast<std::int64_t>(objects.size()) - 1)];
    json more = plan;
    more[path]["extra"] = 1;
    RC_ASSERT(!schema.accepts(more));
    RC_ASSERT(!isRead(more));
    json less = plan;
    auto key = less[path].begin();
    std::advance(key,
                 upTo(0, static_cast<std::int64_t>(less[path].size()) - 1));
    less[path].erase(key);
    RC_ASSERT(!schema.accepts(less));
    RC_ASSERT(!isRead(less));
  });
  CHECK(isGood);
  CHECK(planned > 20);
}
