// Fused kernels beside what they replace, and NCCL.
#include "Bench.h"

#include "BenchMoves.h"
#include "BenchNccl.h"
#include "BenchTable.h"
#include "devices/cuda/HostNumbers.h"
#include "kernels/local/LocalParams.h"
#include "layline/Cost/GpuBenchTable.h"
#include "plan/Error.h"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

namespace layline::test {

using namespace layline::runtime::cuda;
using namespace layline::kernels;
using runtime::fail;

namespace {

/// As device cuda takes one_shot (kernels/plan/LaunchPlan.h).
constexpr std::int64_t kMostBytesOfOneShot = std::int64_t(1) << 20;
/// Of rows in FP8, as DeepSeek-V3's weights have them.
constexpr std::int64_t kGroupSize = 128;

class Bench {
public:
  Bench(const BenchOptions &options, std::ostream &table, std::ostream &notes)
      : options_(options), notes_(notes), cards_(countCards()),
        table_(start(table), describeCards(cards_), options) {}

  void all() {
    forRows([&](std::int64_t rows) {
      timeNorm(rows);
      timeChain(rows);
      timeOneRank(rows);
    });
    for (int ranks : {2, 4, 8}) {
      const CardSet one(1);
      timeGroup(one, ranks);
      if (cards_.size() >= static_cast<std::size_t>(ranks))
        timeGroup(CardSet(ranks), ranks);
    }
    if (cards_.size() < 2)
      notes_ << "gpu-bench: one card: NCCL has nobody to talk to, and no link "
                "is timed"
             << std::endl;
    table_.end();
    notes_ << '\n';
    comparison_.print(notes_);
  }

private:
  /// First of all, that the build has kernels, and what they are timed on.
  std::ostream &start(std::ostream &table) const {
    cards_[0].kernel("layline_norm");
    notes_ << "gpu-bench: " << describeCards(cards_) << std::endl;
    return table;
  }

  template <typename Time> void forRows(const Time &time) const {
    for (std::int64_t rows = 1; rows <= options_.mostRows; rows *= 4)
      time(rows);
  }
  std::int64_t bytesOf(std::int64_t rows) const {
    return rows * options_.width * 2;
  }

  /// Of launches one behind another.
  double timeOf(const CardSet &cards,
                const std::vector<Prepared> &launches) const {
    return microseconds(cards, options_, [&] {
      for (const Prepared &launch : launches)
        launch->enqueue();
    });
  }
  template <typename... Launch>
  double timeOf(const CardSet &cards, Launch... launch) const {
    std::vector<Prepared> launches;
    (launches.push_back(std::move(launch)), ...);
    return timeOf(cards, launches);
  }

  // ---- One rank -------------------------------------------------------------

  /// The norm that a plan runs where there is no kernel of the catalogue.
  void timeNorm(std::int64_t rows) {
    Card &card = cards_[0];
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
    table_.add("row_kernel", 1, 2 * bytesOf(rows),
               microseconds(cards_, options_,
                            [&] {
                              launch(card, norm, parameters.address(),
                                     cards_.stream(0).get());
                            }),
               "layline_norm");
  }

  /// A residual added and a norm, of the catalogue: four rows a row.
  void timeChain(std::int64_t rows) {
    table_.add("row_kernel", 1, 4 * bytesOf(rows),
               timeOf(cards_, ofRank(cards_, rows, NormKind::Rms)),
               "layline_fused");
  }

  /// What has no line in the table: no plan's choice rests on it.
  void timeOneRank(std::int64_t rows) {
    auto compare = [&](const char *form, std::int64_t bytes, double us,
                       const char *instead, double usInstead) {
      comparison_.add({form, 1, 1, bytes, us, instead, usInstead});
    };
    const std::int64_t width = options_.width;
    const CardSet one(1); // copies must not go over a link
    compare("rope", bytesOf(rows),
            timeOf(one, prepareRope(one, rows, width, true)), "layline_rope",
            timeOf(one, prepareRope(one, rows, width, false)));
    // Of two planes a head of 256 bytes each.
    const std::int64_t packed = rows * 512;
    compare("pack_pages", packed, timeOf(one, preparePack(one, rows)), "a copy",
            timeOf(one, prepareCopies(one, 2, packed)));
    // Sorted rows are written and read again.
    const std::int64_t moved = 8 * bytesOf(rows);
    if (rows <= 1024)
      compare("sort_by_expert, permute_rows, merge_experts", moved,
              timeOf(one, prepareExperts(one, rows, width)),
              "a copy of the permuted rows",
              timeOf(one, prepareCopies(one, 2, moved)));
  }

  // ---- Kernels of rows ------------------------------------------------------

