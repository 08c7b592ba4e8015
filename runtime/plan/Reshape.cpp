#include "plan/Reshape.h"

#include "plan/Error.h"

namespace layline::runtime {
namespace {

std::int64_t constantDim(const ShapeExpr &shape, std::size_t i,
                         const ShapeExpr &from, const ShapeExpr &to) {
  if (i >= shape.size() || !shape[i].isConstant() || shape[i].value <= 0)
    invalid("view of shape ", print(to),
            " does not split or merge dimensions of ", print(from));
  return shape[i].value;
}

// First dimension of [begin, end) that is not 1, or begin.
std::size_t leading(const ShapeExpr &shape, std::size_t begin,
                    std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (!shape[i].isConstant(1))
      return i;
  return begin;
}

std::int64_t productAfter(const ShapeExpr &shape, std::size_t i,
                          std::size_t end) {
  std::int64_t product = 1;
  for (++i; i < end; ++i)
    product = checkedMul(product, shape[i].value, "view");
  return product;
}

// The first dimension that a part of `unit` elements consists of whole items
// of; only dimensions of one item may stand before it.
std::size_t findTarget(const ShapeExpr &to, std::size_t begin, std::size_t end,
                       std::int64_t unit) {
  std::size_t last = leading(to, begin, end);
  for (std::size_t i = begin; i < last; ++i)
    if (unit % productAfter(to, i, end) == 0)
      return i;
  return last;
}

bool hasSplit(const Layout &layout, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i < end; ++i)
    if (layout.dims[i].isSplit())
      return true;
  return false;
}

// The layout of one block of dimensions with equal products on both sides.
void reshapeBlock(const ShapeExpr &from, const Layout &layout,
                  std::size_t fromBegin, std::size_t fromEnd,
                  const ShapeExpr &to, std::size_t toBegin, std::size_t toEnd,
                  Layout &result) {
  for (std::size_t i = fromBegin; i < fromEnd; ++i) {
    if (!layout.dims[i].isSplit())
      continue;
    if (toBegin == toEnd)
      invalid("view of shape ", print(to), " drops dimension ", i, " of ",
              print(from), ", which is split");
    std::int64_t unit =
        checkedMul(layout.dims[i].unit, productAfter(from, i, fromEnd), "view");
    std::size_t target = findTarget(to, toBegin, toEnd, unit);
    std::int64_t inner = productAfter(to, target, toEnd);
    if (leading(from, fromBegin, fromEnd) < i || unit % inner != 0)
      invalid("view of shape ", print(to), " cuts dimension ", i, " of ",
              print(from), " inside a part of its range");
    result.dims[target] = {layout.dims[i].range, unit / inner};
  }
}

} // namespace

Layout reshapeLayout(const ShapeExpr &from, const Layout &layout,
                     const ShapeExpr &to) {
  Layout result;
  result.dims.resize(to.size());
  result.owes = layout.owes;
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // A dimension kept as it is may depend on the run.
    if (i < from.size() && j < to.size() && from[i] == to[j]) {
      result.dims[j++] = layout.dims[i++];
      continue;
    }
    std::size_t fromBegin = i, toBegin = j;
    std::int64_t left = 1, right = 1;
    // A split dimension of one item (one head over several ranks) is not
    // dropped but merged with what follows.
    do {
      if (left <= right && i < from.size())
        left = checkedMul(left, constantDim(from, i++, from, to), "view");
      else
        right = checkedMul(right, constantDim(to, j++, from, to), "view");
    } while (left != right ||
             (toBegin == j && j < to.size() && hasSplit(layout, fromBegin, i)));
    reshapeBlock(from, layout, fromBegin, i, to, toBegin, j, result);
  }
  return result;
}

} // namespace layline::runtime
