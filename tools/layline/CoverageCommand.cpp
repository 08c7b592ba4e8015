//===- CoverageCommand.cpp - layline coverage -----------------------------===//
#include "Commands.h"
#include "CoverageSpec.h"
#include "TextTable.h"
#include "layline/Verification/RowMap.h"
#include <cstdio>
#include <iostream>
#include <memory>

using namespace layline;
using namespace layline::tool;

namespace {
struct Arguments {
  std::string mesh;
  std::string tokens = "whole";
  std::string heads, kvHeads, layers;
  std::vector<std::string> others;
  int64_t at = 0;
  bool ranks = false;
};

constexpr int64_t kMostTokens = int64_t(1) << 22;
} // namespace

/// "[0,512)+[3584,4096)": local rows in their order, long lists cut short.
static std::string segmentsText(const std::vector<int64_t> &rows) {
  constexpr int64_t kMostShown = 4;
  std::string text;
  int64_t numSegments = 0;
  for (size_t i = 0; i < rows.size(); ++numSegments) {
    size_t end = i + 1;
    while (end < rows.size() && rows[end] == rows[end - 1] + 1)
      ++end;
    if (numSegments < kMostShown)
      text += (i == 0 ? "[" : "+[") + std::to_string(rows[i]) + "," +
              std::to_string(rows[end - 1] + 1) + ")";
    i = end;
  }
  if (numSegments > kMostShown)
    text += " and " + std::to_string(numSegments - kMostShown) + " more";
  return rows.empty() ? "-" : text;
}

/// Who holds what, by the ranks of the axes that split the dimension. For
/// tokens also how many pairs of a query and a key before or at it a rank has,
/// which is what its attention costs.
static void printRanks(const GridDim &dim, int64_t at) {
  int64_t items = dim.items.value_or(at);
  std::vector<std::string> headings;
  int64_t numRanks = 1;
  for (const Link &link : dim.links) {
    headings.push_back(">" + link.axis);
    numRanks *= link.ranks;
  }
  headings.insert(headings.end(), {">" + dim.name + "s", "which"});
  if (!dim.items)
    headings.push_back(">causal pairs");
  TextTable table(headings);
  for (int64_t number = 0; number < numRanks; ++number) {
    std::map<std::string, int64_t> coordinates;
    std::vector<std::string> row(dim.links.size());
    int64_t rest = number;
    for (size_t i = dim.links.size(); i-- > 0; rest /= dim.links[i].ranks) {
      coordinates[dim.links[i].axis] = rest % dim.links[i].ranks;
      row[i] = std::to_string(rest % dim.links[i].ranks);
    }
    std::vector<int64_t> own =
        getRows(dim.links, items, coordinates).value_or(std::vector<int64_t>());
    row.insert(row.end(), {std::to_string(own.size()), segmentsText(own)});
    int64_t pairs = 0;
    for (int64_t token : own)
      pairs += token + 1;
    if (!dim.items)
      row.push_back(std::to_string(pairs));
    table.add(row);
  }
  std::cout << "\n"
            << dim.name << "s, " << items
            << (dim.links.empty() ? ", on every rank:\n" : ":\n");
  table.print(std::cout);
}

static std::vector<GridDim> parseDims(const Arguments &arguments,
                                      const std::vector<MeshAxis> &mesh) {
  std::vector<GridDim> dims = {
      parseDim("--tokens", "token", arguments.tokens, mesh)};
  auto add = [&](const char *option, const char *name,
                 const std::string &text) {
    if (text.empty())
      return;
    dims.push_back(parseDim(option, name, text, mesh));
    if (!dims.back().items)
      throw CLI::ValidationError(option, "found '" + text +
                                             "', expected a number first, as "
                                             "in '64: block tp'");
  };
  add("--heads", "head", arguments.heads);
  std::optional<int64_t> queryHeads;
  if (dims.size() > 1)
    queryHeads = dims.back().items;
  add("--kv-heads", "KV head", arguments.kvHeads);
  add("--layers", "layer", arguments.layers);
  for (const std::string &text : arguments.others) {
    size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw CLI::ValidationError("--dim", "found '" + text +
                                              "', expected NAME=SPLIT, as in "
                                              "'expert=128: block ep'");
    add("--dim", text.substr(0, equals).c_str(), text.substr(equals + 1));
  }
  for (GridDim &dim : dims)
    for (Link &link : dim.links)
      if (link.partition.kind == Partition::Kind::Readers ||
          link.partition.kind == Partition::Kind::FirstReaders) {
        if (!queryHeads)
          throw CLI::ValidationError("--heads",
                                     "found none, expected the query heads "
                                     "that the readers follow");
        link.partition.argument = *queryHeads;
      }
  return dims;
}

