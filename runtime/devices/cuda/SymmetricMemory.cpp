#include "devices/cuda/SymmetricMemory.h"

#include "plan/Error.h"

#include <algorithm>
#include <limits>
#include <unistd.h>

namespace layline::runtime::cuda {
namespace {

AllocationProperties propertiesOf(const Card &card, int handleTypes) {
  AllocationProperties properties;
  properties.handleTypes = handleTypes;
  properties.location.id = card.ordinal();
  return properties;
}

std::size_t granularityOf(const Card &card, int handleTypes) {
  AllocationProperties properties = propertiesOf(card, handleTypes);
  std::size_t bytes = 0;
  check(driver().granularity(&bytes, &properties, kGranularityRecommended),
        "cuMemGetAllocationGranularity", card.name());
  return std::max<std::size_t>(bytes, 1);
}

std::size_t roundedUp(std::size_t bytes, std::size_t to,
                      const std::string &what) {
  if (bytes > std::numeric_limits<std::size_t>::max() - (to - 1))
    fail(LAYLINE_OUT_OF_MEMORY, what, ": ", bytes, " bytes are too many");
  return (bytes + to - 1) / to * to;
}

std::vector<Card *> distinct(const std::vector<Card *> &cards) {
  std::vector<Card *> result;
  for (Card *card : cards)
    if (std::find(result.begin(), result.end(), card) == result.end())
      result.push_back(card);
  return result;
}

/// Why the members' memory cannot have a multicast range, or "".
std::string whyNoMulticast(const std::vector<Card *> &cards) {
  if (distinct(cards).size() < cards.size())
    return "members share a card";
  if (cards.size() < 2)
    return "there is one member";
  for (const Card *card : cards)
    if (!card->hasMulticast())
      return card->name() + " has no multicast";
  return "";
}

} // namespace

SymmetricMemory::SymmetricMemory(const std::vector<Card *> &cards,
                                 std::size_t bytes, Multicast multicast,
                                 const std::string &what) {
  parts_.assign(cards.size(), 0);
  if (bytes == 0) {
    whyUnicast_ = "there are no bytes";
    return;
  }
  std::vector<Card *> all = distinct(cards);
  for (const Card *card : all)
    granularity_ = std::max(granularity_, granularityOf(*card, kHandleNone));
  whyUnicast_ = multicast == Multicast::Never ? "it was not asked for"
                                              : whyNoMulticast(cards);
  MulticastProperties properties;
  properties.devices = static_cast<unsigned>(cards.size());
  if (whyUnicast_.empty()) {
    // A multicast range has a granularity of its own, which its parts must
    // have too.
    properties.size = roundedUp(bytes, granularity_, what);
    std::size_t range = 0;
    check(driver().multicastGranularity(&range, &properties,
                                        kGranularityRecommended),
          "cuMulticastGetGranularity", what);
    granularity_ = std::max(granularity_, range);
  }
  bytes_ = roundedUp(bytes, granularity_, what);
  std::vector<Allocation> memory;
  for (std::size_t member = 0; member < cards.size(); ++member) {
    std::string name = concat(what, ", part of member ", member);
    memory.push_back(create(*cards[member], kHandleNone, name));
    parts_[member] = map(memory.back(), all, name);
  }
  if (whyUnicast_.empty())
    makeMulticast(cards, memory, what);
}

SymmetricMemory::SymmetricMemory(Card &card, std::size_t own,
                                 std::size_t members, std::size_t bytes,
                                 Exchange exchange, void *context,
                                 const std::string &what)
    : granularity_(granularityOf(card, kHandlePosixFileDescriptor)),
      parts_(members, 0), whyUnicast_("members are processes") {
  bytes_ = roundedUp(bytes, granularity_, what);
  std::vector<Card *> cards = {&card};
  std::string ownName = concat(what, ", own part");
  Allocation memory = create(card, kHandlePosixFileDescriptor, ownName);
  int descriptor = -1;
  check(driver().memExport(&descriptor, memory, kHandlePosixFileDescriptor, 0),
        "cuMemExportToShareableHandle", ownName);
  std::vector<int> descriptors;
  Cleanup close;
  close.add([&descriptors, descriptor] {
    ::close(descriptor);
    for (int each : descriptors)
      if (each >= 0)
        ::close(each);
  });
  descriptors = exchange(descriptor, context);
  if (descriptors.size() != members)
    fail(LAYLINE_RUN_FAILURE, what, ": ", descriptors.size(),
         " file descriptors came back; ", members, " members are expected");
  for (std::size_t member = 0; member < members; ++member) {
    if (member == own) {
      parts_[member] = map(memory, cards, ownName);
      continue;
    }
    std::string name = concat(what, ", part of member ", member);
    Allocation peer = 0;
    // The driver takes the descriptor itself in the place of a pointer.
    check(
        driver().memImport(&peer,
                           reinterpret_cast<void *>(
                               static_cast<std::intptr_t>(descriptors[member])),
                           kHandlePosixFileDescriptor),
        "cuMemImportFromShareableHandle", name);
    cleanup_.add([peer] { driver().memRelease(peer); });
    parts_[member] = map(peer, cards, name);
  }
}

Allocation SymmetricMemory::create(const Card &card, int handleTypes,
                                   const std::string &what) {
  AllocationProperties properties = propertiesOf(card, handleTypes);
  Allocation memory = 0;
  card.use();
  check(driver().memCreate(&memory, bytes_, &properties, 0), "cuMemCreate",
        concat(what, ", ", bytes_, " bytes on ", card.name()));
  cleanup_.add([memory] { driver().memRelease(memory); });
  return memory;
}

Address SymmetricMemory::map(Allocation memory,
                             const std::vector<Card *> &cards,
                             const std::string &what) {
  Address address = 0;
  std::size_t bytes = bytes_;
  check(driver().addressReserve(&address, bytes, granularity_, 0, 0),
        "cuMemAddressReserve", what);
  cleanup_.add([address, bytes] { driver().addressFree(address, bytes); });
  check(driver().memMap(address, bytes, 0, memory, 0), "cuMemMap", what);
  cleanup_.add([address, bytes] { driver().memUnmap(address, bytes); });
  std::vector<AccessDescription> access(cards.size());
  for (std::size_t c = 0; c < cards.size(); ++c)
    access[c].location.id = cards[c]->ordinal();
  check(driver().memSetAccess(address, bytes, access.data(), access.size()),
        "cuMemSetAccess", what);
  return address;
}

void SymmetricMemory::makeMulticast(const std::vector<Card *> &cards,
                                    const std::vector<Allocation> &memory,
                                    const std::string &what) {
  std::string name = what + ", multicast range";
  MulticastProperties properties;
  properties.devices = static_cast<unsigned>(cards.size());
  properties.size = bytes_;
  Allocation range = 0;
  Result result = driver().multicastCreate(&range, &properties);
  // Cards say that they can, and the fabric between them may still not.
  if (result == kErrorNotSupported) {
    whyUnicast_ = "cuMulticastCreate does not support these cards";
    return;
  }
  check(result, "cuMulticastCreate", name);
  cleanup_.add([range] { driver().memRelease(range); });
  for (const Card *card : cards)
    check(driver().multicastAddDevice(range, card->ordinal()),
          "cuMulticastAddDevice", concat(name, ", ", card->name()));
  std::size_t bytes = bytes_;
  for (std::size_t member = 0; member < cards.size(); ++member) {
    check(driver().multicastBind(range, 0, memory[member], 0, bytes, 0),
          "cuMulticastBindMem", concat(name, ", member ", member));
    Ordinal ordinal = cards[member]->ordinal();
    cleanup_.add([range, ordinal, bytes] {
      driver().multicastUnbind(range, ordinal, 0, bytes);
    });
  }
  multicast_ = map(range, cards, name);
}

} // namespace layline::runtime::cuda
