//===- Run.h - a plan, its weights and an input, run ------------*- C++ -*-===//
#ifndef LAYLINE_TOOLS_LAYLINE_RUN_H
#define LAYLINE_TOOLS_LAYLINE_RUN_H

#include "Commands.h"
#include "MpiLaunch.h"
#include "TensorComparison.h"
#include "TensorFile.h"
#include "layline/runtime.h"
#include "layline/safetensors.h"
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace layline::tool {

/// Of `layline run`.
struct RunArguments {
  std::string folder, input, check, save, trace;
  std::vector<std::string> weights;
  std::string precision = "f32", device = "cpu", transport = "threads";
  std::string simt;              // options of the device simt
  std::optional<int64_t> tokens; // nothing: all rows of the input
  std::optional<int64_t> chunk;  // nothing: all of them in one step
  bool outputsOnly = false;      // what --check compares
  double rtol = 0;               // 0: the default of the precision
  double timeout = 0;            // 0: the runtime's default
  bool bySwitch = false;
};

struct EngineDeleter {
  void operator()(layline_engine *engine) const {
    layline_engine_destroy(engine);
  }
};
using EnginePtr = std::unique_ptr<layline_engine, EngineDeleter>;

/// `layline run`. With the transport mpi every process is one.
class Run {
public:
  explicit Run(const RunArguments &arguments) : arguments(arguments) {}
  int operator()();

private:
  bool isMpi() const { return arguments.transport == "mpi"; }
  /// Whether this process speaks for all: others do the same in silence.
  bool isLead() const;
  std::ostream &out() { return isLead() ? std::cout : silence; }
  bool findRanks();
  void complain(const std::string &message) const;
  /// The same of what cannot be used; false.
  bool refuse(const std::string &message);
  bool checkArguments();
  bool enableDevice();
  bool makeEngine();
  bool launchRanks();
  bool loadWeights();
  bool check(layline_status status);
  std::unique_ptr<safetensors::File> open(const std::string &path);
  bool bindInputs(const safetensors::File &file);
  bool bindPrefix(const safetensors::File &file, int64_t first);
  bool printKernels();
  bool runChunk(int64_t first, int64_t rows);
  bool beginTrace();
  bool writeTrace();
  bool compareChunk(int64_t first, int64_t rows);

  const RunArguments &arguments;
  EnginePtr engine;
  /// "rank 2", "ranks 4 to 7": of this process; until a plan is loaded MPI's.
  std::string who = "rank " + std::to_string(mpiRank().value_or(0));
  int64_t firstRank = 0, ranksHere = 1;
  std::unique_ptr<safetensors::File> reference;
  int exitCode = Good;
  int64_t tokens = 0;
  std::vector<int64_t> ids, positions;
  ComparisonResult total;
  TensorFile recorded;
  std::ostream silence{nullptr};
};

} // namespace layline::tool

#endif // LAYLINE_TOOLS_LAYLINE_RUN_H
