#include "CardRows.h"

#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/Launch.h"
#include "devices/cuda/SymmetricMemory.h"
#include "kernels/LaunchSafety.h"
#include "kernels/plan/LaunchParams.h"
#include "plan/Error.h"

#include <algorithm>

namespace layline::test {

using namespace layline::kernels;
using namespace layline::kernels::test;
using namespace layline::runtime;
using namespace layline::runtime::cuda;

int countCards() {
  int count = 0;
  check(driver().deviceCount(&count), "cuDeviceGetCount", "test");
  return count;
}

Cards openCards(int count) {
  Cards cards;
  for (int c = 0; c < count; ++c)
    cards.push_back(std::make_unique<Card>(c));
  return cards;
}

RowCase cardCase(const Cards &cards, const FusedKernel &kernel,
                 const Problem &problem, unsigned maxGrid, bool fewThreads) {
  std::int64_t most = maxGrid;
  auto ranks = static_cast<std::int64_t>(kernel.variant.ranks),
       count = static_cast<std::int64_t>(cards.size());
  for (const std::unique_ptr<Card> &card : cards) {
    std::int64_t resident =
        card->residentBlocks(card->kernel(kernel.symbol), kMaxThreads, 0);
    most = std::min(most, (resident - kResidencyMargin) /
                              ((ranks + count - 1) / count));
  }
  if (most < 1)
    fail(LAYLINE_REFUSED_FEATURE, kernel.symbol, ": no room for ", ranks,
         " ranks on ", count, " cards");
  RowCase rowCase =
      caseOf(kernel.variant, problem, static_cast<unsigned>(most));
  if (!fewThreads)
    rowCase.shape =
        shapeOf(kernel.variant, problem, static_cast<std::uint32_t>(most));
  return rowCase;
}

namespace {

constexpr std::uint64_t kWaitNanoseconds = 10000000000;

template <typename T, int P> class CardRun final : public CardLaunches {
public:
  CardRun(const Cards &cards, const std::vector<OwnedStream> &streams,
          const FusedKernel &kernel, const RowCase &rowCase,
          RowInputs<T> inputs)
      : cards_(cards), streams_(streams), kernel_(kernel), case_(rowCase),
        inputs_(std::move(inputs)), width_(rowCase.problem.width) {
    for (std::size_t rank = 0; rank < P; ++rank)
      ofRank_.push_back(cards[rank * cards.size() / P].get());
    std::int64_t rows = std::max<std::int64_t>(1, rowCase.problem.tokens);
    rows_ = symmetric(rows * width_ * std::int64_t(sizeof(T)), "rows");
    values_ = symmetric(rows * width_ * std::int64_t(sizeof(T)), "values");
    payload_ = symmetric(rows * width_, "payload");
    scales_ =
        symmetric(rows * std::max(1, rowCase.scaleColumns()) * 4, "scales");
    for (int rank = 0; rank < P; ++rank) {
      RowBlock own = rowCase.rowsOf(rank);
      auto begin = inputs_.residual.begin() + own.begin * width_;
      residual_.push_back(
          upload(rank, std::vector<T>(begin, begin + own.size * width_)));
      bias_.push_back(upload(rank, inputs_.bias));
      inner_.push_back(upload(rank, inputs_.innerWeight));
      weight_.push_back(upload(rank, inputs_.weight));
      normBias_.push_back(upload(rank, inputs_.normBias));
      tensorScale_.push_back(
          upload(rank, std::vector<float>{inputs_.tensorScale}));
    }
    makeWorkspace();
  }

  RowResults<T> run(std::string &late) {
    RowResults<T> results;
    for (int launch = 0; launch < case_.launches; ++launch) {
      place(launch);
      prepare(launch);
      enqueue();
      for (std::size_t c = 0; c < cards_.size(); ++c) {
        cards_[c]->use();
        streams_[c].synchronize(kernel_.symbol);
      }
      collect(results);
    }
    for (int rank = 0; rank < P; ++rank) {
      SpinError error{};
      copyOut(card(rank), &error,
              own_[static_cast<std::size_t>(rank)].address() +
                  static_cast<Address>(layout_.error),
              sizeof error, "record of a late rank");
      if (error.kind != 0 && late.empty())
        late = concat("rank ", rank, ", block ", error.block,
                      " waited for flag ", error.flag, " to come to ",
                      error.epoch, ", found ", error.seen);
    }
    return results;
  }

  void prepare(int launch) {
    if (case_.isOneShot()) {
      std::vector<OneShotParams<P>> params;
      for (int rank = 0; rank < P; ++rank)
        params.push_back(oneShotParams(launch, rank));
      prepareWith(params);
      return;
    }
    std::vector<RowParams<P>> params;
    for (int rank = 0; rank < P; ++rank)
      params.push_back(rowParams(launch, rank));
    prepareWith(params);
  }

  void enqueue() override {
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      cards_[c]->use();
      cuda::launch(*cards_[c], launches_[c], parameters_[c], streams_[c].get());
    }
  }

private:
  const Card &card(int rank) const {
    return *ofRank_[static_cast<std::size_t>(rank)];
  }
  SymmetricMemory symmetric(std::int64_t bytes, const char *what) const {
    return {ofRank_, static_cast<std::size_t>(bytes), Multicast::Never, what};
  }
  template <typename E> E *upload(int rank, const std::vector<E> &values) {
    // At least a vector: kernels without rows do not read it.
    std::size_t bytes = values.size() * sizeof(E);
    memory_.emplace_back(card(rank), std::max<std::size_t>(bytes, 16),
                         "an operand");
    if (bytes != 0)
      copyIn(card(rank), memory_.back().address(), values.data(), bytes,
             "an operand");
    return memory_.back().as<E>();
  }

