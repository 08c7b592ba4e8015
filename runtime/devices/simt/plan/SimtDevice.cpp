#include "devices/simt/plan/SimtDevice.h"

#include "devices/cpu/StepLauncher.h"
#include "devices/simt/plan/KernelLauncher.h"
#include "kernels/LaunchSafety.h"

#include <algorithm>
#include <charconv>
#include <mutex>
#include <sstream>

namespace layline::runtime {
namespace {

/// Those that kernels' own tests run in, with the chances of theirs
/// (test/kernels/harness/Cluster.cpp).
struct ModeName {
  const char *name;
  void (*set)(SimtOptions &);
};
constexpr ModeName kModes[] = {
    {"plain", [](SimtOptions &) {}},
    {"weak",
     [](SimtOptions &options) {
       options.machine.storeBuffers = true;
       options.machine.randomDispatch = true;
     }},
    {"race", [](SimtOptions &options) { options.machine.raceCheck = true; }},
    {"starve",
     [](SimtOptions &options) { options.machine.starvePerTenThousand = 50; }},
    {"residency", [](SimtOptions &options) {
       // Grids are as large as what is resident, and no larger.
       options.machine.residentBlocks = 4;
       options.machine.randomDispatch = true;
       options.residencyMargin = 0;
     }}};

struct Enabled {
  std::mutex mutex;
  SimtOptions options;
};
Enabled &enabled() {
  static Enabled instance;
  return instance;
}

std::unique_ptr<Device> makeEnabled(const Plan &plan,
                                    const DeviceOptions &options,
                                    Transport &transport) {
  SimtOptions simt;
  {
    std::lock_guard<std::mutex> lock(enabled().mutex);
    simt = enabled().options;
  }
  return makeSimtDevice(plan, options, transport, simt);
}

} // namespace

SimtOptions parseSimtOptions(const std::string &text) {
  SimtOptions options;
  options.machine.yieldPercent = 2;
  options.machine.seed = 1;
  options.residencyMargin = kernels::kResidencyMargin;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    constexpr std::string_view seed = "seed=";
    if (word.compare(0, seed.size(), seed) == 0) {
      const char *end = word.data() + word.size();
      auto [stop, error] =
          std::from_chars(word.data() + seed.size(), end, options.machine.seed);
      if (error != std::errc() || stop != end)
        fail(LAYLINE_BAD_ARGUMENT, "device 'simt': found '", word,
             "', expected seed= and a number");
      continue;
    }
    const ModeName *mode =
        std::find_if(std::begin(kModes), std::end(kModes),
                     [&](const ModeName &known) { return word == known.name; });
    if (mode == std::end(kModes))
      fail(LAYLINE_BAD_ARGUMENT, "device 'simt': found '", word,
           "', expected plain, weak, race, starve, residency or seed=N");
    mode->set(options);
  }
  return options;
}

std::unique_ptr<Device> makeSimtDevice(const Plan &plan,
                                       const DeviceOptions &options,
                                       Transport &transport,
                                       const SimtOptions &simt) {
  if (options.precision == LAYLINE_PRECISION_F64)
    fail(LAYLINE_REFUSED_FEATURE,
         "device 'simt' runs kernels of f32 and bf16, found precision f64; "
         "device 'cpu' has it");
  if (auto here = static_cast<std::int64_t>(transport.localRanks().size());
      here != plan.ranks())
    fail(LAYLINE_REFUSED_FEATURE,
         "device 'simt' has all ranks in one process, "
         "found ",
         here, " of ", plan.ranks(), "; transport 'threads' is expected");
  return makeLaunchingDevice(
      plan, options, transport,
      std::make_unique<KernelLauncher>(plan, options, simt));
}

void enableSimtDevice(const SimtOptions &options) {
  {
    std::lock_guard<std::mutex> lock(enabled().mutex);
    enabled().options = options;
  }
  addDevice("simt", makeEnabled);
}

} // namespace layline::runtime
