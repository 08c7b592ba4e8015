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

/// Calls `run` for every contiguous piece of a part: `begins` is its corner in
/// the global shape.
void forEachRun(const Shape &global, const Shape &local, const Shape &begins,
                const CopyRun &run);

/// The corner of a rank's part.
Shape partBegins(const Layout &layout, const std::vector<Part> &parts);

/// Where one rank's elements lie.
template <typename Element>
using LocalData = std::function<const Element *(std::int64_t rank)>;

/// Split dimensions placed at their ranges, owed sums summed in rank order,
/// replicas compared. The first replica's value is the result.
template <typename Element>
GlobalValue assemble(const Plan &plan, const ShapeExpr &shape,
                     const Layout &layout, std::int64_t tokens,
                     std::int64_t past, const LocalData<Element> &data);

} // namespace layline::runtime

#endif // LAYLINE_RUNTIME_ENGINE_GLOBALVALUE_H
