#include "CardRows.h"

#include <algorithm>

namespace layline::test {

using namespace layline::kernels;
using namespace layline::kernels::test;
using runtime::peerFlagsOf;
using runtime::watchOf;
using runtime::WorkspaceAddresses;
using namespace layline::runtime::cuda;

RowCase cardCase(const CardSet &cards, const FusedKernel &kernel,
                 const Problem &problem, unsigned maxGrid, bool fewThreads) {
  auto most = static_cast<unsigned>(std::min<std::int64_t>(
      maxGrid,
      cards.blocksOfRank(kernel.symbol, kMaxThreads, kernel.variant.ranks)));
  RowCase rowCase = caseOf(kernel.variant, problem, most);
  if (!fewThreads)
    rowCase.shape = shapeOf(kernel.variant, problem, most);
  return rowCase;
}

bool isBySwitch(const Variant &variant) {
  return variant.input == Input::OwedMulticast ||
         variant.output == Output::EveryoneMulticast;
}

namespace {

template <typename T, int P> class CardRun final : public CardLaunches {
public:
  CardRun(const CardSet &cards, const FusedKernel &kernel,
          const RowCase &rowCase, RowInputs<T> inputs,
          std::uint64_t waitNanoseconds)
      : group_(cards, P, waitNanoseconds), kernel_(kernel), case_(rowCase),
        inputs_(std::move(inputs)), width_(rowCase.problem.width) {
    const std::int64_t tokens = rowCase.problem.tokens;
    auto of = [&](bool bySwitch) {
      return bySwitch ? Multicast::IfPossible : Multicast::Never;
    };
    const Variant &variant = rowCase.variant;
    const Multicast out = of(variant.output == Output::EveryoneMulticast);
    rows_ = group_.symmetric(tokens * width_ * std::int64_t(sizeof(T)), "rows",
                             of(variant.input == Input::OwedMulticast));
    values_ = group_.symmetric(tokens * width_ * std::int64_t(sizeof(T)),
                               "values", out);
    payload_ = group_.symmetric(tokens * width_, "payload", out);
    scales_ =
        group_.symmetric(tokens * rowCase.scaleColumns() * 4, "scales", out);
    for (int rank = 0; rank < P; ++rank) {
      RowBlock own = rowCase.rowsOf(rank);
      auto begin = inputs_.residual.begin() + own.begin * width_;
      residual_.push_back(group_.upload(
          rank, std::vector<T>(begin, begin + own.size * width_), "residual"));
      bias_.push_back(group_.upload(rank, inputs_.bias, "bias"));
      inner_.push_back(group_.upload(rank, inputs_.innerWeight, "weight"));
      weight_.push_back(group_.upload(rank, inputs_.weight, "weight"));
      normBias_.push_back(group_.upload(rank, inputs_.normBias, "norm bias"));
      tensorScale_.push_back(group_.upload(
          rank, std::vector<float>{inputs_.tensorScale}, "scale"));
    }
    WorkspaceNeed need;
    addNeed(need, variant, rowCase.problem, rowCase.shape);
    need.ranks = P;
    group_.makeWorkspace(need, variant.dtype);
  }

  RowsOnCards run(RowResults<T> &results) {
    RowsOnCards done;
    if (case_.variant.input == Input::OwedMulticast && rows_.multicast() == 0)
      done.unicast = rows_.whyUnicast();
    if (case_.variant.output == Output::EveryoneMulticast)
      for (const SymmetricMemory *out : {&values_, &payload_, &scales_})
        if (out->multicast() == 0)
          done.unicast = out->whyUnicast();
    if (!done.unicast.empty())
      return done;
    for (int launch = 0; launch < case_.launches; ++launch)
      stage(launch);
    for (const Staged &launch : staged_)
      enqueue(launch);
    group_.synchronize(kernel_.symbol);
    done.late = group_.late();
    for (const Staged &launch : staged_)
      collect(launch, results);
    return done;
  }

  void prepare() { ready_ = prepare(0); }
  void enqueue() override { ready_.enqueue(); }

private:
  /// A launch, and where its inputs and results lie, by rank.
  struct Staged {
    CardGroup::Launch launch;
    std::vector<Address> rows, values, payload, scales, residual;
    std::vector<std::int64_t> rowBytes;
  };

  std::int64_t resultRows(int rank) const {
    return case_.reachesAll() ? case_.problem.tokens : case_.rowsOf(rank).size;
  }
  std::int64_t valueBytes(int rank) const {
    return case_.problem.wantsValues
               ? resultRows(rank) * width_ * std::int64_t(sizeof(T))
               : 0;
  }
  std::int64_t payloadBytes(int rank) const {
    return case_.variant.scales == ScaleKind::None ? 0
                                                   : resultRows(rank) * width_;
  }
  std::int64_t scaleBytes(int rank) const {
    return resultRows(rank) * case_.scaleColumns() * 4;
  }
  std::int64_t residualBytes(int rank) const {
    return case_.problem.keepsResidual
               ? case_.rowsOf(rank).size * width_ * std::int64_t(sizeof(T))
               : 0;
  }

  void stage(int launch) {
    Staged staged;
    for (int rank = 0; rank < P; ++rank) {
      const std::vector<T> &from =
          inputs_.rows[static_cast<std::size_t>(launch)]
                      [static_cast<std::size_t>(rank)];
      staged.rows.push_back(
          reinterpret_cast<Address>(group_.upload(rank, from, "inputs")));
      staged.rowBytes.push_back(
          static_cast<std::int64_t>(from.size() * sizeof(T)));
      staged.values.push_back(group_.room(rank, valueBytes(rank), "results"));
      staged.payload.push_back(
          group_.room(rank, payloadBytes(rank), "results"));
      staged.scales.push_back(group_.room(rank, scaleBytes(rank), "results"));
      staged.residual.push_back(
          group_.room(rank, residualBytes(rank), "results"));
    }
    staged.launch = prepare(launch);
    staged_.push_back(std::move(staged));
  }

  void enqueue(const Staged &staged) const {
    for (std::size_t rank = 0; rank < P; ++rank)
      group_.enqueueCopy(static_cast<int>(rank), rows_.part(rank),
                         staged.rows[rank], staged.rowBytes[rank]);
    staged.launch.enqueue();
    for (int rank = 0; rank < P; ++rank) {
      auto r = static_cast<std::size_t>(rank);
      group_.enqueueCopy(rank, staged.values[r], values_.part(r),
                         valueBytes(rank));
      group_.enqueueCopy(rank, staged.payload[r], payload_.part(r),
                         payloadBytes(rank));
      group_.enqueueCopy(rank, staged.scales[r], scales_.part(r),
                         scaleBytes(rank));
      group_.enqueueCopy(rank, staged.residual[r],
                         reinterpret_cast<Address>(residual_[r]),
                         residualBytes(rank));
    }
  }

  void collect(const Staged &staged, RowResults<T> &results) const {
    results.values.emplace_back();
    results.payload.emplace_back();
    results.scales.emplace_back();
    results.residual.emplace_back();
    for (int rank = 0; rank < P; ++rank) {
      auto r = static_cast<std::size_t>(rank);
      results.values.back().push_back(group_.download<T>(
          rank, staged.values[r], valueBytes(rank) / std::int64_t(sizeof(T))));
      results.payload.back().push_back(group_.download<std::uint8_t>(
          rank, staged.payload[r], payloadBytes(rank)));
      results.scales.back().push_back(
          group_.download<float>(rank, staged.scales[r], scaleBytes(rank) / 4));
      results.residual.back().push_back(
          group_.download<T>(rank, staged.residual[r],
                             residualBytes(rank) / std::int64_t(sizeof(T))));
    }
  }

  // ---- Parameters -----------------------------------------------------------

  CardGroup::Launch prepare(int launch) {
    GroupShape shape;
    shape.blocks = case_.shape.grid;
    shape.threads = case_.shape.block;
    shape.waits = case_.variant.waits();
    if (case_.isOneShot()) {
      std::vector<OneShotParams<P>> params;
      for (int rank = 0; rank < P; ++rank)
        params.push_back(oneShotParams(launch, rank));
      return group_.prepare(kernel_.symbol, shape, params);
    }
    std::vector<RowParams<P>> params;
    for (int rank = 0; rank < P; ++rank)
      params.push_back(rowParams(launch, rank));
    return group_.prepare(kernel_.symbol, shape, params);
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
      o.gate = group_.upload(
          rank, inputs_.gates[static_cast<std::size_t>(launch)][r], "gate");
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
    p.peers = peerFlagsOf<P>(group_.workspaceOf(rank), rank);
    for (int peer = 0; peer < P; ++peer) {
      p.addends[peer] = rows_.part<void>(static_cast<std::size_t>(peer));
      setOutput(p.out, peer, static_cast<std::size_t>(peer));
    }
    p.multicastAddends = reinterpret_cast<const void *>(rows_.multicast());
    if (case_.problem.wantsValues)
      p.out.multicastValues = reinterpret_cast<void *>(values_.multicast());
    p.out.multicastPayload =
        reinterpret_cast<std::uint8_t *>(payload_.multicast());
    p.out.multicastScales = reinterpret_cast<float *>(scales_.multicast());
    p.rows = rows_.part<void>(static_cast<std::size_t>(rank));
    p.tokens = case_.problem.tokens;
    p.width = static_cast<std::int32_t>(width_);
    p.operands = operandsOf(launch, rank);
    return p;
  }

  OneShotParams<P> oneShotParams(int launch, int rank) {
    WorkspaceAddresses workspace = group_.workspaceOf(rank);
    OneShotParams<P> p{};
    for (std::size_t peer = 0; peer < P; ++peer)
      p.boxes[peer] = workspace.symmetric[peer] + workspace.layout.boxes;
    p.capacity = workspace.layout.boxCapacity;
    p.state = reinterpret_cast<OneShotState *>(workspace.own +
                                               workspace.layout.state);
    p.rank = static_cast<std::uint32_t>(rank);
    p.watch = watchOf(workspace);
    p.addends = rows_.part<void>(static_cast<std::size_t>(rank));
    p.tokens = case_.problem.tokens;
    p.width = static_cast<std::int32_t>(width_);
    p.operands = operandsOf(launch, rank);
    setOutput(p.out, 0, static_cast<std::size_t>(rank));
    return p;
  }

  CardGroup group_;
  const FusedKernel &kernel_;
  const RowCase case_;
  const RowInputs<T> inputs_;
  const std::int64_t width_;
  SymmetricMemory rows_, values_, payload_, scales_;
  std::vector<T *> residual_, bias_, inner_, weight_, normBias_;
  std::vector<float *> tensorScale_;
  std::vector<Staged> staged_;
  CardGroup::Launch ready_;
};

/// Of launches that are timed: as long as the device's default.
constexpr std::uint64_t kBenchWaitNanoseconds = 10000000000;

} // namespace

template <typename T>
RowsOnCards runOnCards(const CardSet &cards, const FusedKernel &kernel,
                       const RowCase &rowCase, const RowInputs<T> &inputs,
                       std::uint64_t waitNanoseconds, RowResults<T> &results) {
  return forRanks(kernel.variant.ranks, [&](auto ranks) {
    return CardRun<T, decltype(ranks)::value>(cards, kernel, rowCase, inputs,
                                              waitNanoseconds)
        .run(results);
  });
}

std::unique_ptr<CardLaunches> prepareOnCards(const CardSet &cards,
                                             const FusedKernel &kernel,
                                             const RowCase &rowCase) {
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
            cards, kernel, rowCase, inputs, kBenchWaitNanoseconds);
        run->prepare();
        return run;
      });
}

#define LAYLINE_INSTANTIATE(T)                                                 \
  template RowsOnCards runOnCards(const CardSet &, const FusedKernel &,        \
                                  const RowCase &, const RowInputs<T> &,       \
                                  std::uint64_t, RowResults<T> &);
LAYLINE_INSTANTIATE(device::bf16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE

} // namespace layline::test
