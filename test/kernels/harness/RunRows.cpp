#include "harness/Copy.cuh"
#include "harness/Rows.h"

#include <algorithm>
#include <memory>

namespace layline::kernels::test {
namespace {

/// Threads of the kernels that stand around the collective.
constexpr unsigned kCopyGrid = 2, kCopyBlock = 64;

template <typename T, int P> class RowRun {
public:
  RowRun(Cluster &theCluster, const RowCase &theCase,
         const RowInputs<T> &theInputs, const LaunchFaults &theFaults)
      : cluster(theCluster), rowCase(theCase), inputs(theInputs),
        faults(theFaults) {
    const Problem &problem = rowCase.problem;
    rowBytes = problem.width * std::int64_t(sizeof(T));
    auto all = [&](std::int64_t each) {
      return static_cast<std::size_t>(
          std::max<std::int64_t>(problem.tokens * each, 16));
    };
    auto &machine = cluster.machine;
    columns = rowCase.scaleColumns();
    rows = machine.template allocateSymmetric<unsigned char>(all(rowBytes),
                                                             "addends");
    values = machine.template allocateSymmetric<unsigned char>(all(rowBytes),
                                                               "values");
    payload = machine.template allocateSymmetric<unsigned char>(
        all(problem.width), "payload");
    scales = machine.template allocateSymmetric<unsigned char>(
        all(4 * std::max(columns, 1)), "scales");
    if (rowCase.variant.input == Input::OwedMulticast)
      multicastRows = machine.makeMulticast(
          {rows.begin(), rows.end()}, all(rowBytes), "addends, multicast");
    if (rowCase.variant.output == Output::EveryoneMulticast ||
        faults.storesToMulticast)
      multicastValues = machine.makeMulticast(
          {values.begin(), values.end()}, all(rowBytes), "values, multicast");
    if (rowCase.variant.output == Output::EveryoneMulticast) {
      multicastPayload = machine.makeMulticast({payload.begin(), payload.end()},
                                               all(problem.width),
                                               "payload, multicast");
      multicastScales = machine.makeMulticast({scales.begin(), scales.end()},
                                              all(4 * std::max(columns, 1)),
                                              "scales, multicast");
    }
    for (int rank = 0; rank < P; ++rank) {
      RowBlock own = rowCase.rowsOf(rank);
      auto begin = inputs.residual.begin() + own.begin * problem.width;
      residual.push_back(cluster.upload(
          rank, std::vector<T>(begin, begin + own.size * problem.width),
          "residual"));
      bias.push_back(cluster.upload(rank, inputs.bias, "bias"));
      inner.push_back(cluster.upload(rank, inputs.innerWeight, "inner weight"));
      weight.push_back(cluster.upload(rank, inputs.weight, "weight"));
      normBias.push_back(cluster.upload(rank, inputs.normBias, "norm bias"));
      tensorScale.push_back(cluster.upload(
          rank, std::vector<float>{inputs.tensorScale}, "tensor scale"));
    }
  }

  /// All launches of all ranks, into their streams.
  void launchAll(void (*function)()) {
    for (int launch = 0; launch < rowCase.launches; ++launch) {
      outputs.emplace_back();
      for (int rank = 0; rank < P; ++rank)
        launchOne(launch, rank, function);
    }
  }

  RowResults<T> collect() const {
    RowResults<T> results;
    for (const std::vector<Outputs> &launch : outputs) {
      results.values.emplace_back();
      results.payload.emplace_back();
      results.scales.emplace_back();
      results.residual.emplace_back();
      for (int rank = 0; rank < P; ++rank) {
        const Outputs &out = launch[rank];
        std::int64_t width = rowCase.problem.width,
                     kept = rowCase.rowsOf(rank).size, count = resultRows(rank);
        bool isQuantized = rowCase.variant.scales != ScaleKind::None;
        results.values.back().push_back(
            download(reinterpret_cast<const T *>(out.values),
                     rowCase.problem.wantsValues ? count * width : 0));
        results.payload.back().push_back(
            download(out.payload, isQuantized ? count * width : 0));
        results.scales.back().push_back(download(
            reinterpret_cast<const float *>(out.scales), count * columns));
        results.residual.back().push_back(
            download(reinterpret_cast<const T *>(out.residual),
                     rowCase.problem.keepsResidual ? kept * width : 0));
      }
    }
    return results;
  }

private:
  struct Outputs {
    unsigned char *values, *payload, *scales, *residual;
  };

  std::int64_t resultRows(int rank) const {
    return rowCase.reachesAll() ? rowCase.problem.tokens
                                : rowCase.rowsOf(rank).size;
  }

  void launchOne(int launch, int rank, void (*function)()) {
    auto &machine = cluster.machine;
    int stream = faults.twoStreams ? launch % 2 : 0;
    const std::vector<T> &source = inputs.rows[launch][rank];
    T *staged = cluster.upload(rank, source, "source");
    unsigned char *target = rows[rank];
    std::int64_t bytes = std::int64_t(source.size() * sizeof(T));
    simt::Launch copy{"producer", {kCopyGrid}, {kCopyBlock}};
    copy.programmatic = true;
    machine.launch(
        rank, copy,
        [=] {
          griddep_wait();
          griddep_launch_dependents();
          copy_vectors(staged, target, bytes);
        },
        stream);

    simt::Launch main{"main", {rowCase.shape.grid}, {rowCase.shape.block}};
    main.programmatic = true;
    main.cooperative = rowCase.shape.cooperative && faults.cooperative;
    RowOperands operands = operandsOf(launch, rank);
    if (rowCase.isOneShot()) {
      auto params = oneShotParams(rank, operands);
      auto kernel =
          reinterpret_cast<void (*)(const OneShotParams<P>)>(function);
      machine.launch(
          rank, main, [=] { kernel(params); }, stream);
    } else {
      auto params = rowParams(rank, operands);
      auto kernel = reinterpret_cast<void (*)(const RowParams<P>)>(function);
      machine.launch(
          rank, main, [=] { kernel(params); }, stream);
    }

    std::int64_t count = resultRows(rank), width = rowCase.problem.width,
                 kept = rowCase.rowsOf(rank).size * rowBytes,
                 scaleBytes = count * columns * 4;
    bool isQuantized = rowCase.variant.scales != ScaleKind::None;
    std::int64_t payloadBytes = isQuantized ? count * width : 0;
    auto room = [&](std::int64_t size) {
      return machine.template allocate<unsigned char>(
          rank, static_cast<std::size_t>(std::max<std::int64_t>(size, 16)),
          "results");
    };
    Outputs out{room(count * rowBytes), room(payloadBytes), room(scaleBytes),
                room(kept)};
    outputs.back().push_back(out);
    const unsigned char *y = values[rank], *q = payload[rank],
                        *s = scales[rank];
    const T *r = residual[rank];
    bool keeps = rowCase.problem.keepsResidual, waits = faults.consumerWaits;
    std::int64_t valueBytes = count * rowBytes;
    copy.kernel = "consumer";
    machine.launch(
        rank, copy,
        [=] {
          if (waits)
            griddep_wait();
          griddep_launch_dependents();
          copy_vectors(y, out.values, valueBytes);
          copy_words<std::uint64_t>(q, out.payload, payloadBytes);
          copy_words<std::uint32_t>(s, out.scales, scaleBytes);
          if (keeps)
            copy_vectors(r, out.residual, kept);
        },
        stream);
  }

  RowOperands operandsOf(int launch, int rank) {
    const Problem &problem = rowCase.problem;
    RowOperands o{};
    o.bias = problem.hasBias ? bias[rank] : nullptr;
    o.innerWeight = problem.hasInnerNorm ? inner[rank] : nullptr;
    o.residual = problem.hasResidual ? residual[rank] : nullptr;
    o.residualOut = problem.keepsResidual ? residual[rank] : nullptr;
    o.weight = weight[rank];
    o.normBias = problem.hasNormBias ? normBias[rank] : nullptr;
    o.gate = problem.hasGate
                 ? cluster.upload(rank, inputs.gates[launch][rank], "gate")
                 : nullptr;
    o.tensorScale = tensorScale[rank];
    o.innerScale = rowCase.innerScale;
    o.scale = rowCase.scale;
    o.eps = rowCase.eps;
    o.weightOffset = rowCase.weightOffset;
    o.groupSize = static_cast<std::int32_t>(problem.groupSize);
    return o;
  }

  template <int Q> void setOutput(RowOutputs<Q> &out, int at, int rank) const {
    bool isQuantized = rowCase.variant.scales != ScaleKind::None;
    out.values[at] = rowCase.problem.wantsValues ? values[rank] : nullptr;
    out.payload[at] = isQuantized ? payload[rank] : nullptr;
    out.scales[at] =
        isQuantized ? reinterpret_cast<float *>(scales[rank]) : nullptr;
  }

  RowParams<P> rowParams(int rank, const RowOperands &operands) const {
    RowParams<P> params{};
    params.peers = cluster.template peerFlags<P>(rank);
    for (int peer = 0; peer < P; ++peer) {
      params.addends[peer] = rows[peer];
      setOutput(params.out, peer, peer);
      if (faults.storesToMulticast)
        params.out.values[peer] = multicastValues;
    }
    params.multicastAddends = multicastRows;
    params.rows = rows[rank];
    params.tokens = rowCase.problem.tokens;
    params.width = static_cast<std::int32_t>(rowCase.problem.width);
    params.operands = operands;
    params.out.multicastValues =
        rowCase.problem.wantsValues ? multicastValues : nullptr;
    params.out.multicastPayload = static_cast<std::uint8_t *>(multicastPayload);
    params.out.multicastScales = static_cast<float *>(multicastScales);
    return params;
  }

  OneShotParams<P> oneShotParams(int rank, const RowOperands &operands) const {
    OneShotParams<P> params{};
    cluster.setBoxes(params, rank);
    params.addends = rows[rank];
    params.tokens = rowCase.problem.tokens;
    params.width = static_cast<std::int32_t>(rowCase.problem.width);
    params.operands = operands;
    setOutput(params.out, 0, rank);
    return params;
  }

  Cluster &cluster;
  const RowCase &rowCase;
  const RowInputs<T> &inputs;
  const LaunchFaults &faults;
  std::int64_t rowBytes = 0;
  int columns = 0;
  std::vector<unsigned char *> rows, values, payload, scales;
  void *multicastRows = nullptr, *multicastValues = nullptr,
       *multicastPayload = nullptr, *multicastScales = nullptr;
  std::vector<T *> residual, bias, inner, weight, normBias;
  std::vector<float *> tensorScale;
  std::vector<std::vector<Outputs>> outputs; ///< [launch][rank]
};

} // namespace

template <typename T, int P>
simt::Report
runSequence(Cluster &cluster, const std::vector<SequenceStep<T>> &steps,
            std::vector<RowResults<T>> &results, const LaunchFaults &faults) {
  if (cluster.workspace.boxCapacity)
    cluster.poison(steps.front().rowCase.variant.dtype);
  std::vector<std::unique_ptr<RowRun<T, P>>> runs;
  for (const SequenceStep<T> &step : steps) {
    runs.push_back(std::make_unique<RowRun<T, P>>(cluster, step.rowCase,
                                                  step.inputs, faults));
    runs.back()->launchAll(step.function);
  }
  simt::Report report = cluster.machine.run();
  for (const auto &run : runs)
    results.push_back(run->collect());
  return report;
}

template <typename T, int P>
simt::Report runRows(Cluster &cluster, const RowCase &rowCase,
                     const RowInputs<T> &inputs, void (*function)(),
                     RowResults<T> &results, const LaunchFaults &faults) {
  std::vector<RowResults<T>> all;
  simt::Report report =
      runSequence<T, P>(cluster, {{rowCase, inputs, function}}, all, faults);
  results = all.front();
  for (int rank = 0; rank < P; ++rank)
    results.counters.push_back(cluster.machine.counters(rank, "main"));
  return report;
}

template <typename T>
simt::Report runCatalogue(const RowCase &rowCase, const RowInputs<T> &inputs,
                          const simt::Options &options,
                          RowResults<T> &results) {
  simt::Report report;
  const Kernel *kernel = findKernel(rowCase.variant, report.text);
  if (!kernel || !checkProblem(rowCase.variant, rowCase.problem, report.text)) {
    report.failure = simt::Failure::Launch;
    return report;
  }
  Cluster cluster(rowCase.variant.ranks, options, needOf(rowCase));
  switch (rowCase.variant.ranks) {
  case 1:
    return runRows<T, 1>(cluster, rowCase, inputs, kernel->function, results);
  case 2:
    return runRows<T, 2>(cluster, rowCase, inputs, kernel->function, results);
  case 3:
    return runRows<T, 3>(cluster, rowCase, inputs, kernel->function, results);
  case 4:
    return runRows<T, 4>(cluster, rowCase, inputs, kernel->function, results);
  default:
    return runRows<T, 8>(cluster, rowCase, inputs, kernel->function, results);
  }
}

#define LAYLINE_INSTANTIATE_FOR(T, P)                                          \
  template simt::Report runRows<T, P>(Cluster &, const RowCase &,              \
                                      const RowInputs<T> &, void (*)(),        \
                                      RowResults<T> &, const LaunchFaults &);  \
  template simt::Report runSequence<T, P>(                                     \
      Cluster &, const std::vector<SequenceStep<T>> &,                         \
      std::vector<RowResults<T>> &, const LaunchFaults &);
#define LAYLINE_INSTANTIATE(T)                                                 \
  LAYLINE_INSTANTIATE_FOR(T, 2)                                                \
  LAYLINE_INSTANTIATE_FOR(T, 3)                                                \
  LAYLINE_INSTANTIATE_FOR(T, 4)                                                \
  LAYLINE_INSTANTIATE_FOR(T, 8)                                                \
  template simt::Report runCatalogue(const RowCase &, const RowInputs<T> &,    \
                                     const simt::Options &, RowResults<T> &);
LAYLINE_INSTANTIATE(bf16)
LAYLINE_INSTANTIATE(f16)
LAYLINE_INSTANTIATE(float)
#undef LAYLINE_INSTANTIATE
#undef LAYLINE_INSTANTIATE_FOR

} // namespace layline::kernels::test
