// A mixture on cards: choices sorted by expert, their rows in that order, the
// experts' products, which are the device's own, and the rows merged again.
#include "devices/cuda/FusedParams.h"
#include "devices/cuda/Steps.h"
#include "kernels/FusedKernels.h"

#include <algorithm>

namespace layline::runtime::cuda {
namespace {

/// A rank's memory between the launches.
struct Mixture {
  std::int64_t rows = 0, slots = 0, held = 0;
  std::int64_t in = 0, inner = 0, out = 0;
  std::int32_t *ids = nullptr;
  float *weights = nullptr, *hidden = nullptr;
  std::int64_t *places = nullptr, *offsets = nullptr;
  void *sorted = nullptr, *results = nullptr;

  std::int64_t choices() const { return rows * slots; }
};

class Experts {
public:
  explicit Experts(const FusedStep &step)
      : step_(step), plan_(*step.launches.front().step) {
    for (const RankView &rank : step.ranks)
      mixtures_.push_back(mixtureOf(rank));
  }

  void add() {
    narrow();
    launch(kernels::Family::SortByExpert);
    launch(kernels::Family::PermuteRows);
    multiply();
    launch(kernels::Family::MergeExperts);
  }

private:
  const Mixture &of(const RankView &rank) const {
    return mixtures_[rank.place];
  }

  Mixture mixtureOf(const RankView &rank) {
    Mixture its;
    const Shape ids = rank.shape(plan_.arg("ids")),
                gate = rank.shape(plan_.arg("gate"));
    its.rows = ids[0];
    its.slots = ids.back();
    its.held = gate[0];
    its.inner = gate[1];
    its.in = gate[2];
    its.out = rank.shape(plan_.arg("down"))[1];
    auto make = [&](auto *&at, std::int64_t count, std::int64_t each) {
      at = reinterpret_cast<std::decay_t<decltype(at)>>(
          step_.builder.scratch(rank, static_cast<std::size_t>(count * each)));
    };
    // All of a rank's choices may be of its own experts.
    const std::int64_t choices = its.choices(),
                       each = kernels::bytesOf(step_.of(rank).variant.dtype);
    make(its.ids, choices, sizeof(std::int32_t));
    make(its.weights, choices, sizeof(float));
    make(its.places, choices, sizeof(std::int64_t));
    make(its.offsets, its.held + 1, sizeof(std::int64_t));
    make(its.sorted, choices * its.in, each);
    make(its.hidden, choices * its.inner, sizeof(float));
    make(its.results, choices * its.out, each);
    return its;
  }

  void narrow() {
    step_.builder.kernel<local::ChoicesParams>(
        "layline_choices", [&](const RankView &rank, local::ChoicesParams &p) {
          const Mixture &its = of(rank);
          p.ids = rank.integers(plan_.arg("ids"));
          p.weights = rank.numbers(plan_.arg("weights"));
          p.narrowIds = its.ids;
          p.floats = its.weights;
          p.rows = its.rows;
          p.slots = its.slots;
          p.experts = plan_.arg("gate").shape[0].value;
          p.fault = step_.builder.faultPlace(rank);
          return blocksForElements(its.choices());
        });
  }

  void multiply() {
    step_.builder.kernel<local::SortedExpertsParams>(
        "layline_sorted_experts",
        [&](const RankView &rank, local::SortedExpertsParams &p) {
          const Mixture &its = of(rank);
          const NumberType type = rank.numbers(plan_.arg("input")).type;
          setExperts(rank, plan_, p);
          p.sorted = {its.sorted, type};
          p.offsets = its.offsets;
          p.results = {its.results, type};
          p.scratch = its.hidden;
          return its.choices();
        });
  }

  /// Ranks of a card that hold as many experts are one launch: a block of
  /// sort_by_expert is an expert's.
  void launch(kernels::Family family) {
    for (std::size_t card = 0; card < step_.builder.cards(); ++card) {
      std::vector<const RankView *> left;
      for (const RankView &rank : step_.ranks)
        if (rank.cardNumber == card)
          left.push_back(&rank);
      while (!left.empty()) {
        std::vector<const RankView *> together, others;
        for (const RankView *rank : left)
          (of(*rank).held == of(*left.front()).held ? together : others)
              .push_back(rank);
        launch(family, card, together);
        left = std::move(others);
      }
    }
  }

  void launch(kernels::Family family, std::size_t card,
              const std::vector<const RankView *> &together) {
    kernels::Variant variant = step_.of(*together.front()).variant;
    variant.family = family;
    const bool isSort = family == kernels::Family::SortByExpert;
    // Ids have one type whatever the rows have.
    if (isSort)
      variant.dtype = kernels::Variant().dtype;
    std::string error;
    CardLaunch launch;
    launch.symbol = kernels::findFusedKernel(variant, error)->symbol;
    for (const RankView *rank : together) {
      const kernels::LaunchShape &shape = step_.of(*rank).shape;
      launch.blocks = std::max(launch.blocks, shape.grid);
      launch.threads = shape.block;
    }
    if (isSort)
      launch.blocks = static_cast<unsigned>(
          std::max<std::int64_t>(1, of(*together.front()).held));
    const bool isMerge = family == kernels::Family::MergeExperts;
    step_.builder.launch<kernels::ExpertParams>(
        card, together, launch,
        [&](const RankView &rank, kernels::ExpertParams &p) {
          const Mixture &its = of(rank);
          p.ids = its.ids;
          p.tokens = its.rows;
          p.chosen = static_cast<std::int32_t>(its.slots);
          p.firstExpert =
              static_cast<std::int32_t>(rank.begin(plan_.arg("gate"), 0));
          p.experts = static_cast<std::int32_t>(its.held);
          p.places = its.places;
          p.offsets = its.offsets;
          p.rows = rank.numbers(plan_.arg("input")).data;
          p.sorted = its.sorted;
          p.width = static_cast<std::int32_t>(isMerge ? its.out : its.in);
          p.results = its.results;
          p.weights = its.weights;
          p.scale = 1;
          p.merged = rank.numbers(plan_.arg("output")).data;
        });
  }

  const FusedStep &step_;
  const Step &plan_;
  std::vector<Mixture> mixtures_;
};

} // namespace

void addExpertLaunches(const FusedStep &step) { Experts(step).add(); }

} // namespace layline::runtime::cuda
