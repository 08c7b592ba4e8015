// How device 'cuda' runs a program.
#include "devices/cuda/CudaDevice.h"
#include "devices/cuda/EngineCalls.h"
#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/Steps.h"
#include "plan/Error.h"
#include "transports/mpi/Pause.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

namespace layline::runtime::cuda {
namespace {

std::string describe(const local::FaultRecord &record) {
  switch (static_cast<local::Fault>(record.fault)) {
  case local::Fault::TokenOutsideVocabulary:
    return concat("token id ", record.value, " of row ", record.row,
                  " is outside the vocabulary");
  case local::Fault::ExpertOutsideCount:
    return concat("expert id ", record.value, " of row ", record.row,
                  " is outside the experts");
  case local::Fault::RouterLogitNotANumber:
    return concat("router logit ", record.value, " of row ", record.row,
                  " is not a number");
  case local::Fault::QuerySeesNoKey:
    return concat("query row ", record.row, " at position ", record.value,
                  " sees no key");
  case local::Fault::SelectedNoKey:
    return concat("query row ", record.row, " selects row ", record.value,
                  " of the keys, which is not there");
  case local::Fault::IndexerScoreNotANumber:
    return concat("the score of query row ", record.row, " and key row ",
                  record.value, " is not a number");
  default:
    return concat("an unknown fault ", record.fault);
  }
}

/// Whose flag it is that did not come: the number behind it is that of a member
/// of the group, or of a chunk.
const char *describe(kernels::FlagKind kind) {
  switch (kind) {
  case kernels::FlagKind::Entry:
    return "the entry of member ";
  case kernels::FlagKind::Exit:
    return "the exit of member ";
  case kernels::FlagKind::OneShotWord:
    return "the mailbox of member ";
  case kernels::FlagKind::Ready:
    return "the readiness of member ";
  default:
    return "chunk ";
  }
}

} // namespace

/// What an engine may bring to other devices and this one would pass over.
void CudaDevice::refuseHooks(const RunRequest &request) const {
  const Hooks *hooks = options_.hooks;
  if (!hooks || !hooks->gemm)
    return;
  auto refuse = [](const Step &step) {
    if (step.kind == StepKind::Experts)
      fail(LAYLINE_REFUSED_FEATURE, "step '", step.id, "' (", step.info().name,
           step.place.empty() ? "" : ", ", step.place,
           "): device 'cuda' asks an engine for products of linear steps, not "
           "for those of experts");
  };
  for (const Step &step : request.variant->steps) {
    refuse(step);
    for (const Step &inner : step.body)
      refuse(inner);
  }
}

void CudaDevice::run(const RunRequest &request) {
  groups_.comms().checkUsable();
  transport_.begin();
  ran_ = nullptr;
  const Program *begun = nullptr; // parts of it may be on the cards
  try {
    refuseHooks(request);
    describeRun(request);
    reserveCaches(request.past + request.tokens);
    locateCaches(request.past + request.tokens);
    Program &program = programFor(request);
    ProgramBuilder builder(ranks_, shapes_, cards_, groups_, program.memory);
    addAll(builder, program, request);
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      const std::vector<std::byte> &bytes = builder.bytes(c);
      if (bytes.size() != program.parameters[c].bytes())
        fail(LAYLINE_INTERNAL, "parameters of kernels are ", bytes.size(),
             " bytes; the program was built for ",
             program.parameters[c].bytes());
      if (!bytes.empty())
        std::memcpy(program.staging[c].data(), bytes.data(), bytes.size());
    }
    program.groups = builder.takeCommands();
    trace_ = request.trace;
    if (trace_)
      trace_->beginRun(*request.variant, request.tokens, request.past);
    begun = &program;
    engineStreams_.beginRun(streams_);
    upload(program);
    if (options_.poison)
      poison(*request.variant);
    collectives_.beginRun(*request.variant);
    enqueueAll(program);
    engineStreams_.endRun(streams_);
    awaitRun(program);
    begun = nullptr;
    collectives_.endRun();
    checkFaults(program);
    if (trace_)
      addTimes(program);
    ran_ = &program;
  } catch (const std::exception &error) {
    breakOff(begun, error.what());
    collectives_.endRun();
    taps_.clear();
    for (std::size_t c = 0; c < plan_.caches.size(); ++c)
      truncateCache(static_cast<int>(c), request.past);
    throw;
  }
  for (const Step &step : request.variant->steps) {
    auto appended = [&](const Step &of) {
      if (of.kind == StepKind::CacheAppend)
        truncateCache(of.arg("cache").index, request.past + request.tokens);
    };
    appended(step);
    for (const Step &inner : step.body)
      appended(inner);
  }
}

