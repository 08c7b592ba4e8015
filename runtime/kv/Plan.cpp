#include "kv/Plan.h"

#include <algorithm>

namespace layline::kv {

std::int64_t Rank::getOrdinal(int buffer, std::int64_t layer) const {
  std::int64_t before = 0;
  for (int i = 0; i < buffer; ++i)
    before += static_cast<std::int64_t>(layers[i].size());
  const std::vector<std::int64_t> &own = layers[buffer];
  auto found = std::lower_bound(own.begin(), own.end(), layer);
  return found != own.end() && *found == layer ? before + (found - own.begin())
                                               : -1;
}

std::int64_t Rank::countBuffers() const {
  std::int64_t count = 0;
  for (const std::vector<std::int64_t> &own : layers)
    count += static_cast<std::int64_t>(own.size());
  return count;
}

HeadRange getHeads(const Plane &plane, const Side &side, const Rank &rank) {
  if (plane.heads >= side.headParts) {
    std::int64_t own = plane.heads / side.headParts;
    return {rank.headIndex * own, (rank.headIndex + 1) * own};
  }
  std::int64_t head = rank.headIndex / (side.headParts / plane.heads);
  return {head, head + 1};
}

std::vector<std::string> getTables(const Side &side) {
  std::vector<std::string> tables;
  for (const Buffer &buffer : side.buffers)
    if (std::find(tables.begin(), tables.end(), buffer.table) == tables.end())
      tables.push_back(buffer.table);
  return tables;
}

int getTable(const Side &side, int buffer) {
  std::vector<std::string> tables = getTables(side);
  return static_cast<int>(
      std::find(tables.begin(), tables.end(), side.buffers[buffer].table) -
      tables.begin());
}

bool usesPageNumbers(const Plan &plan) {
  for (const Side *side : {&plan.source, &plan.target})
    for (const Rank &rank : side->ranks)
      if (rank.tokens.kind == TokenPart::Kind::PageNumber)
        return true;
  return false;
}

} // namespace layline::kv
