#include "engine/GlobalValue.h"

#include "plan/Error.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <type_traits>

namespace layline::runtime {

namespace {

/// Walks over the dimensions before `split`; from there on a run of items is
/// one run of elements.
struct RunWalk {
  const Shape &global;
  const Region &region;
  const CopyRun &run;
  Shape local{};
  std::size_t split = 0;
  std::int64_t inner = 1; ///< elements of an item of dimension `split`

  void at(std::size_t dim, std::int64_t localRow,
          std::int64_t globalRow) const {
    localRow *= local[dim];
    globalRow *= global[dim];
    for (Part part : region[dim]) {
      if (dim == split)
        run(localRow * inner, (globalRow + part.begin) * inner,
            part.size * inner);
      else
        for (std::int64_t i = 0; i < part.size; ++i)
          at(dim + 1, localRow + i, globalRow + part.begin + i);
      localRow += part.size;
    }
  }
};

} // namespace

Shape shapeOf(const Region &region) {
  Shape shape;
  for (const Items &dim : region) {
    shape.push_back(0);
    for (Part part : dim)
      shape.back() += part.size;
  }
  return shape;
}

void forEachRun(const Shape &global, const Region &region, const CopyRun &run) {
  if (global.empty())
    return run(0, 0, 1);
  RunWalk walk{global, region, run, shapeOf(region), global.size() - 1, 1};
  if (elements(walk.local) == 0)
    return;
  // Dimensions held whole at the end join into one run.
  auto isWhole = [&](std::size_t dim) {
    return region[dim].size() == 1 && region[dim][0] == Part{0, global[dim]};
  };
  for (; walk.split > 0 && isWhole(walk.split); --walk.split)
    walk.inner *= global[walk.split];
  walk.at(0, 0, 0);
}

Region wholeRegion(const Shape &shape) {
  Region region(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] > 0)
      region[i] = {{0, shape[i]}};
  return region;
}

Items scaled(Items items, std::int64_t unit) {
  for (Part &part : items)
    part = {part.begin * unit, part.size * unit};
  return items;
}

Region regionOf(const Plan &plan, const Shape &global, const Layout &layout,
                const Environment &environment) {
  Region region = wholeRegion(global);
  for (std::size_t i = 0; i < global.size(); ++i)
    if (const DimLayout &dim = layout.dims[i]; dim.isSplit())
      region[i] = scaled(plan.items(dim.range, environment), dim.unit);
  return region;
}

namespace {

/// One replica of the value while it is put together.
template <typename Element> struct Replica {
  std::int64_t firstRank = -1;
  std::vector<Element> values;
};

template <typename Element>
bool sameBits(const Element *a, const Element *b, std::int64_t count) {
  return count == 0 ||
         std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(Element)) ==
             0;
}

std::string describe(const Shape &shape, std::int64_t index) {
  Shape at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = index % shape[i];
    index /= shape[i];
  }
  return print(at);
}

template <typename Element>
std::string firstDifference(const Shape &shape, const Replica<Element> &a,
                            const Replica<Element> &b) {
  for (std::size_t i = 0; i < a.values.size(); ++i)
    if (!sameBits(&a.values[i], &b.values[i], 1)) {
      std::ostringstream text;
      text.precision(17);
      text << "rank " << a.firstRank << " holds " << a.values[i] << ", rank "
           << b.firstRank << " holds " << b.values[i] << " at "
           << describe(shape, static_cast<std::int64_t>(i));
      return text.str();
    }
  return "";
}

template <typename Element>
void setValues(GlobalValue &value, const Element *begin, const Element *end) {
  if constexpr (std::is_integral_v<Element>)
    value.integers.assign(begin, end);
  else
    value.floats.assign(begin, end);
}

/// A value that every rank holds whole: no copies but the result's.
template <typename Element>
void compareReplicas(GlobalValue &value, std::int64_t ranks,
                     const LocalData<Element> &data) {
  std::int64_t count = elements(value.shape);
  const Element *first = data(0);
  for (std::int64_t rank = 1; rank < ranks && value.disagreement.empty();
       ++rank)
    if (const Element *other = data(rank); !sameBits(first, other, count))
      value.disagreement = firstDifference(
          value.shape, Replica<Element>{0, {first, first + count}},
          Replica<Element>{rank, {other, other + count}});
  setValues(value, first, first + count);
}

} // namespace