void CudaDevice::awaitRun(const Program &program) {
  if (program.usesNccl)
    awaitNccl(program);
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    cards_[c]->use();
    check(driver().streamSynchronize(streams_[c].get(0)), "cuStreamSynchronize",
          "a run on " + cards_[c]->name());
  }
}

/// Kernels of NCCL's wait for ever: the host looks what becomes of them, and of
/// the others. What is between two marks counts as well; it is short beside any
/// timeout.
void CudaDevice::awaitNccl(const Program &program) {
  using Clock = std::chrono::steady_clock;
  for (std::size_t reached = 0; reached < program.marked; ++reached) {
    const NcclMark &mark = program.marks[reached];
    const std::string title = titleOf(*mark.step);
    const Clock::time_point begin = Clock::now();
    for (Pause pause; !hasReached(mark); pause()) {
      groups_.comms().watch(title);
      if (std::chrono::duration<double>(Clock::now() - begin).count() >
          options_.timeout)
        fail(LAYLINE_RUN_FAILURE, title, ": waited ", options_.timeout,
             " s for ", peersOf(*mark.step));
    }
  }
}

bool CudaDevice::hasReached(const NcclMark &mark) const {
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    cards_[c]->use();
    Result result = driver().eventQuery(mark.events[c].get());
    if (result == kErrorNotReady)
      return false;
    check(result, "cuEventQuery", titleOf(*mark.step));
  }
  return true;
}

/// NCCL does not say whom it waits for: all ranks that the step brings together
/// with those of this process, "one of the ranks 1, 2, by NCCL".
std::string CudaDevice::peersOf(const Step &step) const {
  std::set<std::int64_t> others;
  auto add = [&](const Step &of) {
    if (!of.info().isCollective || groups_.reach(of.attrs.group) != Reach::Nccl)
      return;
    for (const RankView &rank : ranks_)
      for (std::int64_t member :
           rank.instances[static_cast<std::size_t>(of.attrs.group)]->ranks)
        if (!transport_.world() || !findRank(ranks_, member))
          others.insert(member);
  };
  add(step);
  std::for_each(step.body.begin(), step.body.end(), add);
  std::string text;
  for (std::int64_t rank : others)
    text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return (others.size() == 1 ? "rank " : "one of the ranks ") + text +
         ", by NCCL";
}

/// Parts of the run may be on their way, and read what the next one writes.
/// Those that wait for other ranks by NCCL may wait for ever: if not all of its
/// calls were made, if it failed, or if another process does not go on.
void CudaDevice::breakOff(const Program *begun, const std::string &why) {
  if (transport_.world())
    transport_.abort(ranks_.front().rank, why);
  if (begun && begun->usesNccl)
    groups_.comms().abort();
  for (std::size_t c = 0; c < cards_.size(); ++c)
    for (std::size_t s = 0; s < streams_[c].size(); ++s)
      driver().streamSynchronize(streams_[c].get(s));
}

void CudaDevice::upload(Program &program) {
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    cards_[c]->use();
    Stream stream = streams_[c].get(0);
    std::string what = "a run on " + cards_[c]->name();
    if (program.staging[c].bytes() > 0)
      check(driver().copyToDevice(program.parameters[c].address(),
                                  program.staging[c].data(),
                                  program.staging[c].bytes(), stream),
            "cuMemcpyHtoDAsync", what);
    // Other cards read them behind a meeting, which is behind this.
    for (const InputCopy &copy : inputCopies_)
      if (copy.card == c)
        check(driver().copyOnDevice(copy.to, copy.from, copy.bytes, stream),
              "cuMemcpyDtoDAsync", "input '" + copy.buffer + "'");
    check(
        driver().setBytes(faults_[c].address(), 0, faults_[c].bytes(), stream),
        "cuMemsetD8Async", what);
  }
}

