#include "devices/cuda/CudaDevice.h"

#include "devices/cuda/HostNumbers.h"
#include "devices/cuda/Steps.h"
#include "kernels/plan/LaunchParams.h"
#include "plan/Error.h"
#include "transports/Assemble.h"

#include <algorithm>
#include <cstring>

namespace layline::runtime::cuda {
namespace {

/// Those that this process has ranks on.
std::vector<std::unique_ptr<Card>> openCards(const CardsOfRanks &places) {
  std::vector<int> numbers = places.numbers;
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::vector<std::unique_ptr<Card>> cards;
  for (int number : numbers)
    cards.push_back(std::make_unique<Card>(number));
  return cards;
}

std::vector<RankShape> rankShapes(const Plan &plan, const CardRun &shape) {
  std::vector<RankShape> shapes(static_cast<std::size_t>(plan.ranks()));
  for (std::size_t r = 0; r < shapes.size(); ++r) {
    RankShape &of = shapes[r];
    of.run = &shape;
    of.rank = static_cast<std::int64_t>(r);
    of.coordinates = plan.coordinates(of.rank);
    of.parts = plan.parts(plan.tokens.min, of.coordinates);
  }
  return shapes;
}

std::vector<RankView> rankViews(const Plan &plan,
                                const std::vector<RankShape> &shapes,
                                const CardsOfRanks &places,
                                const std::vector<std::unique_ptr<Card>> &cards,
                                const std::vector<std::int64_t> &ranks) {
  std::vector<RankView> views(ranks.size());
  std::size_t card = 0;
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    RankView &view = views[place];
    static_cast<RankShape &>(view) =
        shapes[static_cast<std::size_t>(ranks[place])];
    view.place = place;
    if (place > 0 && places.numbers[place] != places.numbers[place - 1])
      ++card;
    view.cardNumber = card;
    view.card = cards[card].get();
    view.weights.resize(plan.weights.size());
  }
  return views;
}

CardRun shapeOf(const Plan &plan, const ElementTypes &types,
                const Hooks *hooks) {
  CardRun shape;
  shape.plan = &plan;
  shape.types = &types;
  shape.hooks = hooks;
  return shape;
}

} // namespace

CudaDevice::CudaDevice(const Plan &plan, const DeviceOptions &options,
                       Transport &transport)
    : plan_(plan), options_(options), transport_(transport),
      types_(plan, options.precision),
      places_((checkSteps(plan), cardsOfRanks(plan, transport))),
      cards_(openCards(places_)),
      shape_(cuda::shapeOf(plan, types_, options.hooks)),
      shapes_(rankShapes(plan, shape_)),
      ranks_(rankViews(plan, shapes_, places_, cards_, transport.localRanks())),
      islands_(islandsOf(cards_)), groups_(plan, ranks_, cards_, islands_,
                                           places_, transport, options.timeout),
      fused_(plan, options_, ranks_, cards_, groups_), collectives_(plan),
      weights_(plan, types_, ranks_, cards_, allocator()),
      sharedInputs_(plan, ranks_, islands_, groups_),
      engineStreams_(plan, options.hooks, ranks_, cards_) {
  std::size_t streams = std::max<std::size_t>(1, plan.streams.size());
  for (const std::unique_ptr<Card> &card : cards_) {
    streams_.emplace_back(*card, streams);
    gemm_.push_back(std::make_unique<Gemm>(*card));
    gemm_.back()->reserve(streams);
    faults_.emplace_back(*card, sizeof(local::FaultRecord),
                         "record of a kernel's fault");
  }
  makeArenas();
  makeTables();
  for (RankView &rank : ranks_) {
    for (std::size_t w = 0; w < plan.weights.size(); ++w)
      rank.weights[w] = weights_.slice(static_cast<int>(w), rank);
  }
  makeCaches();
}

/// One for every arena number, as large as the largest variant's: addresses
/// stay as they are when another variant runs.
void CudaDevice::makeArenas() {
  std::size_t count = 0;
  for (const Variant &variant : plan_.variants)
    count = std::max(count, variant.arenas.size());
  for (std::size_t a = 0; a < count; ++a) {
    std::int64_t bytes = 0;
    std::string name;
    for (const Variant &variant : plan_.variants)
      if (a < variant.arenas.size()) {
        bytes =
            std::max(bytes, checkedMul(variant.arenas[a].bytes,
                                       arenaScales(variant, elementBytes())[a],
                                       "size of an arena"));
        name = variant.arenas[a].id;
      }
    auto size = static_cast<std::size_t>(bytes);
    std::string what = "arena '" + name + "'";
    // What cards map of one another is the driver's alone to make.
    if (allocator() && cards_.size() == 1) {
      for (RankView &rank : ranks_) {
        ownArenas_.emplace_back(
            *rank.card, size, what,
            MemorySource{allocator(), rank.rank, LAYLINE_MEMORY_ARENA});
        rank.arenas.push_back({ownArenas_.back().address(), size, 0,
                               "the engine's allocator gave it", 1});
      }
      continue;
    }
    arenas_.emplace_back(
        ranks_, islands_, size,
        options_.bySwitch ? Multicast::IfPossible : Multicast::Never, what);
    for (RankView &rank : ranks_) {
      const SymmetricMemory &memory = arenas_.back().of(rank);
      rank.arenas.push_back({arenas_.back().part(rank), size,
                             memory.multicast(), memory.whyUnicast(),
                             memory.members()});
    }
  }
}