bool isHeldWhole(const Layout &layout) {
  return layout.owes.empty() &&
         std::none_of(layout.dims.begin(), layout.dims.end(),
                      [](const DimLayout &dim) { return dim.isSplit(); });
}

void keepRows(GlobalValue &value, Part rows) {
  Shape row(value.shape.begin() + 1, value.shape.end());
  std::int64_t width = elements(row);
  auto keep = [&](auto &values) {
    if (values.empty())
      return;
    values.erase(values.begin() + rows.end() * width, values.end());
    values.erase(values.begin(), values.begin() + rows.begin * width);
  };
  keep(value.floats);
  keep(value.integers);
  value.shape[0] = rows.size;
}

template <typename Element>
GlobalValue assemble(const Plan &plan, const ShapeExpr &shape,
                     const Layout &layout, std::int64_t tokens,
                     std::int64_t past, const LocalData<Element> &data) {
  Environment environment;
  environment.tokens = tokens;
  environment.past = past;
  GlobalValue value;
  value.shape = globalShape(shape, environment);
  value.isInteger = std::is_integral_v<Element>;
  if (isHeldWhole(layout)) {
    compareReplicas(value, plan.ranks(), data);
    return value;
  }
  auto count = static_cast<std::size_t>(elements(value.shape));

  // What a rank holds depends on its coordinates on the axes that split or owe;
  // the others number its replica.
  std::vector<bool> isOwed(plan.axes.size(), false),
      isSplit(plan.axes.size(), false);
  for (int axis : layout.owes)
    isOwed[axis] = true;
  for (const DimLayout &dim : layout.dims)
    for (int axis : plan.axesOf(dim.range))
      isSplit[axis] = true;
  // replica -> addend -> parts placed so far. Ordered maps keep rank order.
  std::map<Shape, std::map<Shape, Replica<Element>>> replicas;
  std::map<Shape, std::map<Shape, std::vector<bool>>> placed;
  for (std::int64_t rank = 0; rank < plan.ranks(); ++rank) {
    std::vector<std::int64_t> coordinates = plan.coordinates(rank);
    Shape replica, addend;
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
      if (isOwed[axis])
        addend.push_back(coordinates[axis]);
      else if (!isSplit[axis])
        replica.push_back(coordinates[axis]);
    }
    Replica<Element> &target = replicas[replica][addend];
    std::vector<bool> &isPlaced = placed[replica][addend];
    if (target.firstRank < 0) {
      target.firstRank = rank;
      target.values.resize(count);
      isPlaced.resize(count);
    }
    std::vector<Part> parts = plan.parts(tokens, coordinates);
    environment.parts = parts.data();
    environment.coordinates = coordinates.data();
    const Element *local = data(rank);
    forEachRun(
        value.shape, regionOf(plan, value.shape, layout, environment),
        [&](std::int64_t from, std::int64_t to, std::int64_t length) {
          for (std::int64_t i = 0; i < length; ++i) {
            auto at = static_cast<std::size_t>(to + i);
            // Parts of a `readers` range overlap: two ranks hold a head.
            if (!isPlaced[at])
              target.values[at] = local[from + i];
            else if (!sameBits(&target.values[at], &local[from + i], 1) &&
                     value.disagreement.empty())
              value.disagreement = concat("rank ", rank,
                                          " holds another value than "
                                          "a lower rank at ",
                                          describe(value.shape, to + i));
            isPlaced[at] = true;
          }
        });
  }

  const Replica<Element> *first = nullptr;
  for (auto &[replica, addends] : replicas) {
    Replica<Element> &sum = addends.begin()->second;
    for (auto next = std::next(addends.begin()); next != addends.end(); ++next)
      for (std::size_t i = 0; i < count; ++i)
        sum.values[i] += next->second.values[i];
    if (!first)
      first = &sum;
    else if (value.disagreement.empty())
      value.disagreement = firstDifference(value.shape, *first, sum);
  }
  setValues(value, first->values.data(), first->values.data() + count);
  return value;
}

template GlobalValue assemble<float>(const Plan &, const ShapeExpr &,
                                     const Layout &, std::int64_t, std::int64_t,
                                     const LocalData<float> &);
template GlobalValue assemble<double>(const Plan &, const ShapeExpr &,
                                      const Layout &, std::int64_t,
                                      std::int64_t, const LocalData<double> &);
template GlobalValue assemble<std::int64_t>(const Plan &, const ShapeExpr &,
                                            const Layout &, std::int64_t,
                                            std::int64_t,
                                            const LocalData<std::int64_t> &);

} // namespace layline::runtime
