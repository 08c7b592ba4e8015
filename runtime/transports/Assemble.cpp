#include "transports/Assemble.h"

#include "plan/Error.h"
#include "transports/Hash.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace layline::runtime {
namespace {

/// What decides which values a rank's part must have: the items that it is of
/// and, of a value that owes a sum, which addend.
using PartIdentity = std::pair<Region, Shape>;

struct RankPart {
  PartIdentity identity;
  std::int64_t count = 0;
};

std::vector<RankPart> partsOf(const Plan &plan, const ShapeExpr &shape,
                              const Layout &layout, std::int64_t tokens,
                              std::int64_t past) {
  std::vector<RankPart> parts;
  Environment environment;
  environment.tokens = tokens;
  environment.past = past;
  Shape global = globalShape(shape, environment);
  for (std::int64_t rank = 0; rank < plan.ranks(); ++rank) {
    std::vector<std::int64_t> coordinates = plan.coordinates(rank);
    std::vector<Part> ranges = plan.parts(tokens, coordinates);
    environment.coordinates = coordinates.data();
    environment.parts = ranges.data();
    RankPart part;
    part.identity.first = regionOf(plan, global, layout, environment);
    for (int axis : layout.owes)
      part.identity.second.push_back(coordinates[axis]);
    part.count = elements(shapeOf(part.identity.first));
    parts.push_back(std::move(part));
  }
  return parts;
}

} // namespace

template <typename Element>
GlobalValue assembleAcross(const Plan &plan, const ShapeExpr &shape,
                           const Layout &layout, std::int64_t tokens,
                           std::int64_t past, Communicator &world,
                           const std::string &what, const Element *data) {
  std::vector<RankPart> parts = partsOf(plan, shape, layout, tokens, past);
  auto me = static_cast<std::size_t>(world.member());
  const std::uint64_t mine[] = {
      hashOf(what), hashOf(data, static_cast<std::size_t>(parts[me].count) *
                                     sizeof(Element))};
  // Whose data stands for a rank's: its own, or that of the first rank with the
  // same part and the same bits.
  std::vector<std::int64_t> sender(parts.size());
  world.show(mine, [](std::int64_t, std::int64_t) { return allOf(2); });
  std::map<std::pair<PartIdentity, std::uint64_t>, std::int64_t> firsts;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    auto at = static_cast<std::int64_t>(rank);
    const auto *hashes = world.template shown<std::uint64_t>(at);
    if (hashes[0] != mine[0])
      fail(LAYLINE_BAD_ARGUMENT, "rank ", world.member(), " reads ", what,
           ", rank ", rank, " another value; all processes read the same");
    sender[rank] =
        firsts.emplace(std::pair(parts[rank].identity, hashes[1]), at)
            .first->second;
  }
  world.release();

  world.show(data, [&](std::int64_t, std::int64_t owner) {
    auto rank = static_cast<std::size_t>(owner);
    return allOf(sender[rank] == owner ? parts[rank].count : 0);
  });
  GlobalValue value = assemble(plan, shape, layout, tokens, past,
                               LocalData<Element>([&](std::int64_t rank) {
                                 return world.template shown<Element>(
                                     sender[static_cast<std::size_t>(rank)]);
                               }));
  world.release();
  return value;
}

#define LAYLINE_INSTANTIATE_ASSEMBLE(Element)                                  \
  template GlobalValue assembleAcross<Element>(                                \
      const Plan &, const ShapeExpr &, const Layout &, std::int64_t,           \
      std::int64_t, Communicator &, const std::string &, const Element *);
LAYLINE_INSTANTIATE_ASSEMBLE(float)
LAYLINE_INSTANTIATE_ASSEMBLE(double)
LAYLINE_INSTANTIATE_ASSEMBLE(std::int64_t)

} // namespace layline::runtime