  Prepared prepare(const CardSet &cards, const Variant &variant,
                   std::int64_t rows) const {
    std::string error;
    const FusedKernel *kernel = findFusedKernel(variant, error);
    if (!kernel)
      fail(LAYLINE_REFUSED_FEATURE, error);
    Problem problem;
    problem.tokens = rows;
    problem.width = options_.width;
    problem.hasResidual = problem.keepsResidual =
        variant.norm != NormKind::None;
    problem.wantsValues = variant.scales == ScaleKind::None;
    if (variant.scales == ScaleKind::Group)
      problem.groupSize = std::min(kGroupSize, options_.width);
    // Blocks that saturate the links and leave multiprocessors to others, as a
    // plan's launches have them: as many as fit.
    constexpr unsigned kMostBlocks = 1024;
    return prepareOnCards(
        cards, *kernel,
        cardCase(cards, *kernel, problem, kMostBlocks, /*fewThreads=*/false));
  }

  static Variant rowsOf(int ranks, Input input, Output output, NormKind norm,
                        ScaleKind scales = ScaleKind::None) {
    Variant variant;
    variant.ranks = ranks;
    variant.input = input;
    variant.output = output;
    variant.norm = norm;
    variant.scales = scales;
    return variant;
  }
  static Variant oneShotOf(int ranks, NormKind norm,
                           ScaleKind scales = ScaleKind::None) {
    Variant variant = rowsOf(ranks, Input::Own, Output::Own, norm, scales);
    variant.family = Family::OneShot;
    return variant;
  }
  /// Work of one rank on so many rows, by itself.
  Prepared ofRank(const CardSet &cards, std::int64_t rows, NormKind norm,
                  ScaleKind scales = ScaleKind::None) const {
    return prepare(cards, rowsOf(1, Input::Own, Output::Own, norm, scales),
                   rows);
  }

  /// What a group of `cards` runs between other ranks' rows and its own.
  struct Group {
    const CardSet &cards;
    int ranks;
    std::int64_t rows;
    std::string where; ///< behind an algorithm's name
    std::optional<double> nccl;
    double norm; ///< of the rows of one rank
  };

  void timeGroup(const CardSet &cards, int ranks) {
    const bool isOneCard = cards.size() == 1;
    std::unique_ptr<NcclGroup> nccl;
    if (!isOneCard)
      nccl = NcclGroup::open(cards, notes_);
    forRows([&](std::int64_t rows) {
      Group group{cards, ranks, rows, "", {}, 0};
      if (isOneCard)
        group.where = gpubench::kOneCard;
      if (nccl) {
        group.nccl =
            microseconds(cards, options_, nccl->allReduce(bytesOf(rows)));
        table_.add("all_reduce", ranks, bytesOf(rows), *group.nccl, "nccl");
      }
      // The rows of a rank, which a local kernel takes as all of its own. All
      // cards run at the same time: one is timed.
      group.norm = timeOf(
          cards, ofRank(cards, (rows + ranks - 1) / ranks, NormKind::Rms));
      timeRows(group);
      if (ranks > 2)
        timeQuantized(group);
      if (bytesOf(rows) <= kMostBytesOfOneShot)
        timeOneShot(group);
      timeBytes(group, nccl.get());
    });
  }

  double addTo(const Group &group, const char *op, const char *algorithm,
               double us) {
    table_.add(op, group.ranks, bytesOf(group.rows), us,
               algorithm + group.where);
    return us;
  }
  void compare(const Group &group, const char *form, double us,
               const char *instead, double usInstead, double usNccl = 0) {
    comparison_.add({form, group.ranks, group.cards.size(), bytesOf(group.rows),
                     us, instead, usInstead, usNccl});
  }

  void timeRows(const Group &group) {
    constexpr auto none = NormKind::None, rms = NormKind::Rms;
    auto kernel = [&](Input input, Output output, NormKind norm) {
      return timeOf(group.cards,
                    prepare(group.cards,
                            rowsOf(group.ranks, input, output, norm),
                            group.rows));
    };
    const double reduce = addTo(group, "all_reduce", "layline_two_shot",
                                kernel(Input::Owed, Output::Everyone, none));
    const double scatter = addTo(group, "reduce_scatter", "layline_rows",
                                 kernel(Input::Owed, Output::Own, none)),
                 gather = addTo(group, "all_gather", "layline_rows",
                                kernel(Input::Own, Output::Everyone, none));
    const double first =
                     addTo(group, "reduce_scatter_epilogue", "layline_fused",
                           kernel(Input::Owed, Output::Own, rms)),
                 second = addTo(group, "epilogue_all_gather", "layline_fused",
                                kernel(Input::Own, Output::Everyone, rms)),
                 whole = addTo(group, "reduce_scatter_epilogue_all_gather",
                               "layline_fused",
                               kernel(Input::Owed, Output::Everyone, rms));
    const double nccl = group.nccl.value_or(0);
    double three = scatter + group.norm + gather;
    if (group.cards.size() == 1)
      three = addTo(
          group, "reduce_scatter_epilogue_all_gather", "layline_three_kernels",
          timeOf(
              group.cards,
              prepare(group.cards,
                      rowsOf(group.ranks, Input::Owed, Output::Own, none),
                      group.rows),
              ofRank(group.cards, (group.rows + group.ranks - 1) / group.ranks,
                     rms),
              prepare(group.cards,
                      rowsOf(group.ranks, Input::Own, Output::Everyone, none),
                      group.rows)));
    compare(group, "all_reduce", reduce, "reduce_scatter, all_gather",
            scatter + gather, nccl);
    compare(group, "reduce_scatter + norm", first, "two kernels",
            scatter + group.norm);
    compare(group, "norm + all_gather", second, "two kernels",
            group.norm + gather);
    compare(group, "reduce_scatter + norm + all_gather", whole, "three kernels",
            three, nccl > 0 ? nccl + group.norm : 0);
  }

