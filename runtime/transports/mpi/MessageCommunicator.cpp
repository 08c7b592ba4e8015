#include "transports/mpi/MessageCommunicator.h"

#include "plan/Error.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace layline::runtime {
namespace {

/// Runs as bytes.
Items inBytes(Items runs, std::size_t elementBytes) {
  auto scale = static_cast<std::int64_t>(elementBytes);
  for (Part &run : runs)
    run = {run.begin * scale, run.size * scale};
  return runs;
}

std::size_t totalOf(const Items &runs) {
  std::int64_t total = 0;
  for (Part run : runs)
    total += run.size;
  return static_cast<std::size_t>(total);
}

std::size_t endOf(const Items &runs) {
  std::int64_t end = 0;
  for (Part run : runs)
    end = std::max(end, run.end());
  return static_cast<std::size_t>(end);
}

} // namespace

MessageCommunicator::MessageCommunicator(MessageTransport &transport,
                                         int number,
                                         std::vector<std::int64_t> ranks,
                                         std::int64_t member)
    : Communicator(member, static_cast<std::int64_t>(ranks.size()),
                   transport.shown().data()),
      transport_(transport), number_(number), ranks_(std::move(ranks)) {}

void MessageCommunicator::share(const void *data, std::size_t elementBytes,
                                const Reads &reads) {
  using Scratch = MessageTransport::Scratch;
  transport_.checkUsable();
  struct Packed {
    std::byte *from, *to;
    Items runs;
  };
  std::vector<Packed> toUnpack;
  std::vector<Transfer> transfers;
  const auto *mine = static_cast<const std::byte *>(data);
  std::vector<const void *> &shown = transport_.shown();
  shown[static_cast<std::size_t>(member())] = data;
  // One run travels as it lies, several are packed. They come to the places
  // that they have with their owner.
  for (std::int64_t i = 1; i < size(); ++i) {
    std::int64_t owner = (member() + i) % size();
    auto at = static_cast<std::size_t>(owner);
    Items runs = inBytes(reads(member(), owner), elementBytes);
    std::byte *to = transport_.scratch(Scratch::Shown, at, endOf(runs));
    shown[at] = to;
    if (runs.empty())
      continue;
    std::size_t bytes = totalOf(runs);
    if (runs.size() == 1) {
      transfers.push_back({rankOf(owner), true, to + runs[0].begin, bytes});
      continue;
    }
    std::byte *from = transport_.scratch(Scratch::Received, at, bytes);
    transfers.push_back({rankOf(owner), true, from, bytes});
    toUnpack.push_back({from, to, std::move(runs)});
  }
  for (std::int64_t i = 1; i < size(); ++i) {
    std::int64_t reader = (member() + size() - i) % size();
    Items runs = inBytes(reads(reader, member()), elementBytes);
    if (runs.empty())
      continue;
    std::size_t bytes = totalOf(runs);
    // It is not written to.
    auto *from = const_cast<std::byte *>(mine) + runs[0].begin;
    if (runs.size() > 1) {
      std::byte *to = from = transport_.scratch(
          Scratch::Sent, static_cast<std::size_t>(reader), bytes);
      for (Part run : runs) {
        std::memcpy(to, mine + run.begin, static_cast<std::size_t>(run.size));
        to += run.size;
      }
    }
    transfers.push_back({rankOf(reader), false, from, bytes});
  }
  transport_.exchange(number_, sequence_++, transfers);
  for (const Packed &packed : toUnpack) {
    const std::byte *from = packed.from;
    for (Part run : packed.runs) {
      std::memcpy(packed.to + run.begin, from,
                  static_cast<std::size_t>(run.size));
      from += run.size;
    }
  }
}

} // namespace layline::runtime
