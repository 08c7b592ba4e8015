#include "CostTests.h"
#include "layline/Cost/Targets.h"
#include "json/StrictJson.h"
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

using namespace layline;
using namespace layline::test;

namespace {

bool meetsSchema(const std::string &text) {
  using Adapter = valijson::adapters::NlohmannJsonAdapter;
  nlohmann::json schemaText = nlohmann::json::parse(
      readSource("data/schema/capabilities.v1.schema.json"));
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(Adapter(schemaText), schema);
  nlohmann::json document = nlohmann::json::parse(text);
  return valijson::Validator(valijson::Validator::kStrongTypes)
      .validate(schema, Adapter(document), nullptr);
}

nlohmann::json goodKernel() {
  return {{"name", "k"},
          {"source", "me"},
          {"form", "all_reduce_epilogue"},
          {"epilogue", {"add", "norm"}},
          {"norms", {"rms"}},
          {"dtypes", {"bf16"}}};
}

std::string fileOf(const nlohmann::json &kernel) {
  return nlohmann::json{{"schema", "layline.capabilities"},
                        {"version", 1},
                        {"target", "mine"},
                        {"kernels", {kernel}}}
      .dump();
}

FusedNeed needOf(FusedForm form) {
  FusedNeed need;
  need.form = form;
  need.ops = {"add", "norm"};
  need.norms = {"rms"};
  need.dtype = "bf16";
  need.hidden = 8192;
  need.ranks = 8;
  return need;
}

} // namespace

TEST_CASE("every target has a capability file that meets the schema") {
  for (const std::string &target : knownTargets()) {
    std::string error;
    std::optional<Capabilities> capabilities = getCapabilities(target, error);
    INFO(target << ": " << error);
    REQUIRE(capabilities);
    CHECK(capabilities->target == target);
    CHECK(meetsSchema(readSource("data/capabilities/" + target + ".json")));
  }
}

TEST_CASE("a kernel is found, or the reason that there is none") {
  const Capabilities capabilities = makeModel("h100x8").capabilities();
  FusedNeed need = needOf(FusedForm::ReduceScatterEpilogueAllGather);
  REQUIRE(capabilities.find(need));
  CHECK(capabilities.find(need).kernel->name == "tokenweave_rs_add_norm_ag");
  auto lacks = [&](FusedNeed changed, const std::string &reason) {
    KernelMatch match = capabilities.find(changed);
    CHECK_FALSE(match);
    CHECK(match.reason == "no kernel of h100x8 " + reason);
  };
  const std::string kernel = "fits: tokenweave_rs_add_norm_ag ";
  FusedNeed changed = need;
  changed.norms = {"layer"};
  lacks(changed, kernel + "does rms norms, not layer");
  changed = need;
  changed.ops.push_back("quantize");
  lacks(changed, kernel + "runs add or norm, not quantize");
  changed = need;
  changed.ops = {"norm", "add", "norm"};
  changed.norms = {"rms", "rms"};
  lacks(changed, kernel + "does 1 norm at most, not 2");
  changed = need;
  changed.dtype = "f16";
  lacks(changed, kernel + "takes bf16, not f16");
  changed = need;
  changed.ranks = 2;
  lacks(changed, kernel + "serves 4 or 8 ranks, not 2");
  changed = need;
  changed.hidden = 2881;
  lacks(changed, kernel + "takes rows of a multiple of 8 elements, not 2881");
  changed = need;
  changed.normAndQuantized = true;
  lacks(changed, kernel + "gives a norm or its quantised form, not both");
  lacks(needOf(FusedForm::EpilogueAllGather),
        "has the form epilogue_all_gather");
  changed = needOf(FusedForm::AllReduceEpilogue);
  changed.bytes = kMiB;
  lacks(changed, "fits: flashinfer_trtllm_one_shot serves up to 512 KiB, not "
                 "1 MiB");
  changed.ranks = 4;
  CHECK(capabilities.find(changed));
  changed.ops = {"add", "norm", "quantize"};
  changed.normAndQuantized = true;
  changed.norms = {"rms_offset"};
  CHECK(capabilities.find(changed));
}

TEST_CASE("a target without multicast has no kernel that needs it") {
  Capabilities capabilities = makeModel("h100x8").capabilities();
  capabilities.multicast = false;
  KernelMatch match =
      capabilities.find(needOf(FusedForm::ReduceScatterEpilogueAllGather));
  CHECK_FALSE(match);
  CHECK(match.reason == "no kernel of h100x8 fits: tokenweave_rs_add_norm_ag "
                        "needs a switch that multicasts");
}

TEST_CASE("a user's file takes the built-in one's place") {
  nlohmann::json kernel = goodKernel();
  kernel["form"] = "epilogue_all_gather";
  TemporaryFile file(fileOf(kernel));
  CostModel model = makeModel({"h100x8", "", file.path, LaunchMode::Graph});
  CHECK(model.capabilities().kernels.size() == 1);
  CHECK(model.fused({FusedForm::EpilogueAllGather, 0, kMiB, 0, 0}, 8).us > 0);
  CHECK_FALSE(model.capabilities().find(
      needOf(FusedForm::ReduceScatterEpilogueAllGather)));
  std::string error;
  CHECK_FALSE(
      CostModel::create({"h100x8", "", "none.json", LaunchMode::Graph}, error));
  CHECK(error == "none.json: cannot be read");
}