/// All bits set is NaN in every type.
void CudaDevice::poison(const Variant &variant) {
  for (const RankView &rank : ranks_) {
    rank.card->use();
    for (const Buffer &buffer : variant.buffers)
      if (buffer.arena >= 0) {
        std::int64_t scale = shape_.arenaScale[buffer.arena];
        check(driver().setBytes(rank.arenas[buffer.arena].address +
                                    static_cast<Address>(buffer.offset * scale),
                                0xff,
                                static_cast<std::size_t>(buffer.bytes * scale),
                                streams_[rank.cardNumber].get(0)),
              "cuMemsetD8Async", "buffer '" + buffer.id + "'");
      }
  }
}

void CudaDevice::planProducts(const Program &program) {
  for (const CommandGroup &group : program.groups)
    for (const Command &command : group.commands)
      if (command.kind == Command::Kind::Product)
        gemm_[command.card]->plan(command.product);
}

/// One graph a card. NCCL's calls of several cards must be made together, an
/// engine's function is asked in every run, and steps of a graph have no times:
/// such runs are enqueued call by call.
void CudaDevice::enqueueAll(Program &program) {
  program.usesNccl = false;
  program.marked = 0;
  for (const CommandGroup &group : program.groups)
    for (const Command &command : group.commands)
      program.usesNccl |= command.kind == Command::Kind::Nccl;
  planProducts(program);
  for (std::size_t c = 0; c < cards_.size(); ++c)
    streams_[c].reserveEvents(*cards_[c], program.variant->events.size());
  if (program.usesNccl || trace_ || program.asksAttention ||
      (options_.hooks && options_.hooks->gemm)) {
    if (trace_) {
      times_.resize(cards_.size());
      for (std::size_t c = 0; c < cards_.size(); ++c)
        times_[c].reserve(*cards_[c], program.groups.size());
      traceBegin_ = trace_->nanoseconds();
    }
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      cards_[c]->use();
      if (trace_)
        times_[c].begin(streams_[c].get(0));
      streams_[c].fork();
    }
    enqueue(program, kAllCards);
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      cards_[c]->use();
      streams_[c].join();
    }
    return;
  }
  for (std::size_t c = 0; c < cards_.size(); ++c)
    if (!program.graphs[c].isCaptured())
      program.graphs[c].capture(*cards_[c], streams_[c],
                                [&] { enqueue(program, c); });
  // Nothing between these may wait for a card: kernels of one wait for those of
  // the others.
  for (std::size_t c = 0; c < cards_.size(); ++c)
    program.graphs[c].launch(*cards_[c], streams_[c].get(0));
}

/// Behind what NCCL was given for a step.
void CudaDevice::mark(Program &program, const Step &step) {
  if (program.marked == program.marks.size()) {
    program.marks.emplace_back();
    for (const std::unique_ptr<Card> &card : cards_)
      program.marks.back().events.emplace_back(*card, /*isTimed=*/false);
  }
  NcclMark &mark = program.marks[program.marked++];
  mark.step = &step;
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    cards_[c]->use();
    check(driver().eventRecord(
              mark.events[c].get(),
              streams_[c].get(static_cast<std::size_t>(step.stream))),
          "cuEventRecord", titleOf(step));
  }
}

