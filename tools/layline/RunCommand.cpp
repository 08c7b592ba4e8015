//===- RunCommand.cpp - layline run ---------------------------------------===//
#include "Commands.h"
#include "MpiLaunch.h"
#include "PlanFile.h"
#include "Run.h"
#include "TextTable.h"
#include <chrono>
#include <cstdio>

using namespace layline;
using namespace layline::tool;

namespace {

/// Tells of steps that take over a second.
class Progress {
public:
  explicit Progress(std::string what)
      : what(std::move(what)), start(std::chrono::steady_clock::now()) {}
  ~Progress() {
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
            .count();
    if (seconds > 1)
      std::fprintf(stderr, "%s: %.1f s\n", what.c_str(), seconds);
  }

private:
  std::string what;
  std::chrono::steady_clock::time_point start;
};

/// What --precision names, and how far a run in it is off at most, relative to
/// the largest value of a tensor.
struct Precision {
  const char *name;
  layline_precision value;
  double rtol;
};
constexpr Precision kPrecisions[] = {
    {"f32", LAYLINE_PRECISION_F32, 5e-6},
    {"f64", LAYLINE_PRECISION_F64, 1e-10},
    // 8 bits of fraction; docs/numerics.md has what is measured.
    {"bf16", LAYLINE_PRECISION_BF16, 5e-2}};

const Precision *findPrecision(const std::string &name) {
  for (const Precision &precision : kPrecisions)
    if (name == precision.name)
      return &precision;
  return nullptr;
}

} // namespace

/// Once: a call on the engine later would take its error's place, which other
/// processes are told.
bool Run::findRanks() {
  if (!check(layline_plan_local_ranks(engine.get(), &firstRank, &ranksHere)))
    return false;
  who = "rank " + std::to_string(firstRank);
  if (ranksHere > 1)
    who = "ranks " + std::to_string(firstRank) + " to " +
          std::to_string(firstRank + ranksHere - 1);
  return true;
}

/// Processes print into one another's lines: each says which it is.
void Run::complain(const std::string &message) const {
  if (isMpi() && mpiRank())
    std::cerr << who + ": " + message + "\n";
  else
    std::cerr << message << "\n";
}

bool Run::refuse(const std::string &message) {
  complain(message);
  exitCode = Unusable;
  return false;
}

bool Run::isLead() const { return !isMpi() || mpiRank().value_or(0) == 0; }

/// Prints the engine's error; what a file or the command line is to blame for
/// exits with 2.
bool Run::check(layline_status status) {
  if (status == LAYLINE_OK)
    return true;
  complain(layline_engine_error(engine.get()));
  switch (status) {
  case LAYLINE_BAD_ARGUMENT:
  case LAYLINE_UNREADABLE_FILE:
  case LAYLINE_MISSING_WEIGHT:
  case LAYLINE_WRONG_WEIGHT:
  case LAYLINE_NOT_BOUND:
    exitCode = Unusable;
    break;
  default:
    exitCode = Refused;
  }
  return false;
}

std::unique_ptr<safetensors::File> Run::open(const std::string &path) {
  std::string error;
  auto file = safetensors::File::open(path, error);
  if (!file)
    refuse(error);
  return file;
}

/// One step: rows `first` to first+rows-1 of the input. Those before are in the
/// caches.
bool Run::runChunk(int64_t first, int64_t rows) {
  const char *variant = "";
  int64_t ranks = 0;
  if (!check(layline_plan_ranks(engine.get(), &ranks)) ||
      !check(layline_plan_variant(engine.get(), rows, &variant)))
    return false;
  // Names are the plan's, which may be gone after the next call.
  std::string id = variant;
  {
    Progress progress("running");
    if (!check(
            layline_input_bind(engine.get(), "input_ids", &ids[first], rows)) ||
        !check(layline_input_bind(engine.get(), "positions", &positions[first],
                                  rows)) ||
        !check(layline_run(engine.get(), rows)))
      return false;
  }
  std::string each = "one process";
  if (isMpi())
    each = ranksHere == 1 ? "a process each"
                          : "processes of " + std::to_string(ranksHere);
  out() << "ran " << rows << " tokens on " << ranks << " ranks in " << each
        << ", variant " << id << ", " << arguments.precision << "\n";
  return printKernels();
}

