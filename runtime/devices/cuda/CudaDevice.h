// The ranks of a plan that are in this process, on its GPUs: several to a card
// where there are more ranks than cards.
#ifndef LAYLINE_RUNTIME_DEVICES_CUDA_CUDADEVICE_H
#define LAYLINE_RUNTIME_DEVICES_CUDA_CUDADEVICE_H

#include "devices/cuda/CollectiveGuard.h"
#include "devices/cuda/DeviceWeights.h"
#include "devices/cuda/EngineStreams.h"
#include "devices/cuda/FusedLaunches.h"
#include "devices/cuda/SharedInputs.h"
#include "engine/Device.h"

#include <deque>
#include <list>
#include <map>

namespace layline::runtime::cuda {

class CudaDevice final : public Device {
public:
  /// All processes of the transport make theirs.
  CudaDevice(const Plan &plan, const DeviceOptions &options,
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
    return ranks_.front().caches[cache].rows;
  }
  GlobalValue readCache(int cache) override;
  void run(const RunRequest &request) override;
  GlobalValue readBuffer(int buffer,
                         const std::optional<Part> &rows) const override;
  const std::vector<Tap> &taps() const override { return taps_.all(); }
  GlobalValue readTap(std::size_t index) const override;
  std::vector<KernelUse> kernelUses() const override;

private:
  /// Where a run has come to that waits for other ranks by NCCL: the step, and
  /// an event behind it on every card.
  struct NcclMark {
    const Step *step = nullptr;
    std::vector<OwnedEvent> events;
  };

  /// The commands of one variant and token count.
  struct Program {
    const Variant *variant = nullptr;
    std::int64_t tokens = 0;
    std::optional<RunPlans> plans;
    /// What steps without a kernel of the catalogue are done by.
    std::map<const Step *, std::string> kernels;
    std::vector<CommandGroup> groups;
    std::vector<ProgramMemory> memory;                   ///< by card
    std::vector<DeviceMemory> parameters, scratch, taps; ///< by card
    std::vector<PinnedMemory> staging;                   ///< by card
    std::vector<CapturedGraph> graphs;                   ///< by card
    std::vector<std::vector<Address>> tapPlaces;         ///< [tap][place]
    bool usesNccl = false;
    std::deque<NcclMark> marks; ///< of steps that use it, kept for later runs
    std::size_t marked = 0;     ///< in this run
    /// Whether the engine has a function for attention.
    bool asksAttention = false;
    /// Which caches are the engine's: CudaDevice::hookChanges_ when it was
    /// made.
    std::int64_t hookChanges = 0;
  };

  /// An input's way from the parameters to where other cards reach it.
  struct InputCopy {
    std::size_t card;
    Address from, to;
    std::size_t bytes;
    std::string buffer; ///< for messages
  };

  void makeArenas();
  void makeCaches();
  void makeTables();
  void refuseHooks(const RunRequest &request) const;
  ElementBytes elementBytes() const {
    return [this](const Buffer &buffer) { return types_.bytes(buffer); };
  }
  void describeRun(const RunRequest &request);
  void reserveCaches(std::int64_t rows);
  void reserveCache(RankView &rank, int index, std::int64_t rows);
  /// Asks the engine where the first rows of its caches lie.
  void locateCaches(std::int64_t rows);
  void locateCache(RankView &rank, int index, std::int64_t rows);
  /// All rows of a cache, one behind another as the card keeps them. Before
  /// writeRows comes locateCache; readRows asks itself.
  void writeRows(RankView &rank, int index, const std::byte *bytes);
  std::vector<std::byte> readRows(RankView &rank, int index);
  /// The engine's; null: the driver's memory.
  const layline_allocator *allocator() const {
    return options_.hooks ? options_.hooks->memory() : nullptr;
  }

  Program &programFor(const RunRequest &request);
  void build(Program &program, const RunRequest &request);
  /// Adds everything of the run to a builder; the order is the plan's.
  void addAll(ProgramBuilder &builder, Program &program,
              const RunRequest &request);
  void addInputs(ProgramBuilder &builder, const RunRequest &request);
  void addStep(ProgramBuilder &builder, Program &program, const Step &step);
  void addTaps(ProgramBuilder &builder, Program &program, const Step &step);
  void upload(Program &program);
  void planProducts(const Program &program);
  static constexpr std::size_t kAllCards = ~std::size_t(0);
  /// Of one card, or of all.
  void enqueue(Program &program, std::size_t card);
  void enqueueAll(Program &program);
  void enqueue(const Program &program, const Command &command);
  /// Returns when all cards are done.
  void awaitRun(const Program &program);
  /// The same of what other ranks must do for it, by NCCL.
  void awaitNccl(const Program &program);
  bool hasReached(const NcclMark &mark) const;
  void mark(Program &program, const Step &step);
  /// Ends what a run that failed left behind on the cards, `begun` if it is not
  /// null, and tells other processes.
  void breakOff(const Program *begun, const std::string &why);
  std::string peersOf(const Step &step) const;
  void addTimes(const Program &program);
  void poison(const Variant &variant);
  void checkFaults(const Program &program);

  /// `what` names the value to other processes.
  template <typename Element>
  GlobalValue assembled(
      const ShapeExpr &shape, const Layout &layout, std::int64_t tokens,
      std::int64_t past, const std::string &what,
      const std::function<std::vector<Element>(const RankView &)> &read) const;
  template <typename Element>
  std::vector<Element> readLocal(const RankView &rank, Address at,
                                 std::int64_t count, NumberType type) const;

  const Plan &plan_;
  DeviceOptions options_;
  Transport &transport_;
  ElementTypes types_;
  CardsOfRanks places_;
  std::vector<std::unique_ptr<Card>> cards_; // before all that is on them
  CardRun shape_;
  std::vector<RankShape> shapes_;    ///< of all ranks
  std::vector<RankView> ranks_;      ///< of this process
  std::vector<std::size_t> islands_; ///< by card
  Groups groups_;
  FusedLaunches fused_;
  CollectiveGuard collectives_;
  DeviceWeights weights_;
  std::vector<IslandMemory> arenas_;   ///< by arena number
  std::deque<DeviceMemory> ownArenas_; ///< in their place; [arena, rank]
  SharedInputs sharedInputs_;
  std::vector<InputCopy> inputCopies_; ///< of this run
  std::int64_t hookChanges_ = 0;       ///< calls of useCacheHooks()
  std::vector<DeviceMemory> tables_;   ///< by card
  std::vector<DeviceMemory> faults_;   ///< by card
  std::vector<CardStreams> streams_;   ///< by card
  EngineStreams engineStreams_;
  Trace *trace_ = nullptr;       ///< of this run
  std::vector<StepTimes> times_; ///< by card
  std::int64_t traceBegin_ = 0;  ///< of this run, in the trace's time
  std::vector<std::unique_ptr<Gemm>> gemm_; ///< by card
  TapList taps_;
  const Program *ran_ = nullptr; ///< last
  std::list<Program> programs_;  ///< most recently used first
};

} // namespace layline::runtime::cuda

#endif // LAYLINE_RUNTIME_DEVICES_CUDA_CUDADEVICE_H
