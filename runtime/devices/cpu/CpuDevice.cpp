#include "devices/cpu/CpuDevice.h"

#include "devices/cpu/Blas.h"
#include "devices/cpu/Kernels.h"
#include "devices/cpu/Rounding.h"

#include <algorithm>
#include <cstring>

namespace layline::runtime {

template <typename T>
CpuDevice<T>::CpuDevice(const Plan &plan, const DeviceOptions &options,
                        Transport &transport,
                        std::unique_ptr<StepLauncher<T>> launcher)
    : plan_(plan), options_(options),
      hooks_(options.hooks ? *options.hooks : noHooks_),
      weights_(plan, options.precision, transport.localRanks(),
               hooks_.memory()),
      transport_(transport), ranks_(transport.localRanks().size()),
      launcher_(std::move(launcher)),
      threads_(static_cast<std::int64_t>(ranks_.size())) {
  useOneBlasThread();
  state_.plan = &plan;
  state_.hooks = &hooks_;
  state_.precision = options.precision;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    RankContext<T> &rank = ranks_[r];
    rank.run = &state_;
    rank.rank = transport.localRanks()[r];
    rank.coordinates = plan.coordinates(rank.rank);
    rank.parts = plan.parts(plan.tokens.min, rank.coordinates);
    rank.weights.resize(plan.weights.size());
    for (const Cache &cache : plan.caches) {
      Shape row =
          localShape(cacheShape(cache), cache.layout, rank.environment());
      row.erase(row.begin());
      rank.caches.emplace_back(cache, rank.rank,
                               isInteger(cache.dtype) ? LAYLINE_I64
                               : sizeof(T) == 4       ? LAYLINE_F32
                                                      : LAYLINE_F64,
                               row, hooks_.memory());
    }
    for (std::size_t g = 0; g < plan.groups.size(); ++g)
      rank.communicators.push_back(
          &transport.group(rank.rank, static_cast<int>(g)));
  }
}

template <typename T> void CpuDevice<T>::prepare(const RunRequest &request) {
  const Variant &variant = *request.variant;
  state_.describe(request, [](const Buffer &buffer) {
    return static_cast<std::int64_t>(
        isInteger(buffer.dtype) ? sizeof(std::int64_t) : sizeof(T));
  });
  for (RankContext<T> &rank : ranks_) {
    if (rank.arenas.size() < variant.arenas.size())
      rank.arenas.resize(variant.arenas.size());
    for (std::size_t a = 0; a < variant.arenas.size(); ++a) {
      auto bytes = static_cast<std::size_t>(checkedMul(
          variant.arenas[a].bytes, state_.arenaScale[a], "size of an arena"));
      // Variants take turns, prefill and decode: the memory of the largest
      // stays.
      if (rank.arenas[a].data() && rank.arenas[a].size() >= bytes)
        continue;
      rank.arenas[a] = {};
      rank.arenas[a] =
          AlignedBytes(bytes, MemorySource{hooks_.memory(), rank.rank,
                                           LAYLINE_MEMORY_ARENA});
    }
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    for (std::size_t w = 0; w < plan_.weights.size(); ++w)
      ranks_[r].weights[w] = weights_.slice(static_cast<int>(w), r);
    prepareRank(ranks_[r], request);
  }
  if (launcher_)
    launcher_->prepare(ranks_);
  listTaps(variant);
}

template <typename T>
void CpuDevice<T>::prepareRank(RankContext<T> &rank,
                               const RunRequest &request) {
  const Variant &variant = *request.variant;
  rank.parts = plan_.parts(request.tokens, rank.coordinates);
  for (CacheStore &cache : rank.caches)
    cache.locate(request.past + request.tokens);
  rank.inputs.assign(variant.buffers.size(), {});
  for (std::size_t b = 0; b < variant.buffers.size(); ++b) {
    const Buffer &buffer = variant.buffers[b];
    if (buffer.kind != Buffer::Class::Input) {
      if (options_.poison) {
        // All bits set is NaN in both precisions.
        std::int64_t scale = state_.arenaScale[buffer.arena];
        std::memset(rank.arenas[buffer.arena].data() + buffer.offset * scale,
                    0xff, static_cast<std::size_t>(buffer.bytes * scale));
      }
      continue;
    }
    rank.inputs[b] = localInput(plan_, buffer, request, rank.environment());
  }
}