  void makeWorkspace() {
    WorkspaceNeed need;
    addNeed(need, case_.variant, case_.problem, case_.shape);
    need.ranks = P;
    std::string error;
    if (!planWorkspace(need, layout_, error))
      fail(LAYLINE_RUN_FAILURE, error);
    maxBlocks_ = need.maxBlocks;
    workspace_ = symmetric(layout_.symmetricBytes, "workspace");
    for (std::size_t rank = 0; rank < P; ++rank) {
      const Card &on = *ofRank_[rank];
      own_.emplace_back(on, static_cast<std::size_t>(layout_.ownBytes),
                        "workspace");
      on.use();
      check(driver().setBytes(workspace_.part(rank), 0,
                              static_cast<std::size_t>(layout_.symmetricBytes),
                              nullptr),
            "cuMemsetD8Async", "workspace");
      if (layout_.boxCapacity > 0)
        check(driver().setWords(
                  workspace_.part(rank) + static_cast<Address>(layout_.boxes),
                  sizeof(T) == 4 ? kPoison32 : kPoison16,
                  static_cast<std::size_t>(3 * P * layout_.boxCapacity * 4),
                  nullptr),
              "cuMemsetD32Async", "workspace");
      check(driver().setBytes(own_.back().address(), 0, own_.back().bytes(),
                              nullptr),
            "cuMemsetD8Async", "workspace");
      check(driver().streamSynchronize(nullptr), "cuStreamSynchronize",
            "workspace");
    }
  }

  WorkspaceAddresses workspaceOf(int rank) const {
    WorkspaceAddresses result;
    result.layout = layout_;
    result.maxBlocks = maxBlocks_;
    for (std::size_t m = 0; m < P; ++m)
      result.symmetric.push_back(workspace_.part<unsigned char>(m));
    result.own = own_[static_cast<std::size_t>(rank)].as<unsigned char>();
    result.waitLimit = kWaitNanoseconds;
    return result;
  }

  RowOperands operandsOf(int launch, int rank) {
    const Problem &problem = case_.problem;
    auto r = static_cast<std::size_t>(rank);
    RowOperands o{};
    o.bias = problem.hasBias ? bias_[r] : nullptr;
    o.innerWeight = problem.hasInnerNorm ? inner_[r] : nullptr;
    o.residual = problem.hasResidual ? residual_[r] : nullptr;
    o.residualOut = problem.keepsResidual ? residual_[r] : nullptr;
    o.weight = weight_[r];
    o.normBias = problem.hasNormBias ? normBias_[r] : nullptr;
    if (problem.hasGate)
      o.gate = upload(rank, inputs_.gates[static_cast<std::size_t>(launch)][r]);
    o.tensorScale = tensorScale_[r];
    o.innerScale = case_.innerScale;
    o.scale = case_.scale;
    o.eps = case_.eps;
    o.weightOffset = case_.weightOffset;
    o.groupSize = static_cast<std::int32_t>(problem.groupSize);
    return o;
  }

