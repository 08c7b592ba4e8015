//===- Targets.cpp - the cards a plan is compiled for ---------------------===//
#include "layline/Cost/Targets.h"

using namespace layline;

static const std::vector<Target> &targets() {
  static const std::vector<Target> all = {
      {"a100x8", "A100", 8},
      {"b200x8", "B200", 8},
      {"b300x8", "B300", 8},
      {"b60x8", "B60", 8},
      {"cpu", "CPU", 0},
      // A tray of an NVL72 rack: what its tables were measured on.
      {"gb200x4", "GB200", 4},
      {"gb300x4", "GB300", 4},
      {"h100x8", "H100", 8},
      {"h200x8", "H200", 8},
      {"h20x8", "H20", 8},
      {"l40sx8", "L40S", 8},
      {"rtx_pro_6000x8", "RTX PRO 6000", 8},
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
