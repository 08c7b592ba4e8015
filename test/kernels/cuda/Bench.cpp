// Fused kernels beside what they replace, and NCCL.
#include "Bench.h"

#include "CardRows.h"
#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/KernelImages.h"
#include "devices/cuda/Launch.h"
#include "devices/cuda/Nccl.h"
#include "kernels/local/LocalParams.h"
#include "plan/Error.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace layline::test {

using namespace layline::runtime;
using namespace layline::runtime::cuda;
using namespace layline::kernels;

namespace {

/// As device cuda takes one_shot (kernels/plan/LaunchPlan.h).
constexpr std::int64_t kMostBytesOfOneShot = std::int64_t(1) << 20;

class Bench {
public:
  Bench(const BenchOptions &options, std::ostream &table, std::ostream &notes)
      : options_(options), table_(table), notes_(notes) {
    cards_ = openCards(countCards());
    for (const std::unique_ptr<Card> &card : cards_)
      streams_.emplace_back(*card);
    cards_.front()->kernel("layline_norm"); // whether the build has kernels
    notes_ << "gpu-bench: " << cards_.size() << " cards, the first "
           << cards_.front()->name() << ", kernels of " << kernelImagesReason()
           << std::endl;
    table_ << "op,ranks,bytes,us,algorithm" << std::endl;
  }

  void all() {
    forRows(4, [&](std::int64_t rows) {
      timeNorm(rows);
      timeLocal(rows);
    });
    for (int ranks : {2, 4, 8}) {
      Cards one = openCards(1);
      timeGroup(one, ranks, ":one_card");
      if (cards_.size() >= static_cast<std::size_t>(ranks))
        timeGroup(openCards(ranks), ranks, "");
    }
    if (cards_.size() < 2) {
      notes_ << "gpu-bench: one card: NCCL has nobody to talk to, and no link "
                "is timed"
             << std::endl;
      return;
    }
    timeNccl();
  }

private:
  using Call = std::function<void()>;

  template <typename Time>
  void forRows(std::int64_t step, const Time &time) const {
    for (std::int64_t rows = 1; rows <= options_.mostRows; rows *= step)
      time(rows);
  }
  std::int64_t bytesOf(std::int64_t rows) const {
    return rows * options_.width * 2;
  }
  void print(const std::string &op, int ranks, std::int64_t bytes, double us,
             const std::string &algorithm) {
    table_ << op << ',' << ranks << ',' << bytes << ',' << us << ','
           << algorithm << std::endl;
  }

