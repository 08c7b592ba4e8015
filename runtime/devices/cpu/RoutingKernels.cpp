// Rows to the ranks of their experts and back. A rank's buffer has a place for
// every row; what it does not get stays no number, so that a reader of it
// shows.
#include "devices/cpu/Kernels.h"

#include <algorithm>
#include <limits>

namespace layline::runtime {
namespace {

/// Of experts in balanced blocks, those of one member.
Part blockOf(std::int64_t experts, std::int64_t members, std::int64_t member) {
  std::int64_t quotient = experts / members, remainder = experts % members;
  return {member * quotient + std::min(member, remainder),
          quotient + (member < remainder ? 1 : 0)};
}

void checkIds(const std::int64_t *ids, std::int64_t slots, std::int64_t row,
              std::int64_t experts) {
  for (std::int64_t k = 0; k < slots; ++k)
    if (ids[k] < 0 || ids[k] >= experts)
      fail(LAYLINE_RUN_FAILURE, "expert id ", ids[k], " of row ", row,
           " is outside the ", experts, " experts");
}

bool choosesAny(const std::int64_t *ids, std::int64_t slots, Part experts) {
  return std::any_of(ids, ids + slots, [&](std::int64_t id) {
    return id >= experts.begin && id < experts.end();
  });
}

/// The rows of each member, as positions of what the step's range deals out.
template <typename T> class MemberRows {
public:
  MemberRows(const RankContext<T> &context, const Step &step)
      : plan_(*context.run->plan), range_(step.attrs.range),
        coordinates_(context.coordinates), environment_(context.environment()) {
    environment_.coordinates = coordinates_.data();
  }

  /// Members differ from this rank on the range's axis only.
  Items of(std::int64_t member) {
    coordinates_[plan_.ranges[range_].axis] = member;
    return plan_.ownItems(range_, environment_);
  }
  std::int64_t count(std::int64_t member) {
    std::int64_t rows = 0;
    for (Part run : of(member))
      rows += run.size;
    return rows;
  }

private:
  const Plan &plan_;
  int range_;
  std::vector<std::int64_t> coordinates_;
  Environment environment_;
};

/// A row of a member that is for experts of this one, and its place here.
struct Arrival {
  std::int64_t member, row, place;
};

/// Of shown ids, by member and row.
template <typename T>
std::vector<Arrival> findArrivals(RankContext<T> &context, const Step &step,
                                  std::int64_t slots) {
  Communicator &group = *context.communicators[step.attrs.group];
  Part mine = blockOf(step.attrs.experts, group.size(), group.member());
  MemberRows<T> rows(context, step);
  std::vector<Arrival> arrivals;
  for (std::int64_t member = 0; member < group.size(); ++member) {
    const auto *ids = group.template shown<std::int64_t>(member);
    std::int64_t row = 0;
    for (Part run : rows.of(member))
      for (std::int64_t i = 0; i < run.size; ++i, ++row)
        if (choosesAny(ids + row * slots, slots, mine))
          arrivals.push_back({member, row, run.begin + i});
  }
  return arrivals;
}

/// Rows of `width` elements, as runs of elements.
void appendRow(Items &runs, std::int64_t row, std::int64_t width) {
  if (width == 0)
    return;
  if (!runs.empty() && runs.back().end() == row * width)
    runs.back().size += width;
  else
    runs.push_back({row * width, width});
}

template <typename T>
void showIds(RankContext<T> &context, const Step &step,
             const Tensor<std::int64_t> &ids) {
  MemberRows<T> rows(context, step);
  context.communicators[step.attrs.group]->show(
      ids.data, [&](std::int64_t, std::int64_t owner) {
        return allOf(rows.count(owner) * ids.last());
      });
}

/// Shows this rank's rows; every member reads those for its experts.
template <typename T, typename Element>
void sendRows(RankContext<T> &context, const Step &step,
              const Tensor<std::int64_t> &ids, const Tensor<Element> &input,
              const std::vector<Arrival> &arrivals, Tensor<Element> output) {
  Communicator &group = *context.communicators[step.attrs.group];
  std::int64_t width = output.last();
  group.show(input.data, [&](std::int64_t reader, std::int64_t owner) {
    Items runs;
    if (reader == group.member()) {
      for (const Arrival &arrival : arrivals)
        if (arrival.member == owner)
          appendRow(runs, arrival.row, width);
      return runs;
    }
    Part experts = blockOf(step.attrs.experts, group.size(), reader);
    for (std::int64_t row = 0; row < ids.dim(0); ++row)
      if (choosesAny(ids.data + row * ids.last(), ids.last(), experts))
        appendRow(runs, row, width);
    return runs;
  });
  for (const Arrival &arrival : arrivals)
    std::copy_n(group.template shown<Element>(arrival.member) +
                    arrival.row * width,
                width, output.data + arrival.place * width);
  group.release();
}

} // namespace

template <typename T> void dispatch(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  auto input = context.floats(step.arg("input"));
  auto ids = context.integers(step.arg("ids"));
  auto weights = context.floats(step.arg("weights"));
  auto output = context.floats(step.arg("output"));
  auto outputIds = context.integers(step.arg("output_ids"));
  auto outputWeights = context.floats(step.arg("output_weights"));
  std::int64_t slots = ids.last();
  for (std::int64_t row = 0; row < ids.dim(0); ++row)
    checkIds(ids.data + row * slots, slots, row, step.attrs.experts);
  constexpr T none = std::numeric_limits<T>::quiet_NaN();
  std::fill_n(output.data, output.count(), none);
  std::fill_n(outputIds.data, outputIds.count(), kNoExpert);
  std::fill_n(outputWeights.data, outputWeights.count(), none);

  showIds(context, step, ids);
  std::vector<Arrival> arrivals = findArrivals(context, step, slots);
  for (const Arrival &arrival : arrivals)
    std::copy_n(group.template shown<std::int64_t>(arrival.member) +
                    arrival.row * slots,
                slots, outputIds.data + arrival.place * slots);
  group.release();
  sendRows(context, step, ids, input, arrivals, output);
  sendRows(context, step, ids, weights, arrivals, outputWeights);
}

/// Summed in the order of the ranks.
template <typename T> void combine(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  auto input = context.floats(step.arg("input"));
  auto ids = context.integers(step.arg("ids"));
  auto output = context.floats(step.arg("output"));
  std::int64_t width = output.last(), slots = ids.last(), row = 0;
  auto expertsOf = [&](std::int64_t member) {
    return blockOf(step.attrs.experts, group.size(), member);
  };
  // Which rows its experts have computed for whom, a sender must know.
  std::vector<Arrival> computed;
  if (!group.sharesMemory()) {
    showIds(context, step, ids);
    computed = findArrivals(context, step, slots);
    group.release();
  }
  Items own = context.own(step.arg("output").layout.dims[0]);
  std::fill_n(output.data, output.count(), T(0));
  group.show(input.data, [&](std::int64_t reader, std::int64_t owner) {
    Items runs;
    if (reader == group.member()) {
      const std::int64_t *chosen = ids.data;
      for (Part run : own)
        for (std::int64_t i = 0; i < run.size; ++i, chosen += slots)
          if (choosesAny(chosen, slots, expertsOf(owner)))
            appendRow(runs, run.begin + i, width);
      return runs;
    }
    for (const Arrival &arrival : computed)
      if (arrival.member == reader)
        appendRow(runs, arrival.place, width);
    return runs;
  });
  for (Part run : own)
    for (std::int64_t i = 0; i < run.size; ++i, ++row) {
      const std::int64_t *chosen = ids.data + row * slots;
      T *to = output.data + row * width;
      for (std::int64_t m = 0; m < group.size(); ++m) {
        if (!choosesAny(chosen, slots, expertsOf(m)))
          continue;
        const T *from = group.template shown<T>(m) + (run.begin + i) * width;
        for (std::int64_t o = 0; o < width; ++o)
          to[o] += from[o];
      }
    }
  group.release();
}

LAYLINE_INSTANTIATE(dispatch)
LAYLINE_INSTANTIATE(combine)

} // namespace layline::runtime