  template <int Q>
  void setOutput(RowOutputs<Q> &out, int at, std::size_t rank) const {
    bool isQuantized = case_.variant.scales != ScaleKind::None;
    out.values[at] =
        case_.problem.wantsValues ? values_.part<void>(rank) : nullptr;
    out.payload[at] = isQuantized ? payload_.part<std::uint8_t>(rank) : nullptr;
    out.scales[at] = isQuantized ? scales_.part<float>(rank) : nullptr;
  }

  RowParams<P> rowParams(int launch, int rank) {
    RowParams<P> p{};
    p.peers = peerFlagsOf<P>(workspaceOf(rank), rank);
    for (int peer = 0; peer < P; ++peer) {
      p.addends[peer] = rows_.part<void>(static_cast<std::size_t>(peer));
      setOutput(p.out, peer, static_cast<std::size_t>(peer));
    }
    p.rows = rows_.part<void>(static_cast<std::size_t>(rank));
    p.tokens = case_.problem.tokens;
    p.width = static_cast<std::int32_t>(width_);
    p.operands = operandsOf(launch, rank);
    return p;
  }

  OneShotParams<P> oneShotParams(int launch, int rank) {
    WorkspaceAddresses workspace = workspaceOf(rank);
    OneShotParams<P> p{};
    for (std::size_t peer = 0; peer < P; ++peer)
      p.boxes[peer] = workspace.symmetric[peer] + layout_.boxes;
    p.capacity = layout_.boxCapacity;
    p.state = reinterpret_cast<OneShotState *>(workspace.own + layout_.state);
    p.rank = static_cast<std::uint32_t>(rank);
    p.watch = watchOf(workspace);
    p.addends = rows_.part<void>(static_cast<std::size_t>(rank));
    p.tokens = case_.problem.tokens;
    p.width = static_cast<std::int32_t>(width_);
    p.operands = operandsOf(launch, rank);
    setOutput(p.out, 0, static_cast<std::size_t>(rank));
    return p;
  }

  template <typename Params>
  void prepareWith(const std::vector<Params> &params) {
    parameters_.clear();
    launches_.clear();
    for (std::size_t c = 0; c < cards_.size(); ++c) {
      std::vector<Params> here;
      for (std::size_t rank = 0; rank < P; ++rank)
        if (ofRank_[rank] == cards_[c].get())
          here.push_back(params[rank]);
      memory_.emplace_back(*cards_[c], here.size() * sizeof(Params),
                           "parameters");
      parameters_.push_back(memory_.back().address());
      copyIn(*cards_[c], parameters_.back(), here.data(),
             here.size() * sizeof(Params), "parameters");
      KernelLaunch launch;
      launch.function = cards_[c]->kernel(kernel_.symbol);
      launch.symbol = kernel_.symbol;
      launch.blocks = case_.shape.grid;
      launch.ranks = static_cast<unsigned>(here.size());
      launch.threads = case_.shape.block;
      launch.waitsForRanks = case_.variant.waits();
      if (launch.waitsForRanks)
        checkResidency(*cards_[c], launch, kResidencyMargin);
      launches_.push_back(launch);
    }
  }

  /// The inputs of a launch.
  void place(int launch) {
    for (int rank = 0; rank < P; ++rank) {
      const std::vector<T> &from =
          inputs_.rows[static_cast<std::size_t>(launch)]
                      [static_cast<std::size_t>(rank)];
      if (!from.empty())
        copyIn(card(rank), rows_.part(static_cast<std::size_t>(rank)),
               from.data(), from.size() * sizeof(T), "rows");
    }
  }

  template <typename E>
  std::vector<E> download(int rank, Address from, std::int64_t count) const {
    std::vector<E> values(static_cast<std::size_t>(count));
    if (count > 0)
      copyOut(card(rank), values.data(), from, values.size() * sizeof(E),
              "results");
    return values;
  }

