//===- KVVerifyCommand.cpp - layline kv verify ----------------------------===//
#include "KVArguments.h"
#include "kv/ParsePlan.h"
#include "layline/KVVerification/MigrationProof.h"
#include "plan/Error.h"
#include <cstdio>
#include <iostream>

using namespace layline;
using namespace layline::tool;

bool layline::tool::proveKV(std::ostream &os, const kv::Plan &plan) {
  kv::MigrationProof proof = kv::proveMigration(plan);
  for (const std::string &line : proof.lines)
    os << "proved: " << line << "\n";
  if (proof.isProved()) {
    char text[64];
    std::snprintf(text, sizeof text, "%.1f ms", proof.seconds * 1000);
    os << (proof.isExactlyOnce
               ? "proved: every byte of every target is written exactly once"
               : "proved: every byte of every target is written, some by "
                 "several ranks that send the same")
       << ", for every request and all page tables (" << text << ")\n";
    return true;
  }
  std::cerr << (proof.verdict == kv::MigrationProof::Verdict::Refuted
                    ? "refuted: "
                    : "not proved: ")
            << proof.problem << "\n";
  return false;
}

static int runVerify(const std::string &path) {
  try {
    kv::Plan plan = kv::readPlan(path);
    std::cout << plan.model << ": " << plan.source.spec << " -> "
              << plan.target.spec << ", profile " << plan.profile << ", "
              << plan.transfers.size() << " transfers\n";
    return proveKV(std::cout, plan) ? Good : Refused;
  } catch (const runtime::Error &failed) {
    std::cerr << failed.what() << "\n";
    return failed.status() == LAYLINE_UNREADABLE_FILE ? Unusable : Refused;
  }
}

void layline::tool::addKVVerifyCommand(CLI::App &kv, int &exitCode) {
  auto path = std::make_shared<std::string>();
  CLI::App *command = kv.add_subcommand(
      "verify", "Read a plan strictly and prove it for every request");
  command->add_option("plan", *path, "kv.json, as layline kv plan writes it")
      ->required();
  command->callback([path, &exitCode] { exitCode = runVerify(*path); });
}
