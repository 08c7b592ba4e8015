//===- Parts.cpp - what a rank holds of a dimension -----------------------===//
#include "Parts.h"
#include <algorithm>

using namespace layline;
using namespace layline::exact;

std::optional<int64_t> exact::evaluateExtent(const Expr &extent, int64_t tokens,
                                             int64_t past) {
  if (extent.isConstant())
    return extent.constant();
  return extent.evaluate([&](const Expr &leaf) -> std::optional<int64_t> {
    if (leaf.op() != Expr::Op::Symbol)
      return std::nullopt;
    if (leaf.name() == "tokens")
      return tokens;
    if (leaf.name() == "past")
      return past;
    return std::nullopt;
  });
}

bool exact::isSameExtent(const Expr &a, const Expr &b) {
  if (a.isConstant() && b.isConstant())
    return a.constant() == b.constant();
  for (auto [tokens, past] : {std::pair(7, 3), std::pair(13, 6)})
    if (evaluateExtent(a, tokens, past) != evaluateExtent(b, tokens, past))
      return false;
  return true;
}

std::string exact::describeExtent(const Expr &extent) {
  if (extent.isConstant())
    return std::to_string(extent.constant());
  return extent.op() == Expr::Op::Symbol ? extent.name() : "an expression";
}

/// The elements at `inner` (positions within `outer`, one segment behind
/// another) of the parent. False if a position is not there.
static bool select(const std::vector<Segment> &outer, Segment inner,
                   std::vector<Segment> &selected) {
  if (inner.size < 0 || inner.begin < 0)
    return false;
  for (Segment segment : outer) {
    if (inner.size == 0)
      break;
    if (inner.begin < segment.size) {
      int64_t size = std::min(inner.size, segment.size - inner.begin);
      selected.push_back({segment.begin + inner.begin, size});
      inner = {0, inner.size - size};
    } else {
      inner.begin -= segment.size;
    }
  }
  return inner.size == 0;
}

std::vector<Segment>
exact::getLocalSegments(const Program &program, const DimLayout &layout,
                        int64_t extent, const std::vector<int64_t> &coordinates,
                        std::string &fault) {
  if (layout.unit < 1 || (!layout.links.empty() && extent % layout.unit != 0)) {
    fault = std::to_string(extent) + " elements are no whole items of " +
            std::to_string(layout.unit);
    return {};
  }
  if (layout.links.empty())
    return {{0, extent}};
  std::vector<Segment> items = {{0, extent / layout.unit}};
  for (const Link &link : layout.links) {
    if (link.axis >= program.axes.size() || !link.segments) {
      fault = "a dimension is split over an axis that the mesh does not have";
      return {};
    }
    int64_t count = 0;
    for (Segment segment : items)
      count += segment.size;
    std::vector<Segment> part;
    for (Segment segment : (*link.segments)(count, program.axes[link.axis].size,
                                            coordinates[link.axis]))
      if (!select(items, segment, part)) {
        fault = "items " + std::to_string(segment.begin) + " to " +
                std::to_string(segment.end()) + " of " + std::to_string(count) +
                " are not there";
        return {};
      }
    items = std::move(part);
  }
  for (Segment &item : items)
    item = {item.begin * layout.unit, item.size * layout.unit};
  return items;
}

int64_t DimPart::find(int64_t label) const {
  auto it = std::find(labels.begin(), labels.end(), label);
  return it == labels.end() ? -1 : it - labels.begin();
}

DimPart exact::getDimPart(const std::vector<Segment> &segments,
                          const std::vector<int64_t> *items, int64_t pad) {
  DimPart part;
  for (Segment segment : segments) {
    auto hold = [&](int64_t label) {
      part.labels.push_back(label);
      part.offsets.push_back(part.extent + label - segment.begin);
    };
    if (items) {
      for (auto it =
               std::lower_bound(items->begin(), items->end(), segment.begin);
           it != items->end() && *it < segment.end(); ++it)
        hold(*it);
    } else {
      for (int64_t label = segment.begin; label < segment.end(); ++label)
        hold(label);
    }
    part.extent += segment.size;
  }
  part.padding = std::max<int64_t>(0, pad - part.extent);
  // One element stands for the padding of a sampled dimension.
  part.padStored = items ? std::min<int64_t>(part.padding, 1) : part.padding;
  part.digest = Hasher("part")
                    .add(part.labels)
                    .add(part.offsets)
                    .add(uint64_t(part.extent))
                    .add(uint64_t(part.padding))
                    .digest();
  return part;
}
