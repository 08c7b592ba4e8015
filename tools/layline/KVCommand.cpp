//===- KVCommand.cpp - layline kv -----------------------------------------===//
#include "KVArguments.h"

void layline::tool::addKVCommand(CLI::App &app, int &exitCode) {
  CLI::App *kv = app.add_subcommand(
      "kv", "KV caches between layouts: plan, prove, count, send");
  kv->require_subcommand(1);
  addKVPlanCommand(*kv, exitCode);
  addKVVerifyCommand(*kv, exitCode);
  addKVSimulateCommand(*kv, exitCode);
  addKVSendCommand(*kv, exitCode);
}