  /// The payload and its scales are gathered, in place of the rows.
  void timeQuantized(const Group &group) {
    const std::int64_t own = (group.rows + group.ranks - 1) / group.ranks;
    for (ScaleKind scales : {ScaleKind::Row, ScaleKind::Group}) {
      const bool isRow = scales == ScaleKind::Row;
      const std::int64_t columns =
          isRow ? 1 : options_.width / std::min(kGroupSize, options_.width);
      auto kernel = [&](const Variant &variant) {
        return timeOf(group.cards, prepare(group.cards, variant, group.rows));
      };
      const double quantize =
                       timeOf(group.cards,
                              ofRank(group.cards, own, NormKind::None, scales)),
                   gathers = timeOf(group.cards,
                                    prepareGather(group.cards, group.ranks,
                                                  group.rows, options_.width)) +
                             timeOf(group.cards,
                                    prepareGather(group.cards, group.ranks,
                                                  group.rows, columns * 4)),
                   scatter = kernel(rowsOf(group.ranks, Input::Owed,
                                           Output::Own, NormKind::None));
      compare(group,
              isRow ? "FP8 by row + all_gather" : "FP8 by group + all_gather",
              kernel(rowsOf(group.ranks, Input::Own, Output::Everyone,
                            NormKind::None, scales)),
              "three kernels", quantize + gathers);
      compare(group,
              isRow ? "reduce_scatter + norm + FP8 by row + all_gather"
                    : "reduce_scatter + norm + FP8 by group + all_gather",
              kernel(rowsOf(group.ranks, Input::Owed, Output::Everyone,
                            NormKind::Rms, scales)),
              "five kernels", scatter + group.norm + quantize + gathers);
    }
  }

  void timeOneShot(const Group &group) {
    auto kernel = [&](NormKind norm, ScaleKind scales = ScaleKind::None) {
      return timeOf(group.cards,
                    prepare(group.cards, oneShotOf(group.ranks, norm, scales),
                            group.rows));
    };
    const double plain = addTo(group, "all_reduce", "layline_one_shot",
                               kernel(NormKind::None)),
                 fused = addTo(group, "all_reduce_epilogue", "layline_one_shot",
                               kernel(NormKind::Rms)),
                 norm = timeOf(group.cards,
                               ofRank(group.cards, group.rows, NormKind::Rms)),
                 nccl = group.nccl.value_or(0);
    compare(group, "one_shot all_reduce", plain, "-", 0, nccl);
    compare(group, "one_shot all_reduce + norm", fused, "two kernels",
            plain + norm, nccl > 0 ? nccl + norm : 0);
    if (group.ranks > 2)
      compare(group, "one_shot all_reduce + norm + FP8 by row",
              kernel(NormKind::Rms, ScaleKind::Row), "two kernels",
              fused +
                  timeOf(group.cards, ofRank(group.cards, group.rows,
                                             NormKind::None, ScaleKind::Row)));
  }

  void timeBytes(const Group &group, const NcclGroup *nccl) {
    const std::int64_t bytes = bytesOf(group.rows);
    compare(
        group, "broadcast",
        timeOf(group.cards, prepareBroadcast(group.cards, group.ranks, bytes)),
        "a copy for each peer",
        timeOf(group.cards, prepareCopies(group.cards, group.ranks, bytes)),
        nccl ? microseconds(group.cards, options_, nccl->broadcast(bytes)) : 0);
    compare(group, "gather_rows",
            timeOf(group.cards, prepareGather(group.cards, group.ranks,
                                              group.rows, options_.width * 2)),
            "-", 0,
            nccl ? microseconds(group.cards, options_, nccl->allGather(bytes))
                 : 0);
  }

  const BenchOptions options_;
  std::ostream &notes_;
  const CardSet cards_;
  BenchTable table_;
  BenchComparison comparison_;
};

} // namespace

void bench(const BenchOptions &options, std::ostream &table,
           std::ostream &notes) {
  Bench(options, table, notes).all();
}

} // namespace layline::test