bool Run::compareChunk(int64_t first, int64_t rows) {
  double rtol = arguments.rtol > 0 ? arguments.rtol
                                   : findPrecision(arguments.precision)->rtol;
  out() << "against " << arguments.check << " (bound " << formatError(rtol)
        << "):\n";
  ComparisonResult result = compareRun(
      engine.get(), *reference, first, rows, rtol,
      arguments.outputsOnly ? Compared::Outputs : Compared::All, out());
  total.compared += result.compared;
  total.failed += result.failed;
  total.error = result.error;
  if (total.error.empty() && result.compared == 0)
    total.error = arguments.check + ": holds no tensor to compare";
  if (total.error.empty())
    return true;
  return refuse(total.error);
}

bool Run::makeEngine() {
  layline_options options;
  layline_options_init(&options);
  options.precision = findPrecision(arguments.precision)->value;
  options.device = arguments.device.c_str();
  bool isCompared = !arguments.check.empty();
  options.taps =
      (isCompared && !arguments.outputsOnly) || !arguments.save.empty();
  // A read of memory that nothing wrote shows as not a number.
  options.poison = options.taps || isCompared;
  options.transport = arguments.transport.c_str();
  options.timeout = arguments.timeout;
  options.by_switch = arguments.bySwitch;
  layline_engine *raw = nullptr;
  layline_status status = layline_engine_create(&options, &raw);
  engine.reset(raw);
  if (status == LAYLINE_OK)
    return true;
  complain(layline_engine_create_error());
  exitCode = status == LAYLINE_BAD_ARGUMENT ? Unusable : Refused;
  return false;
}

/// Becomes as many processes as the plan has ranks. False: it did not.
bool Run::launchRanks() {
  std::optional<nlohmann::json> plan =
      readCheckedPlan(arguments.folder, exitCode);
  if (!plan)
    return false;
  int64_t ranks = 1;
  for (const nlohmann::json &axis : (*plan)["mesh"])
    ranks *= axis["size"].get<int64_t>();
  complain("--transport mpi: " + becomeMpirun(ranks));
  exitCode = Refused;
  return false;
}

bool Run::loadWeights() {
  Progress progress("reading weights");
  for (const std::string &file : arguments.weights)
    if (!check(layline_weights_load(engine.get(), file.c_str())))
      return false;
  int64_t bytes = 0;
  if (!check(layline_weights_check(engine.get())) ||
      !check(layline_weights_bytes_read(engine.get(), &bytes)))
    return false;
  if (isMpi())
    std::cout << who + " read " + std::to_string(bytes) + " bytes of weights\n"
              << std::flush;
  return true;
}

bool Run::checkArguments() {
  if (!findPrecision(arguments.precision))
    return refuse("--precision: found '" + arguments.precision +
                  "', expected f32, f64 or bf16");
  if (arguments.transport != "threads" && !isMpi())
    return refuse("--transport: found '" + arguments.transport +
                  "', expected threads or mpi");
  if (arguments.outputsOnly && arguments.check.empty())
    return refuse("--outputs-only: found without --check, whose comparison it "
                  "restricts");
  if (arguments.chunk.value_or(1) < 1)
    return refuse("--chunk: found " + std::to_string(*arguments.chunk) +
                  ", expected at least 1");
  return true;
}

