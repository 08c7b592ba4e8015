// Collectives: every rank shows its buffer and reads what it needs of the
// others'. Sums run in rank order, and every element is summed by one rank or
// in the same order by all: results are the same bits on all ranks, in all runs
// and over all transports. Letting go at the end keeps a buffer from being used
// again while somebody still reads it.
#include "devices/cpu/Kernels.h"

#include <algorithm>

namespace layline::runtime {
namespace {

template <typename T, typename Element>
void gather(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  auto input = context.template tensor<Element>(step.arg("input"));
  auto output = context.template tensor<Element>(step.arg("output"));
  auto dim = static_cast<std::size_t>(step.attrs.dim);
  const DimLayout &layout = step.arg("input").layout.dims[dim];
  const Plan &plan = *context.run->plan;
  Region region = wholeRegion(output.shape);
  // A member differs from this rank on the range's axis only, so that a range
  // around it gives all of them the same items.
  std::vector<std::int64_t> coordinates = context.coordinates;
  Environment environment = context.environment();
  environment.coordinates = coordinates.data();
  auto setRegionOf = [&](std::int64_t member) {
    coordinates[plan.ranges[layout.range].axis] = member;
    region[dim] = scaled(plan.ownItems(layout.range, environment), layout.unit);
  };
  group.show(input.data, [&](std::int64_t, std::int64_t owner) {
    setRegionOf(owner);
    return allOf(elements(shapeOf(region)));
  });
  for (std::int64_t member = 0; member < group.size(); ++member) {
    setRegionOf(member);
    const Element *from = group.shown<Element>(member);
    forEachRun(
        output.shape, region,
        [&](std::int64_t local, std::int64_t global, std::int64_t count) {
          std::copy_n(from + local, count, output.data + global);
        });
  }
  group.release();
}

template <typename T, typename Element>
void copyFromRoot(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  auto input = context.template tensor<Element>(step.arg("input"));
  auto output = context.template tensor<Element>(step.arg("output"));
  group.show(input.data, [&](std::int64_t, std::int64_t owner) {
    return allOf(owner == step.attrs.root ? output.count() : 0);
  });
  const Element *from = group.shown<Element>(step.attrs.root);
  if (from != output.data)
    std::copy_n(from, output.count(), output.data);
  group.release();
}

} // namespace

/// Each member sums one block of the elements into its own output, then all
/// copy the others' blocks.
template <typename T>
void allReduce(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  std::int64_t member = group.member(), members = group.size();
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  std::int64_t count = output.count(), block = (count + members - 1) / members;
  auto blockOf = [&](std::int64_t m) {
    std::int64_t begin = std::min(m * block, count);
    return Part{begin, std::min(block, count - begin)};
  };
  auto runOf = [&](std::int64_t m) {
    Part part = blockOf(m);
    return part.size > 0 ? Items{part} : Items();
  };
  group.show(input.data,
             [&](std::int64_t reader, std::int64_t) { return runOf(reader); });
  Part mine = blockOf(member);
  for (std::int64_t i = mine.begin; i < mine.end(); ++i) {
    T sum = group.shown<T>(0)[i];
    for (std::int64_t m = 1; m < members; ++m)
      sum += group.shown<T>(m)[i];
    output.data[i] = sum;
  }
  // All sums are done before anyone shows its output or writes over its input.
  group.release();
  group.show(output.data,
             [&](std::int64_t, std::int64_t owner) { return runOf(owner); });
  for (std::int64_t m = 0; m < members; ++m)
    if (Part other = blockOf(m); m != member)
      std::copy_n(group.shown<T>(m) + other.begin, other.size,
                  output.data + other.begin);
  group.release();
}

template <typename T>
void reduceScatter(RankContext<T> &context, const Step &step) {
  Communicator &group = *context.communicators[step.attrs.group];
  auto input = context.floats(step.arg("input"));
  auto output = context.floats(step.arg("output"));
  auto dim = static_cast<std::size_t>(step.attrs.dim);
  const DimLayout &layout = step.arg("output").layout.dims[dim];
  const Plan &plan = *context.run->plan;
  // As of a gather.
  std::vector<std::int64_t> coordinates = context.coordinates;
  Environment environment = context.environment();
  environment.coordinates = coordinates.data();
  Region region = wholeRegion(input.shape);
  auto setRegionOf = [&](std::int64_t member) {
    coordinates[plan.ranges[layout.range].axis] = member;
    region[dim] = scaled(plan.ownItems(layout.range, environment), layout.unit);
  };
  group.show(input.data, [&](std::int64_t reader, std::int64_t) {
    setRegionOf(reader);
    Items runs;
    forEachRun(input.shape, region,
               [&](std::int64_t, std::int64_t global, std::int64_t count) {
                 runs.push_back({global, count});
               });
    return runs;
  });
  setRegionOf(group.member());
  forEachRun(input.shape, region,
             [&](std::int64_t local, std::int64_t global, std::int64_t count) {
               T *to = output.data + local;
               std::copy_n(group.shown<T>(0) + global, count, to);
               for (std::int64_t m = 1; m < group.size(); ++m) {
                 const T *from = group.shown<T>(m) + global;
                 for (std::int64_t i = 0; i < count; ++i)
                   to[i] += from[i];
               }
             });
  group.release();
}

template <typename T>
void allGather(RankContext<T> &context, const Step &step) {
  if (isInteger(step.arg("input").dtype))
    gather<T, std::int64_t>(context, step);
  else
    gather<T, T>(context, step);
}

template <typename T>
void broadcast(RankContext<T> &context, const Step &step) {
  if (isInteger(step.arg("input").dtype))
    copyFromRoot<T, std::int64_t>(context, step);
  else
    copyFromRoot<T, T>(context, step);
}

LAYLINE_INSTANTIATE(allReduce)
LAYLINE_INSTANTIATE(reduceScatter)
LAYLINE_INSTANTIATE(allGather)
LAYLINE_INSTANTIATE(broadcast)

} // namespace layline::runtime
