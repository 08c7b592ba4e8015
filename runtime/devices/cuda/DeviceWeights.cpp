#include "devices/cuda/DeviceWeights.h"

#include "devices/cuda/HostNumbers.h"
#include "plan/Error.h"

namespace layline::runtime::cuda {

DeviceWeights::DeviceWeights(const Plan &plan, const ElementTypes &types,
                             const std::vector<RankView> &ranks,
                             const std::vector<std::unique_ptr<Card>> &cards,
                             const layline_allocator *allocator)
    : plan_(plan), types_(types), cards_(cards.size()) {
  std::vector<std::vector<std::int64_t>> here(cards.size());
  for (const RankView &rank : ranks) {
    places_.emplace_back(rank.cardNumber, here[rank.cardNumber].size());
    here[rank.cardNumber].push_back(rank.rank);
  }
  for (std::size_t c = 0; c < cards.size(); ++c) {
    OfCard &of = cards_[c];
    of.card = cards[c].get();
    of.slices = slicesOf(plan, here[c]);
    of.memory.resize(plan.weights.size());
    for (std::size_t w = 0; w < plan.weights.size(); ++w)
      for (std::size_t slice = 0; slice < of.slices.regions[w].size();
           ++slice) {
        std::int64_t bytes =
            checkedMul(elements(shapeOf(of.slices.regions[w][slice])),
                       local::numberBytes(types.of(plan.weights[w].dtype)),
                       "size of a weight");
        of.memory[w].emplace_back(*of.card, static_cast<std::size_t>(bytes),
                                  "weight '" + plan.weights[w].id + "'",
                                  MemorySource{allocator,
                                               of.slices.firstRank[w][slice],
                                               LAYLINE_MEMORY_WEIGHTS});
      }
  }
}

void DeviceWeights::bind(int index, std::int64_t stackIndex,
                         const safetensors::Tensor &stored) {
  const Weight &weight = plan_.weights[index];
  NumberType type = types_.of(weight.dtype);
  for (OfCard &of : cards_)
    for (std::size_t s = 0; s < of.memory[index].size(); ++s) {
      std::optional<SlicePiece> piece =
          pieceOf(weight, of.slices.regions[index][s], stackIndex);
      if (!piece)
        continue;
      std::vector<float> values(static_cast<std::size_t>(piece->count));
      convertPiece(weight, *piece, stored, values.data());
      bytesRead_ += piece->count * static_cast<std::int64_t>(
                                       safetensors::dtypeBytes(stored.dtype));
      std::vector<std::byte> bytes = encode(values, type);
      copyIn(*of.card,
             of.memory[index][s].address() +
                 static_cast<Address>(piece->offset * local::numberBytes(type)),
             bytes.data(), bytes.size(), "weight '" + weight.id + "'");
    }
}

Address DeviceWeights::slice(int weight, const RankView &rank) const {
  auto [card, place] = places_[rank.place];
  const OfCard &of = cards_[card];
  return of.memory[weight][of.slices.ofRank[weight][place]].address();
}

} // namespace layline::runtime::cuda
