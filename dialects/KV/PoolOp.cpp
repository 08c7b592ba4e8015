//===- PoolOp.cpp - what a pool is, and what its ranks keep ---------------===//
#include "dialects/KV/KV.h"
#include "kv/PageLayout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace layline::kv;
using namespace layline::kv::ir;

static constexpr StringRef kAxes[] = {"pp", "dp", "cp", "tp"};

int64_t PoolOp::getAxisSize(StringRef axis) {
  const auto *found = llvm::find(kAxes, axis);
  return found == std::end(kAxes) ? 0 : getMesh()[found - std::begin(kAxes)];
}

PlaneAttr PoolOp::lookupPlane(StringRef name) {
  for (PlaneAttr plane : getPlanes().getAsRange<PlaneAttr>())
    if (plane.getName() == name)
      return plane;
  return {};
}

//===----------------------------------------------------------------------===//
// As the plan has it
//===----------------------------------------------------------------------===//

Plane ir::getPlane(PlaneAttr plane) {
  Plane result;
  result.name = plane.getName().str();
  result.dtype = plane.getDtype().str();
  result.heads = plane.getHeads();
  result.headBytes = plane.getHeadBytes();
  result.isState = plane.getIsState();
  result.window = plane.getWindow();
  result.layers.assign(plane.getLayers().getIds().begin(),
                       plane.getLayers().getIds().end());
  return result;
}

std::vector<Plane> ir::getPlanes(PoolOp pool) {
  std::vector<Plane> planes;
  for (PlaneAttr plane : pool.getPlanes().getAsRange<PlaneAttr>())
    planes.push_back(getPlane(plane));
  return planes;
}

static int findBuffer(PoolOp pool, StringAttr name) {
  for (auto [number, buffer] :
       llvm::enumerate(pool.getBuffers().getAsRange<BufferAttr>()))
    if (buffer.getName() == name)
      return static_cast<int>(number);
  return -1;
}

static int64_t countHeadParts(PoolOp pool) {
  ResidencyAttr residency = pool.getResidency();
  if (!residency.getHeadAxis())
    return 1;
  return pool.getAxisSize(residency.getHeadAxis()) / residency.getHeadGroup();
}

static Placement getPlacement(PoolOp pool, PlaneAttr plane) {
  Placement place;
  place.buffer = findBuffer(pool, plane.getBuffer());
  place.pageBytes =
      cast<BufferAttr>(pool.getBuffers()[place.buffer]).getPageBytes();
  place.offset = plane.getOffset();
  place.heads = std::max<int64_t>(1, plane.getHeads() / countHeadParts(pool));
  int64_t bytes = plane.getHeadBytes();
  int64_t tokens = plane.getIsState() ? 1 : pool.getPageTokens();
  switch (plane.getOrder()) {
  case RowOrder::TokenMajor:
    place.tokenStride = place.heads * bytes;
    place.headStride = bytes;
    break;
  case RowOrder::HeadMajor:
    place.tokenStride = bytes;
    place.headStride = tokens * bytes;
    break;
  case RowOrder::Strides:
    place.tokenStride = plane.getTokenStride();
    place.headStride = plane.getHeadStride();
    break;
  }
  return place;
}

static int64_t getCoordinate(const Rank &rank, StringRef axis) {
  return axis == "pp"   ? rank.pp
         : axis == "dp" ? rank.dp
         : axis == "cp" ? rank.cp
                        : rank.tp;
}

static TokenPart getPart(PoolOp pool, DealAttr deal, const Rank &rank) {
  TokenPart part;
  if (deal.getKind() == DealKind::Whole)
    return part;
  part.parts = deal.getGroup() ? deal.getGroup()
                               : pool.getAxisSize(deal.getAxis().getValue());
  part.index = getCoordinate(rank, deal.getAxis()) % part.parts;
  part.unit = deal.getUnit();
  switch (deal.getKind()) {
  case DealKind::Whole:
    break;
  case DealKind::Contiguous:
    part.kind = TokenPart::Kind::Contiguous;
    break;
  case DealKind::PageNumber:
    part.kind = TokenPart::Kind::PageNumber;
    break;
  case DealKind::Zigzag:
    part.kind = TokenPart::Kind::Zigzag;
    break;
  case DealKind::PageStriped:
    part.unit = pool.getPageTokens();
    [[fallthrough]];
  case DealKind::Cyclic:
    part.kind = TokenPart::Kind::Cyclic;
    break;
  }
  return part;
}

