// The ranks of this process, each on a thread of its own: all of them, or the
// one that this process is. Every thread runs the steps in list order, which is
// one of the orders that the streams and events allow.
#include "devices/cpu/Blas.h"
#include "devices/cpu/Kernels.h"
#include "devices/cpu/RankThreads.h"
#include "devices/cpu/Rounding.h"
#include "devices/cpu/WeightStore.h"
#include "engine/Device.h"
#include "plan/PositionSource.h"
#include "transports/Assemble.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace layline::runtime {
namespace {

/// Local values of one tap, by local rank.
template <typename T> struct TapValues {
  std::vector<std::vector<T>> floats;
  std::vector<std::vector<std::int64_t>> integers;
};

template <typename T> class CpuDevice final : public Device {
public:
  CpuDevice(const Plan &plan, const DeviceOptions &options,
            Transport &transport);

  void bindWeight(int weight, std::int64_t stackIndex,
                  const safetensors::Tensor &stored) override {
    weights_.bind(weight, stackIndex, stored);
  }
  std::int64_t weightBytesRead() const override { return weights_.bytesRead(); }
  void useCacheHooks(int cache) override;
  void bindCache(int cache, const GlobalValue &rows) override;
  void truncateCache(int cache, std::int64_t rows) override;
  std::int64_t cacheRows(int cache) const override {
    return ranks_.front().caches[cache].rows();
  }
  GlobalValue readCache(int cache) override;
  void run(const RunRequest &request) override;
  GlobalValue readBuffer(int buffer,
                         const std::optional<Part> &rows) const override;
  const std::vector<Tap> &taps() const override { return taps_; }
  GlobalValue readTap(std::size_t index) const override;

private:
  /// A value of every rank put together. `data(i)` is where that of the i-th
  /// local rank lies; `what` names the value to other processes.
  template <typename Element>
  GlobalValue assembled(const ShapeExpr &shape, const Layout &layout,
                        std::int64_t tokens, std::int64_t past,
                        const std::string &what,
                        const LocalData<Element> &data) const;
  void prepare(const RunRequest &request);
  void prepareRank(RankContext<T> &rank, const RunRequest &request);
  void listTaps(const Variant &variant);
  void recordFailure(std::int64_t rank, std::exception_ptr exception);
  void runRank(RankContext<T> &rank);
  void execute(RankContext<T> &rank, const Step &step, bool isTopLevel);
  void roundOutputs(RankContext<T> &rank, const Step &step);
  void keepTaps(RankContext<T> &rank, const Step &step);

  const Plan &plan_;
  DeviceOptions options_;
  const Hooks noHooks_;
  const Hooks &hooks_;
  WeightStore<T> weights_;
  Transport &transport_;
  std::vector<RankContext<T>> ranks_; ///< of this process
  RunState state_;
  Trace *trace_ = nullptr; ///< of this run
  std::vector<Tap> taps_;
  std::unordered_map<const Step *, std::size_t> firstTap_;
  std::vector<TapValues<T>> tapValues_;
  std::mutex failureMutex_;
  std::int64_t failedRank_ = -1;
  std::exception_ptr failure_;
  RankThreads threads_; // last: its threads use everything above
};

template <typename T>
CpuDevice<T>::CpuDevice(const Plan &plan, const DeviceOptions &options,
                        Transport &transport)
    : plan_(plan), options_(options),
      hooks_(options.hooks ? *options.hooks : noHooks_),
      weights_(plan, options.precision, transport.localRanks(),
               hooks_.memory()),
      transport_(transport), ranks_(transport.localRanks().size()),
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

template <typename T> void CpuDevice<T>::useCacheHooks(int index) {
  auto cache = static_cast<std::size_t>(index);
  for (RankContext<T> &rank : ranks_)
    rank.caches[cache].use(hooks_.isHooked(cache) ? &hooks_.caches[cache]
                                                  : nullptr);
}

template <typename T>
void CpuDevice<T>::bindCache(int index, const GlobalValue &rows) {
  const Cache &cache = plan_.caches[index];
  for (RankContext<T> &rank : ranks_) {
    CacheStore &store = rank.caches[index];
    Region region =
        regionOf(plan_, rows.shape, cache.layout, rank.environment());
    // What the rank holds of them, one row behind another.
    auto writeAs = [&](const auto &global, auto element) {
      std::vector<decltype(element)> held(
          static_cast<std::size_t>(elements(shapeOf(region))));
      forEachRun(rows.shape, region,
                 [&](std::int64_t to, std::int64_t from, std::int64_t count) {
                   for (std::int64_t i = 0; i < count; ++i)
                     held[to + i] =
                         static_cast<decltype(element)>(global[from + i]);
                 });
      if constexpr (std::is_same_v<decltype(element), T>)
        if (isRounded(options_.precision, cache.dtype))
          roundToBF16(held.data(), static_cast<std::int64_t>(held.size()));
      store.locate(rows.shape[0]);
      store.resize(rows.shape[0]);
      store.write(0, rows.shape[0], held.data());
    };
    if (rows.isInteger)
      writeAs(rows.integers, std::int64_t());
    else
      writeAs(rows.floats, T());
  }
}

template <typename T>
void CpuDevice<T>::truncateCache(int index, std::int64_t rows) {
  for (RankContext<T> &rank : ranks_)
    rank.caches[index].resize(rows);
}

template <typename T> GlobalValue CpuDevice<T>::readCache(int index) {
  const Cache &cache = plan_.caches[index];
  ShapeExpr shape = cacheShape(cache);
  std::int64_t rows = cacheRows(index);
  // Ranges over rows need tokens; of a cache only other dimensions are split.
  auto read = [&](auto element) {
    using Element = decltype(element);
    std::vector<std::vector<Element>> held(ranks_.size());
    return assembled(shape, cache.layout, 0, rows, "cache " + cache.id,
                     LocalData<Element>([&](std::int64_t local) {
                       CacheStore &store = ranks_[local].caches[index];
                       store.locate(rows);
                       return store.dense(held[local]);
                     }));
  };
  return isInteger(cache.dtype) ? read(std::int64_t()) : read(T());
}

template <typename T>
template <typename Element>
GlobalValue CpuDevice<T>::assembled(const ShapeExpr &shape,
                                    const Layout &layout, std::int64_t tokens,
                                    std::int64_t past, const std::string &what,
                                    const LocalData<Element> &data) const {
  if (Communicator *world = transport_.world())
    return assembleAcross(plan_, shape, layout, tokens, past, *world, what,
                          data(0));
  return assemble(plan_, shape, layout, tokens, past, data);
}

template <typename T> void CpuDevice<T>::listTaps(const Variant &variant) {
  taps_.clear();
  firstTap_.clear();
  auto list = [&](const Step &step) {
    if (step.names.empty())
      return;
    firstTap_[&step] = taps_.size();
    std::size_t output = 0;
    for (std::size_t a = 0; a < step.args.size(); ++a)
      for (const Operand &operand : step.args[a])
        if (step.info().args[a].isOutput) {
          const std::string &name = step.names[output++];
          if (!name.empty() && operand.of == Operand::Of::Buffer)
            taps_.push_back({name, operand});
        }
  };
  if (options_.taps)
    for (const Step &step : variant.steps) {
      list(step);
      for (const Step &inner : step.body)
        list(inner);
    }
  tapValues_.assign(taps_.size(), {});
  for (TapValues<T> &values : tapValues_) {
    values.floats.resize(ranks_.size());
    values.integers.resize(ranks_.size());
  }
}

template <typename T> void CpuDevice<T>::prepare(const RunRequest &request) {
  const Variant &variant = *request.variant;
  state_.variant = &variant;
  state_.tokens = request.tokens;
  state_.past = request.past;
  state_.inputOfBuffer = inputOfBuffers(variant);
  state_.largestOfInput.clear();
  for (const std::vector<std::int64_t> &values : *request.inputs)
    state_.largestOfInput.push_back(
        values.empty() ? 0 : *std::max_element(values.begin(), values.end()));
  // Offsets and sizes are for the plan's types: all of an arena grow alike.
  state_.arenaScale.assign(variant.arenas.size(), 1);
  for (const Buffer &buffer : variant.buffers) {
    if (buffer.arena < 0)
      continue;
    std::int64_t bytes =
        isInteger(buffer.dtype) ? sizeof(std::int64_t) : sizeof(T);
    std::int64_t &scale = state_.arenaScale[buffer.arena];
    scale = std::max(scale, bytes / dtypeBytes(buffer.dtype));
  }
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
  listTaps(variant);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    for (std::size_t w = 0; w < plan_.weights.size(); ++w)
      ranks_[r].weights[w] = weights_.slice(static_cast<int>(w), r);
    prepareRank(ranks_[r], request);
  }
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
    Shape global = globalShape(buffer.shape, rank.environment());
    Region region = regionOf(plan_, global, buffer.layout, rank.environment());
    rank.inputs[b].resize(static_cast<std::size_t>(elements(shapeOf(region))));
    const std::vector<std::int64_t> &values = (*request.inputs)[buffer.input];
    forEachRun(global, region,
               [&](std::int64_t to, std::int64_t from, std::int64_t count) {
                 std::copy_n(&values[from], count, &rank.inputs[b][to]);
               });
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
  for (const Step &inner : step.body)
    execute(rank, inner, /*isTopLevel=*/false);
  try {
    if (KernelFunction<T> kernel = kernelOf<T>(step.kind))
      kernel(rank, step);
    // Of a fused step what leaves it is rounded, at its end.
    if (options_.precision == LAYLINE_PRECISION_BF16 && isTopLevel)
      roundOutputs(rank, step);
    if (options_.taps && !step.names.empty())
      keepTaps(rank, step);
  } catch (const Error &error) {
    fail(error.status(), "step '", step.id, "' (", step.info().name,
         step.name().empty() ? "" : ", ", step.name(), ") on rank ", rank.rank,
         ": ", error.what());
  }
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

template <typename T>
void CpuDevice<T>::keepTaps(RankContext<T> &rank, const Step &step) {
  std::size_t tap = firstTap_.at(&step), output = 0;
  for (std::size_t a = 0; a < step.args.size(); ++a)
    for (const Operand &operand : step.args[a]) {
      if (!step.info().args[a].isOutput)
        continue;
      if (step.names[output++].empty() || operand.of != Operand::Of::Buffer)
        continue;
      TapValues<T> &values = tapValues_[tap++];
      auto local = static_cast<std::size_t>(&rank - ranks_.data());
      if (isInteger(operand.dtype)) {
        auto tensor = rank.integers(operand);
        values.integers[local].assign(tensor.data,
                                      tensor.data + tensor.count());
      } else {
        auto tensor = rank.floats(operand);
        std::vector<T> &kept = values.floats[local];
        kept.assign(tensor.data, tensor.data + tensor.count());
        // Inside a fused step the value is not rounded yet; a register never
        // is.
        if (isRounded(options_.precision, operand.dtype) &&
            state_.variant->buffers[operand.index].kind !=
                Buffer::Class::Register)
          roundToBF16(kept.data(), tensor.count());
      }
    }
}

template <typename T>
GlobalValue CpuDevice<T>::readBuffer(int index,
                                     const std::optional<Part> &rows) const {
  const Buffer &buffer = state_.variant->buffers[index];
  std::int64_t offset = buffer.offset * state_.arenaScale[buffer.arena];
  ShapeExpr shape = buffer.shape;
  // Some rows of a value that is held whole lie one behind another.
  std::int64_t skipped = 0;
  bool isPart = rows && isHeldWhole(buffer.layout);
  if (isPart) {
    shape[0] = Expr::constant(1);
    skipped = rows->begin *
              elements(globalShape(shape, {state_.tokens, state_.past}));
    shape[0] = Expr::constant(rows->size);
  }
  auto read = [&](auto element) {
    using Element = decltype(element);
    return assembled(
        shape, buffer.layout, state_.tokens, state_.past, "buffer " + buffer.id,
        LocalData<Element>([&](std::int64_t local) {
          return reinterpret_cast<const Element *>(
                     ranks_[local].arenas[buffer.arena].data() + offset) +
                 skipped;
        }));
  };
  GlobalValue value =
      isInteger(buffer.dtype) ? read(std::int64_t()) : read(T());
  if (rows && !isPart)
    keepRows(value, *rows);
  return value;
}

template <typename T>
GlobalValue CpuDevice<T>::readTap(std::size_t index) const {
  const Operand &operand = taps_[index].operand;
  const TapValues<T> &values = tapValues_[index];
  auto read = [&](const auto &data) {
    return assembled(operand.shape, operand.layout, state_.tokens, state_.past,
                     "tap " + taps_[index].name, data);
  };
  if (isInteger(operand.dtype))
    return read(LocalData<std::int64_t>(
        [&](std::int64_t local) { return values.integers[local].data(); }));
  return read(LocalData<T>(
      [&](std::int64_t local) { return values.floats[local].data(); }));
}

} // namespace

std::unique_ptr<Device> makeCpuDevice(const Plan &plan,
                                      const DeviceOptions &options,
                                      Transport &transport) {
  if (options.precision == LAYLINE_PRECISION_BF16 && plan.dtype != DType::BF16)
    fail(LAYLINE_REFUSED_FEATURE, "the plan is of a model in ",
         dtypeName(plan.dtype),
         "; precision bf16 rounds what is bf16 in the plan and needs a model "
         "in bf16");
  if (options.precision == LAYLINE_PRECISION_F64)
    return std::make_unique<CpuDevice<double>>(plan, options, transport);
  return std::make_unique<CpuDevice<float>>(plan, options, transport);
}

} // namespace layline::runtime
