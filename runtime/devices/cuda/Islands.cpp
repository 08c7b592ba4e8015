#include "devices/cuda/Islands.h"

#include <algorithm>

namespace layline::runtime::cuda {

std::vector<std::size_t>
islandsOf(const std::vector<std::unique_ptr<Card>> &cards) {
  std::vector<std::size_t> islandOf;
  std::vector<std::vector<const Card *>> islands;
  for (const std::unique_ptr<Card> &card : cards) {
    auto found =
        std::find_if(islands.begin(), islands.end(),
                     [&](const std::vector<const Card *> &island) {
                       return std::all_of(island.begin(), island.end(),
                                          [&](const Card *other) {
                                            return card->reaches(*other) &&
                                                   other->reaches(*card);
                                          });
                     });
    if (found == islands.end())
      found = islands.emplace(islands.end());
    found->push_back(card.get());
    islandOf.push_back(static_cast<std::size_t>(found - islands.begin()));
  }
  return islandOf;
}

IslandMemory::IslandMemory(const std::vector<RankView> &ranks,
                           const std::vector<std::size_t> &islands,
                           std::size_t bytes, Multicast multicast,
                           const std::string &what)
    : islandOf_(islands), parts_(ranks.size()) {
  std::size_t count = *std::max_element(islands.begin(), islands.end()) + 1;
  for (std::size_t island = 0; island < count; ++island) {
    std::vector<std::size_t> members;
    std::vector<Card *> cards;
    for (std::size_t r = 0; r < ranks.size(); ++r)
      if (islands[ranks[r].cardNumber] == island) {
        members.push_back(r);
        cards.push_back(ranks[r].card);
      }
    islands_.emplace_back(cards, bytes, multicast, what);
    for (std::size_t m = 0; m < members.size(); ++m)
      parts_[members[m]] = islands_.back().part(m);
  }
}

} // namespace layline::runtime::cuda
