#include "devices/simt/plan/SingleLaunch.h"

#include <algorithm>
#include <limits>

namespace layline::runtime {

// ---- Rope
// ----------------------------------------------------------------------

void RopeLaunch::place(DeviceMemory &memory) {
  const Step &step = *plan.step;
  const RopeNumbers &numbers = rank_.ropeNumbers(step);
  produced_ =
      memory.put("produced rows", rank_.address<float>(step.arg("input").index),
                 count(), type());
  rows_ = memory.make("rows", count(), type());
  out_ = memory.make("rotated", count(), type());
  consumed_ = memory.make("consumed rows", count(), type());
  positions_ =
      memory.put("positions", rank_.integers(step.arg("positions")).data,
                 plan.problem.tokens, Stored::I64);
  const std::vector<double> halfTurns = halfTurnsOf(numbers);
  halfTurns_ = memory.putBytes(
      "half turns", halfTurns.data(),
      static_cast<std::int64_t>(halfTurns.size() * sizeof(double)));
}

void RopeLaunch::launch(GroupMachine &machine,
                        const std::vector<MemberLaunch *> &) {
  std::int64_t bytes = count() * bytesOf(type());
  machine.copy(0, "producer", produced_, rows_, bytes);
  RopeAddresses at;
  at.rows = rows_;
  at.out = out_;
  at.positions = static_cast<const std::int64_t *>(positions_);
  at.halfTurns = static_cast<const double *>(halfTurns_);
  machine.start(0, kernel_, plan.shape,
                ropeParamsOf(plan, at,
                             static_cast<float>(
                                 rank_.ropeNumbers(*plan.step).attentionFactor),
                             machine.workspace(0)));
  machine.copy(0, "consumer", out_, consumed_, bytes);
}

void RopeLaunch::take(std::int64_t) {
  fetch(consumed_, type(), 0, count(),
        rank_.address<float>(plan.step->arg("output").index));
}

// ---- Broadcast
// -----------------------------------------------------------------

BroadcastLaunch::BroadcastLaunch(RankContext<float> &rank,
                                 const LaunchPlan &plan,
                                 const kernels::Kernel &kernel)
    : MemberLaunch(plan), rank_(rank), kernel_(kernel) {
  DType dtype = plan.step->arg("input").dtype;
  if (!isInteger(dtype))
    type_ =
        rank.run->precision == LAYLINE_PRECISION_BF16 && dtype == DType::BF16
            ? Stored::BF16
            : Stored::F32;
}

void BroadcastLaunch::place(DeviceMemory &memory) {
  member_ = memory.member();
  const Operand &input = plan.step->arg("input");
  const std::int64_t count = plan.bytes / bytesOf(type_);
  if (member_ == plan.step->attrs.root) {
    produced_ =
        type_ == Stored::I64
            ? memory.put("produced", rank_.integers(input).data, count, type_)
            : memory.put("produced", rank_.floats(input).data, count, type_);
    from_ = memory.make("from", count, type_);
  }
  to_ = memory.make("to", count, type_, /*isShared=*/true);
  consumed_ = memory.make("consumed", count, type_);
}

void BroadcastLaunch::launch(GroupMachine &machine,
                             const std::vector<MemberLaunch *> &members) {
  if (from_)
    machine.copy(member_, "producer", produced_, from_, plan.bytes);
  std::vector<void *> to;
  for (const MemberLaunch *member : members)
    to.push_back(static_cast<const BroadcastLaunch *>(member)->to_);
  withRanks(plan.variant.ranks, [&](auto ranks) {
    constexpr int P = decltype(ranks)::value;
    machine.start(member_, kernel_, plan.shape,
                  broadcastParamsOf<P>(plan, from_, to,
                                       machine.workspace(member_), member_));
  });
  machine.copy(member_, "consumer", to_, consumed_, plan.bytes);
}

void BroadcastLaunch::take(std::int64_t) {
  const Operand &output = plan.step->arg("output");
  const std::int64_t count = plan.bytes / bytesOf(type_);
  if (type_ == Stored::I64)
    fetch(consumed_, type_, 0, count, rank_.integers(output).data);
  else
    fetch(consumed_, type_, 0, count, rank_.floats(output).data);
}

// ---- A mixture's choices
// -------------------------------------------------------

ExpertLaunch::ExpertLaunch(RankContext<float> &rank, const LaunchPlan &plan,
                           const kernels::Kernel &sort,
                           const kernels::Kernel &permute,
                           const kernels::Kernel &merge)
    : MemberLaunch(plan), rank_(rank), sort_(sort), permute_(permute),
      merge_(merge), type_(storedAs(plan.variant.dtype)),
      products_(rank, *plan.step) {
  auto ids = rank.integers(plan.step->arg("ids"));
  ids_.assign(ids.data, ids.data + ids.count());
  inWidth_ = rank.floats(plan.step->arg("input")).last();
  outWidth_ = rank.floats(plan.step->arg("output")).last();
  std::int64_t slots = ids.last();
  for (std::int64_t row = 0; row < ids.dim(0); ++row) {
    isHere_.push_back(products_.isHere(ids, row));
    for (std::int64_t k = row * slots; k < (row + 1) * slots; ++k) {
      auto &id = ids_[static_cast<std::size_t>(k)];
      if (!isHere_.back())
        id = -1;
      choices_ +=
          id >= products_.first && id < products_.first + products_.local();
    }
  }
  params_.tokens = ids.dim(0);
  params_.chosen = static_cast<std::int32_t>(slots);
  params_.firstExpert = static_cast<std::int32_t>(products_.first);
  params_.experts = static_cast<std::int32_t>(products_.local());
  params_.scale = 1;
}

void ExpertLaunch::placeChoices(DeviceMemory &memory) {
  const auto slots = static_cast<std::int64_t>(ids_.size());
  params_.ids = static_cast<const std::int32_t *>(
      memory.put("expert ids", ids_.data(), slots, Stored::I32));
  params_.places =
      static_cast<std::int64_t *>(memory.make("places", slots, Stored::I64));
  params_.offsets = static_cast<std::int64_t *>(
      memory.make("offsets", products_.local() + 1, Stored::I64));
  params_.width = static_cast<std::int32_t>(inWidth_);
  produced_ =
      memory.put("produced rows", rank_.floats(plan.step->arg("input")).data,
                 params_.tokens * inWidth_, type_);
  taken_ = memory.make("rows", params_.tokens * inWidth_, type_);
  params_.rows = taken_;
  params_.sorted = memory.make("sorted rows", choices_ * inWidth_, type_);
  consumed_ = memory.make("consumed rows", choices_ * inWidth_, type_);
}

void ExpertLaunch::placeResults(DeviceMemory &memory) {
  params_.places = static_cast<std::int64_t *>(
      memory.put("places", places_.data(),
                 static_cast<std::int64_t>(places_.size()), Stored::I64));
  params_.width = static_cast<std::int32_t>(outWidth_);
  params_.weights = static_cast<const float *>(
      memory.put("weights", rank_.floats(plan.step->arg("weights")).data,
                 static_cast<std::int64_t>(ids_.size()), Stored::F32));
  produced_ = memory.put("produced results", results_.data(),
                         choices_ * outWidth_, type_);
  taken_ = memory.make("results", choices_ * outWidth_, type_);
  params_.results = taken_;
  params_.merged =
      memory.make("merged rows", params_.tokens * outWidth_, type_);
  consumed_ = memory.make("consumed rows", params_.tokens * outWidth_, type_);
}

void ExpertLaunch::place(DeviceMemory &memory) {
  if (isMultiplied_)
    placeResults(memory);
  else
    placeChoices(memory);
}

void ExpertLaunch::launch(GroupMachine &machine,
                          const std::vector<MemberLaunch *> &) {
  const std::int64_t each = bytesOf(type_),
                     taken = isMultiplied_ ? choices_ * outWidth_
                                           : params_.tokens * inWidth_;
  machine.copy(0, "producer", produced_, taken_, taken * each);
  if (isMultiplied_) {
    machine.start(0, merge_, plan.shape, params_);
    machine.copy(0, "consumer", params_.merged, consumed_,
                 params_.tokens * outWidth_ * each);
    return;
  }
  // A block of its own for each expert.
  kernels::LaunchShape byExpert = plan.shape;
  byExpert.grid =
      static_cast<std::uint32_t>(std::max<std::int64_t>(1, products_.local()));
  machine.start(0, sort_, byExpert, params_);
  machine.start(0, permute_, plan.shape, params_);
  machine.copy(0, "consumer", params_.sorted, consumed_,
               choices_ * inWidth_ * each);
}

void ExpertLaunch::take(std::int64_t) {
  if (!isMultiplied_) {
    places_.resize(ids_.size());
    offsets_.resize(static_cast<std::size_t>(products_.local() + 1));
    sorted_.resize(static_cast<std::size_t>(choices_ * inWidth_));
    fetch(params_.places, Stored::I64, 0,
          static_cast<std::int64_t>(places_.size()), places_.data());
    fetch(params_.offsets, Stored::I64, 0,
          static_cast<std::int64_t>(offsets_.size()), offsets_.data());
    fetch(consumed_, type_, 0, choices_ * inWidth_, sorted_.data());
    return;
  }
  float *merged = rank_.floats(plan.step->arg("output")).data;
  fetch(consumed_, type_, 0, params_.tokens * outWidth_, merged);
  // Nothing is in the place of a row that is on other ranks.
  for (std::int64_t row = 0; row < params_.tokens; ++row)
    if (!isHere_[static_cast<std::size_t>(row)])
      std::fill_n(merged + row * outWidth_, outWidth_,
                  std::numeric_limits<float>::quiet_NaN());
}

void ExpertLaunch::multiply() {
  results_.resize(static_cast<std::size_t>(choices_ * outWidth_));
  for (std::int64_t e = 0; e < products_.local(); ++e) {
    std::int64_t begin = offsets_[static_cast<std::size_t>(e)],
                 rows = offsets_[static_cast<std::size_t>(e) + 1] - begin;
    if (rows > 0)
      products_.run(e, rows, sorted_.data() + begin * inWidth_,
                    results_.data() + begin * outWidth_);
  }
  isMultiplied_ = true;
}

} // namespace layline::runtime
