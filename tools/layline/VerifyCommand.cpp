//===- VerifyCommand.cpp - layline verify ---------------------------------===//
#include "Commands.h"
#include "PlanFile.h"
#include "TextTable.h"
#include "WholeFiles.h"
#include "layline/Driver/CheckProgram.h"
#include "layline/Driver/Verifier.h"
#include "layline/Verification/PartitionProof.h"
#include <cstdio>
#include <iostream>
#include <memory>

using namespace layline;
using namespace layline::tool;
using nlohmann::json;

/// An expression of a range's segments; nothing if it is not one. The size of
/// the range around it is the number of items that it deals out.
static std::optional<Expr> toExpr(const json &value) {
  static const std::pair<const char *, Expr::Op> ops[] = {
      {"add", Expr::Op::Add},         {"sub", Expr::Op::Sub},
      {"mul", Expr::Op::Mul},         {"floordiv", Expr::Op::FloorDiv},
      {"ceildiv", Expr::Op::CeilDiv}, {"mod", Expr::Op::Mod},
      {"min", Expr::Op::Min},         {"max", Expr::Op::Max}};
  if (value.is_number_integer())
    return Expr(value.get<int64_t>());
  if (value.is_string())
    return Expr::symbol(value.get<std::string>());
  if (value.is_array() && value.size() == 2 && value[0] == "size")
    return Expr::symbol("tokens");
  if (!value.is_array() || value.size() < 3 || !value[0].is_string())
    return std::nullopt;
  for (const auto &[name, op] : ops) {
    if (value[0] != name)
      continue;
    std::optional<Expr> result = toExpr(value[1]);
    for (size_t i = 2; result && i < value.size(); ++i) {
      std::optional<Expr> operand = toExpr(value[i]);
      if (!operand)
        return std::nullopt;
      result = Expr::binary(op, *result, *operand);
    }
    return result;
  }
  return std::nullopt;
}

/// The segments of a range, or none if one cannot be read.
static std::vector<SegmentExpr> toSegments(const json &range) {
  std::vector<SegmentExpr> segments;
  for (const json &segment : range.at("segments")) {
    std::optional<Expr> begin = toExpr(segment.at("begin"));
    std::optional<Expr> size = toExpr(segment.at("size"));
    if (!begin || !size)
      return {};
    segments.push_back({*begin, *size, segment.value("block", int64_t(0)),
                        segment.value("stride", int64_t(0))});
  }
  return segments;
}

/// Proves the ranges of a plan that has passed the loader's checks, for every
/// number of tokens at once; `readers` are compared head by head by the loader.
/// Of a `routed` range each rank has a place for all items, as one rank alone
/// has of any. Empty, or what is wrong.
static std::string proveRanges(const json &plan, int64_t &proved) {
  for (const json &range : plan.at("ranges")) {
    if (range.at("kind") == "readers")
      continue;
    std::string axis = range.at("axis");
    int64_t ranks = 0;
    for (const json &entry : plan.at("mesh"))
      if (entry.at("axis") == axis)
        ranks = entry.at("size");
    std::vector<SegmentExpr> segments = toSegments(range);
    Proof proof = Proof::bad("its expressions cannot be read");
    std::optional<int64_t> items;
    if (range.at("extent").is_number_integer())
      items = range.at("extent").get<int64_t>();
    if (range.at("kind") == "routed")
      ranks = 1;
    if (!segments.empty())
      proof = provePartition(segments, axis, ranks, items);
    if (!proof)
      return "range " + range.at("id").dump() +
             " does not deal out every item once: " + proof.problem;
    ++proved;
  }
  return {};
}

static int verifyPlanAlone(const std::string &folder) {
  int exitCode = Good;
  std::optional<json> checked = readCheckedPlan(folder, exitCode);
  if (!checked)
    return exitCode;
  const json &plan = *checked;
  std::string path = planPath(folder);
  int64_t ranges = 0, steps = 0, buffers = 0;
  std::string problem = proveRanges(plan, ranges);
  if (!problem.empty()) {
    std::cerr << path << ": " << problem << "\n";
    return Refused;
  }
  for (const json &variant : plan.at("variants")) {
    steps += static_cast<int64_t>(variant.at("steps").size());
    buffers += static_cast<int64_t>(variant.at("buffers").size());
  }
  const json &tokens = plan.at("symbols").at(0);
  std::cout
      << path << ": good\n"
      << "  schema, versions, references: every id is defined once and "
         "resolved\n"
      << "  variants: " << plan.at("variants").size() << ", disjoint, covering "
      << tokens.at("min") << " to " << tokens.at("max") << " tokens\n"
      << "  ranges: " << ranges << " proved disjoint and complete, those of "
      << "tokens for every count; KV heads are those that query heads read\n"
      << "  steps: " << steps << ": each takes the layouts and owed sums that "
      << "it may; what leaves owes nothing\n"
      << "  buffers: " << buffers << ": written before read, none shared while "
      << "live\n"
      << "  order: cross-stream uses are guarded by events; all ranks run the "
      << "same collectives\n";
  return Good;
}

