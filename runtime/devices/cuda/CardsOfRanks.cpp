#include "devices/cuda/CardsOfRanks.h"

#include "devices/cuda/Driver.h"
#include "plan/Error.h"
#include "transports/Hash.h"

#include <algorithm>
#include <cstring>

namespace layline::runtime::cuda {
namespace {

std::vector<CardUuid> visibleCards() {
  int count = 0;
  check(driver().deviceCount(&count), "cuDeviceGetCount", "device 'cuda'");
  std::vector<CardUuid> cards;
  for (int number = 0; number < count; ++number) {
    std::string what = concat("card ", number);
    Ordinal ordinal = 0;
    check(driver().deviceGet(&ordinal, number), "cuDeviceGet", what);
    CardUuid uuid{};
    check(driver().deviceUuid(&uuid, ordinal), "cuDeviceGetUuid", what);
    cards.push_back(uuid);
  }
  return cards;
}

/// How many processes see the same cards as this one, and how many of them are
/// before it.
struct Sharing {
  std::size_t processes = 1, before = 0;
};
Sharing sharingOf(const std::vector<CardUuid> &visible, Communicator &world) {
  const std::uint64_t mine =
      hashOf(visible.data(), visible.size() * sizeof(CardUuid));
  world.show(&mine, [](std::int64_t, std::int64_t) { return allOf(1); });
  Sharing sharing{0, 0};
  for (std::int64_t process = 0; process < world.size(); ++process)
    if (*world.shown<std::uint64_t>(process) == mine) {
      ++sharing.processes;
      sharing.before += process < world.member();
    }
  world.release();
  return sharing;
}

} // namespace

CardsOfRanks cardsOfRanks(const Plan &plan, Transport &transport) {
  const std::vector<CardUuid> visible = visibleCards();
  Communicator *world = transport.world();
  const Sharing sharing = world ? sharingOf(visible, *world) : Sharing();
  const std::size_t here = transport.localRanks().size(),
                    ranks = sharing.processes * here,
                    used = std::min(visible.size(), ranks);
  CardsOfRanks result;
  std::vector<CardUuid> own;
  for (std::size_t place = 0; place < here; ++place) {
    std::size_t number = (sharing.before * here + place) * used / ranks;
    result.numbers.push_back(static_cast<int>(number));
    own.push_back(visible[number]);
  }
  if (!world) {
    result.cards = std::move(own);
    return result;
  }
  auto each = static_cast<std::int64_t>(here);
  world->show(own.data(),
              [&](std::int64_t, std::int64_t) { return allOf(each); });
  for (std::int64_t rank = 0; rank < plan.ranks(); ++rank)
    result.cards.push_back(
        world->shown<CardUuid>(transport.processOf(rank))[rank % each]);
  world->release();
  return result;
}

bool isSame(const CardUuid &a, const CardUuid &b) {
  return std::equal(std::begin(a.bytes), std::end(a.bytes),
                    std::begin(b.bytes));
}

std::string print(const CardUuid &uuid) {
  static const char digits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      text += '-';
    text += digits[uuid.bytes[i] >> 4];
    text += digits[uuid.bytes[i] & 15];
  }
  return text;
}

} // namespace layline::runtime::cuda
