// Sending small blocks as large ones: blocks are copied side by side into a
// slot of a scratch buffer, the slot is sent, and, where the target's bytes are
// scattered too, copied out of a slot there.
//
// The order of blocks is the binding's. Both sides find the same rounds from
// the same plan and tables, so that no list travels with the bytes.
#ifndef LAYLINE_RUNTIME_KV_PACKING_H
#define LAYLINE_RUNTIME_KV_PACKING_H

#include "kv/Binding.h"

#include <cstdint>
#include <vector>

namespace layline::kv {

/// What fits into one slot.
struct Round {
  std::int64_t firstBlock = 0, blocks = 0;
  std::int64_t bytes = 0;
  std::int64_t descriptors = 0; ///< of what is sent
};

struct Descriptor {
  std::uint64_t source = 0, target = 0, bytes = 0;
};

class PackedBinding {
public:
  /// Of one part of the binding, which must outlive this. Throws if one block
  /// is larger than a slot. A round has at most `maxDescriptors` descriptors,
  /// if that is not 0.
  PackedBinding(const Binding &binding, const Part &part,
                std::int64_t slotBytes, std::int64_t maxDescriptors);
  /// Rounds of what the part's slots hold.
  PackedBinding(const Binding &binding, const Part &part)
      : PackedBinding(binding, part, part.slot.bytes,
                      part.slot.maxDescriptors) {}

  const std::vector<Round> &getRounds() const { return rounds; }

  /// At the source, if it packs: copies a round's blocks [begin, end) to where
  /// they belong in `slot`. Threads may share a round out.
  void pack(const Round &round, void *slot, std::int64_t begin,
            std::int64_t end) const;
  void pack(const Round &round, void *slot) const {
    pack(round, slot, 0, round.blocks);
  }
  /// At the target, if it unpacks: copies them from `slot`.
  void unpack(const Round &round, const void *slot, std::int64_t begin,
              std::int64_t end) const;
  void unpack(const Round &round, const void *slot) const {
    unpack(round, slot, 0, round.blocks);
  }
  /// What is sent. Addresses of slots that are not used are ignored.
  void getDescriptors(const Round &round, std::uint64_t sourceSlot,
                      std::uint64_t targetSlot,
                      std::vector<Descriptor> &descriptors) const;
  /// The same, calling visit(descriptor) for each.
  template <typename Visit>
  void forEachDescriptor(const Round &round, std::uint64_t sourceSlot,
                         std::uint64_t targetSlot, const Visit &visit) const;

  bool packsAtSource() const {
    return packing == Packing::Source || packing == Packing::Both;
  }
  bool packsAtTarget() const {
    return packing == Packing::Target || packing == Packing::Both;
  }

private:
  /// Blocks of the run follow one another where they are sent from and to.
  bool isJoined(const BlockRun &run) const {
    return (packsAtSource() || run.sourceStep == run.bytes) &&
           (packsAtTarget() || run.targetStep == run.bytes);
  }
  void addRun(BlockRun run, std::int64_t number, std::uint64_t room,
              std::int64_t maxDescriptors);

  /// Where the last block of the last round ends.
  std::uint64_t sourceEnd = 0, targetEnd = 0;
  const Binding &binding;
  Packing packing;
  std::vector<Round> rounds;
};

template <typename Visit>
void PackedBinding::forEachDescriptor(const Round &round,
                                      std::uint64_t sourceSlot,
                                      std::uint64_t targetSlot,
                                      const Visit &visit) const {
  Descriptor last;
  auto add = [&](std::uint64_t source, std::uint64_t target,
                 std::uint64_t bytes) {
    if (last.bytes && last.source + last.bytes == source &&
        last.target + last.bytes == target) {
      last.bytes += bytes;
      return;
    }
    if (last.bytes)
      visit(last);
    last = {source, target, bytes};
  };
  std::uint64_t done = 0;
  binding.forEachRun(round.firstBlock, round.blocks, [&](const BlockRun &run) {
    auto count = static_cast<std::uint64_t>(run.count);
    auto source = [&](std::int64_t i) {
      return packsAtSource()
                 ? sourceSlot + done + static_cast<std::uint64_t>(i) * run.bytes
                 : run.getSource(i);
    };
    auto target = [&](std::int64_t i) {
      return packsAtTarget()
                 ? targetSlot + done + static_cast<std::uint64_t>(i) * run.bytes
                 : run.getTarget(i);
    };
    if (isJoined(run))
      add(source(0), target(0), count * run.bytes);
    else
      for (std::int64_t i = 0; i < run.count; ++i)
        add(source(i), target(i), run.bytes);
    done += count * run.bytes;
  });
  if (last.bytes)
    visit(last);
}

} // namespace layline::kv

#endif // LAYLINE_RUNTIME_KV_PACKING_H