static bool keepsLayer(PoolOp pool, const Rank &rank, int64_t layer) {
  ResidencyAttr residency = pool.getResidency();
  if (residency.getRule() == LayerRule::All)
    return true;
  size_t list = residency.getRule() == LayerRule::Stages
                    ? rank.pp
                    : rank.pp * pool.getAxisSize("cp") + rank.cp;
  return llvm::is_contained(residency.getLayers()[list].getIds(), layer);
}

Side ir::getSide(PoolOp pool) {
  Side side;
  side.spec = pool.getSpec().value_or("").str();
  side.pageTokens = pool.getPageTokens();
  side.headParts = countHeadParts(pool);
  for (BufferAttr buffer : pool.getBuffers().getAsRange<BufferAttr>())
    side.buffers.push_back({buffer.getName().str(), buffer.getTable().str(),
                            buffer.getPageBytes()});
  auto planes = pool.getPlanes().getAsRange<PlaneAttr>();
  for (PlaneAttr plane : planes)
    side.planes.push_back(getPlacement(pool, plane));
  ResidencyAttr residency = pool.getResidency();
  Rank rank;
  for (rank.pp = 0; rank.pp < pool.getAxisSize("pp"); ++rank.pp)
    for (rank.dp = 0; rank.dp < pool.getAxisSize("dp"); ++rank.dp)
      for (rank.cp = 0; rank.cp < pool.getAxisSize("cp"); ++rank.cp)
        for (rank.tp = 0; rank.tp < pool.getAxisSize("tp"); ++rank.tp) {
          rank.tokens = getPart(pool, residency.getTokens(), rank);
          rank.headIndex = residency.getHeadAxis()
                               ? getCoordinate(rank, residency.getHeadAxis()) /
                                     residency.getHeadGroup()
                               : 0;
          rank.layers.assign(side.buffers.size(), {});
          for (auto [number, plane] : llvm::enumerate(planes)) {
            auto &own = rank.layers[side.planes[number].buffer];
            if (!own.empty())
              continue; // another plane of the same buffer
            for (int64_t layer : plane.getLayers().getIds())
              if (keepsLayer(pool, rank, layer))
                own.push_back(layer);
          }
          side.ranks.push_back(rank);
        }
  return side;
}

//===----------------------------------------------------------------------===//
// Verifier
//===----------------------------------------------------------------------===//

namespace {

class PoolVerifier {
public:
  explicit PoolVerifier(PoolOp pool) : pool(pool) {}
  LogicalResult run() {
    return failure(
        failed(verifySizes()) || failed(verifyNames()) ||
        failed(verifyDeal("residency", pool.getResidency().getTokens())) ||
        (pool.getCompute() &&
         failed(verifyDeal("compute", *pool.getCompute()))) ||
        failed(verifyHeads()) || failed(verifyPages()) ||
        failed(verifyLayers()));
  }

private:
  InFlightDiagnostic error() { return pool.emitOpError(); }
  LogicalResult verifySizes();
  LogicalResult verifyNames();
  LogicalResult verifyAxis(StringRef map, StringAttr axis, int64_t group);
  LogicalResult verifyDeal(StringRef map, DealAttr deal);
  LogicalResult verifyHeads();
  LogicalResult verifyPages();
  LogicalResult verifyLayers();

  PoolOp pool;
};

} // namespace

LogicalResult PoolVerifier::verifySizes() {
  ArrayRef<int64_t> mesh = pool.getMesh();
  if (mesh.size() != std::size(kAxes))
    return error() << "has a mesh of " << mesh.size()
                   << " axes, expected pp, dp, cp and tp";
  for (auto [axis, size] : llvm::zip(kAxes, mesh))
    if (size < 1)
      return error() << "has " << size << " ranks of \"" << axis
                     << "\", expected at least 1";
  int64_t page = pool.getPageTokens();
  if (page < 1)
    return error() << "has pages of " << page << " tokens, expected at least 1";
  if (std::optional<int64_t> capacity = pool.getCapacity())
    if (*capacity < page || *capacity % page)
      return error() << "has a capacity of " << *capacity
                     << " token slots, expected whole pages of " << page;
  return success();
}

LogicalResult PoolVerifier::verifyNames() {
  llvm::StringSet<> buffers, planes;
  for (BufferAttr buffer : pool.getBuffers().getAsRange<BufferAttr>())
    if (!buffers.insert(buffer.getName()).second)
      return error() << "has two buffers " << buffer.getName();
  for (PlaneAttr plane : pool.getPlanes().getAsRange<PlaneAttr>()) {
    if (!planes.insert(plane.getName()).second)
      return error() << "has two planes " << plane.getName();
    if (!buffers.contains(plane.getBuffer()))
      return error() << "keeps plane " << plane.getName() << " in "
                     << plane.getBuffer() << ", which is no buffer of it";
  }
  return success();
}

