#include "CardGroup.h"

#include "kernels/LaunchSafety.h"
#include "plan/Error.h"

#include <algorithm>
#include <array>

namespace layline::test {

using namespace layline::kernels;
using runtime::concat;
using runtime::fail;
using runtime::WorkspaceAddresses;
using namespace layline::runtime::cuda;

int countCards() {
  int count = 0;
  check(driver().deviceCount(&count), "cuDeviceGetCount", "test");
  return count;
}

CardSet::CardSet(int count) {
  for (int c = 0; c < count; ++c)
    cards_.push_back(std::make_unique<Card>(c));
  for (const std::unique_ptr<Card> &card : cards_)
    streams_.emplace_back(*card);
}

std::int64_t CardSet::blocksOfRank(const char *symbol, int threads,
                                   int ranks) const {
  const auto count = static_cast<std::int64_t>(cards_.size());
  std::int64_t least = 0;
  for (const std::unique_ptr<Card> &card : cards_) {
    std::int64_t resident =
        card->residentBlocks(card->kernel(symbol), threads, 0);
    std::int64_t each =
        (resident - kResidencyMargin) / ((ranks + count - 1) / count);
    if (each < 1)
      fail(LAYLINE_REFUSED_FEATURE, symbol, ": ", card->name(), " holds ",
           resident, " blocks of ", threads, " threads at one time, of which ",
           kResidencyMargin, " stay free: no room for ", ranks, " ranks on ",
           count, " cards");
    least = least == 0 ? each : std::min(least, each);
  }
  return least;
}

CardGroup::CardGroup(const CardSet &cards, int ranks,
                     std::uint64_t waitNanoseconds)
    : cards_(cards), waitNanoseconds_(waitNanoseconds) {
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank)
    cardOf_.push_back(rank * cards.size() / static_cast<std::size_t>(ranks));
}

// ---- Memory
// --------------------------------------------------------------------

SymmetricMemory CardGroup::symmetric(std::int64_t bytes, const char *what,
                                     Multicast multicast) const {
  std::vector<Card *> ofRank;
  for (std::size_t card : cardOf_)
    ofRank.push_back(&cards_[card]);
  return {ofRank, static_cast<std::size_t>(std::max<std::int64_t>(bytes, 16)),
          multicast, what};
}

Address CardGroup::room(int rank, std::int64_t bytes, const char *what) {
  memory_.emplace_back(
      card(rank), static_cast<std::size_t>(std::max<std::int64_t>(bytes, 16)),
      what);
  const DeviceMemory &made = memory_.back();
  card(rank).use();
  check(driver().setBytes(made.address(), 0xff, made.bytes(), nullptr),
        "cuMemsetD8Async", what);
  check(driver().streamSynchronize(nullptr), "cuStreamSynchronize", what);
  return made.address();
}

// ---- The workspace
// -------------------------------------------------------------

void CardGroup::makeWorkspace(const WorkspaceNeed &need, DType mailboxes) {
  std::string error;
  if (!planWorkspace(need, layout_, error))
    fail(LAYLINE_RUN_FAILURE, error);
  maxBlocks_ = need.maxBlocks;
  workspace_ = symmetric(layout_.symmetricBytes, "workspace");
  own_.clear();
  for (int rank = 0; rank < ranks(); ++rank) {
    own_.push_back(room(rank, layout_.ownBytes, "workspace"));
    const Address shared = workspace_.part(static_cast<std::size_t>(rank));
    check(driver().setBytes(shared, 0,
                            static_cast<std::size_t>(layout_.symmetricBytes),
                            nullptr),
          "cuMemsetD8Async", "workspace");
    if (layout_.boxCapacity > 0)
      check(driver().setWords(shared + static_cast<Address>(layout_.boxes),
                              mailboxes == DType::F32 ? kPoison32 : kPoison16,
                              static_cast<std::size_t>(3 * need.ranks *
                                                       layout_.boxCapacity * 4),
                              nullptr),
            "cuMemsetD32Async", "workspace");
    check(driver().setBytes(own_.back(), 0,
                            static_cast<std::size_t>(layout_.ownBytes),
                            nullptr),
          "cuMemsetD8Async", "workspace");
    check(driver().streamSynchronize(nullptr), "cuStreamSynchronize",
          "workspace");
  }
}

