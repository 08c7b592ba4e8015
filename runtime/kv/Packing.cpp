#include "kv/Packing.h"

#include "plan/Error.h"

#include <cstring>

namespace layline::kv {

PackedBinding::PackedBinding(const Binding &binding, const Part &part,
                             std::int64_t slotBytes,
                             std::int64_t maxDescriptors)
    : binding(binding), packing(part.packing) {
  if (slotBytes <= 0)
    runtime::fail(LAYLINE_BAD_ARGUMENT, "a slot of ", slotBytes,
                  " bytes is given; at least 1 is expected");
  std::uint64_t room = static_cast<std::uint64_t>(slotBytes);
  std::uint64_t sourceEnd = 0, targetEnd = 0;
  std::int64_t number = part.first;
  binding.forEachBlock(
      part.first, part.descriptors,
      [&](std::uint64_t source, std::uint64_t target, std::uint64_t bytes) {
        if (bytes > room)
          runtime::fail(LAYLINE_BAD_ARGUMENT, "a block of ", bytes,
                        " bytes does not fit into a slot of ", slotBytes);
        bool isNew =
            rounds.empty() ||
            static_cast<std::uint64_t>(rounds.back().bytes) + bytes > room;
        bool joins = (packsAtSource() || source == sourceEnd) &&
                     (packsAtTarget() || target == targetEnd);
        if (!isNew && !joins && maxDescriptors &&
            rounds.back().descriptors == maxDescriptors)
          isNew = true;
        if (isNew)
          rounds.push_back({number, 0, 0, 0});
        Round &round = rounds.back();
        ++round.blocks;
        round.bytes += static_cast<std::int64_t>(bytes);
        if (isNew || !joins)
          ++round.descriptors;
        sourceEnd = source + bytes;
        targetEnd = target + bytes;
        ++number;
      });
}

void PackedBinding::pack(const Round &round, void *slot) const {
  auto *to = static_cast<std::uint8_t *>(slot);
  binding.forEachBlock(
      round.firstBlock, round.blocks,
      [&](std::uint64_t source, std::uint64_t, std::uint64_t bytes) {
        std::memcpy(to, reinterpret_cast<const void *>(source), bytes);
        to += bytes;
      });
}

void PackedBinding::unpack(const Round &round, const void *slot) const {
  const auto *from = static_cast<const std::uint8_t *>(slot);
  binding.forEachBlock(
      round.firstBlock, round.blocks,
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
