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

/// A row of another member that comes to this one, and its place here.
struct Arrival {
  std::int64_t member, row, place;
};

template <typename T>
std::vector<Arrival> findArrivals(RankContext<T> &context, const Step &step,
                                  std::int64_t slots) {
  Communicator &group = *context.communicators[step.attrs.group];
  const Plan &plan = *context.run->plan;
  Part mine = blockOf(step.attrs.experts, group.size(),
                      context.members[step.attrs.group]);
  // Members differ from this rank on the range's axis only.
  std::vector<std::int64_t> coordinates = context.coordinates;
  Environment environment = context.environment();
  environment.coordinates = coordinates.data();
  std::vector<Arrival> arrivals;
  for (std::int64_t member = 0; member < group.size(); ++member) {
    coordinates[plan.ranges[step.attrs.range].axis] = member;
    const auto *ids = group.template shown<std::int64_t>(member);
    std::int64_t row = 0;
    for (Part run : plan.ownItems(step.attrs.range, environment))
      for (std::int64_t i = 0; i < run.size; ++i, ++row)
        if (choosesAny(ids + row * slots, slots, mine))
          arrivals.push_back({member, row, run.begin + i});
  }
  return arrivals;
}

template <typename T, typename Element>
void copyArrivals(Communicator &group, const std::vector<Arrival> &arrivals,
                  Tensor<Element> output) {
  std::int64_t width = output.last();
  for (const Arrival &arrival : arrivals)
    std::copy_n(group.template shown<Element>(arrival.member) +
                    arrival.row * width,
                width, output.data + arrival.place * width);
}

} // namespace

template <typename T> void dispatch(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  std::int64_t member = context.members[step.attrs.group];
  auto input = context.floats(step.arg("input"));
  auto ids = context.integers(step.arg("ids"));
  auto weights = context.floats(step.arg("weights"));
  auto output = context.floats(step.arg("output"));
  auto outputIds = context.integers(step.arg("output_ids"));
  auto outputWeights = context.floats(step.arg("output_weights"));
  for (std::int64_t row = 0; row < ids.dim(0); ++row)
    checkIds(ids.data + row * ids.last(), ids.last(), row, step.attrs.experts);
  constexpr T none = std::numeric_limits<T>::quiet_NaN();
  std::fill_n(output.data, output.count(), none);
  std::fill_n(outputIds.data, outputIds.count(), kNoExpert);
  std::fill_n(outputWeights.data, outputWeights.count(), none);

  group.show(member, ids.data);
  std::vector<Arrival> arrivals = findArrivals(context, step, ids.last());
  copyArrivals<T>(group, arrivals, outputIds);
  group.meet();
  group.show(member, input.data);
  copyArrivals<T>(group, arrivals, output);
  group.meet();
  group.show(member, weights.data);
  copyArrivals<T>(group, arrivals, outputWeights);
  group.meet();
}

/// Summed in the order of the ranks.
template <typename T> void combine(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  auto input = context.floats(step.arg("input"));
  auto ids = context.integers(step.arg("ids"));
  auto output = context.floats(step.arg("output"));
  std::int64_t width = output.last(), slots = ids.last(), row = 0;
  std::fill_n(output.data, output.count(), T(0));
  group.show(context.members[step.attrs.group], input.data);
  for (Part run : context.own(step.arg("output").layout.dims[0]))
    for (std::int64_t i = 0; i < run.size; ++i, ++row) {
      const std::int64_t *chosen = ids.data + row * slots;
      T *to = output.data + row * width;
      for (std::int64_t m = 0; m < group.size(); ++m) {
        if (!choosesAny(chosen, slots,
                        blockOf(step.attrs.experts, group.size(), m)))
          continue;
        const T *from = group.template shown<T>(m) + (run.begin + i) * width;
        for (std::int64_t o = 0; o < width; ++o)
          to[o] += from[o];
      }
    }
  group.meet();
}

LAYLINE_INSTANTIATE(dispatch)
LAYLINE_INSTANTIATE(combine)

} // namespace layline::runtime