WorkspaceAddresses CardGroup::workspaceOf(int rank) const {
  WorkspaceAddresses result;
  result.layout = layout_;
  result.maxBlocks = maxBlocks_;
  for (std::size_t member = 0; member < cardOf_.size(); ++member)
    result.symmetric.push_back(workspace_.part<unsigned char>(member));
  result.own =
      reinterpret_cast<unsigned char *>(own_[static_cast<std::size_t>(rank)]);
  result.waitLimit = waitNanoseconds_;
  return result;
}

static const char *nameOf(FlagKind kind) {
  switch (kind) {
  case FlagKind::None:
    break;
  case FlagKind::Entry:
    return "the entry flag of peer ";
  case FlagKind::Exit:
    return "the exit flag of peer ";
  case FlagKind::OneShotWord:
    return "the mailbox of peer ";
  case FlagKind::Ready:
    return "the ready flag of peer ";
  case FlagKind::Chunk:
    return "the flag of chunk ";
  }
  return "flag ";
}

std::string CardGroup::late() const {
  for (std::size_t rank = 0; rank < own_.size(); ++rank) {
    SpinError error{};
    copyOut(card(static_cast<int>(rank)), &error,
            own_[rank] + static_cast<Address>(layout_.error), sizeof error,
            "record of a late rank");
    if (error.kind == 0)
      continue;
    const auto kind = static_cast<FlagKind>(error.kind);
    const std::string waited =
        concat("rank ", rank, ", block ", error.block, " waited ",
               static_cast<double>(waitNanoseconds_) / 1e9, " s for ",
               nameOf(kind), error.flag);
    return kind == FlagKind::OneShotWord
               ? concat(waited, ", empty in epoch ", error.epoch)
               : concat(waited, " to come to epoch ", error.epoch, ", found ",
                        error.seen);
  }
  return {};
}

// ---- Launches
// ------------------------------------------------------------------

void CardGroup::Launch::enqueue() const {
  for (const OnCard &on : cards_) {
    on.card->use();
    if (shape_.planes == 1) {
      KernelLaunch launch;
      launch.function = on.function;
      launch.symbol = symbol_;
      launch.blocks = shape_.blocks;
      launch.ranks = on.ranks;
      launch.threads = shape_.threads;
      launch.waitsForRanks = shape_.waits;
      runtime::cuda::launch(*on.card, launch, on.parameters, on.stream);
      continue;
    }
    // Of kernels that have planes no block waits for another.
    LaunchConfiguration configuration;
    configuration.gridX = shape_.blocks;
    configuration.gridY = on.ranks;
    configuration.gridZ = shape_.planes;
    configuration.blockX = shape_.threads;
    configuration.stream = on.stream;
    Address parameters = on.parameters;
    void *arguments[] = {&parameters};
    check(driver().launch(&configuration, on.function, arguments, nullptr),
          "cuLaunchKernelEx", symbol_);
  }
}

CardGroup::Launch CardGroup::prepare(const char *symbol,
                                     const GroupShape &shape,
                                     const std::vector<const void *> &params,
                                     std::size_t bytes) {
  Launch result;
  result.symbol_ = symbol;
  result.shape_ = shape;
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    std::vector<const void *> here;
    for (std::size_t rank = 0; rank < params.size(); ++rank)
      if (cardOf_[rank] == c)
        here.push_back(params[rank]);
    if (here.empty())
      continue;
    Card &on = cards_[c];
    memory_.emplace_back(on, here.size() * bytes, "parameters");
    const Address at = memory_.back().address();
    for (std::size_t i = 0; i < here.size(); ++i)
      copyIn(on, at + i * bytes, here[i], bytes, "parameters");
    KernelLaunch launch;
    launch.function = on.kernel(symbol);
    launch.symbol = symbol;
    launch.blocks = shape.blocks;
    launch.ranks = static_cast<unsigned>(here.size());
    launch.threads = shape.threads;
    if (shape.waits)
      checkResidency(on, launch, kResidencyMargin);
    result.cards_.push_back(
        {&on, cards_.stream(c).get(), launch.function, at, launch.ranks});
  }
  return result;
}

void CardGroup::enqueueCopy(int rank, Address to, Address from,
                            std::int64_t bytes) const {
  if (bytes == 0)
    return;
  card(rank).use();
  check(driver().copyOnDevice(
            to, from, static_cast<std::size_t>(bytes),
            cards_.stream(cardOf_[static_cast<std::size_t>(rank)]).get()),
        "cuMemcpyDtoDAsync", "rows");
}

void CardGroup::synchronize(const std::string &what) const {
  for (std::size_t c = 0; c < cards_.size(); ++c) {
    cards_[c].use();
    cards_.stream(c).synchronize(what);
  }
}

} // namespace layline::test
