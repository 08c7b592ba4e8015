//===- RunCommand.cpp - layline run ---------------------------------------===//
#include "Commands.h"
#include "PlanFile.h"
#include "TensorComparison.h"
#include "TensorFile.h"
#include "TextTable.h"
#include "layline/runtime.h"
#include "layline/safetensors.h"
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>

using namespace layline;
using namespace layline::tool;

namespace {

struct Arguments {
  std::string folder, input, check, save;
  std::vector<std::string> weights;
  std::string precision = "f32";
  std::optional<int64_t> tokens; // nothing: all rows of the input
  std::optional<int64_t> chunk;  // nothing: all of them in one step
  double rtol = 0;               // 0: the default of the precision
};

struct EngineDeleter {
  void operator()(layline_engine *engine) const {
    layline_engine_destroy(engine);
  }
};
using EnginePtr = std::unique_ptr<layline_engine, EngineDeleter>;

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

class Run {
public:
  explicit Run(const Arguments &arguments) : arguments(arguments) {}
  int operator()();

private:
  bool check(layline_status status);
  std::unique_ptr<safetensors::File> open(const std::string &path);
  bool bindInputs(const safetensors::File &file);
  bool bindPrefix(const safetensors::File &file, int64_t first);
  bool runChunk(int64_t first, int64_t rows);
  bool compareChunk(int64_t first, int64_t rows);