/// Who reads what in a planned program, whether its ops are well typed or not.
static int runConsumers(const std::string &file, bool asJson) {
  ProgramCheck check = checkConsumers(file, asJson);
  std::cerr << check.messages;
  if (!check.isReadable)
    return Unusable;
  std::cout << check.report;
  return check.isFed ? Good : Refused;
}

namespace {
struct VerifyOptions {
  std::string path;
  std::string against;
  std::string proof;
  std::string activations = "model";
  bool exact = false;
  bool consumers = false;
  bool json = false;
};
} // namespace

static int exitOf(CompileStatus status) {
  return status == CompileStatus::Good      ? Good
         : status == CompileStatus::Refused ? Refused
                                            : Unusable;
}

/// What each net said, and proof.json if it is asked for.
static int report(const Verification &result, const VerifyOptions &options) {
  std::cerr << result.messages;
  if (result.proofs.empty())
    return exitOf(result.status);
  TextTable table({"proof", "holds", ">ms", "covers"});
  for (const ProofRecord &proof : result.proofs) {
    char time[32];
    std::snprintf(time, sizeof time, "%.1f", proof.milliseconds);
    table.add({proof.name, proof.holds ? "yes" : "NO", time, proof.covers});
  }
  table.print(std::cout);
  std::cout << options.path << ": "
            << (result.status == CompileStatus::Good ? "good" : "REFUSED")
            << "\n";
  if (!options.proof.empty())
    if (std::optional<std::string> error = writeFiles(
            options.proof, {{"proof.json", printProofs(result.proofs)}})) {
      std::cerr << *error << "\n";
      return Unusable;
    }
  return exitOf(result.status);
}

/// A plan, and the program that it is said to run.
static int verifyPlanAgainst(const VerifyOptions &options) {
  std::string path = planPath(options.path), error;
  std::optional<std::string> text = readFile(path, error);
  if (!text) {
    std::cerr << error << "\n";
    return Unusable;
  }
  return report(verifyPlan(*text, path, options.against, options.activations),
                options);
}

static bool isProgram(const std::string &path) {
  return path.size() > 5 && path.compare(path.size() - 5, 5, ".mlir") == 0;
}

static int runVerify(const VerifyOptions &options) {
  if (options.consumers)
    return runConsumers(options.path, options.json);
  if (isProgram(options.path))
    return report(verifyProgram(options.path, options.against, options.exact,
                                options.activations),
                  options);
  if (options.exact && options.against.empty()) {
    std::cerr << "--exact: plan.json holds no program to compare with; give "
                 "--against config.json\n";
    return Unusable;
  }
  if (!options.proof.empty() && options.against.empty()) {
    std::cerr << "--proof: found no --against, expected one for a plan\n";
    return Unusable;
  }
  int exitCode = verifyPlanAlone(options.path);
  if (exitCode != Good || options.against.empty())
    return exitCode;
  return verifyPlanAgainst(options);
}

void layline::tool::addVerifyCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App *command = app.add_subcommand(
      "verify", "Prove a written plan, or a program that a person edited");
  command
      ->add_option("PATH", options->path,
                   "Folder with plan.json, or the file; or an .mlir file as "
                   "compile --dump-ir writes it")
      ->required();
  command->add_option(
      "--against", options->against,
      "The program that it has to compute: a config.json, or an .mlir file "
      "with one decoder that has not been placed. Runs the exact check");
  command
      ->add_option("--activations", options->activations,
                   "Of the config.json of --against, as compile takes it")
      ->capture_default_str();
  command->add_flag(
      "--exact", options->exact,
      "Run the programs of an .mlir file on all ranks over a prime field and "
      "compare with the reference program in the file, or with --against");
  command->add_option("--proof", options->proof,
                      "Write proof.json into this folder");
  CLI::Option *consumers = command->add_flag(
      "--consumers", options->consumers,
      "Who reads each rewritten value of a planned program, what each reader "
      "needs and what it gets");
  command
      ->add_flag("--json", options->json, "The report of --consumers as JSON")
      ->needs(consumers);
  command->footer(
      "Checks what a person or another tool may have edited. Says where, what "
      "was found and what was expected. All nets run, also behind one that "
      "fails. Exit code 1 if a proof fails.\n\n"
      "Examples:\n  layline verify plan\n"
      "  layline verify plan --against config.json\n"
      "  layline verify ir/3-planned.mlir --exact\n"
      "  layline verify edited.mlir --against ir/1-decoder.mlir\n"
      "  layline verify --consumers ir/3-planned.mlir");
  command->callback([options, &exitCode] { exitCode = runVerify(*options); });
}