template <typename T> void CpuDevice<T>::run(const RunRequest &request) {
  transport_.begin();
  try {
    prepare(request);
  } catch (const std::exception &error) {
    // Ranks of other processes may have begun.
    transport_.abort(ranks_.front().rank, error.what());
    throw;
  }
  trace_ = request.trace;
  if (trace_)
    trace_->beginRun(*request.variant, request.tokens, request.past);
  failure_ = nullptr;
  failedRank_ = -1;
  threads_.run([&](std::int64_t local) { runRank(ranks_[local]); },
               [&](std::int64_t local, std::exception_ptr exception) {
                 recordFailure(ranks_[local].rank, exception);
               });
  if (failure_) {
    taps_.clear();
    for (std::size_t c = 0; c < plan_.caches.size(); ++c)
      truncateCache(static_cast<int>(c), request.past);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

template <typename T>
void CpuDevice<T>::recordFailure(std::int64_t rank,
                                 std::exception_ptr exception) {
  std::string why;
  {
    std::lock_guard<std::mutex> lock(failureMutex_);
    try {
      std::rethrow_exception(exception);
    } catch (const Aborted &) {
      return;
    } catch (const std::exception &error) {
      why = error.what();
    } catch (...) {
      why = "an unknown exception";
    }
    // The lowest of the ranks that failed by themselves.
    if (failedRank_ < 0 || rank < failedRank_) {
      failedRank_ = rank;
      failure_ = exception;
    }
  }
  transport_.abort(rank, why);
}

template <typename T> void CpuDevice<T>::runRank(RankContext<T> &rank) {
  for (const Step &step : state_.variant->steps) {
    std::int64_t begin = trace_ ? trace_->nanoseconds() : 0;
    execute(rank, step, /*isTopLevel=*/true);
    if (trace_)
      trace_->add(rank.rank, step, begin, trace_->nanoseconds());
  }
}

template <typename T>
void CpuDevice<T>::execute(RankContext<T> &rank, const Step &step,
                           bool isTopLevel) {
  auto named = [&](const auto &body) {
    try {
      body();
    } catch (const Error &error) {
      fail(error.status(), "step '", step.id, "' (", step.info().name,
           step.name().empty() ? "" : ", ", step.name(), ") on rank ",
           rank.rank, ": ", error.what());
    }
  };
  bool isLaunched = false;
  named([&] { isLaunched = launcher_ && launcher_->run(rank, step); });
  if (!isLaunched)
    for (const Step &inner : step.body)
      execute(rank, inner, /*isTopLevel=*/false);
  named([&] {
    KernelFunction<T> kernel = kernelOf<T>(step.kind);
    if (kernel && !isLaunched)
      kernel(rank, step);
    // Of a fused step what leaves it is rounded, at its end.
    if (options_.precision == LAYLINE_PRECISION_BF16 && isTopLevel)
      roundOutputs(rank, step);
    if (!options_.taps)
      return;
    if (isLaunched)
      for (const Step &inner : step.body)
        keepTaps(rank, inner);
    keepTaps(rank, step);
  });
}

/// Values that are bfloat16 in the plan.
template <typename T>
void CpuDevice<T>::roundOutputs(RankContext<T> &rank, const Step &step) {
  for (std::size_t a = 0; a < step.args.size(); ++a)
    for (const Operand &operand : step.args[a]) {
      if (!step.info().args[a].isOutput ||
          !isRounded(options_.precision, operand.dtype))
        continue;
      if (operand.of == Operand::Of::Cache) // rounded when it was written
        continue;
      auto tensor = rank.floats(operand);
      roundToBF16(tensor.data, tensor.count());
    }
}

static void checkPrecision(const Plan &plan, const DeviceOptions &options) {
  if (options.precision == LAYLINE_PRECISION_BF16 && plan.dtype != DType::BF16)
    fail(LAYLINE_REFUSED_FEATURE, "the plan is of a model in ",
         dtypeName(plan.dtype),
         "; precision bf16 rounds what is bf16 in the plan and needs a model "
         "in bf16");
}

std::unique_ptr<Device> makeCpuDevice(const Plan &plan,
                                      const DeviceOptions &options,
                                      Transport &transport) {
  checkPrecision(plan, options);
  checkOneRankEach(plan, transport);
  if (options.precision == LAYLINE_PRECISION_F64)
    return std::make_unique<CpuDevice<double>>(plan, options, transport);
  return std::make_unique<CpuDevice<float>>(plan, options, transport);
}

std::unique_ptr<Device>
makeLaunchingDevice(const Plan &plan, const DeviceOptions &options,
                    Transport &transport,
                    std::unique_ptr<StepLauncher<float>> launcher) {
  checkPrecision(plan, options);
  return std::make_unique<CpuDevice<float>>(plan, options, transport,
                                            std::move(launcher));
}

} // namespace layline::runtime
