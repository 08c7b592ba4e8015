// What is asked of the driver for symmetric memory, in which order and sizes,
// and that nothing stays behind wherever a call fails.
#include "devices/cuda/SymmetricMemory.h"
#include "FakeGpu.h"
#include "plan/Error.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>

using namespace layline::test;
using layline::runtime::Error;

namespace {

std::vector<std::unique_ptr<Card>> openCards(int count) {
  std::vector<std::unique_ptr<Card>> cards;
  for (int c = 0; c < count; ++c)
    cards.push_back(std::make_unique<Card>(c));
  return cards;
}

std::vector<Card *> pointers(const std::vector<std::unique_ptr<Card>> &cards) {
  std::vector<Card *> result;
  for (const std::unique_ptr<Card> &card : cards)
    result.push_back(card.get());
  return result;
}

FakeCards withMulticast(int count) {
  FakeCards fake = cards(count);
  fake.multicast = true;
  return fake;
}

std::vector<std::size_t> bytesOf(const FakeGpu &gpu, const std::string &name) {
  std::vector<std::size_t> result;
  for (const Call &call : gpu.calls())
    if (call.name == name)
      result.push_back(call.bytes);
  return result;
}

} // namespace

TEST_CASE("parts are made, mapped and opened to all cards, sizes rounded up") {
  FakeGpu gpu(cards(3));
  {
    auto cards = openCards(3);
    gpu.forgetCalls();
    SymmetricMemory memory(pointers(cards), 5000, Multicast::IfPossible,
                           "flags");
    CHECK(memory.members() == 3);
    CHECK(memory.bytes() == 8192);
    CHECK(memory.multicast() == 0);
    CHECK(memory.whyUnicast() == "card 0 (emulated) has no multicast");
    CHECK(memory.part(0) != memory.part(1));
    std::vector<std::string> expected(3, "cuMemGetAllocationGranularity");
    for (int part = 0; part < 3; ++part)
      for (const char *name :
           {"cuMemCreate", "cuMemAddressReserve", "cuMemMap", "cuMemSetAccess"})
        expected.push_back(name);
    CHECK(gpu.callNames() == expected);
    for (std::size_t bytes : bytesOf(gpu, "cuMemCreate"))
      CHECK(bytes == 8192);
    gpu.forgetCalls();
  }
  // Last first: unmapped before its addresses and its memory go.
  std::vector<std::string> names = gpu.callNames();
  REQUIRE(names.size() >= 3);
  CHECK(std::vector<std::string>(names.begin(), names.begin() + 3) ==
        std::vector<std::string>{"cuMemUnmap", "cuMemAddressFree",
                                 "cuMemRelease"});
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE(
    "a multicast range has its own granularity, and all devices are added "
    "before memory is bound") {
  FakeGpu gpu(withMulticast(2));
  {
    auto cards = openCards(2);
    SymmetricMemory memory(pointers(cards), 5000, Multicast::IfPossible,
                           "mailboxes");
    CHECK(memory.multicast() != 0);
    CHECK(memory.whyUnicast().empty());
    CHECK(memory.bytes() == 16384);
    for (std::size_t bytes : bytesOf(gpu, "cuMemCreate"))
      CHECK(bytes == 16384);
    CHECK(bytesOf(gpu, "cuMulticastCreate") == std::vector<std::size_t>{16384});
    std::vector<std::string> names = gpu.callNames();
    auto lastAdded =
        std::find(names.rbegin(), names.rend(), "cuMulticastAddDevice");
    auto firstBound =
        std::find(names.begin(), names.end(), "cuMulticastBindMem");
    CHECK(lastAdded.base() <= firstBound);
    CHECK(gpu.callsOf("cuMulticastAddDevice") == 2);
    CHECK(gpu.callsOf("cuMulticastBindMem") == 2);
  }
  CHECK(gpu.callsOf("cuMulticastUnbind") == 2);
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("without multicast the memory is there all the same") {
  auto [description, members, why] =
      GENERATE(std::tuple(FakeCards(), 1, "there is one member"),
               std::tuple(withMulticast(1), 1, "there is one member"),
               std::tuple(withMulticast(1), 2, "members share a card"),
               std::tuple(
                   [] {
                     FakeCards cards = withMulticast(2);
                     cards.multicastRefused = true;
                     return cards;
                   }(),
                   2, "cuMulticastCreate does not support these cards"));
  FakeGpu gpu(description);
  {
    auto cards = openCards(description.count);
    std::vector<Card *> ofMember;
    for (int m = 0; m < members; ++m)
      ofMember.push_back(
          cards[static_cast<std::size_t>(m) % cards.size()].get());
    SymmetricMemory memory(ofMember, 100, Multicast::IfPossible, "mailboxes");
    CHECK(memory.multicast() == 0);
    CHECK(memory.whyUnicast() == why);
    CHECK(memory.members() == static_cast<std::size_t>(members));
    for (int m = 0; m < members; ++m)
      CHECK(memory.part(static_cast<std::size_t>(m)) != 0);
  }
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("whichever call fails, nothing stays behind and the text names it") {
  FakeGpu gpu(withMulticast(2));
  std::size_t failed = 0;
  for (std::size_t at = 0;; ++at) {
    auto cards = openCards(2);
    gpu.forgetCalls();
    gpu.failAt(at, kErrorInvalidValue);
    int live = gpu.liveCount();
    bool isWhole = false;
    try {
      SymmetricMemory memory(pointers(cards), 5000, Multicast::IfPossible,
                             "mailboxes");
      isWhole = true;
      // No call was left to fail.
      gpu.failAt(~std::size_t(0), 0);
    } catch (const Error &error) {
      std::string text = error.what();
      INFO(text);
      CHECK(text.find(gpu.calls()[at].name +
                      " says CUDA_ERROR_INVALID_VALUE") != std::string::npos);
      ++failed;
    }
    CHECK(gpu.liveCount() == live);
    if (isWhole)
      break;
  }
  // 2 + 1 granularities, 2 x 4 for the parts, 1 + 2 + 2 + 3 for the range.
  CHECK(failed == 19);
  CHECK(gpu.liveCount() == 0);
}

TEST_CASE("no memory left is told as such, sizes do not wrap around") {
  FakeGpu gpu;
  auto cards = openCards(1);
  gpu.failOn("cuMemCreate", kErrorOutOfMemory);
  try {
    SymmetricMemory memory(pointers(cards), 5000, Multicast::Never, "arena");
    FAIL("it was made");
  } catch (const Error &error) {
    CHECK(error.status() == LAYLINE_OUT_OF_MEMORY);
    CHECK(std::string(error.what()) ==
          "arena, part of member 0, 8192 bytes on card 0 (emulated): "
          "cuMemCreate says CUDA_ERROR_OUT_OF_MEMORY (told by the fake "
          "driver)");
  }
  CHECK_THROWS_WITH(SymmetricMemory(pointers(cards),
                                    std::numeric_limits<std::size_t>::max(),
                                    Multicast::Never, "arena"),
                    "arena: 18446744073709551615 bytes are too many");
}

TEST_CASE("more than 4 GiB is asked for as it is") {
  FakeGpu gpu;
  auto cards = openCards(1);
  // Stops before any memory is touched.
  gpu.failOn("cuMemAddressReserve", kErrorOutOfMemory);
  gpu.forgetCalls();
  std::size_t bytes = (std::size_t(5) << 30) + 1;
  CHECK_THROWS_AS(
      SymmetricMemory(pointers(cards), bytes, Multicast::Never, "arena"),
      Error);
  CHECK(bytesOf(gpu, "cuMemCreate") ==
        std::vector<std::size_t>{(std::size_t(5) << 30) + 4096});
}

namespace {

std::vector<int> exchanged(int own, void *context) {
  auto *others = static_cast<std::vector<int> *>(context);
  std::vector<int> all = *others;
  for (int &descriptor : all)
    if (descriptor == -1)
      descriptor = own;
  return all;
}

} // namespace

TEST_CASE("processes give one another file descriptors") {
  FakeGpu gpu;
  {
    auto cards = openCards(1);
    // What a peer process exported; the fake's descriptors name allocations.
    Allocation theirs = 0;
    AllocationProperties properties;
    properties.handleTypes = kHandlePosixFileDescriptor;
    REQUIRE(driver().memCreate(&theirs, 8192, &properties, 0) == kSuccess);
    int descriptor = 0;
    REQUIRE(driver().memExport(&descriptor, theirs, kHandlePosixFileDescriptor,
                               0) == kSuccess);
    {
      std::vector<int> members = {descriptor, -1};
      SymmetricMemory memory(*cards[0], 1, 2, 5000, exchanged, &members,
                             "flags");
      CHECK(memory.bytes() == 8192);
      CHECK(memory.part(0) != 0);
      CHECK(memory.part(1) != 0);
      CHECK(memory.whyUnicast() == "members are processes");
      CHECK(gpu.callsOf("cuMemImportFromShareableHandle") == 1);
    }
    int live = gpu.liveCount();
    std::vector<int> tooFew = {-1};
    CHECK_THROWS_WITH(
        SymmetricMemory(*cards[0], 0, 2, 5000, exchanged, &tooFew, "flags"),
        "flags: 1 file descriptors came back; 2 members are expected");
    CHECK(gpu.liveCount() == live);
    driver().memRelease(theirs);
  }
  CHECK(gpu.liveCount() == 0);
}