  /// Median over rounds of the time of one call, in microseconds, by the first
  /// card's clock. `call` enqueues on all cards.
  double microseconds(const Call &call) const {
    OwnedEvent begin(*cards_[0], true), end(*cards_[0], true);
    auto record = [&](const OwnedEvent &event) {
      cards_[0]->use();
      check(driver().eventRecord(event.get(), streams_[0].get()),
            "cuEventRecord", "bench");
    };
    std::vector<double> times;
    for (int round = -1; round < options_.rounds; ++round) { // one warms up
      record(begin);
      for (int repeat = 0; repeat < options_.repeats; ++repeat)
        call();
      record(end);
      for (const OwnedStream &stream : streams_)
        stream.synchronize("bench");
      float milliseconds = 0;
      check(driver().eventElapsed(&milliseconds, begin.get(), end.get()),
            "cuEventElapsedTime", "bench");
      if (round >= 0)
        times.push_back(milliseconds * 1000.0 / options_.repeats);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  // ---- One rank -------------------------------------------------------------

  /// The norm that a plan runs where there is no kernel of the catalogue.
  void timeNorm(std::int64_t rows) {
    Card &card = *cards_[0];
    auto bytes = static_cast<std::size_t>(bytesOf(rows));
    DeviceMemory input(card, bytes, "rows"), output(card, bytes, "rows"),
        weight(card, static_cast<std::size_t>(options_.width) * 2, "weight"),
        parameters(card, sizeof(local::NormParams), "parameters");
    local::NormParams p;
    p.input = {input.as<void>(), local::NumberType::BF16};
    p.output = {output.as<void>(), local::NumberType::BF16};
    p.weight = {weight.as<void>(), local::NumberType::BF16};
    p.rows = rows;
    p.width = options_.width;
    p.eps = 1e-5F;
    copyIn(card, parameters.address(), &p, sizeof p, "parameters");
    KernelLaunch norm;
    norm.function = card.kernel("layline_norm");
    norm.symbol = "layline_norm";
    norm.blocks = static_cast<unsigned>(
        std::min<std::int64_t>(rows, card.multiprocessors() * 16));
    norm.threads = local::kThreads;
    print("row_kernel", 1, 2 * bytesOf(rows), microseconds([&] {
            launch(card, norm, parameters.address(), streams_[0].get());
          }),
          "layline_norm");
  }

  /// A residual added and a norm, of the catalogue: three rows a row.
  void timeLocal(std::int64_t rows) {
    Cards one = openCards(1);
    std::unique_ptr<CardLaunches> launch =
        prepare(one, 1, rows, Input::Own, Output::Own, NormKind::Rms);
    print("row_kernel", 1, 4 * bytesOf(rows),
          microseconds([&] { launch->enqueue(); }), "layline_fused");
  }

  // ---- Groups ---------------------------------------------------------------

  std::unique_ptr<CardLaunches> prepare(const Cards &cards, int ranks,
                                        std::int64_t rows, Input input,
                                        Output output, NormKind norm,
                                        Family family = Family::RowCollective) {
    Variant variant;
    variant.family = family;
    variant.ranks = ranks;
    variant.input = input;
    variant.output = output;
    variant.norm = norm;
    std::string error;
    const FusedKernel *kernel = findFusedKernel(variant, error);
    if (!kernel)
      fail(LAYLINE_REFUSED_FEATURE, error);
    Problem problem;
    problem.tokens = rows;
    problem.width = options_.width;
    problem.hasResidual = problem.keepsResidual = norm != NormKind::None;
    // Blocks that saturate the links and leave multiprocessors to others, as a
    // plan's launches have them: as many as fit.
    constexpr unsigned kMostBlocks = 1024;
    return prepareOnCards(
        cards, streams_, *kernel,
        cardCase(cards, *kernel, problem, kMostBlocks, /*fewThreads=*/false));
  }

  void timeGroup(const Cards &cards, int ranks, const std::string &where) {
    forRows(4, [&](std::int64_t rows) {
      auto time = [&](const char *op, const char *algorithm,
                      std::vector<std::unique_ptr<CardLaunches>> launches) {
        print(op, ranks, bytesOf(rows), microseconds([&] {
                for (const std::unique_ptr<CardLaunches> &launch : launches)
                  launch->enqueue();
              }),
              algorithm + where);
      };
      auto of = [&](auto... parts) {
        std::vector<std::unique_ptr<CardLaunches>> launches;
        (launches.push_back(std::move(parts)), ...);
        return launches;
      };
      auto kernel = [&](Input input, Output output, NormKind norm) {
        return prepare(cards, ranks, rows, input, output, norm);
      };
      constexpr auto none = NormKind::None, rms = NormKind::Rms;
      time("all_reduce", "layline_two_shot",
           of(kernel(Input::Owed, Output::Everyone, none)));
      time("reduce_scatter", "layline_rows",
           of(kernel(Input::Owed, Output::Own, none)));
      time("all_gather", "layline_rows",
           of(kernel(Input::Own, Output::Everyone, none)));
      time("reduce_scatter_epilogue", "layline_fused",
           of(kernel(Input::Owed, Output::Own, rms)));
      time("epilogue_all_gather", "layline_fused",
           of(kernel(Input::Own, Output::Everyone, rms)));
      time("reduce_scatter_epilogue_all_gather", "layline_fused",
           of(kernel(Input::Owed, Output::Everyone, rms)));
      // The rows of a rank, which a local kernel takes as all of its own.
      auto norms = [&] {
        return prepare(cards, 1, (rows + ranks - 1) / ranks, Input::Own,
                       Output::Own, rms);
      };
      if (cards.size() == 1)
        time("reduce_scatter_epilogue_all_gather", "layline_three_kernels",
             of(kernel(Input::Owed, Output::Own, none), norms(),
                kernel(Input::Own, Output::Everyone, none)));
      if (bytesOf(rows) > kMostBytesOfOneShot)
        return;
      time("all_reduce", "layline_one_shot",
           of(prepare(cards, ranks, rows, Input::Own, Output::Own, none,
                      Family::OneShot)));
      time("all_reduce_epilogue", "layline_one_shot",
           of(prepare(cards, ranks, rows, Input::Own, Output::Own, rms,
                      Family::OneShot)));
    });
  }

  // ---- NCCL -----------------------------------------------------------------

  void timeNccl() {
    std::vector<NcclComm> comms(cards_.size());
    std::vector<int> ordinals;
    for (const std::unique_ptr<Card> &card : cards_)
      ordinals.push_back(card->ordinal());
    try {
      nccl();
    } catch (const Error &error) {
      notes_ << "gpu-bench: without NCCL: " << error.what() << std::endl;
      return;
    }
    checkNccl(nccl().initAll(comms.data(), static_cast<int>(comms.size()),
                             ordinals.data()),
              "ncclCommInitAll", "bench");
    Cleanup cleanup;
    for (NcclComm comm : comms)
      cleanup.add([comm] { nccl().destroy(comm); });
    forRows(2, [&](std::int64_t rows) {
      std::vector<DeviceMemory> values;
      for (const std::unique_ptr<Card> &card : cards_)
        values.emplace_back(*card, static_cast<std::size_t>(bytesOf(rows)),
                            "rows");
      double us = microseconds([&] {
        checkNccl(nccl().groupStart(), "ncclGroupStart", "bench");
        for (std::size_t c = 0; c < cards_.size(); ++c)
          checkNccl(
              nccl().allReduce(values[c].as<void>(), values[c].as<void>(),
                               static_cast<std::size_t>(bytesOf(rows) / 2),
                               NcclType::BFloat16, kNcclSum, comms[c],
                               streams_[c].get()),
              "ncclAllReduce", "bench");
        checkNccl(nccl().groupEnd(), "ncclGroupEnd", "bench");
      });
      print("all_reduce", static_cast<int>(cards_.size()), bytesOf(rows), us,
            "nccl");
    });
  }

  const BenchOptions options_;
  std::ostream &table_, &notes_;
  Cards cards_;
  std::vector<OwnedStream> streams_;
};

} // namespace

void bench(const BenchOptions &options, std::ostream &table,
           std::ostream &notes) {
  Bench(options, table, notes).all();
}

} // namespace layline::test
