//===- VerifyCommand.cpp - layline verify ---------------------------------===//
#include "Commands.h"
#include "PlanFile.h"
#include "layline/Driver/CheckProgram.h"
#include "layline/Verification/PartitionProof.h"
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
/// Empty, or what is wrong.
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
    if (!segments.empty())
      proof = provePartition(segments, axis, ranks, items);
    if (!proof)
      return "range " + range.at("id").dump() +
             " does not deal out every item once: " + proof.problem;
    ++proved;
  }
  return {};
}

static int verifyPlan(const std::string &folder) {
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
  bool consumers = false;
  bool json = false;
};
} // namespace

static int runVerify(const VerifyOptions &options) {
  if (options.consumers)
    return runConsumers(options.path, options.json);
  return verifyPlan(options.path);
}

void layline::tool::addVerifyCommand(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App *command = app.add_subcommand(
      "verify", "Prove a written plan again, from plan.json alone");
  command
      ->add_option("DIR", options->path,
                   "Folder with plan.json, or the file; an .mlir file with "
                   "--consumers")
      ->required();
  CLI::Option *consumers = command->add_flag(
      "--consumers", options->consumers,
      "Who reads each rewritten value of a planned program, what each reader "
      "needs and what it gets");
  command
      ->add_flag("--json", options->json, "The report of --consumers as JSON")
      ->needs(consumers);
  command->footer("Checks what a person or another tool may have edited. Says "
                  "where, what was found and what was expected.\n\n"
                  "Examples:\n  layline verify plan\n"
                  "  layline verify --consumers ir/3-planned.mlir");
  command->callback([options, &exitCode] { exitCode = runVerify(*options); });
}
