// A tensor as the caller sees it, and how it is put together from the ranks'
// parts.
#ifndef LAYLINE_RUNTIME_ENGINE_GLOBALVALUE_H
#define LAYLINE_RUNTIME_ENGINE_GLOBALVALUE_H

#include "plan/Plan.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace layline::runtime {

struct GlobalValue {
  Shape shape;
  bool isInteger = false;
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
  /// Where replicas differ, "" if they agree bit for bit.
  std::string disagreement;
};

/// One contiguous run of a local tensor inside the global one.
using CopyRun = std::function<void(std::int64_t local, std::int64_t global,
                                   std::int64_t count)>;

/// What a rank holds of every dimension, in elements: the product of the lists.
using Region = std::vector<Items>;

Region wholeRegion(const Shape &shape);
/// What a rank holds of a value; `environment` has its coordinates and parts.
Region regionOf(const Plan &plan, const Shape &global, const Layout &layout,
                const Environment &environment);
/// The local shape.
Shape shapeOf(const Region &region);
/// Items of `unit` elements as elements.
Items scaled(Items items, std::int64_t unit);

/// Calls `run` for every contiguous piece of a region, in local order.
void forEachRun(const Shape &global, const Region &region, const CopyRun &run);

/// Whether every rank has all of a value.
bool isHeldWhole(const Layout &layout);
/// Keeps these rows of dimension 0.
void keepRows(GlobalValue &value, Part rows);

/// Where one rank's elements lie.
template <typename Element>
using LocalData = std::function<const Element *(std::int64_t rank)>;

/// Split dimensions placed where their ranges say, owed sums summed in rank
/// order, replicas compared. The first replica's value is the result.
template <typename Element>
GlobalValue assemble(const Plan &plan, const ShapeExpr &shape,
                     const Layout &layout, std::int64_t tokens,
                     std::int64_t past, const LocalData<Element> &data);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_GLOBALVALUE_H
