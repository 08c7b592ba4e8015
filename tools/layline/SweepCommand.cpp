//===- SweepCommand.cpp - layline sweep -----------------------------------===//
#include "Commands.h"
#include "TextTable.h"
#include "WholeFiles.h"
#include "layline/Cost/Targets.h"
#include "layline/Driver/Sweep.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <sstream>

using namespace layline;
using namespace layline::tool;

namespace {

struct Arguments {
  SweepRequest request;
  std::string csv;
  std::string sort = "saved";
  std::string memoryLimit;
  int64_t top = 30;
};

} // namespace

static std::string format(const char *how, double number) {
  char text[64];
  std::snprintf(text, sizeof text, how, number);
  return text;
}

static std::string shortName(const std::string &config) {
  std::filesystem::path path(config);
  return path.filename() == "config.json"
             ? path.parent_path().filename().string()
             : path.stem().string();
}

static std::string printCsv(const std::vector<SweepRow> &rows) {
  std::ostringstream os;
  os << "config,model_type,template,target,tp,tokens,refusal,weight_bytes,"
        "replicated_bytes,today_us,unfused_us,chosen_us,products_us,confidence,"
        "sites,sites_by_rows,collectives,launches\n";
  for (const SweepRow &row : rows) {
    os << quoteCsv(row.config) << ',' << row.modelType << ','
       << row.blockTemplate << ',' << row.target << ',' << row.tp << ','
       << row.tokens << ',' << quoteCsv(row.refusal) << ',' << row.weightBytes
       << ',' << row.replicatedBytes << ',';
    if (row.refusal.empty())
      os << format("%.2f", row.today) << ',' << format("%.2f", row.unfused)
         << ',' << format("%.2f", row.chosen) << ','
         << format("%.2f", row.fixed) << ',' << row.confidence << ','
         << row.sites << ',' << row.sitesByRows << ',' << row.phases << ','
         << row.launches;
    else
      os << ",,,,,,,,";
    os << "\n";
  }
  return os.str();
}

static double getKey(const SweepRow &row, const std::string &sort) {
  double saved = row.today - row.chosen;
  if (sort == "saved")
    return saved;
  if (sort == "share")
    return row.today > 0 ? saved / row.today : 0;
  return -row.chosen; // the cheapest first
}

static int runSweep(Arguments &arguments) {
  SweepRequest &request = arguments.request;
  if (!arguments.memoryLimit.empty()) {
    std::optional<int64_t> bytes = parseBytes(arguments.memoryLimit);
    if (!bytes) {
      std::cerr << "--memory-limit: found '" << arguments.memoryLimit
                << "', expected a size such as 80GiB or 80e9\n";
      return Unusable;
    }
    request.memoryLimit = *bytes;
  }
  for (int64_t tp : request.tp)
    if (tp < 1 || tp > 4096) {
      std::cerr << "--tp: found " << tp << ", expected 1 to 4096\n";
      return Unusable;
    }
  for (int64_t tokens : request.tokens)
    if (tokens < 1 || tokens > (1 << 24)) {
      std::cerr << "--tokens: found " << tokens
                << ", expected token counts from 1 to 16777216\n";
      return Unusable;
    }
  std::string error;
  std::vector<SweepRow> rows = sweep(request, error);
  if (!error.empty()) {
    std::cerr << error << "\n";
    return Unusable;
  }
  if (!arguments.csv.empty()) {
    if (std::optional<std::string> failed =
            writeFile(arguments.csv, printCsv(rows))) {
      std::cerr << *failed << "\n";
      return Unusable;
    }
  }
  std::vector<const SweepRow *> good;
  std::set<std::pair<std::string, std::string>> refused;
  for (const SweepRow &row : rows) {
    if (row.refusal.empty())
      good.push_back(&row);
    else
      refused.insert({shortName(row.config) + " tp " + std::to_string(row.tp) +
                          " " + row.target,
                      row.refusal});
  }
  std::sort(
      good.begin(), good.end(), [&](const SweepRow *a, const SweepRow *b) {
        double x = getKey(*a, arguments.sort), y = getKey(*b, arguments.sort);
        return x != y ? x > y : a < b;
      });
  TextTable table({"model", "template", "target", ">tp", ">tokens", ">weights",
                   ">today us", ">unfused", ">chosen", ">saved", ">by rows",
                   "known"});
  for (const SweepRow *row : good) {
    if (arguments.top-- <= 0)
      break;
    table.add(
        {shortName(row->config), row->blockTemplate, row->target,
         std::to_string(row->tp), std::to_string(row->tokens),
         formatBytes(row->weightBytes), format("%.0f", row->today),
         format("%.0f", row->unfused), format("%.0f", row->chosen),
         row->today > 0
             ? format("%.1f %%", 100 * (1 - row->chosen / row->today))
             : "-",
         std::to_string(row->sitesByRows) + "/" + std::to_string(row->sites),
         row->confidence});
  }
  table.print(std::cout);
  std::cout << good.size() << " priced, " << rows.size() - good.size()
            << " refused; us are those of all boundaries of a step (the "
               "products and attention between them are not in it)\n";
  size_t shown = 0;
  for (const auto &[who, why] : refused) {
    if (++shown > 10) {
      std::cout << "... and " << refused.size() - 10
                << " more refusals (all are in --csv)\n";
      break;
    }
    std::cout << "refused: " << who << ": " << why << "\n";
  }
  return good.empty() ? Refused : Good;
}

void layline::tool::addSweepCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  arguments->request.targets = {"h200x8"};
  CLI::App *command = app.add_subcommand(
      "sweep", "Price many models, numbers of ranks and cards at once");
  command->add_option("CONFIG", arguments->request.configs, "config.json files")
      ->required();
  command->add_option("--tp", arguments->request.tp, "Numbers of ranks")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--target", arguments->request.targets,
                   "Cards; see compile --help")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--tokens", arguments->request.tokens,
                   "Token counts of a step")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--launch", arguments->request.launch,
                   "How kernels are launched: graph or eager")
      ->check(CLI::IsMember({"graph", "eager"}))
      ->capture_default_str();
  command->add_option("--calibration", arguments->request.calibration,
                      "A file that layline calibrate wrote");
  command->add_option("--kernels", arguments->request.kernels,
                      "A list of fused kernels in place of the target's");
  command->add_option("--memory-limit", arguments->memoryLimit,
                      "Most bytes of weights that a rank may hold: 80GiB");
  command->add_option("--csv", arguments->csv, "Write every row to this file");
  command
      ->add_option("--sort", arguments->sort,
                   "saved (us), share (of today's) or chosen (us)")
      ->check(CLI::IsMember({"saved", "share", "chosen"}))
      ->capture_default_str();
  command->add_option("--top", arguments->top, "Rows of the printed table")
      ->check(wholeNumber())
      ->capture_default_str();
  command
      ->add_option("--threads", arguments->request.threads,
                   "0: as many as the machine has")
      ->capture_default_str();
  command->footer("Example:\n  layline sweep models/*.json --tp 2,4,8 --target "
                  "h100x8,h200x8,b200x8 --csv sweep.csv");
  command->callback(
      [arguments, &exitCode] { exitCode = runSweep(*arguments); });
}