/// Lists of who holds what take as long as there are ranks times items.
static void checkListed(const Arguments &arguments,
                        const std::vector<GridDim> &dims) {
  constexpr int64_t kMostListed = int64_t(1) << 28;
  if (arguments.at < 1 || arguments.at > kMostTokens)
    throw CLI::ValidationError(
        "--at", "found " + std::to_string(arguments.at) + ", expected 1 to " +
                    std::to_string(kMostTokens) + " tokens to show ranks for");
  for (const GridDim &dim : dims) {
    int64_t most = kMostListed;
    for (const Link &link : dim.links)
      most /= link.ranks;
    if (dim.items.value_or(arguments.at) > most)
      throw CLI::ValidationError(
          "--ranks", "found " +
                         std::to_string(dim.items.value_or(arguments.at)) +
                         " " + dim.name + "s, expected up to " +
                         std::to_string(most) + " for so many ranks");
  }
}

static int runCoverage(const Arguments &arguments) {
  std::vector<MeshAxis> mesh = parseMesh(arguments.mesh);
  std::vector<GridDim> dims = parseDims(arguments, mesh);
  if (arguments.ranks)
    checkListed(arguments, dims);
  int64_t numRanks = 1;
  for (const MeshAxis &axis : mesh)
    numRanks *= axis.size;
  Coverage coverage = proveCoverage(mesh, dims);
  if (!coverage) {
    std::cerr << "refuted: " << coverage.problem << "\n";
    return Refused;
  }
  char cost[64];
  std::snprintf(cost, sizeof cost, "%.1f ms, %lld queries",
                coverage.seconds * 1e3,
                static_cast<long long>(coverage.queries));
  std::cout << "proved: each point of the grid is computed by exactly one of "
            << numRanks / coverage.numReplicas << " ranks";
  if (coverage.numReplicas > 1)
    std::cout << ", in each of " << coverage.numReplicas << " replicas";
  std::cout << " (" << cost << ")\n";
  for (const std::string &text : coverage.covered)
    std::cout << "  " << text << "\n";
  for (const std::string &axis : coverage.replicas)
    std::cout << "  axis \"" << axis << "\" splits nothing: its ranks do the "
              << "same\n";
  if (arguments.ranks)
    for (const GridDim &dim : dims)
      printRanks(dim, arguments.at);
  return Good;
}

void layline::tool::addCoverageCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = app.add_subcommand(
      "coverage", "Prove that a way to split work computes everything once");
  command
      ->add_option("--mesh", arguments->mesh, "Axes and their ranks: tp=8,cp=4")
      ->required();
  command
      ->add_option("--tokens", arguments->tokens,
                   "Who computes which tokens, for every number of them")
      ->capture_default_str();
  command->add_option("--heads", arguments->heads, "Query heads");
  command->add_option("--kv-heads", arguments->kvHeads,
                      "KV heads; 'readers tp' are those that the query heads "
                      "read");
  command->add_option("--layers", arguments->layers, "Layers");
  command->add_option("--dim", arguments->others,
                      "Another dimension: NAME=SPLIT");
  command->add_flag("--ranks", arguments->ranks,
                    "Print who holds what, with --at");
  command
      ->add_option("--at", arguments->at, "Number of tokens to show ranks for")
      ->check(wholeNumber());
  command->footer(
      "A split is 'block AXIS', 'zigzag AXIS', 'cyclic RUN AXIS', 'owner AXIS "
      "0,0,1,..', 'readers AXIS' or 'whole'; 'then' splits each part again. "
      "All but tokens begin with their number: '64: block tp'.\n\n"
      "Example:\n  layline coverage --mesh tp=8,cp=4 --tokens 'zigzag cp' "
      "--heads '64: block tp' --kv-heads '4: readers tp' --layers 94");
  command->callback(
      [arguments, &exitCode] { exitCode = runCoverage(*arguments); });
}