  void collect(RowResults<T> &results) const {
    results.values.emplace_back();
    results.payload.emplace_back();
    results.scales.emplace_back();
    results.residual.emplace_back();
    bool isQuantized = case_.variant.scales != ScaleKind::None;
    for (int rank = 0; rank < P; ++rank) {
      auto r = static_cast<std::size_t>(rank);
      std::int64_t kept = case_.rowsOf(rank).size,
                   count = case_.reachesAll() ? case_.problem.tokens : kept;
      results.values.back().push_back(
          download<T>(rank, values_.part(r),
                      case_.problem.wantsValues ? count * width_ : 0));
      results.payload.back().push_back(download<std::uint8_t>(
          rank, payload_.part(r), isQuantized ? count * width_ : 0));
      results.scales.back().push_back(
          download<float>(rank, scales_.part(r), count * case_.scaleColumns()));
      results.residual.back().push_back(
          download<T>(rank, reinterpret_cast<Address>(residual_[r]),
                      case_.problem.keepsResidual ? kept * width_ : 0));
    }
  }

  const Cards &cards_;
  const std::vector<OwnedStream> &streams_;
  const FusedKernel &kernel_;
  const RowCase case_;
  const RowInputs<T> inputs_;
  const std::int64_t width_;
  std::vector<Card *> ofRank_;
  std::vector<Address> parameters_;    ///< by card, of prepare()
  std::vector<KernelLaunch> launches_; ///< by card
  SymmetricMemory rows_, values_, payload_, scales_, workspace_;
  std::vector<DeviceMemory> own_;
  std::vector<DeviceMemory> memory_;
  std::vector<T *> residual_, bias_, inner_, weight_, normBias_;
  std::vector<float *> tensorScale_;
  Workspace layout_;
  std::uint32_t maxBlocks_ = 0;
};

} // namespace

namespace {

template <typename Run> auto forRanks(int ranks, const Run &run) {
  switch (ranks) {
  case 1:
    return run(std::integral_constant<int, 1>());
  case 2:
    return run(std::integral_constant<int, 2>());
  case 3:
    return run(std::integral_constant<int, 3>());
  case 4:
    return run(std::integral_constant<int, 4>());
  default:
    return run(std::integral_constant<int, 8>());
  }
}

} // namespace

template <typename T>
RowResults<T> runOnCards(const Cards &cards, const FusedKernel &kernel,
                         const RowCase &rowCase, const RowInputs<T> &inputs,
                         std::string &late) {
  std::vector<OwnedStream> streams;
  for (const std::unique_ptr<Card> &card : cards)
    streams.emplace_back(*card);
  return forRanks(kernel.variant.ranks, [&](auto ranks) {
    return CardRun<T, decltype(ranks)::value>(cards, streams, kernel, rowCase,
                                              inputs)
        .run(late);
  });
}

std::unique_ptr<CardLaunches>
prepareOnCards(const Cards &cards, const std::vector<OwnedStream> &streams,
               const FusedKernel &kernel, const RowCase &rowCase) {
  using T = device::bf16;
  RowInputs<T> inputs;
  auto width = static_cast<std::size_t>(rowCase.problem.width);
  inputs.residual.resize(static_cast<std::size_t>(rowCase.problem.tokens) *
                         width);
  for (std::vector<T> *vector :
       {&inputs.bias, &inputs.innerWeight, &inputs.weight, &inputs.normBias})
    vector->resize(width);
  return forRanks(
      kernel.variant.ranks, [&](auto ranks) -> std::unique_ptr<CardLaunches> {
        auto run = std::make_unique<CardRun<T, decltype(ranks)::value>>(
            cards, streams, kernel, rowCase, inputs);
        run->prepare(0);
        return run;
      });
}

template RowResults<device::bf16> runOnCards(const Cards &, const FusedKernel &,
                                             const RowCase &,
                                             const RowInputs<device::bf16> &,
                                             std::string &);
template RowResults<float> runOnCards(const Cards &, const FusedKernel &,
                                      const RowCase &, const RowInputs<float> &,
                                      std::string &);

} // namespace layline::test