  const Arguments &arguments;
  EnginePtr engine;
  std::unique_ptr<safetensors::File> reference;
  int exitCode = Good;
  int64_t tokens = 0;
  std::vector<int64_t> ids, positions;
  ComparisonResult total;
  TensorFile recorded;
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

/// Prints the engine's error; what a file or the command line is to blame for
/// exits with 2.
bool Run::check(layline_status status) {
  if (status == LAYLINE_OK)
    return true;
  std::cerr << layline_engine_error(engine.get()) << "\n";
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
  if (!file) {
    std::cerr << error << "\n";
    exitCode = Unusable;
  }
  return file;
}

/// Rows cached before the first token: layer.i.past_k, layer.i.past_v as
/// [1, heads, past, width], at the positions before `first`.
bool Run::bindPrefix(const safetensors::File &file, int64_t first) {
  int64_t count = 0, past = 0;
  if (!check(layline_plan_count(engine.get(), LAYLINE_PLAN_CACHES, &count)))
    return false;
  const safetensors::Tensor *prefix = file.find("prefix_input_ids");
  if (!prefix)
    return true;
  past = prefix->elements();
  if (past > first) {
    std::cerr << file.path() << ": prefix_input_ids has " << past
              << " tokens, but the input begins at position " << first << "\n";
    exitCode = Unusable;
    return false;
  }
  for (int64_t i = 0; i < count; ++i) {
    layline_cache_info info{};
    if (!check(layline_plan_cache(engine.get(), i, &info)))
      return false;
    if (info.is_integer) {
      std::vector<int64_t> cached(static_cast<size_t>(past));
      std::iota(cached.begin(), cached.end(), first - past);
      if (!check(layline_cache_bind(engine.get(), info.id, LAYLINE_I64,
                                    cached.data(), past)))
        return false;
      continue;
    }
    std::string name = "layer." + std::to_string(info.layer) + ".past_" +
                       (std::string(info.plane) == "key" ? "k" : "v");
    const safetensors::Tensor *tensor = file.find(name);
    int64_t heads = info.row_shape.dims[0], width = info.row_shape.dims[1];
    if (!tensor ||
        tensor->shape != std::vector<int64_t>{1, heads, past, width}) {
      std::cerr << file.path() << ": " << name << ": "
                << (tensor ? "found another shape" : "not found")
                << ", expected [1, " << heads << ", " << past << ", " << width
                << "]\n";
      exitCode = Unusable;
      return false;
    }
    std::string error;
    auto stored = file.readF64(name, error);
    if (!stored) {
      std::cerr << error << "\n";
      exitCode = Unusable;
      return false;
    }
    std::vector<double> rows(stored->size());
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t row = 0; row < past; ++row)
        for (int64_t j = 0; j < width; ++j)
          rows[(row * heads + head) * width + j] =
              (*stored)[(head * past + row) * width + j];
    if (!check(layline_cache_bind(engine.get(), info.id, LAYLINE_F64,
                                  rows.data(), past)))
      return false;
  }
  return check(layline_past_set(engine.get(), past));
}

bool Run::bindInputs(const safetensors::File &file) {
  std::string error;
  auto fail = [&](const std::string &message) {
    std::cerr << file.path() << ": " << message << "\n";
    exitCode = Unusable;
    return false;
  };
  if (!file.find("input_ids"))
    return fail("input_ids: not found, expected the token ids, [tokens] or "
                "[1, tokens]");
  auto tokenIds = file.readI64("input_ids", error);
  if (!tokenIds)
    return fail(error);
  ids = *tokenIds;
  int64_t rows = static_cast<int64_t>(ids.size());
  positions.resize(ids.size());
  std::iota(positions.begin(), positions.end(), int64_t(0));
  if (const safetensors::Tensor *tensor = file.find("position_ids")) {
    auto given = file.readI64("position_ids", error);
    if (!given || tensor->elements() != rows)
      return fail(given ? "position_ids has " +
                              std::to_string(tensor->elements()) +
                              " entries, expected " + std::to_string(rows)
                        : error);
    positions = *given;
  } else if (const safetensors::Tensor *prefix =
                 file.find("prefix_input_ids")) {
    for (int64_t &position : positions)
      position += prefix->elements();
  }
  tokens = arguments.tokens.value_or(rows);
  if (tokens < 1 || tokens > rows) {
    std::cerr << "--tokens: found " << tokens << ", expected 1 to " << rows
              << ", the rows of " << file.path() << "\n";
    exitCode = Unusable;
    return false;
  }
  return bindPrefix(file, positions[0]);
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
  std::cout << "ran " << rows << " tokens on " << ranks
            << " ranks in one process, variant " << id << ", "
            << arguments.precision << "\n";
  return true;
}

bool Run::compareChunk(int64_t first, int64_t rows) {
  double rtol = arguments.rtol > 0 ? arguments.rtol
                                   : findPrecision(arguments.precision)->rtol;
  std::cout << "against " << arguments.check << " (bound " << formatError(rtol)
            << "):\n";
  ComparisonResult result =
      compareRun(engine.get(), *reference, first, rows, rtol, std::cout);
  total.compared += result.compared;
  total.failed += result.failed;
  total.error = result.error;
  if (total.error.empty() && result.compared == 0)
    total.error = arguments.check + ": holds no tensor to compare";
  if (total.error.empty())
    return true;
  std::cerr << total.error << "\n";
  exitCode = Unusable;
  return false;
}

int Run::operator()() {
  const Precision *precision = findPrecision(arguments.precision);
  if (!precision) {
    std::cerr << "--precision: found '" << arguments.precision
              << "', expected f32, f64 or bf16\n";
    return Unusable;
  }
  layline_options options;
  layline_options_init(&options);
  options.precision = precision->value;
  options.taps = !arguments.check.empty() || !arguments.save.empty();
  // A read of memory that nothing wrote shows as not a number.
  options.poison = options.taps;
  layline_engine *raw = nullptr;
  layline_status status = layline_engine_create(&options, &raw);
  engine.reset(raw);
  if (status != LAYLINE_OK) {
    std::cerr << "the engine cannot be made: " << layline_status_name(status)
              << "\n";
    return Refused;
  }
  std::string path = planPath(arguments.folder);
  {
    Progress progress("loading the plan");
    if (!check(layline_plan_load(engine.get(), path.c_str())))
      return exitCode;
  }
  {
    Progress progress("reading weights");
    for (const std::string &file : arguments.weights)
      if (!check(layline_weights_load(engine.get(), file.c_str())))
        return exitCode;
    if (!check(layline_weights_check(engine.get())))
      return exitCode;
  }
  auto input = open(arguments.input);
  if (!input || !bindInputs(*input))
    return exitCode;
  if (arguments.chunk.value_or(1) < 1) {
    std::cerr << "--chunk: found " << *arguments.chunk
              << ", expected at least 1\n";
    return Unusable;
  }
  if (!arguments.check.empty() && !(reference = open(arguments.check)))
    return exitCode;
  for (int64_t first = 0; first < tokens;) {
    int64_t rows = std::min(arguments.chunk.value_or(tokens), tokens - first);
    if (!runChunk(first, rows) || (reference && !compareChunk(first, rows)))
      return exitCode;
    if (std::string error;
        !arguments.save.empty() && !recorded.addRun(engine.get(), error)) {
      std::cerr << error << "\n";
      return Refused;
    }
    first += rows;
  }
  if (std::string error;
      !arguments.save.empty() && !recorded.write(arguments.save, error)) {
    std::cerr << error << "\n";
    return Unusable;
  }
  if (!reference)
    return Good;
  std::cout << (total.failed ? "NOT EQUAL: " : "equal: ") << total.compared
            << " tensors compared, " << total.failed
            << " beyond the bound or missing\n";
  return total.failed ? Refused : Good;
}

void layline::tool::addRunCommand(CLI::App &app, int &exitCode) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App *command = app.add_subcommand(
      "run", "Run a plan on the CPU, all ranks as threads of this process");
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
  command->add_option("--save", arguments->save,
                      "safetensors file to write every recorded tensor to");
  command
      ->add_option("--precision", arguments->precision,
                   "f32, f64, or bf16: computed in f32, rounded where the plan "
                   "has bf16")
      ->capture_default_str();
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
  command->footer(
      "Exit code 1 if a tensor is beyond the bound or missing.\n\n"
      "Example:\n  layline run plan --weights model.safetensors --input "
      "golden.safetensors --check golden.safetensors --precision f64");
  command->callback([arguments, &exitCode] { exitCode = Run(*arguments)(); });
}
