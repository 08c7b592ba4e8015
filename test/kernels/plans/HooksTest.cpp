// Every option and hook of the C API on the devices of the host.
#include "hooks/HookWalk.h"
#include "hooks/OneCall.h"
#include "layline/simt.h"

#include <catch2/catch.hpp>

using namespace layline::test;

namespace {

/// What the walk leaves out: how a struct is read, which device it is, and
/// which processes there are, which test/cli has with mpirun.
const std::map<std::string, bool> kElsewhere = {{"options.size", true},
                                                {"options.device", true},
                                                {"options.transport", true}};

std::string itemOf(const std::string &walked) {
  return walked.substr(0, walked.find(','));
}

/// What devices of the host say to options.by_switch.
std::string noSwitch(const std::string &device) {
  return "device '" + device +
         "' has no switch that sums and replicates (options.by_switch); device "
         "'cuda' is expected";
}

} // namespace

TEST_CASE("the walk has every option and hook of the headers", "[hooks]") {
  std::map<std::string, bool> walked = kElsewhere;
  for (const auto &[item, outcome] : walkHooks({"cpu", {}, {}, {}, {}, {}, {}}))
    walked[itemOf(item)] = true;
  CHECK(walked == hooksOfHeaders());
}

TEST_CASE("device cpu does all that an engine may ask, but for a switch",
          "[hooks]") {
  for (const auto &[item, outcome] :
       walkHooks({"cpu", {}, {}, {}, {}, {}, {}})) {
    CAPTURE(item);
    CHECK(outcome == (item == "options.by_switch" ? noSwitch("cpu") : "done"));
  }
}

TEST_CASE("device simt does, or refuses with the reason", "[hooks]") {
  REQUIRE(layline_simt_enable("plain", nullptr) == LAYLINE_OK);
  for (const auto &[item, outcome] :
       walkHooks({"simt", {}, {}, {}, {}, {}, {}})) {
    CAPTURE(item);
    if (item == "options.precision")
      CHECK(outcome == "device 'simt' runs kernels of f32 and bf16, found "
                       "precision f64; device 'cpu' has it");
    else
      CHECK(outcome ==
            (item == "options.by_switch" ? noSwitch("simt") : "done"));
  }
}

TEST_CASE("one call at a time uses an engine of emulated GPUs", "[hooks]") {
  REQUIRE(layline_simt_enable("plain", nullptr) == LAYLINE_OK);
  checkOneCallAtATime("simt");
}
