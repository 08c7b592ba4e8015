// How device 'cuda' makes a variant's program.
#include "devices/cuda/CudaDevice.h"
#include "devices/cuda/Steps.h"
#include "plan/Error.h"

namespace layline::runtime::cuda {
namespace {

/// Graphs hold memory of the driver; a serving engine rounds its token counts
/// to fewer than these.
constexpr std::size_t kMaxPrograms = 64;

} // namespace

void CudaDevice::describeRun(const RunRequest &request) {
  shape_.describe(request, elementBytes());
  for (RankShape &rank : shapes_)
    rank.parts = plan_.parts(request.tokens, rank.coordinates);
  for (RankView &rank : ranks_) {
    rank.parts = shapes_[static_cast<std::size_t>(rank.rank)].parts;
    // Known when the program is built: both places are aligned for any kernel.
    rank.inputs.assign(request.variant->buffers.size(), 0);
  }
  taps_.clear();
  if (options_.taps)
    taps_.list(*request.variant);
}

CudaDevice::Program &CudaDevice::programFor(const RunRequest &request) {
  bool asksAttention = options_.hooks && options_.hooks->attention;
  for (auto it = programs_.begin(); it != programs_.end(); ++it)
    if (it->variant == request.variant && it->tokens == request.tokens &&
        it->asksAttention == asksAttention && it->hookChanges == hookChanges_) {
      programs_.splice(programs_.begin(), programs_, it);
      return programs_.front();
    }
  if (programs_.size() == kMaxPrograms)
    programs_.pop_back();
  programs_.emplace_front();
  Program &program = programs_.front();
  program.variant = request.variant;
  program.tokens = request.tokens;
  program.asksAttention = asksAttention;
  program.hookChanges = hookChanges_;
  program.memory.resize(cards_.size());
  program.graphs.resize(cards_.size());
  try {
    program.plans.emplace(fused_.plan(*request.variant));
    build(program, request);
  } catch (...) {
    programs_.pop_front();
    throw;
  }
  return program;
}

void CudaDevice::build(Program &program, const RunRequest &request) {
  for (std::size_t c = 0; c < cards_.size(); ++c)
    program.memory[c].faults = faults_[c].address();
  {
    ProgramBuilder sizes(ranks_, shapes_, cards_, groups_, program.memory);
    addAll(sizes, program, request);
  }
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    ProgramMemory &memory = program.memory[c];
    std::size_t scratch = 0;
    for (std::size_t bytes : memory.scratchBytes)
      scratch += bytes;
    const Card &card = *cards_[c];
    program.parameters.emplace_back(card, memory.parameterBytes,
                                    "parameters of kernels");
    program.staging.emplace_back(card, memory.parameterBytes,
                                 "parameters of kernels");
    program.scratch.emplace_back(card, scratch, "scratch memory");
    program.taps.emplace_back(card, memory.tapBytes, "values that are kept");
    memory.parameters = program.parameters[c].address();
    memory.scratch = program.scratch[c].address();
    memory.taps = program.taps[c].address();
  }
}

void CudaDevice::addAll(ProgramBuilder &builder, Program &program,
                        const RunRequest &request) {
  program.tapPlaces.assign(taps_.all().size(), {});
  addInputs(builder, request);
  const std::vector<Step> &steps = request.variant->steps;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    builder.begin(steps[s], s);
    addStep(builder, program, steps[s]);
  }
}

/// The ranks' parts of the inputs are read from the parameters' memory, or from
/// where other cards reach them.
void CudaDevice::addInputs(ProgramBuilder &builder, const RunRequest &request) {
  const Variant &variant = *request.variant;
  inputCopies_.clear();
  for (RankView &rank : ranks_) {
    for (std::size_t b = 0; b < variant.buffers.size(); ++b) {
      const Buffer &buffer = variant.buffers[b];
      if (buffer.kind != Buffer::Class::Input)
        continue;
      std::vector<std::int64_t> part =
          localInput(plan_, buffer, request, rank.environment());
      auto own =
          reinterpret_cast<Address>(builder.table(rank.cardNumber, part));
      rank.inputs[b] = own;
      std::optional<SharedInputs::Place> shared =
          sharedInputs_.find(variant, b, rank);
      if (!shared)
        continue;
      std::size_t bytes = part.size() * sizeof(std::int64_t);
      if (bytes > shared->bytes)
        fail(LAYLINE_INTERNAL, "input '", buffer.id, "' has ", bytes,
             " bytes on rank ", rank.rank, "; there is room for ",
             shared->bytes);
      rank.inputs[b] = shared->address;
      if (bytes > 0)
        inputCopies_.push_back(
            {rank.cardNumber, own, shared->address, bytes, buffer.id});
    }
  }
}

void CudaDevice::addStep(ProgramBuilder &builder, Program &program,
                         const Step &step) {
  auto named = [&](const auto &add) {
    try {
      add();
    } catch (const Error &error) {
      fail(error.status(), titleOf(step), ": ", error.what());
    }
  };
  const RunPlans &plans = *program.plans;
  const RunPlans::OfRanks *launches = plans.launchesOf(step);
  bool isDone = launches || plans.isDoneBefore(step);
  if (launches)
    named([&] { fused_.add(builder, *launches); });
  for (const Step &inner : step.body)
    addStep(builder, program, inner);
  std::size_t before = builder.size();
  if (StepFunction add = functionOf(step.kind); add && !isDone) {
    named([&] { add(builder, step); });
    program.kernels[&step] = builder.kernelsFrom(before);
  }
  addTaps(builder, program, step);
}

void CudaDevice::addTaps(ProgramBuilder &builder, Program &program,
                         const Step &step) {
  taps_.forEach(step, [&](std::size_t tap, const Operand &operand) {
    std::vector<Address> &places = program.tapPlaces[tap];
    const Buffer &buffer = shape_.variant->buffers[operand.index];
    for (const RankView &rank : ranks_) {
      auto bytes = static_cast<std::size_t>(elements(rank.shape(operand)) *
                                            types_.bytes(buffer));
      places.push_back(builder.tap(rank, bytes));
      builder.copy(rank, rank.address(operand.index), places.back(), bytes);
    }
  });
}

} // namespace layline::runtime::cuda
