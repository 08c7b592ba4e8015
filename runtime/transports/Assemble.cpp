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

/// The data of a process's ranks, one behind another; of a single rank as it
/// lies.
template <typename Element>
const Element *
joined(const Transport &transport, const std::vector<RankPart> &parts,
       const LocalData<Element> &data, std::vector<Element> &memory) {
  const std::vector<std::int64_t> &ranks = transport.localRanks();
  if (ranks.size() == 1)
    return data(0);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Element *from = data(static_cast<std::int64_t>(i));
    memory.insert(memory.end(), from,
                  from + parts[static_cast<std::size_t>(ranks[i])].count);
  }
  return memory.data();
}

} // namespace

template <typename Element>
GlobalValue
assembleAcross(const Plan &plan, const ShapeExpr &shape, const Layout &layout,
               std::int64_t tokens, std::int64_t past, Transport &transport,
               const std::string &what, const LocalData<Element> &data) {
  Communicator &world = *transport.world();
  std::vector<RankPart> parts = partsOf(plan, shape, layout, tokens, past);
  const std::vector<std::int64_t> &mine = transport.localRanks();
  // Of the value, then of each rank's part.
  std::vector<std::uint64_t> hashes = {hashOf(what)};
  for (std::size_t i = 0; i < mine.size(); ++i)
    hashes.push_back(
        hashOf(data(static_cast<std::int64_t>(i)),
               static_cast<std::size_t>(
                   parts[static_cast<std::size_t>(mine[i])].count) *
                   sizeof(Element)));
  // Where a rank's part begins in what its process shows.
  std::vector<std::int64_t> offsets(parts.size());
  std::int64_t offset = 0;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    if (rank % mine.size() == 0)
      offset = 0;
    offsets[rank] = offset;
    offset += parts[rank].count;
  }
  // Whose data stands for a rank's: its own, or that of the first rank with the
  // same part and the same bits.
  std::vector<std::int64_t> sender(parts.size());
  world.show(hashes.data(), [&](std::int64_t, std::int64_t) {
    return allOf(static_cast<std::int64_t>(hashes.size()));
  });
  std::map<std::pair<PartIdentity, std::uint64_t>, std::int64_t> firsts;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    auto at = static_cast<std::int64_t>(rank);
    const auto *of =
        world.template shown<std::uint64_t>(transport.processOf(at));
    if (of[0] != hashes[0])
      fail(LAYLINE_BAD_ARGUMENT, "rank ", mine.front(), " reads ", what,
           ", rank ", rank, " another value; all processes read the same");
    sender[rank] =
        firsts
            .emplace(
                std::pair(parts[rank].identity, of[1 + rank % mine.size()]), at)
            .first->second;
  }
  world.release();

  std::vector<Element> memory;
  world.show(joined(transport, parts, data, memory),
             [&](std::int64_t, std::int64_t owner) {
               Items runs;
               for (std::size_t rank = 0; rank < parts.size(); ++rank)
                 if (auto at = static_cast<std::int64_t>(rank);
                     sender[rank] == at && transport.processOf(at) == owner &&
                     parts[rank].count > 0)
                   runs.push_back({offsets[rank], parts[rank].count});
               return runs;
             });
  GlobalValue value = assemble(
      plan, shape, layout, tokens, past,
      LocalData<Element>([&](std::int64_t rank) {
        std::int64_t from = sender[static_cast<std::size_t>(rank)];
        return world.template shown<Element>(transport.processOf(from)) +
               offsets[static_cast<std::size_t>(from)];
      }));
  world.release();
  return value;
}

#define LAYLINE_INSTANTIATE_ASSEMBLE(Element)                                  \
  template GlobalValue assembleAcross<Element>(                                \
      const Plan &, const ShapeExpr &, const Layout &, std::int64_t,           \
      std::int64_t, Transport &, const std::string &,                          \
      const LocalData<Element> &);
LAYLINE_INSTANTIATE_ASSEMBLE(float)
LAYLINE_INSTANTIATE_ASSEMBLE(double)
LAYLINE_INSTANTIATE_ASSEMBLE(std::int64_t)

} // namespace layline::runtime