/// RoPE's angles of short sequences, then those of long ones.
void CudaDevice::makeTables() {
  std::vector<double> all;
  std::vector<std::size_t> begins;
  auto append = [&](const RopeNumbers &numbers) {
    std::vector<double> halfTurns = halfTurnsOf(numbers);
    all.insert(all.end(), halfTurns.begin(), halfTurns.end());
  };
  for (const Table &table : plan_.tables) {
    begins.push_back(all.size());
    append(table.numbers);
    if (table.longNumbers)
      append(*table.longNumbers);
  }
  for (const std::unique_ptr<Card> &card : cards_) {
    tables_.emplace_back(*card, all.size() * sizeof(double), "RoPE tables");
    copyIn(*card, tables_.back().address(), all.data(),
           all.size() * sizeof(double), "RoPE tables");
  }
  for (RankView &rank : ranks_)
    for (std::size_t begin : begins)
      rank.halfTurns.push_back(tables_[rank.cardNumber].address() +
                               begin * sizeof(double));
}

template <typename Element>
std::vector<Element> CudaDevice::readLocal(const RankView &rank, Address at,
                                           std::int64_t count,
                                           NumberType type) const {
  if constexpr (std::is_same_v<Element, std::int64_t>) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    copyOut(*rank.card, values.data(), at, values.size() * sizeof(std::int64_t),
            "a value");
    return values;
  } else {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(count * local::numberBytes(type)));
    copyOut(*rank.card, bytes.data(), at, bytes.size(), "a value");
    return decode(bytes.data(), count, type);
  }
}

template <typename Element>
GlobalValue CudaDevice::assembled(
    const ShapeExpr &shape, const Layout &layout, std::int64_t tokens,
    std::int64_t past, const std::string &what,
    const std::function<std::vector<Element>(const RankView &)> &read) const {
  std::vector<std::vector<Element>> values;
  for (const RankView &rank : ranks_)
    values.push_back(read(rank));
  LocalData<Element> data = [&](std::int64_t place) {
    return values[static_cast<std::size_t>(place)].data();
  };
  return transport_.world()
             ? assembleAcross(plan_, shape, layout, tokens, past, transport_,
                              what, data)
             : assemble(plan_, shape, layout, tokens, past, data);
}

GlobalValue CudaDevice::readCache(int index) {
  const Cache &cache = plan_.caches[index];
  std::vector<std::vector<std::byte>> held;
  for (RankView &rank : ranks_)
    held.push_back(readRows(rank, index));
  auto of = [&](const RankView &rank) -> const std::vector<std::byte> & {
    return held[rank.place];
  };
  // Ranges over rows need tokens; of a cache only other dimensions are split.
  auto read = [&](auto element, const auto &valuesOf) {
    return assembled<decltype(element)>(cacheShape(cache), cache.layout, 0,
                                        cacheRows(index), "cache " + cache.id,
                                        valuesOf);
  };
  if (isInteger(cache.dtype))
    return read(std::int64_t(), [&](const RankView &rank) {
      std::vector<std::int64_t> values(of(rank).size() / sizeof(std::int64_t));
      if (!values.empty())
        std::memcpy(values.data(), of(rank).data(), of(rank).size());
      return values;
    });
  return read(float(), [&](const RankView &rank) {
    NumberType type = types_.of(cache.dtype);
    return decode(of(rank).data(),
                  static_cast<std::int64_t>(of(rank).size()) /
                      local::numberBytes(type),
                  type);
  });
}

GlobalValue CudaDevice::readBuffer(int index,
                                   const std::optional<Part> &rows) const {
  const Buffer &buffer = shape_.variant->buffers[index];
  BufferRead part = readOf(buffer, rows, shape_.tokens, shape_.past);
  NumberType type = types_.of(buffer);
  auto read = [&](auto element) {
    using Element = decltype(element);
    return assembled<Element>(
        part.shape, buffer.layout, shape_.tokens, shape_.past, part.name,
        [&](const RankView &rank) {
          return readLocal<Element>(
              rank,
              rank.address(index) +
                  static_cast<Address>(part.skipped * types_.bytes(buffer)),
              elements(
                  localShape(part.shape, buffer.layout, rank.environment())),
              type);
        });
  };
  GlobalValue value =
      isInteger(buffer.dtype) ? read(std::int64_t()) : read(float());
  if (rows && !part.isPart)
    keepRows(value, *rows);
  return value;
}

GlobalValue CudaDevice::readTap(std::size_t index) const {
  const Operand &operand = taps_.all()[index].operand;
  const std::vector<Address> &places = ran_->tapPlaces[index];
  auto read = [&](auto element) {
    using Element = decltype(element);
    return assembled<Element>(
        operand.shape, operand.layout, shape_.tokens, shape_.past,
        "tap " + taps_.all()[index].name, [&](const RankView &rank) {
          return readLocal<Element>(
              rank, places[rank.place], elements(rank.shape(operand)),
              types_.of(shape_.variant->buffers[operand.index]));
        });
  };
  return isInteger(operand.dtype) ? read(std::int64_t()) : read(float());
}

std::vector<KernelUse> CudaDevice::kernelUses() const {
  if (!ran_)
    return {};
  return ran_->plans->uses([&](const Step &step) {
    auto found = ran_->kernels.find(&step);
    return found == ran_->kernels.end() ? "" : found->second;
  });
}

} // namespace layline::runtime::cuda

namespace layline::runtime {

std::unique_ptr<Device> makeCudaDevice(const Plan &plan,
                                       const DeviceOptions &options,
                                       Transport &transport) {
  try {
    return std::make_unique<cuda::CudaDevice>(plan, options, transport);
  } catch (const std::exception &error) {
    // Other processes wait for this one's part.
    transport.abort(transport.localRanks().front(), error.what());
    throw;
  }
}

void checkCudaDevice() { cuda::driver(); }

} // namespace layline::runtime
