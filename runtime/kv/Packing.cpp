#include "kv/Packing.h"

#include "plan/Error.h"

#include <algorithm>
#include <cstring>

namespace layline::kv {

PackedBinding::PackedBinding(const Binding &binding, const Part &part,
                             std::int64_t slotBytes,
                             std::int64_t maxDescriptors)
    : binding(binding), packing(part.packing) {
  if (slotBytes <= 0)
    runtime::fail(LAYLINE_BAD_ARGUMENT, "a slot of ", slotBytes,
                  " bytes is given; at least 1 is expected");
  std::int64_t number = part.first;
  binding.forEachRun(part.first, part.descriptors, [&](const BlockRun &run) {
    if (run.bytes > static_cast<std::uint64_t>(slotBytes))
      runtime::fail(LAYLINE_BAD_ARGUMENT, "a block of ", run.bytes,
                    " bytes does not fit into a slot of ", slotBytes);
    addRun(run, number, static_cast<std::uint64_t>(slotBytes), maxDescriptors);
    number += run.count;
  });
}

/// As many blocks at a time as fit into the round.
void PackedBinding::addRun(BlockRun run, std::int64_t number,
                           std::uint64_t room, std::int64_t maxDescriptors) {
  while (run.count > 0) {
    bool isOpen =
        !rounds.empty() &&
        static_cast<std::uint64_t>(rounds.back().bytes) + run.bytes <= room;
    bool joins = isOpen && (packsAtSource() || run.source == sourceEnd) &&
                 (packsAtTarget() || run.target == targetEnd);
    if (isOpen && !joins && maxDescriptors &&
        rounds.back().descriptors == maxDescriptors)
      isOpen = false;
    if (!isOpen)
      rounds.push_back({number, 0, 0, 0});
    Round &round = rounds.back();
    auto fitting = static_cast<std::int64_t>(
        (room - static_cast<std::uint64_t>(round.bytes)) / run.bytes);
    std::int64_t count = std::min(run.count, fitting);
    std::int64_t added = joins ? 0 : 1;
    if (!isJoined(run)) {
      if (maxDescriptors)
        count = std::min(count, maxDescriptors - round.descriptors + 1 - added);
      added += count - 1;
    }
    round.blocks += count;
    round.bytes += count * static_cast<std::int64_t>(run.bytes);
    round.descriptors += added;
    sourceEnd = run.getSource(count - 1) + run.bytes;
    targetEnd = run.getTarget(count - 1) + run.bytes;
    run.source = run.getSource(count);
    run.target = run.getTarget(count);
    run.count -= count;
    number += count;
  }
}

void PackedBinding::pack(const Round &round, void *slot, std::int64_t begin,
                         std::int64_t end) const {
  auto *to = static_cast<std::uint8_t *>(slot) +
             (binding.countBytesBefore(round.firstBlock + begin) -
              binding.countBytesBefore(round.firstBlock));
  binding.forEachBlock(
      round.firstBlock + begin, end - begin,
      [&](std::uint64_t source, std::uint64_t, std::uint64_t bytes) {
        std::memcpy(to, reinterpret_cast<const void *>(source), bytes);
        to += bytes;
      });
}

void PackedBinding::unpack(const Round &round, const void *slot,
                           std::int64_t begin, std::int64_t end) const {
  const auto *from = static_cast<const std::uint8_t *>(slot) +
                     (binding.countBytesBefore(round.firstBlock + begin) -
                      binding.countBytesBefore(round.firstBlock));
  binding.forEachBlock(
      round.firstBlock + begin, end - begin,
      [&](std::uint64_t, std::uint64_t target, std::uint64_t bytes) {
        std::memcpy(reinterpret_cast<void *>(target), from, bytes);
        from += bytes;
      });
}

void PackedBinding::getDescriptors(const Round &round, std::uint64_t sourceSlot,
                                   std::uint64_t targetSlot,
                                   std::vector<Descriptor> &descriptors) const {
  descriptors.clear();
  forEachDescriptor(
      round, sourceSlot, targetSlot,
      [&](const Descriptor &entry) { descriptors.push_back(entry); });
}

} // namespace layline::kv