LogicalResult PoolVerifier::verifyAxis(StringRef map, StringAttr axis,
                                       int64_t group) {
  int64_t size = pool.getAxisSize(axis);
  if (size == 0)
    return error() << "names the axis " << axis << " in its " << map
                   << ", expected pp, dp, cp or tp";
  if (group && size % group)
    return error() << "has groups of " << group << " neighbours in its " << map
                   << ", which do not divide the " << size << " ranks of "
                   << axis;
  return success();
}

LogicalResult PoolVerifier::verifyDeal(StringRef map, DealAttr deal) {
  if (deal.getKind() == DealKind::Whole)
    return success();
  return verifyAxis(map, deal.getAxis(), deal.getGroup());
}

LogicalResult PoolVerifier::verifyHeads() {
  ResidencyAttr residency = pool.getResidency();
  if (StringAttr axis = residency.getHeadAxis())
    if (failed(verifyAxis("residency", axis, residency.getHeadGroup())))
      return failure();
  int64_t parts = countHeadParts(pool);
  for (PlaneAttr plane : pool.getPlanes().getAsRange<PlaneAttr>()) {
    int64_t heads = plane.getHeads();
    if (heads >= parts ? heads % parts : parts % heads)
      return error() << "divides the " << heads << " heads of plane "
                     << plane.getName() << " among " << parts
                     << " parts, expected equal parts, or each head in equally "
                        "many";
  }
  return success();
}

LogicalResult PoolVerifier::verifyPages() {
  struct Placed {
    Plane plane;
    Placement place;
    PageExtent extent;
  };
  int64_t tokens = pool.getPageTokens();
  std::vector<Placed> placed;
  for (PlaneAttr attr : pool.getPlanes().getAsRange<PlaneAttr>()) {
    Placed next{getPlane(attr), getPlacement(pool, attr), {}};
    if (!isApart(next.plane, tokens, next.place))
      return error() << "has tokens " << next.place.tokenStride
                     << " bytes apart and heads " << next.place.headStride
                     << " bytes apart in plane " << attr.getName()
                     << ", which overlap: a rank keeps " << next.place.heads
                     << " heads of " << next.plane.headBytes << " bytes";
    next.extent = getExtent(next.plane, tokens, next.place);
    if (next.extent.begin < 0 || next.extent.end > next.place.pageBytes)
      return error() << "has bytes [" << next.extent.begin << ", "
                     << next.extent.end << ") of a page for plane "
                     << attr.getName() << ", pages of " << attr.getBuffer()
                     << " have " << next.place.pageBytes;
    for (const Placed &other : placed)
      if (doOverlap(other.plane, other.place, next.plane, next.place, tokens))
        return error() << "has planes \"" << other.plane.name << "\" and "
                       << attr.getName() << " in bytes ["
                       << std::max(other.extent.begin, next.extent.begin)
                       << ", " << std::min(other.extent.end, next.extent.end)
                       << ") of a page";
    placed.push_back(std::move(next));
  }
  return success();
}

LogicalResult PoolVerifier::verifyLayers() {
  ResidencyAttr residency = pool.getResidency();
  int64_t pp = pool.getAxisSize("pp"), cp = pool.getAxisSize("cp");
  int64_t expected = residency.getRule() == LayerRule::Stages   ? pp
                     : residency.getRule() == LayerRule::Owners ? pp * cp
                                                                : 0;
  int64_t found = static_cast<int64_t>(residency.getLayers().size());
  if (found != expected)
    return error() << "has " << found << " lists of layers for "
                   << (residency.getRule() == LayerRule::Stages ? "stages"
                                                                : "owners")
                   << ", expected " << expected;
  llvm::SmallDenseMap<Attribute, PlaneAttr> first;
  for (PlaneAttr plane : pool.getPlanes().getAsRange<PlaneAttr>()) {
    PlaneAttr &other = first[plane.getBuffer()];
    if (other && other.getLayers() != plane.getLayers())
      return error() << "has planes " << other.getName() << " and "
                     << plane.getName() << " of one buffer in layers "
                     << describeLayers(other.getLayers().getIds()) << " and in "
                     << describeLayers(plane.getLayers().getIds());
    other = plane;
    if (residency.getRule() == LayerRule::All)
      continue;
    for (int64_t layer : plane.getLayers().getIds())
      if (llvm::none_of(residency.getLayers(), [&](LayersAttr list) {
            return llvm::is_contained(list.getIds(), layer);
          }))
        return error() << "keeps layer " << layer << " of plane "
                       << plane.getName() << " at no rank";
  }
  return success();
}

LogicalResult PoolOp::verify() { return PoolVerifier(*this).run(); }