int Run::operator()() {
  if (isMpi() && mpiRank())
    endWithMpirun();
  if (!checkArguments() || (isMpi() && !mpiRank() && !launchRanks()) ||
      !enableDevice() || !makeEngine())
    return exitCode;
  std::string path = planPath(arguments.folder);
  {
    Progress progress("loading the plan");
    if (!check(layline_plan_load(engine.get(), path.c_str())) || !findRanks())
      return exitCode;
  }
  if (!loadWeights())
    return exitCode;
  auto input = open(arguments.input);
  if (!input || !bindInputs(*input))
    return exitCode;
  if (!arguments.check.empty() && !(reference = open(arguments.check)))
    return exitCode;
  if (!beginTrace())
    return exitCode;
  for (int64_t first = 0; first < tokens;) {
    int64_t rows = std::min(arguments.chunk.value_or(tokens), tokens - first);
    if (!runChunk(first, rows) || (reference && !compareChunk(first, rows)))
      return exitCode;
    if (std::string error;
        !arguments.save.empty() && !recorded.addRun(engine.get(), error)) {
      complain(error);
      return Refused;
    }
    first += rows;
  }
  if (!writeTrace())
    return exitCode;
  if (std::string error; isLead() && !arguments.save.empty() &&
                         !recorded.write(arguments.save, error)) {
    complain(error);
    return Unusable;
  }
  if (!reference)
    return Good;
  out() << (total.failed ? "NOT EQUAL: " : "equal: ") << total.compared
        << " tensors compared, " << total.failed
        << " beyond the bound or missing\n";
  return total.failed ? Refused : Good;
}

void layline::tool::addRunCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App *command = app.add_subcommand(
      "run", "Run a plan: on the CPU, on emulated GPUs or on GPUs");
  command
      ->add_option("DIR", arguments->folder,
                   "Folder with plan.json, or the file")
      ->required();
  command
      ->add_option("--weights", arguments->weights,
                   "safetensors file with the weights; repeat for a sharded "
                   "model")
      ->required();
  command
      ->add_option("--input", arguments->input,
                   "safetensors file with input_ids, and position_ids and a "
                   "cached prefix if there are any")
      ->required();
  command->add_option("--check", arguments->check,
                      "safetensors file with recorded tensors to compare with");
  command->add_flag("--outputs-only", arguments->outputsOnly,
                    "Compare outputs only. No value inside a step is asked "
                    "for, so that none runs in pieces to give it");
  command->add_option("--save", arguments->save,
                      "safetensors file to write every recorded tensor to");
  command->add_option(
      "--trace", arguments->trace,
      "JSON file of what ran when, for Perfetto and chrome://tracing. With "
      "--transport mpi a file for each process, by its first rank: FILE.rank0 "
      "and so on");
  command
      ->add_option("--precision", arguments->precision,
                   "f32, f64, or bf16: computed in f32, rounded where the plan "
                   "has bf16")
      ->capture_default_str();
  command
      ->add_option("--device", arguments->device,
                   "cpu; cuda: this machine's GPUs; simt: emulated GPUs, which "
                   "check the kernels of collectives and rows")
      ->capture_default_str();
  command->add_option(
      "--simt", arguments->simt,
      "What --device simt makes hard, words with commas between "
      "them: plain, weak, race, starve, residency, seed=N");
  command
      ->add_option("--tokens", arguments->tokens,
                   "Run only the first so many rows of the input")
      ->check(wholeNumber());
  command
      ->add_option("--chunk", arguments->chunk,
                   "Run the input in steps of so many rows, as an engine that "
                   "prefills in chunks: rows of earlier steps are cached")
      ->check(wholeNumber());
  command
      ->add_option("--rtol", arguments->rtol,
                   "Bound on the largest error relative to the largest "
                   "value of a tensor; default 1e-10 (f64), 5e-6 (f32), "
                   "5e-2 (bf16)")
      ->check(positiveNumber());
  command
      ->add_option("--transport", arguments->transport,
                   "threads: all ranks in this process. mpi: a process each, "
                   "under mpirun, which is started if this is not; device cuda "
                   "takes several ranks of as many in each process too")
      ->capture_default_str();
  command->add_flag("--by-switch", arguments->bySwitch,
                    "With --device cuda: collectives are summed and replicated "
                    "by the cards' switch where that can, in its order");
  command
      ->add_option("--timeout", arguments->timeout,
                   "Seconds that a rank waits for another one at most; "
                   "default 300")
      ->check(positiveNumber());
  command->footer(
      "Exit code 1 if a tensor is beyond the bound or missing.\n\n"
      "Example:\n  layline run plan --weights model.safetensors --input "
      "golden.safetensors --check golden.safetensors --precision f64");
  command->callback([arguments, &exitCode] { exitCode = Run(*arguments)(); });
}
