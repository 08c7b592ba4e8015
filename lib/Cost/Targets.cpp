//===- Targets.cpp - the cards a plan is compiled for ---------------------===//
#include "layline/Cost/Targets.h"

using namespace layline;

static constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

// One-shot caps of vLLM's fused all-reduce + norm, by card generation and
// ranks (vllm/compilation/passes/fusion/allreduce_rms_fusion.py @0052812d).
// Below the cap one kernel pushes everything to everyone in one step; above it
// the fused reduce-scatter + norm + all-gather beats every other measured form
// on 8 H100 (TokenWeave, figures 4-7 @f483d1c).
static const char *const kHopperSource =
    "one-shot fused all-reduce cap of vLLM for sm_90";
static const char *const kBlackwellSource =
    "one-shot fused all-reduce cap of vLLM for sm_100";

static const std::vector<Target> &targets() {
  static const std::vector<Target> all = {
      {"a100x8", "A100", 8, {}, ""},
      {"b200x8",
       "B200",
       8,
       {{2, 32 * kMiB}, {4, 4 * kMiB}, {8, 1 * kMiB}},
       kBlackwellSource},
      {"b300x8", "B300", 8, {}, ""},
      {"b60x8", "B60", 8, {}, ""},
      {"cpu", "CPU", 0, {}, ""},
      // A tray of an NVL72 rack: what its tables were measured on.
      {"gb200x4", "GB200", 4, {}, ""},
      {"gb300x4", "GB300", 4, {}, ""},
      {"h100x8",
       "H100",
       8,
       {{2, 32 * kMiB}, {4, 2 * kMiB}, {8, 512 * kKiB}},
       kHopperSource},
      {"h200x8",
       "H200",
       8,
       {{2, 32 * kMiB}, {4, 2 * kMiB}, {8, 512 * kKiB}},
       kHopperSource},
      {"h20x8", "H20", 8, {}, ""},
      {"l40sx8", "L40S", 8, {}, ""},
      {"rtx_pro_6000x8", "RTX PRO 6000", 8, {}, ""},
  };
  return all;
}

const Target *layline::findTarget(const std::string &name) {
  for (const Target &target : targets())
    if (target.name == name)
      return &target;
  return nullptr;
}

std::vector<std::string> layline::knownTargets() {
  std::vector<std::string> names;
  for (const Target &target : targets())
    names.push_back(target.name);
  return names;
}

static std::string sizeText(int64_t bytes) {
  return bytes % kMiB == 0 ? std::to_string(bytes / kMiB) + " MiB"
                           : std::to_string(bytes / kKiB) + " KiB";
}

RowsThreshold layline::getRowsThreshold(const Target &target, int64_t ranks,
                                        int64_t rowBytes) {
  if (target.oneShotCaps.empty() && target.cards)
    return {true, 0, "no threshold of " + target.name + " is published"};
  if (target.oneShotCaps.empty())
    return {false, ranks,
            "on " + target.name + " rows are split once every rank has one"};
  if (target.cards && ranks > target.cards)
    return {true, 0,
            std::to_string(ranks) + " ranks span several nodes of " +
                std::to_string(target.cards) +
                " cards; the fused kernels need peer memory"};
  // Between two measured sizes the larger group's smaller cap.
  const Target::OneShotCap *cap = &target.oneShotCaps.back();
  for (const Target::OneShotCap &entry : target.oneShotCaps)
    if (ranks <= entry.ranks) {
      cap = &entry;
      break;
    }
  std::string measured =
      cap->ranks == ranks ? "" : " (as for " + std::to_string(cap->ranks) + ")";
  return {false, cap->bytes / rowBytes + 1,
          target.capSource + ", " + std::to_string(ranks) + " ranks" +
              measured + ": " + sizeText(cap->bytes)};
}