void CudaDevice::enqueue(Program &program, std::size_t only) {
  auto eachCard = [&](const auto &call) {
    for (std::size_t c = 0; c < cards_.size(); ++c)
      if (only == kAllCards || only == c) {
        cards_[c]->use();
        call(c);
      }
  };
  for (std::size_t number = 0; number < program.groups.size(); ++number) {
    const CommandGroup &group = program.groups[number];
    const Step &step = *group.step;
    auto stream = static_cast<std::size_t>(step.stream);
    eachCard([&](std::size_t c) {
      for (int event : step.waits)
        check(driver().streamWaitEvent(
                  streams_[c].get(stream),
                  streams_[c].event(static_cast<std::size_t>(event)), 0),
              "cuStreamWaitEvent", "step '" + step.id + "'");
    });
    if (trace_)
      eachCard([&](std::size_t c) {
        times_[c].beginStep(number, streams_[c].get(stream));
      });
    std::optional<NcclComms::Calls> calls;
    bool usedNccl = false;
    auto turn = [&](bool isNccl) {
      if (isNccl == calls.has_value())
        return;
      if (isNccl) {
        calls.emplace(groups_.comms(), titleOf(step));
      } else {
        calls->end();
        calls.reset();
      }
      usedNccl = true;
    };
    for (const Command &command : group.commands) {
      if (only != kAllCards && command.card != only)
        continue;
      turn(command.kind == Command::Kind::Nccl);
      enqueue(program, command);
    }
    turn(false);
    if (usedNccl)
      mark(program, step);
    if (trace_)
      eachCard([&](std::size_t c) {
        times_[c].endStep(number, streams_[c].get(stream));
      });
    eachCard([&](std::size_t c) {
      for (int event : step.signals)
        check(driver().eventRecord(
                  streams_[c].event(static_cast<std::size_t>(event)),
                  streams_[c].get(stream)),
              "cuEventRecord", "step '" + step.id + "'");
    });
  }
}

void CudaDevice::enqueue(const Program &program, const Command &command) {
  const Card &card = *cards_[command.card];
  Stream stream = streams_[command.card].get(command.stream);
  card.use();
  switch (command.kind) {
  case Command::Kind::Kernel:
    launch(card, command.kernel,
           program.parameters[command.card].address() + command.parameters,
           stream);
    return;
  case Command::Kind::Product:
    if (options_.hooks &&
        multiplyByEngine(*options_.hooks, plan_, command, stream))
      return;
    gemm_[command.card]->run(command.product, command.input, command.weight,
                             command.output, stream, command.stream);
    return;
  case Command::Kind::Copy:
    check(driver().copyOnDevice(command.output, command.input, command.bytes,
                                stream),
          "cuMemcpyDtoDAsync", "a copy on " + card.name());
    return;
  case Command::Kind::Nccl:
    command.nccl(stream);
    return;
  case Command::Kind::Engine:
    if (!command.isDone(stream))
      launch(card, command.kernel,
             program.parameters[command.card].address() + command.parameters,
             stream);
    return;
  }
}

/// A card's launches are for all its ranks: they share the times.
void CudaDevice::addTimes(const Program &program) {
  for (std::size_t g = 0; g < program.groups.size(); ++g)
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      cards_[c]->use();
      auto [begin, end] = times_[c].ofStep(g);
      for (const RankView &rank : ranks_)
        if (rank.cardNumber == c)
          trace_->add(rank.rank, *program.groups[g].step, traceBegin_ + begin,
                      traceBegin_ + end);
    }
}

/// What kernels wrote down that cannot go on; the run has ended on all cards.
void CudaDevice::checkFaults(const Program &program) {
  if (std::optional<Groups::Late> late = groups_.late()) {
    groups_.reset();
    fused_.reset();
    const kernels::SpinError &error = late->error;
    fail(LAYLINE_RUN_FAILURE, "rank ", late->rank, ", block ", error.block,
         ": waited ", options_.timeout, " s for ",
         describe(static_cast<kernels::FlagKind>(error.kind)), error.flag,
         ": epoch ", error.epoch, " was expected, ", error.seen, " was seen");
  }
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    local::FaultRecord record;
    copyOut(*cards_[c], &record, faults_[c].address(), sizeof record,
            "record of a kernel's fault");
    if (record.fault == 0)
      continue;
    const Step &step =
        program.variant->steps[static_cast<std::size_t>(record.step)];
    fail(LAYLINE_RUN_FAILURE, titleOf(step), " on rank ", record.rank, ": ",
         describe(record));
  }
}

} // namespace layline::runtime::cuda
