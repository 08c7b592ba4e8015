//===- CalibrateCommand.cpp - layline calibrate ---------------------------===//
#include "Commands.h"
#include "TextTable.h"
#include "WholeFiles.h"
#include "layline/Cost/Calibration.h"
#include "layline/Cost/CostModel.h"
#include "layline/Cost/Targets.h"
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <memory>

using namespace layline;
using namespace layline::tool;
namespace fs = std::filesystem;

namespace {
struct Arguments {
  std::vector<std::string> files;
  std::string target, output, source, date;
  MeasurementOptions measurement;
};
} // namespace

static std::string today() {
  std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

static std::string fixed(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

/// What the built-in tables say of the same bytes; 0 if they say nothing.
static double askBuiltIn(const CostModel &model, const MeasuredCurve &curve,
                         int64_t bytes) {
  for (Collective collective :
       {Collective::AllReduce, Collective::ReduceScatter, Collective::AllGather,
        Collective::AllToAll})
    if (curve.op == getName(collective))
      return model.collective(collective, bytes, curve.ranks).us;
  if (curve.op == "row_kernel")
    return model.rowKernel(bytes / 2, bytes - bytes / 2).us;
  return 0;
}

/// Curve by curve, with the median of measured time by built-in time.
static void printCurves(const Calibration &calibration,
                        const CostModel &builtIn) {
  TextTable table({"op", ">ranks", "algorithm", ">sizes", ">bytes from", ">to",
                   ">by built-in"});
  for (const MeasuredCurve &curve : calibration.curves) {
    std::vector<double> ratios;
    for (auto [bytes, us] : curve.points)
      if (double known = askBuiltIn(builtIn, curve, bytes); known > 0)
        ratios.push_back(us / known);
    std::sort(ratios.begin(), ratios.end());
    table.add({curve.op, std::to_string(curve.ranks), curve.algorithm,
               std::to_string(curve.points.size()),
               std::to_string(curve.points.begin()->first),
               std::to_string(curve.points.rbegin()->first),
               ratios.empty() ? "-" : fixed(ratios[ratios.size() / 2], 2)});
  }
  table.print(std::cout);
}

static int runCalibrate(const Arguments &arguments) {
  std::string error;
  std::optional<CostModel> builtIn =
      CostModel::create({arguments.target, "", "", LaunchMode::Graph}, error);
  if (!builtIn)
    throw CLI::ValidationError("--target", error.substr(error.find(' ') + 1));
  std::vector<MeasuredCurve> curves;
  std::string names;
  for (const std::string &file : arguments.files) {
    std::optional<std::string> text = readFile(file, error);
    std::optional<std::vector<MeasuredCurve>> measured;
    if (text)
      measured = parseMeasurements(*text, file, arguments.measurement, error);
    if (!measured) {
      std::cerr << error << "\n";
      return Unusable;
    }
    curves.insert(curves.end(), measured->begin(), measured->end());
    names += (names.empty() ? "" : ", ") + fs::path(file).filename().string();
  }
  const size_t all = curves.size();
  curves.erase(std::remove_if(curves.begin(), curves.end(), isOfOneCard),
               curves.end());
  if (curves.empty()) {
    std::cerr << names << ": found only curves of ranks that share a card, "
              << "expected some of ranks with a card each, or of row_kernel\n";
    return Unusable;
  }
  if (curves.size() < all)
    std::cout << "left out " << all - curves.size()
              << " curves of ranks that share a card: no link is in their "
                 "times\n";
  Calibration calibration{
      arguments.target, arguments.source.empty() ? names : arguments.source,
      arguments.date.empty() ? today() : arguments.date, mergeCurves(curves)};
  // What is written must be readable: a date may have been misspelt.
  std::string printed = printCalibration(calibration);
  if (!parseCalibration(printed, arguments.output, error)) {
    std::cerr << error << "\n";
    return Unusable;
  }
  if (std::optional<std::string> failure =
          writeFile(arguments.output, printed)) {
    std::cerr << *failure << "\n";
    return Unusable;
  }
  printCurves(calibration, *builtIn);
  std::cout << "wrote " << arguments.output << "\n";
  return Good;
}

void layline::tool::addCalibrateCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = app.add_subcommand(
      "calibrate", "Make a file of times measured on a target, that a plan "
                   "rests on in place of the built-in ones");
  command
      ->add_option("FILES", arguments->files,
                   "What nccl-tests or layline-gpu-bench printed, or CSV: "
                   "op,ranks,bytes,us[,algorithm]; bytes of the whole tensor")
      ->required();
  command
      ->add_option("--target", arguments->target,
                   "What it was measured on: h100x8, h200x8, b200x8, ...")
      ->required();
  command->add_option("-o,--output", arguments->output, "File to write")
      ->required();
  command->add_option("--op", arguments->measurement.op,
                      "Collective of an nccl-tests file that names no test");
  command
      ->add_option("--algorithm", arguments->measurement.algorithm,
                   "Name of curves that have none")
      ->capture_default_str();
  command->add_flag("--in-place", arguments->measurement.inPlace,
                    "nccl-tests' in-place columns, not out-of-place");
  command->add_option("--source", arguments->source,
                      "Where it was measured, in your words (names of the "
                      "files)");
  command->add_option("--date", arguments->date, "YYYY-MM-DD (today)");
  command->footer(
      "Example:\n  all_reduce_perf -b 1K -e 512M -f 2 -g 8 -d bfloat16 > "
      "ar.txt\n  layline calibrate ar.txt --target h200x8 -o node7.json");
  command->callback(
      [arguments, &exitCode] { exitCode = runCalibrate(*arguments); });
}