TEST_CASE("a bad file is refused by key, found and expected") {
  std::string error;
  CHECK(parseCapabilities(fileOf(goodKernel()), "k.json", error));
  CHECK(meetsSchema(fileOf(goodKernel())));
  auto refused = [&](const nlohmann::json &kernel, const std::string &message,
                     bool bySchemaToo = true) {
    CHECK_FALSE(parseCapabilities(fileOf(kernel), "k.json", error));
    CHECK(error == "k.json: kernels[0]" + message);
    INFO(message);
    CHECK(meetsSchema(fileOf(kernel)) == !bySchemaToo);
  };
  auto with = [](const char *key, nlohmann::json value) {
    nlohmann::json kernel = goodKernel();
    kernel[key] = std::move(value);
    return kernel;
  };
  auto without = [](const char *key) {
    nlohmann::json kernel = goodKernel();
    kernel.erase(key);
    return kernel;
  };
  refused(without("name"), ".name: found none, expected a string");
  refused(with("name", 7), ".name: found 7, expected a string");
  refused(without("form"), ".form: found none, expected all_reduce_epilogue, "
                           "reduce_scatter_epilogue_all_gather, "
                           "reduce_scatter_epilogue, epilogue_all_gather or "
                           "grouped_all_gather");
  refused(with("form", "ring"),
          ".form: found \"ring\", expected all_reduce_epilogue, "
          "reduce_scatter_epilogue_all_gather, reduce_scatter_epilogue, "
          "epilogue_all_gather or grouped_all_gather");
  refused(with("epilogue", {"add", "gelu"}),
          ".epilogue[1]: found \"gelu\", expected add, norm, quantize, scale, "
          "activation or rope");
  refused(with("epilogue", {"add", "add"}),
          ".epilogue[1]: found \"add\" once more, expected each name once");
  refused(with("epilogue", "add"),
          ".epilogue: found \"add\", expected a list of add, norm, quantize, "
          "scale, activation or rope");
  refused(without("norms"),
          ".norms: found none, expected a list of rms, rms_offset or layer",
          false);
  refused(with("epilogue", {"add"}),
          ".norms: found, expected only beside the op norm in epilogue", false);
  refused(with("dtypes", nlohmann::json::array()),
          ".dtypes: found none, expected a list of bf16, f16, f32, f64, fp8 or "
          "fp4");
  refused(with("ranks", {8, 1}),
          ".ranks[1]: found 1, expected a whole number from 2 on");
  refused(with("ranks", {8, 8}),
          ".ranks[1]: found 8 once more, expected each number once");
  refused(with("ranks", {8.5}),
          ".ranks[0]: found 8.5, expected a whole number from 2 on");
  refused(with("max_hidden", 0),
          ".max_hidden: found 0, expected a whole number from 1 on");
  refused(with("max_hidden", "8192"),
          ".max_hidden: found \"8192\", expected a whole number from 1 on");
  refused(with("max_bytes_of_ranks", {{"8", -1}}),
          ".max_bytes_of_ranks.8: found -1, expected a number above 0");
  refused(
      with("max_bytes_of_ranks", {{"eight", 4}}),
      ".max_bytes_of_ranks: found 'eight', expected whole bytes by a number "
      "of ranks",
      false);
  refused(with("needs_multicast", "yes"),
          ".needs_multicast: found \"yes\", expected true or false");
  refused(
      with("maxhidden", 1),
      ".maxhidden: found, expected only algorithm, dtypes, "
      "emits_norm_and_quantized, epilogue, form, hidden_multiple, max_bytes, "
      "max_hidden, max_norms, min_bytes, name, needs_multicast, norms, "
      "one_shot or source");
  nlohmann::json kernel = goodKernel();
  kernel["form"] = "epilogue_all_gather";
  kernel["one_shot"] = true;
  refused(kernel, ".one_shot: found, expected only of all_reduce_epilogue",
          false);

  auto document = [&](const std::string &text, const std::string &message) {
    CHECK_FALSE(parseCapabilities(text, "k.json", error));
    CHECK(error == message);
  };
  document("[]", "k.json: document: found a list of 0, expected an object");
  document("{\"schema\": \"x\"}", "k.json: schema: found \"x\", expected "
                                  "layline.capabilities");
  document("{\"schema\": \"layline.capabilities\", \"version\": 2, "
           "\"target\": \"t\", \"kernels\": []}",
           "k.json: version: found 2, expected 1");
  document("{\"schema\": \"layline.capabilities\", \"version\": 1, "
           "\"target\": \"t\", \"kernels\": {}}",
           "k.json: kernels: found an object, expected a list of objects");
  CHECK_FALSE(parseCapabilities("{\"a\": 1, \"a\": 2}", "k.json", error));
  CHECK(error.find("k.json: not JSON: ") == 0);
  CHECK_FALSE(parseCapabilities("{", "k.json", error));
  std::string twice = nlohmann::json{{"schema", "layline.capabilities"},
                                     {"version", 1},
                                     {"target", "t"},
                                     {"kernels", {goodKernel(), goodKernel()}}}
                          .dump();
  document(twice, "k.json: kernels[1].name: found \"k\" once more, expected "
                  "each name once");
}
