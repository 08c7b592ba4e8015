//===- MeshPoints.cpp - the ranks of a few axes, one by one ---------------===//
#include "MeshPoints.h"
#include "Runs.h"
#include "llvm/ADT/STLExtras.h"

using namespace layline;

void MeshPoints::add(const Links &links) {
  for (const Link &link : links)
    if (llvm::none_of(
            axes, [&](const auto &axis) { return axis.first == link.axis; }))
      axes.push_back({link.axis, link.ranks});
}

int64_t MeshPoints::numRanks() const {
  int64_t product = 1;
  for (const auto &[axis, ranks] : axes)
    product *= ranks;
  return product;
}

void MeshPoints::forEach(
    llvm::function_ref<bool(const Coordinates &)> visit) const {
  for (int64_t number = 0, all = numRanks(); number < all; ++number) {
    Coordinates coordinates;
    int64_t rest = number;
    for (const auto &[axis, ranks] : llvm::reverse(axes)) {
      coordinates[axis] = rest % ranks;
      rest /= ranks;
    }
    if (!visit(coordinates))
      return;
  }
}

std::string MeshPoints::overRanks() const {
  std::string text;
  for (const auto &[axis, ranks] : axes)
    text += (text.empty() ? " over " : " and ") + std::to_string(ranks) +
            (ranks == 1 ? " rank" : " ranks") + " of \"" + axis + "\"";
  return text;
}

std::string MeshPoints::rankName(const Coordinates &coordinates) const {
  if (axes.size() == 1)
    return "rank " + std::to_string(coordinates.at(axes.front().first));
  return fullRankName(coordinates);
}

std::string MeshPoints::fullRankName(const Coordinates &coordinates) const {
  std::string text;
  for (const auto &[axis, ranks] : axes)
    text += (text.empty() ? "rank " : ", ") +
            std::to_string(coordinates.at(axis)) + " of \"" + axis + "\"";
  return text.empty() ? "every rank" : text;
}

std::optional<std::vector<int64_t>>
layline::getLinkItems(const Link &link, int64_t items, int64_t rank) {
  std::vector<int64_t> held;
  auto add = [&](int64_t begin, int64_t size) {
    for (int64_t item = begin; item < begin + size; ++item)
      held.push_back(item);
  };
  if (link.segments.empty()) {
    for (Segment segment : getSegments(link.partition, items, link.ranks, rank))
      add(segment.begin, segment.size);
    return held;
  }
  std::optional<std::vector<Run>> runs =
      getRuns(link.segments, link.axis, rank, items);
  if (!runs)
    return std::nullopt;
  for (const Run &run : *runs)
    add(run.begin, run.size);
  return held;
}
